/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "compare_lines.h"
#include "compare_report.h"
#include "log.h"
#include "text.h"

/* Kept for what is no row of a table: up to 16 lines, of which escapes make the bytes up to six times as many. */
enum { OTHER_BYTES = 96 * LINE_BYTES, HEADINGS = 2 };

static void put_line(FILE *stream, const char *before, const char *line)
{
    fputs(before, stream);
    text_put(stream, escapes_markdown, line);
    putc('\n', stream);
}

static void put_side(FILE *stream, const char *before, const struct side *side)
{
    char line[LINE_BYTES];

    fputs(before, stream);
    text_put(stream, escapes_markdown, side->label);
    side_line(side, line);
    put_line(stream, ": ", line);
}

static void put_head(FILE *stream, const struct comparison *comparison)
{
    char line[LINE_BYTES];

    summary_line(comparison, line);
    put_line(stream, "### ", line);
    putc('\n', stream);
    put_side(stream, "- **BASE** ", comparison->base);
    put_side(stream, "- **NEW** ", comparison->new_side);
    for (size_t i = 0; context_line(comparison, i, line); i++)
        put_line(stream, "- ", line);
}

/* A file that may not grow over a size. */
struct bounded {
    FILE *stream;
    size_t left; /* bytes for more rows */
    size_t dropped; /* rows that there was no room for */
};

/* Prints the lines of a table, its headings and `rows` more, that there is room for. After the first that there is none
 * for, no more: what comes later is less grave. */
static void put_bounded(struct bounded *file, const char *text, size_t bytes, size_t rows)
{
    size_t end = bytes, lines = 0;

    while (end > file->left || (end > 0 && text[end - 1] != '\n'))
        end--;
    for (size_t i = 0; i < end; i++)
        lines += text[i] == '\n';
    fwrite(text, 1, end, file->stream);
    file->left = end < bytes ? 0 : file->left - bytes;
    file->dropped += lines > HEADINGS ? rows + HEADINGS - lines : rows;
}

static enum status put_grid(struct bounded *file, const struct grid *grid)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    enum status status = STATUS_OK;

    if (memory)
        grid_print_markdown(memory, grid);
    if (memory && fclose(memory) == 0)
        put_bounded(file, text, bytes, grid->row_count);
    else
        status = log_error(STATUS_ENVIRONMENT, "out of memory for a report");
    free(text);
    return status;
}

static enum status put_tables(struct bounded *file, const struct comparison *comparison)
{
    const size_t same = comparison->counts[VERDICT_SAME], others = comparison->cell_count - same;
    const struct grid grid = comparison_grid(comparison->cells, others);
    const struct grid same_grid = comparison_grid(comparison->cells + others, same);
    enum status status = STATUS_OK;
    char line[LINE_BYTES];

    if (others > 0) {
        putc('\n', file->stream);
        status = put_grid(file, &grid);
    }
    if (same > 0 && status == STATUS_OK) {
        same_line(comparison, line);
        fputs("\n<details><summary>", file->stream);
        text_put(file->stream, escapes_xml, line);
        fputs("</summary>\n\n", file->stream);
        status = put_grid(file, &same_grid);
        fputs("\n</details>\n", file->stream);
    }
    if (file->dropped > 0)
        fprintf(file->stream, "\nThe %zu least grave of %zu cells are left out: the file would be too large.\n",
                file->dropped, comparison->cell_count);
    return status;
}

enum status compare_markdown(FILE *stream, const struct comparison *comparison)
{
    struct bounded file = {.stream = stream, .left = MARKDOWN_BYTES_MAX - OTHER_BYTES};

    put_head(stream, comparison);
    return comparison_common(comparison) > 0 ? put_tables(&file, comparison) : STATUS_OK;
}
