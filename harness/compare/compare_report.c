/* SPDX-License-Identifier: MIT */
#include "compare_report.h"

#include "files.h"

const struct report_format report_formats[REPORT_COUNT] = {
#define REPORT(name, help) {#name, compare_##name},
#include "report.def"
};

/* A comparison and the format that it is written in. */
struct written {
    enum report report;
    const struct comparison *comparison;
};

static enum status write_report(FILE *stream, const void *context)
{
    const struct written *written = context;

    return report_formats[written->report].write(stream, written->comparison);
}

enum status compare_write(enum report report, const struct comparison *comparison, const char *path)
{
    return file_write(path, write_report, &(struct written){report, comparison});
}
