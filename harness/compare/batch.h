/* SPDX-License-Identifier: MIT
 * Many comparisons in one call: for programs that ask for verdicts, such as the analysis in Python. */
#ifndef CBANK_BATCH_H
#define CBANK_BATCH_H

#include <stdio.h>

#include "compare.h"

/* Reads a comparison a line from `in` as JSON, and writes its verdicts to stdout, a line each, in the same order. A line
 * is files, or numbers (docs/comparing.md has the keys); its cells are judged together, by the same judge as those of
 * files. `options` holds for what a line does not say. `name` is what messages call the input.
 *
 * STATUS_OK where every line was judged, whatever the verdicts; STATUS_USAGE, logged with its number, at the first line
 * that is malformed; STATUS_ENVIRONMENT out of memory. */
enum status batch_compare(FILE *in, const char *name, const struct compare_options *options);

#endif
