/* SPDX-License-Identifier: MIT
 * Scripts of the program: where they lie, and what runs them. */
#ifndef CBANK_SCRIPT_H
#define CBANK_SCRIPT_H

#include <limits.h>
#include <stddef.h>

#include "status.h"

/* What runs them, as execvp finds it: the first that is there. */
extern const char *const script_pythons[];
extern const size_t script_python_count;

/* Writes the paths of this program and of a script of that name. STATUS_ENVIRONMENT, logged, where there is none. */
enum status script_find(const char *name, char program[PATH_MAX], char script[PATH_MAX]);

#endif
