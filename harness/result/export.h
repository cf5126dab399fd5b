/* SPDX-License-Identifier: MIT
 * Results for other programs. Formats of other tools are those of `cbank convert`. */
#ifndef CBANK_EXPORT_H
#define CBANK_EXPORT_H

#include <stdio.h>

#include "result.h"

struct export_format {
    const char *name;
    const char *summary;
    /* Writes a result that was read from `file`, the one of that index among those of the command line. raw: see text_csv.
     * STATUS_ENVIRONMENT when out of memory. */
    enum status (*write)(FILE *stream, const struct result *result, const char *file, size_t index, bool raw);
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

#endif
