/* SPDX-License-Identifier: MIT
 * A comparison as text for a terminal. */
#include "report_words.h"

#include "report.h"

static void put_paragraph(const struct remark_sink *sink, const char *sentence)
{
    text_paragraph((struct text_wrap){.stream = sink->stream, .width = sink->width, .indent = 2},
                   "%s", sentence);
}

static enum status write_text(FILE *stream, const struct comparison *comparison,
                              const struct report_view *view)
{
    const struct remark_sink sink = {stream, view->look.width, put_paragraph};
    const struct grid grid = comparison_grid(comparison, view->all);
    const size_t same = comparison->unlisted;
    enum status status = STATUS_OK;
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs(view->look.color ? "\033[1m" : "", stream);
    text_paragraph((struct text_wrap){.stream = stream, .width = view->look.width}, "%s", line);
    fputs(view->look.color ? "\033[m" : "", stream);
    remark_missing(comparison, &sink);
    if (comparison->common == 0 && comparison->gpu_count == 1)
        return STATUS_OK;
    putc('\n', stream);
    remark_whole(comparison, &sink);
    if (grid.row_count > 0) {
        putc('\n', stream);
        status = grid_print(stream, &grid, &view->look);
    }
    if (same > 0 && !view->all)
        fprintf(stream, "\n  %zu cell%s the same; --all lists them\n", same,
                same == 1 ? " is" : "s are");
    return status;
}

const struct report_format report_text = {.write = write_text};
