/* SPDX-License-Identifier: MIT
 * Results in the formats of other tools. */
#ifndef CBANK_EXPORT_H
#define CBANK_EXPORT_H

#include <stddef.h>
#include <stdio.h>

#include "result.h"
#include "status.h"

/* A format: writes one or more results to a stream.
 *   csv     tidy: one row a sample (cell columns, one of them for each parameter, sample index, time_ns), for pandas
 *   gbench  Google Benchmark's JSON, one repetition a sample, that its compare.py reads
 *   bmf     Bencher Metric Format: {"CELL": {"time_ns": {"value", "lower_value", "upper_value"}, counters}}
 *   otava   the CSV that Apache Otava reads: one row a result: time, then one column a cell */
struct export_format {
    const char *name;
    const char *summary;
    enum status (*write)(FILE *stream, const struct result *const *results, size_t count);
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

#endif
