/* SPDX-License-Identifier: MIT
 * Results in the formats of other tools. */
#ifndef CBANK_EXPORT_H
#define CBANK_EXPORT_H

#include "result.h"

struct catalogue;

/* A format: a row, with the function that writes the cells of one or more results.
 *   csv     tidy: one row a sample (cell columns, one of them for each parameter, sample index, time_ns), for pandas
 *   gbench  Google Benchmark's JSON, one repetition a sample, that its compare.py reads
 *   bmf     Bencher Metric Format: {"CELL": {"time_ns": {"value", "lower_value", "upper_value"}, counters}}
 *   otava   the CSV that Apache Otava reads: one row a result: time, then one column a cell
 *   otava_config  the YAML that names its columns
 *   kernel_tuner  T4 results of Kernel Tuner, a configuration a cell
 *   accelsim      of a card and no result: lines that the tuner of Accel-Sim takes, each with where its values are from */
struct export_format {
    const char *name;
    const char *summary;
    enum status (*write)(FILE *stream, const struct catalogue *catalogue); /* NULL: it is of cards */
    enum status (*write_card)(FILE *stream, const char *card);             /* a file, or a name of cbank list cards */
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

enum status export_accelsim(FILE *stream, const char *card);

/* Writes results in a format, which is not of cards; raw: see text_csv. STATUS_ENVIRONMENT when out of memory. */
enum status export_write(const struct export_format *format, FILE *stream, const struct result *const *results,
                         size_t count, bool raw);

#endif
