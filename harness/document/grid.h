/* SPDX-License-Identifier: MIT
 * Grids: tables for people and for programs. A command defines its columns; aligning, dividing into
 * blocks and quoting are written here once, for each format. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"
#include "status.h"
#include "text.h"
#include "text_print.h"

enum { GRID_TEXT_BYTES = 512 };

enum grid_style { GRID_PLAIN, GRID_BOLD, GRID_GOOD, GRID_DOUBT, GRID_BAD, GRID_DIM };

/* The value of a row in a column. Initially empty: NaN and NULL, shown as "-". */
struct grid_value {
    double number;     /* for a column with a format */
    const char *text; /* shown to people instead of the number, or in a column without a format;
                         lives as long as the row, or is `room` */
    char room[GRID_TEXT_BYTES]; /* for a text that has no other storage */
    enum grid_style style; /* on a terminal with colour */
};

/* A format of numbers for people: text_time and the like. */
typedef void grid_format(double value, char out[TEXT_NUMBER_BYTES]);

struct grid_column {
    const char *key; /* in CSV and JSON, with the unit of the number: "time_ns" */
    const char *heading; /* in text */
    /* printed above the headings of neighbours with the same group; NULL: none */
    const char *group;
    grid_format *format; /* NULL: a column of text, aligned left */
    void (*value)(const struct grid_column *column, const void *row,
                  struct grid_value *out); /* may run on any
                                            * thread */
    const struct grid_member *member; /* that `value` reads; NULL: it knows by itself */
    const void *context; /* of `value`, in addition to the row; NULL: none */
    /* in text that is too wide, the columns of the greatest rank are dropped first; 0: never */
    unsigned rank;
    bool head; /* names the row: repeated next to every block of columns */
    bool below; /* in text that is too wide, it moves first, to lines of its own below the row */
};

/* A member of the row, or of a struct that a member of the row points to, for the functions below.
 */
struct grid_member {
    size_t offset, bytes;
    /* offset in the row of the pointer; SIZE_MAX: the member is in the row itself */
    size_t pointer;
    const char *const *names; /* grid_name: words by value; NULL for those without */
    size_t name_count; /* of grid_bits */
    /* offset, in what the pointer points to, of a bool: whether there is the member; 0: always */
    size_t given;
};

#define GRID_MEMBER(type, name)                                                                 \
    &(const struct grid_member)                                                                 \
    {                                                                                           \
        .offset = offsetof(type, name), .bytes = sizeof(((type *)0)->name), .pointer = SIZE_MAX \
    }
#define GRID_BEHIND(row, to, type, name)                                    \
    &(const struct grid_member)                                             \
    {                                                                       \
        .offset = offsetof(type, name), .bytes = sizeof(((type *)0)->name), \
        .pointer = offsetof(row, to)                                        \
    }

/* The member of the row; NULL where there is none. */
const void *grid_member_at(const struct grid_column *column, const void *row);

/* Values of these members; empty if the pointer is NULL. */
/* double */
void grid_number(const struct grid_column *column, const void *row, struct grid_value *out);
void grid_integer(const struct grid_column *column, const void *row,
                  struct grid_value *out); /* of 4 or 8 bytes; 0: nothing */
/* struct optional */
void grid_optional(const struct grid_column *column, const void *row, struct grid_value *out);
/* "true" or "false" */
void grid_bool(const struct grid_column *column, const void *row, struct grid_value *out);
/* enum */
void grid_name(const struct grid_column *column, const void *row, struct grid_value *out);
/* uint32_t, a set of bits: their names with blanks between; "": nothing */
void grid_bits(const struct grid_column *column, const void *row, struct grid_value *out);
/* pointer to a row of a table, which begins with its name */
void grid_row_name(const struct grid_column *column, const void *row, struct grid_value *out);
/* const char * */
void grid_text(const struct grid_column *column, const void *row, struct grid_value *out);
void grid_array(const struct grid_column *column, const void *row,
                struct grid_value *out); /* char array; "": nothing */

struct grid {
    const char *title; /* above the text; NULL: none */
    const struct grid_column *columns;
    size_t column_count;
    const void *rows; /* row_count of row_bytes each */
    size_t row_count, row_bytes;
    /* Note number `index` of a row, printed below it in text; false after the last.
     * NULL: no row has notes. */
    bool (*note)(const void *row, size_t index, char *out, size_t bytes);
    /* in text that is too wide, names of rows have lines of their own before there are blocks */
    bool stack;
    bool continued; /* CSV: an earlier grid had the line of keys */
};

/* Initializers of a grid: an array of columns; rows from a pointer to the first. */
#define GRID_COLUMNS(array) .columns = (array), .column_count = sizeof(array) / sizeof((array)[0])

#define GRID_ROWS(first, count) .rows = (first), .row_count = (count), .row_bytes = sizeof(*(first))

/* Prints aligned text no wider than look->width. If the columns do not fit on a line, those marked
 * `below` go below the row, and then those of the greatest rank are left out. If the others still
 * do not fit, they stand in blocks below each other. Names of rows that take more than half of the
 * width have lines of their own. A grid without rows prints nothing. STATUS_ENVIRONMENT when out of
 * memory. */
enum status grid_print(FILE *stream, const struct grid *grid, const struct print_style *look);

/* Prints each row as lines of a heading and a wrapped value. Missing values are left out, and so is
 * the title if there are none. */
void grid_print_records(FILE *stream, const struct grid *grid, const struct print_style *look);

/* A format for programs and pages: a file grid_NAME.c with its row, and a line of GRID_FORMATS,
 * from which the flag --NAME of the commands that print grids follows. */
struct grid_format {
    const char *name;
    /* Writes keys or headings and rows; missing values are empty, null or "-". Failed writes show
     * in the stream's error flag. */
    enum status (*print)(FILE *stream, const struct grid *grid);
};

/* clang-format off */
/* EACH(NAME, help of the flag), in the order of help. */
#define GRID_FORMATS(EACH) \
    EACH(csv, "print CSV") \
    EACH(json, "print JSON") \
    EACH(markdown, "print Markdown")
/* clang-format on */

#define GRID_FORMAT_INDEX(name, help)    GRID_##name,
#define GRID_FORMAT_DECLARED(name, help) extern const struct grid_format grid_##name;

enum grid_format_index { GRID_FORMATS(GRID_FORMAT_INDEX) GRID_FORMAT_COUNT };

GRID_FORMATS(GRID_FORMAT_DECLARED)

/* The rows as an array of objects by keys; a missing value is null. The caller deletes it; see
 * json_add. */
cJSON *grid_to_json(const struct grid *grid);

/* -- for code that prints grids ---------------------------------------------------------------- */

enum { GRID_NOTE_BYTES = 512 };

/* Row `row` of the grid. */
const void *grid_row(const struct grid *grid, size_t row);

/* Asks the column for its value in that row. */
void grid_value_at(const struct grid *grid, size_t row, const struct grid_column *column,
                   struct grid_value *out);

/* The text for people: the value's text, its number in the column's format, or "-". `room` has
 * space for a number. */
const char *grid_shown(const struct grid_column *column, const struct grid_value *value,
                       char room[TEXT_NUMBER_BYTES]);
