/* SPDX-License-Identifier: MIT
 * Results for other programs. `cbank convert` has the formats of other tools. */
#ifndef CBANK_EXPORT_H
#define CBANK_EXPORT_H

#include <stdio.h>

#include "result.h"

struct export_format {
    const char *name;
    const char *summary;
    /* Writes a result that was read from `file`, number `index` on the command line. STATUS_ENVIRONMENT when out of
     * memory. */
    enum status (*write)(FILE *stream, const struct result *result, const char *file, size_t index);
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

#endif
