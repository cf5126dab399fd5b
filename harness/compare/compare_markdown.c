/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "compare_report.h"
#include "log.h"
#include "memory.h"
#include "text.h"

/* Kept for what is no row of a table: up to 16 lines, of which escapes make the bytes up to six times as many. */
enum { OTHER_BYTES = 96 * LINE_BYTES, HEADINGS = 2 };

static void put_line(FILE *stream, const char *before, const char *line)
{
    fputs(before, stream);
    text_put(stream, escapes_markdown, line);
    putc('\n', stream);
}

static void put_head(FILE *stream, const struct comparison *comparison)
{
    static const char *const names[SIDES] = {"- **BASE** ", "- **NEW** "};
    char line[LINE_BYTES];

    summary_line(comparison, line);
    put_line(stream, "### ", line);
    putc('\n', stream);
    for (size_t i = 0; i < SIDES; i++) {
        fputs(names[i], stream);
        text_put(stream, escapes_markdown, comparison->sides[i]->label);
        side_line(comparison->sides[i], line);
        put_line(stream, ": ", line);
    }
    for (size_t i = 0; context_line(comparison, i, line); i++)
        put_line(stream, "- ", line);
}

/* A file that may not grow over a size. */
struct bounded {
    FILE *stream;
    size_t left; /* bytes for more rows */
    size_t dropped; /* rows that there was no room for */
};

/* Prints the lines of a table that there is room for. After the first that there is none for, no more: what comes later is
 * less grave. */
static enum status put_grid(struct bounded *file, const struct grid *grid)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);
    size_t bytes, lines = 0;

    if (stream)
        grid_print_markdown(stream, grid);
    if (!memory_close(&memory, stream))
        return log_memory("a report");
    for (const char *line = memory.text, *end; *line; line = end, lines++) {
        end = strchr(line, '\n') + 1;
        bytes = (size_t)(end - line);
        if (bytes <= file->left) {
            fwrite(line, 1, bytes, file->stream);
            file->left -= bytes;
        } else {
            file->left = 0;
            file->dropped += lines >= HEADINGS;
        }
    }
    free(memory.text);
    return STATUS_OK;
}

static enum status put_tables(struct bounded *file, const struct comparison *comparison)
{
    const size_t same = comparison->counts[VERDICT_SAME],
                 others = comparison->cell_count - same - comparison_alone(comparison);
    const struct grid grid = comparison_grid(comparison, 0, others);
    const struct grid same_grid = comparison_grid(comparison, others, same);
    const struct grid gpus = comparison_gpu_grid(comparison, false);
    enum status status = STATUS_OK;
    char line[LINE_BYTES];

    if (comparison_is_by_gpu(comparison)) {
        putc('\n', file->stream);
        status = put_grid(file, &gpus);
    }
    if (others > 0 && status == STATUS_OK) {
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

enum status compare_markdown(FILE *stream, const void *compared)
{
    const struct comparison *comparison = compared;
    struct bounded file = {.stream = stream, .left = MARKDOWN_BYTES_MAX - OTHER_BYTES};

    put_head(stream, comparison);
    return comparison_common(comparison) > 0 || comparison_is_by_gpu(comparison) ? put_tables(&file, comparison)
                                                                                 : STATUS_OK;
}
