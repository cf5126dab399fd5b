/* SPDX-License-Identifier: MIT
 * Where this program is, and what is installed with it. */
#pragma once

#include <limits.h>

#include "status.h"

/* The first of some folders that can be read. Their names are relative to the folder of the
 * program, the installed one first, NULL last. *program is the path of the program.
 * STATUS_ENVIRONMENT, logged with the remedy, if there is none; `what` says what is missing. */
enum status program_find(const char *what, const char *const names[], char program[PATH_MAX],
                         char found[PATH_MAX]);
