/* SPDX-License-Identifier: MIT */
#include "compare_report.h"

#include "text.h"

const struct report_format report_formats[REPORT_COUNT] = {
#define REPORT(name, help) {#name, compare_##name},
#include "report.def"
};

/* Prints a line in as many as the width asks for, those after the first indented. */
static void put_line(FILE *stream, const struct grid_look *look, int indent, const char *line)
{
    text_paragraph((struct text_wrap){.stream = stream, .width = look->width, .indent = indent}, "%s", line);
}

enum status compare_print(FILE *stream, const struct comparison *comparison, bool all, const struct grid_look *look)
{
    const size_t same = all ? 0 : comparison->counts[VERDICT_SAME];
    const struct grid grid =
        comparison_grid(comparison, 0, comparison->cell_count - same - comparison_alone(comparison));
    const struct grid gpus = comparison_gpu_grid(comparison, !all);
    static const char *const names[SIDES] = {"BASE", "NEW "};
    enum status status = STATUS_OK;
    char line[LINE_BYTES], what[LINE_BYTES];

    summary_line(comparison, line);
    fputs(look->color ? "\033[1m" : "", stream);
    put_line(stream, look, 0, line);
    fputs(look->color ? "\033[m" : "", stream);
    if (comparison_common(comparison) == 0 && !comparison_is_by_gpu(comparison))
        return STATUS_OK;
    putc('\n', stream);
    for (size_t i = 0; i < SIDES; i++) {
        side_line(comparison->sides[i], what);
        snprintf(line, sizeof(line), "%s %s: %.700s", names[i], comparison->sides[i]->label, what);
        put_line(stream, look, 5, line);
    }
    for (size_t i = 0; context_line(comparison, i, line); i++)
        put_line(stream, look, 2, line);
    if (comparison_is_by_gpu(comparison) && gpus.row_count > 0) {
        putc('\n', stream);
        status = grid_print(stream, &gpus, look);
    }
    if (grid.row_count > 0)
        putc('\n', stream);
    if (status == STATUS_OK)
        status = grid_print(stream, &grid, look);
    if (same > 0 && status == STATUS_OK) {
        same_line(comparison, line);
        text_join(line, sizeof(line), "; ", "--all lists them");
        putc('\n', stream);
        put_line(stream, look, 2, line);
    }
    return status;
}
