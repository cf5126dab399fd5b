/* SPDX-License-Identifier: MIT
 * What a comparison looks like: a table for people, and files for machines. */
#ifndef CBANK_COMPARE_REPORT_H
#define CBANK_COMPARE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "status.h"

/* GitHub drops a step summary over this size. */
enum { MARKDOWN_BYTES_MAX = 1 << 20 };

/* Prints to a terminal or file: one line of summary first, facets that differ, then cells worst first with
 * ratio, interval, verdict and the counters that moved; cells that are the same are one line together unless
 * `all`. */
void compare_print(FILE *stream, const struct comparison *comparison, bool all, bool color);

/* A report format: writes to an open stream. */
struct report_format {
    const char *name;      /* markdown, junit, json, csv */
    const char *summary;
    enum status (*write)(FILE *stream, const struct comparison *comparison);
};

extern const struct report_format report_formats[];
extern const size_t report_format_count;

/* Writes a report to a file, atomically (temporary name, rename), "-" for stdout. */
enum status compare_write(const struct report_format *format, const struct comparison *comparison, const char *path);

#endif
