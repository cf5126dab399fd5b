/* SPDX-License-Identifier: MIT
 * A result as JSON: the document itself. */
#include "export.h"

static enum status print_json(FILE *stream, const struct result *result,
                              const struct export_view *view)
{
    (void)view;
    return result_put(stream, result);
}

const struct export export_json = {.print = print_json, .whole = true};
