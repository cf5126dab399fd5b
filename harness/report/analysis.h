/* SPDX-License-Identifier: MIT
 * Commands of the analysis. Each is a module of the Python package `cbank` (scripts/cbank); the
 * distribution's Python runs it in place of this program. */
#pragma once

#include <stddef.h>

#include "status.h"

/* Replaces this process by the package's command words[0], with the words after it; `words` has
 * `count` of them. Returns only if that fails: STATUS_ENVIRONMENT, logged with the remedy. Nothing
 * of the current folder, of PYTHONPATH or of the user's own packages is imported. The environment
 * variable CBANK_PROGRAM names this program to it. */
enum status analysis_start(size_t count, char **words);
