/* SPDX-License-Identifier: MIT
 * Grids: tables that people and programs read. A command says what its columns are; how a column is aligned, cut into
 * blocks or quoted is written here once, for each format. */
#ifndef CBANK_GRID_H
#define CBANK_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "json.h"
#include "status.h"
#include "text.h"

enum { GRID_TEXT_BYTES = 256 };

enum grid_style { GRID_PLAIN, GRID_BOLD, GRID_GOOD, GRID_BAD, GRID_DIM };

/* What a row has in a column. Before it is asked for there is nothing: NaN and NULL, shown as "-". */
struct grid_value {
    double number;     /* of a column with a format */
    const char *text; /* shown to people in place of the number, or of a column without a format; lives as long as the
                          row, or is `room` */
    char room[GRID_TEXT_BYTES]; /* for a text that lives nowhere else */
    enum grid_style style; /* on a terminal with colour */
};

/* How people read a number: text_time and the like. */
typedef void grid_format(double value, char out[TEXT_NUMBER_BYTES]);

struct grid_column {
    const char *key; /* in CSV and JSON, with the unit of the number: "median_ns" */
    const char *heading; /* in text and Markdown */
    const char *group; /* stands above the headings of neighbours with the same; NULL: none */
    grid_format *format; /* NULL: a column of text, aligned left */
    void (*value)(const struct grid_column *column, const void *row, struct grid_value *out);
    const void *of; /* what `value` needs to know beside the row; NULL: nothing */
    unsigned rank; /* in text that is too wide the columns of the greatest rank go first; 0: never */
    bool head; /* says what the row is: repeated beside every block of columns */
};

struct grid {
    const char *title; /* above the text; NULL: none */
    const struct grid_column *columns;
    size_t column_count;
    const void *rows; /* row_count of row_bytes each */
    size_t row_count, row_bytes;
    /* Note number `index` of a row, printed below it in text and Markdown; false when there are no more. NULL: no row
     * has notes. */
    bool (*note)(const void *row, size_t index, char *out, size_t bytes);
};

/* How text is laid out. */
struct grid_look {
    int width; /* columns of the terminal, see text_width */
    int indent; /* of every line */
    bool color; /* use ANSI attributes */
};

/* Prints aligned text no wider than look->width: where the columns do not fit beside each other, those of the greatest
 * rank are left out, then the rest is printed in blocks below each other; where what names a row takes more than half of
 * the width, it has a line of its own. A grid without rows prints nothing. STATUS_ENVIRONMENT when out of memory. */
enum status grid_print(FILE *stream, const struct grid *grid, const struct grid_look *look);

/* Prints GitHub-flavoured Markdown, with the group before the heading. */
void grid_print_markdown(FILE *stream, const struct grid *grid);

/* Prints CSV (RFC 4180): a line of keys, then numbers with all their digits. */
void grid_print_csv(FILE *stream, const struct grid *grid);

/* The rows as an array of objects, by keys; what a row does not have is null. The caller's; see json_add. */
cJSON *grid_to_json(const struct grid *grid);

#endif
