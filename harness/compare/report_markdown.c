/* SPDX-License-Identifier: MIT
 * A comparison as Markdown, for the summary of a job of CI or a comment on a change: the outcome, a
 * list of what holds for the whole, and a table of cells with their notes. */
#include "report_words.h"

#include "report.h"

static void put_item(const struct remark_sink *sink, const char *sentence)
{
    fputs("- ", sink->stream);
    text_put(sink->stream, escapes_markdown, sentence);
    putc('\n', sink->stream);
}

static enum status write_markdown(FILE *stream, const struct comparison *comparison,
                                  const struct report_view *view)
{
    const struct remark_sink sink = {stream, 0, put_item};
    const struct grid grid = comparison_grid(comparison, view->all);
    const size_t same = comparison->unlisted;
    enum status status = STATUS_OK;
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs("**", stream);
    text_put(stream, escapes_markdown, line);
    fputs("**\n\n", stream);
    remark_missing(comparison, &sink);
    remark_whole(comparison, &sink);
    if (grid.row_count > 0) {
        putc('\n', stream);
        status = grid_markdown.print(stream, &grid);
    }
    if (same > 0 && !view->all)
        fprintf(stream, "\n%zu cell%s the same.\n", same, same == 1 ? " is" : "s are");
    return status;
}

const struct report_format report_markdown = {.write = write_markdown, .judges = true};
