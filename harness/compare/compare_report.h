/* SPDX-License-Identifier: MIT
 * What a comparison looks like: a table for people, and files for machines. */
#ifndef CBANK_COMPARE_REPORT_H
#define CBANK_COMPARE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "grid.h"
#include "status.h"

/* GitHub drops a step summary over this size. */
enum { MARKDOWN_BYTES_MAX = 1 << 20 };

/* Prints to a terminal or file: one line of summary first, facets that differ, then cells worst first with
 * ratio, interval, verdict and the counters that moved; cells that are the same are one line together unless
 * `all`. Sides without a cell in common get the summary alone. STATUS_ENVIRONMENT when out of memory. */
enum status compare_print(FILE *stream, const struct comparison *comparison, bool all, const struct grid_look *look);

/* The formats of report.def: each writes to an open stream. */
enum report {
#define REPORT(name, help) REPORT_##name,
#include "report.def"
    REPORT_COUNT
};

typedef enum status report_writer(FILE *stream, const struct comparison *comparison);

#define REPORT(name, help) report_writer compare_##name;
#include "report.def"

struct report_format {
    const char *name;
    report_writer *write;
};

extern const struct report_format report_formats[REPORT_COUNT];

/* Writes a report to a file, which is replaced as a whole, "-" for stdout. */
enum status compare_write(enum report report, const struct comparison *comparison, const char *path);

#endif
