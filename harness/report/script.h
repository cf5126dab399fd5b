/* SPDX-License-Identifier: MIT
 * Scripts of the program: where they lie, and what runs them. */
#ifndef CBANK_SCRIPT_H
#define CBANK_SCRIPT_H

#include <limits.h>

#include "status.h"

/* What runs a script that imports these modules ("scipy, numpy"), as execvp finds it: the first Python that has them. NULL:
 * none has. */
const char *script_python(const char *modules);

/* Writes the paths of this program and of a script of that name. STATUS_ENVIRONMENT, logged, where there is none. */
enum status script_find(const char *name, char program[PATH_MAX], char script[PATH_MAX]);

#endif
