/* SPDX-License-Identifier: MIT
 * Commands of the analysis: each is a module of the Python package `cbank` (scripts/cbank), which the distribution's
 * Python runs in place of this program. */
#ifndef CBANK_ANALYSIS_H
#define CBANK_ANALYSIS_H

#include <stddef.h>

#include "status.h"

/* Replaces this process by the package's command words[0] with the words behind it; `words` has `count` of them. Returns
 * only where that fails: STATUS_ENVIRONMENT, logged with the remedy. Nothing of the current folder, of PYTHONPATH or of
 * the user's own packages is imported. The environment variable CBANK_PROGRAM names this program to it. */
enum status analysis_start(size_t count, char **words);

#endif
