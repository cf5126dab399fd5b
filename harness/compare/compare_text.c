/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "compare_lines.h"
#include "compare_report.h"
#include "text.h"

/* Prints a line in as many as the width asks for, those after the first indented. */
static void put_line(FILE *stream, const struct grid_look *look, int indent, char *line)
{
    struct text_wrap wrap = {.stream = stream, .width = look->width, .indent = indent};

    text_clean(line);
    text_wrap(&wrap, line);
    putc('\n', stream);
}

static void put_side(FILE *stream, const struct grid_look *look, const char *name, const struct side *side)
{
    char line[LINE_BYTES], what[LINE_BYTES];

    side_line(side, what);
    snprintf(line, sizeof(line), "%s %s: %.700s", name, side->label, what);
    put_line(stream, look, 5, line);
}

enum status compare_print(FILE *stream, const struct comparison *comparison, bool all, const struct grid_look *look)
{
    const size_t same = all ? 0 : comparison->counts[VERDICT_SAME];
    const struct grid grid = comparison_grid(comparison->cells, comparison->cell_count - same);
    enum status status;
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs(look->color ? "\033[1m" : "", stream);
    put_line(stream, look, 0, line);
    fputs(look->color ? "\033[m" : "", stream);
    if (comparison_common(comparison) == 0)
        return STATUS_OK;
    putc('\n', stream);
    put_side(stream, look, "BASE", comparison->base);
    put_side(stream, look, "NEW ", comparison->new_side);
    for (size_t i = 0; context_line(comparison, i, line); i++)
        put_line(stream, look, 2, line);
    if (grid.row_count > 0)
        putc('\n', stream);
    status = grid_print(stream, &grid, look);
    if (same > 0) {
        same_line(comparison, line);
        text_join(line, sizeof(line), "; ", "--all lists them");
        putc('\n', stream);
        put_line(stream, look, 2, line);
    }
    return status;
}
