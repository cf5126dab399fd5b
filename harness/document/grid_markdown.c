/* SPDX-License-Identifier: MIT
 * A grid as a table of Markdown, as GitHub and GitLab have it. Numbers are as people read them, and
 * notes of a row stand in a last column. */
#include <math.h>

#include "grid.h"

/* Writes the line of headings and the line below, which aligns numbers on the right. */
static void put_head(FILE *stream, const struct grid *grid)
{
    for (size_t c = 0; c < grid->column_count; c++) {
        const struct grid_column *column = &grid->columns[c];

        fputs("| ", stream);
        text_put(stream, escapes_markdown, column->group ? column->group : "");
        fputs(column->group && *column->heading ? ": " : "", stream);
        text_put(stream, escapes_markdown, column->heading);
        putc(' ', stream);
    }
    fputs(grid->note ? "| notes |\n" : "|\n", stream);
    for (size_t c = 0; c < grid->column_count; c++)
        fputs(grid->columns[c].format ? "|--:" : "|---", stream);
    fputs(grid->note ? "|---|\n" : "|\n", stream);
}

static void put_notes(FILE *stream, const struct grid *grid, size_t row)
{
    char note[GRID_NOTE_BYTES];

    fputs("| ", stream);
    for (size_t i = 0; grid->note(grid_row(grid, row), i, note, sizeof(note)); i++) {
        fputs(i ? "; " : "", stream);
        text_put(stream, escapes_markdown, note);
    }
    putc(' ', stream);
}

static enum status print_markdown(FILE *stream, const struct grid *grid)
{
    put_head(stream, grid);
    for (size_t r = 0; r < grid->row_count; r++) {
        for (size_t c = 0; c < grid->column_count; c++) {
            const struct grid_column *column = &grid->columns[c];
            struct grid_value value;
            char room[TEXT_NUMBER_BYTES];

            grid_value_at(grid, r, column, &value);
            fputs("| ", stream);
            text_put(stream, escapes_markdown, grid_shown(column, &value, room));
            putc(' ', stream);
        }
        if (grid->note)
            put_notes(stream, grid, r);
        fputs("|\n", stream);
    }
    return STATUS_OK;
}

const struct grid_format grid_markdown = {.name = "markdown", .print = print_markdown};
