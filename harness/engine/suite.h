/* SPDX-License-Identifier: MIT
 * The kernel files that are installed with the program: examples/ in the source tree. */
#pragma once

#include "option.h"
#include "status.h"

/* Sets *out to their paths, comma-separated and in their order, as --kernel takes them; the caller
 * frees it. They are relative to the current folder if they are below it. STATUS_ENVIRONMENT,
 * logged, if there are none. */
enum status suite_paths(char **out);

/* They and what they read, for the flag --suite. */
option_reads suite_reads;
