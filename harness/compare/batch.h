/* SPDX-License-Identifier: MIT
 * Many comparisons in one call, for programs that need verdicts, such as the analysis in Python. */
#ifndef CBANK_BATCH_H
#define CBANK_BATCH_H

#include <stdio.h>

#include "compare.h"

/* Reads one comparison from each line of `in` as JSON, and writes its verdicts to stdout as one line, in the same order.
 * A line has files or numbers (docs/comparing.md has the keys). Its cells are judged together, by the same judge as those
 * of files. `options` are the defaults for a line; messages call the input `name`.
 *
 * STATUS_OK if every line was judged, whatever the verdicts. STATUS_USAGE, logged with its number, at the first malformed
 * line; STATUS_ENVIRONMENT when out of memory. */
enum status batch_compare(FILE *in, const char *name, const struct compare_options *options);

#endif
