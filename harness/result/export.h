/* SPDX-License-Identifier: MIT
 * Exports: a result as a program or a page reads it. For each of GRID_FORMATS (grid.h) there is a
 * file export_NAME.c with one struct export; cbank show --NAME follows. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "grid.h"
#include "result.h"

/* What of a result is exported. */
struct export_view {
    const char *file; /* of the result */
    const char *cells; /* an identity or a glob; NULL: all */
    bool continued; /* another result was exported before, to the same stream */
};

struct export
{
    /* Writes the result. Failed writes show in the stream's error flag. STATUS_USAGE, logged, if no
     * cell has that name; STATUS_ENVIRONMENT when out of memory. */
    enum status (*print)(FILE *stream, const struct result *result, const struct export_view *view);
    bool whole; /* it has all of one result: never several, or some cells */
    bool joins; /* results follow each other without the names of their files between */
};

#define EXPORT_DECLARED(name, help) extern const struct export export_##name;

GRID_FORMATS(EXPORT_DECLARED)

/* By enum grid_format_index. */
extern const struct export *const exports[GRID_FORMAT_COUNT];
