/* SPDX-License-Identifier: MIT
 * Cells of results as rows of grids: what show and export say of a cell, each column written once. */
#ifndef CBANK_CELL_ROW_H
#define CBANK_CELL_ROW_H

#include "cell_json.h"
#include "operations.h"
#include "result.h"

enum { CELL_NOTE_BYTES = 512 };

/* A grid's row. Numbers are NaN where there is nothing to say. */
struct cell_row {
    const struct cell *cell; /* that of `found`; the first member, as cell_columns take it */
    const struct cell_result *found;
    const struct cell_counts *counts; /* those of `found`; NULL: not counted */
    const struct result *result;
    const char *file;                   /* that the result is from; NULL: not known */
    double index;                       /* of the result among those that were given */
    char identity[CELL_IDENTITY_BYTES];
    char note[CELL_NOTE_BYTES]; /* its status and reason, what its flags mean; "" for nothing */
    const char *mark;           /* of its footnote, with blanks as wide as others; "": the table has none */
    const char *instruction;    /* of the payload load; NULL: the kernel is not known */
    double half_width; /* of the interval, as a share of the time */
    double ratio;      /* to the shortest time of the same pattern in the same table, of paths that load */
    bool best;         /* it is that time */
    double rate; /* GB/s: bytes that the kernel has to move, an element in, one out, and one a payload load of each
                          thread */
    struct operations_per_byte operations; /* of cells that multiply */
    double sample; /* number of the sample that the row is of; NaN: of none */
    double sample_ns;
};

/* Where a column stands: a set of bits. Columns have one order everywhere. */
enum cell_view {
    VIEW_MEASURED = 1 << 0, /* the matrix of a measured result */
    VIEW_MODELLED = 1 << 1, /* that of a modelled one */
    VIEW_OPERATIONS = 1 << 2, /* the table of operations per byte */
    VIEW_CELLS = 1 << 3, /* show --csv: one row a cell */
    VIEW_SAMPLES = 1 << 4, /* export --format csv: one row a sample */
    VIEW_TIME = 1 << 5, /* show --cell: what was measured, */
    VIEW_CODE = 1 << 6, /* its code, */
    VIEW_COUNTS = 1 << 7, /* what its loads ask for, */
    VIEW_COUNTERS = 1 << 9, /* counters --csv: before the counters */
    VIEW_ORIGIN = 1 << 8, /* where it is from */
};

/* A column, and what stands below the tables for it. */
struct cell_column {
    struct grid_column column;
    unsigned views;
    bool cell; /* it stands for all of cell_columns */
    const char *legend; /* NULL: what it says is plain */
};

/* The first column after `column` that is in one of the views; NULL: the first of all, and after the last. */
const struct cell_column *cell_column_next(const struct cell_column *column, unsigned views);

enum { CELL_ROW_COLUMNS_MAX = 96 };

/* Copies the columns of a view. Returns how many. */
size_t cell_row_columns(unsigned views, struct grid_column out[CELL_ROW_COLUMNS_MAX]);

/* A grid of rows with the columns of views, for which there is room in columns[]. */
struct grid cell_row_grid(const struct cell_row *rows, size_t count, unsigned views,
                          struct grid_column columns[CELL_ROW_COLUMNS_MAX]);

/* The rows of a result in the order of its tables: by workload, elements, block size, regime, then by pattern,
 * parameters and path. */
struct cell_rows {
    struct cell_row *rows; /* owned */
    size_t count;
};

/* Those that `name`, an identity or a glob, names; NULL: all. `file`, where the result is from, may be NULL.
 * STATUS_USAGE, logged, when there is none of that name; STATUS_ENVIRONMENT when out of memory. The caller frees
 * out->rows, after an error too. */
enum status cell_rows_open(const struct result *result, const char *file, const char *name, struct cell_rows *out);

/* Whether two rows are the same on the axes before `end`: AXIS_PATTERN for those of one table, AXIS_PATH for those of
 * one line of it. */
bool cell_row_same(const struct cell_row *a, const struct cell_row *b, enum cell_axis end);

/* Whether it has a time of a sum of products: the one operation of other workloads says nothing. */
bool cell_row_multiplies(const struct cell_row *row);

#endif
