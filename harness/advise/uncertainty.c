/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "advise.h"

/* Errors as logarithms, as they were found. */
static const struct time_row {
    enum load_unit unit;
    double error;
} time_rows[] = {
#define TIME_ERROR(unit, cells, error) {UNIT_##unit, error},
#define RATIO_ERROR(one, other, below, pairs, error)
#include "uncertainty.def"
};

static const struct ratio_row {
    enum load_unit one, other;
    double below, error;
} ratio_rows[] = {
#define TIME_ERROR(unit, cells, error)
#define RATIO_ERROR(one, other, below, pairs, error) {UNIT_##one, UNIT_##other, below, error},
#include "uncertainty.def"
};

enum { TIME_ROWS = sizeof(time_rows) / sizeof(time_rows[0]), RATIO_ROWS = sizeof(ratio_rows) / sizeof(ratio_rows[0]) };

static const struct time_row *row_of(enum load_unit unit)
{
    for (size_t i = 0; i < TIME_ROWS; i++)
        if (time_rows[i].unit == unit)
            return &time_rows[i];
    return NULL;
}

bool advise_error_known(enum load_unit unit)
{
    return row_of(unit);
}

double advise_time_error(enum load_unit unit)
{
    const struct time_row *row = row_of(unit);
    double largest = 0;

    for (size_t i = 0; !row && i < TIME_ROWS; i++)
        largest = fmax(largest, time_rows[i].error);
    return expm1(row ? row->error : largest);
}

static bool is_of(const struct ratio_row *row, enum load_unit one, enum load_unit other)
{
    return (row->one == one && row->other == other) || (row->one == other && row->other == one);
}

/* Registers that a warp exchanges go the way of shared memory. */
static enum load_unit way_of(enum load_unit unit)
{
    return unit == UNIT_REGISTERS ? UNIT_SHARED : unit;
}

double advise_ratio_error(enum load_unit one, enum load_unit other, double apart)
{
    const struct ratio_row *found = NULL;
    double largest = 0;

    /* The rows of a pair stand in the order of `below`: its first that holds, else its last. */
    for (size_t i = 0; i < RATIO_ROWS; i++) {
        const struct ratio_row *row = &ratio_rows[i];

        largest = fmax(largest, row->error);
        if (is_of(row, way_of(one), way_of(other)) && (!found || apart >= found->below))
            found = row;
    }
    return expm1(found ? found->error : largest);
}
