/* SPDX-License-Identifier: MIT
 * Cells of results as rows of grids, for show. Each column is written once. */
#pragma once

#include "cell_json.h"
#include "operations.h"
#include "result.h"

enum { CELL_NOTE_BYTES = 512 };

/* A grid's row. Numbers are NaN if they are not known. */
struct cell_row {
    const struct cell *cell; /* the cell of `found`; the first member, as cell_columns requires */
    const struct cell_result *found;
    const struct result *result;
    const char *file;                   /* the file of the result; NULL: not known */
    char identity[CELL_IDENTITY_BYTES];
    /* its status and reason, and the meaning of its flags; "" for nothing */
    char note[CELL_NOTE_BYTES];
    /* of its footnote, padded to the width of the others; "": the table has none */
    char mark[4];
    double half_width; /* of the interval, as a share of the time */
    double widest;     /* the greatest half width of the result */
    /* of a cell without that parameter, whose table is as large as its path has it; else 0 */
    uint32_t table_bytes;
    double ratio; /* to the shortest time of the same pattern and the same size of table, among
                   * paths that load, or of memory spaces whose output was verified */
    /* Of the 95 % interval of the ratio: half its width, as a share of the ratio, and its ends. The
     * relative half widths of the two times add as squares, as those of independent times do to
     * first order. Times of one process share what moves them both: the interval is then too wide.
     * NaN for the best one, whose ratio is 1. */
    double ratio_half_width, ratio_ci_low, ratio_ci_high;
    bool best; /* it has that shortest time */
    double rate; /* GB/s: bytes that the kernel must move: one element in, one out, and one for each
                    payload load of a thread */
    double item_ns; /* time an item of a user's kernel */
    char constant_cache_groups[BOARD_SIZES_BYTES]; /* of the board: board_sizes */
    /* for cells that multiply: the one operation of others is of no interest */
    struct operations_per_byte operations;
};

/* Where a column appears: a set of bits. Columns have the same order everywhere. */
enum cell_view {
    VIEW_MEASURED = 1 << 0, /* the matrix of a measured result */
    VIEW_MODELLED = 1 << 1, /* that of a modelled one */
    VIEW_NAME = 1 << 2, /* the identity alone */
    VIEW_CELLS = 1 << 3, /* show --csv: one row for each cell */
    VIEW_TIME = 1 << 5, /* show --cell: what was measured, */
    VIEW_CODE = 1 << 6, /* its code, */
    VIEW_COUNTS = 1 << 7, /* the requests of its loads, */
    VIEW_COUNTERS = 1 << 9, /* counters --csv: before the counters */
    VIEW_ORIGIN = 1 << 8, /* its origin */
    VIEW_KERNEL = 1 << 10, /* the matrix of a user's kernel */
    VIEW_LAUNCH = 1 << 11, /* that of launch paths */
    VIEW_MATRICES = VIEW_MEASURED | VIEW_MODELLED,
};

/* A column, and its legend below the tables. */
struct cell_column {
    struct grid_column column;
    unsigned views;
    unsigned place; /* columns stand in this order; tens, so that there is room between */
    bool cell; /* it stands for all of cell_columns */
    bool interval; /* it is dropped where all intervals are narrow, and otherwise stays */
    const char *legend; /* NULL: it needs no explanation */
};

/* The first column after `column` that is in one of the views; NULL at the end. For NULL, the very
 * first. */
const struct cell_column *cell_column_next(const struct cell_column *column, unsigned views);

/* The rank of the column in the tables of a result with this row. */
unsigned cell_column_rank(const struct cell_column *column, const struct cell_row *row);

enum { CELL_ROW_COLUMNS_MAX = 128 };

/* Copies the columns of a view. Returns their number. */
size_t cell_row_columns(unsigned views, struct grid_column out[CELL_ROW_COLUMNS_MAX]);

/* A grid of rows with the columns of views; columns[] has room for them. */
struct grid cell_row_grid(const struct cell_row *rows, size_t count, unsigned views,
                          struct grid_column columns[CELL_ROW_COLUMNS_MAX]);

/* The rows of a result in the order of its tables: by workload, elements, block size, cache state
 * and size of the table, then by pattern, parameters and path. */
struct cell_rows {
    struct cell_row *rows; /* owned */
    size_t count;
};

/* Opens the rows that `name`, an identity or a glob, selects; NULL: all. `file` is the origin of
 * the result and may be NULL. STATUS_USAGE, logged, if no cell has that name; STATUS_ENVIRONMENT
 * when out of memory. The caller frees out->rows, even after an error. */
enum status cell_rows_open(const struct result *result, const char *file, const char *name,
                           struct cell_rows *out);

/* Whether two rows are equal on the axes before `end`, and in table_bytes: AXIS_PATTERN for rows of
 * one grid, AXIS_PATH for rows of one of its lines. A user's kernel has one grid for all sizes and
 * cache states. */
bool cell_row_same(const struct cell_row *a, const struct cell_row *b, enum cell_axis end);
