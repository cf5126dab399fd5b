/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "advise.h"

/* Shares as logarithms, as the errors were averaged. */
static const struct time_row {
    enum load_unit unit;
    double error;
} time_rows[] = {
#define TIME_ERROR(unit, cells, error) {UNIT_##unit, error},
#define RATIO_ERROR(one, other, pairs, error)
#include "uncertainty.def"
};

static const struct ratio_row {
    enum load_unit one, other;
    double error;
} ratio_rows[] = {
#define TIME_ERROR(unit, cells, error)
#define RATIO_ERROR(one, other, pairs, error) {UNIT_##one, UNIT_##other, error},
#include "uncertainty.def"
};

enum { TIME_ROWS = sizeof(time_rows) / sizeof(time_rows[0]), RATIO_ROWS = sizeof(ratio_rows) / sizeof(ratio_rows[0]) };

double advise_time_error(enum load_unit unit)
{
    double largest = 0;

    for (size_t i = 0; i < TIME_ROWS; i++) {
        if (time_rows[i].unit == unit)
            return expm1(time_rows[i].error);
        largest = fmax(largest, time_rows[i].error);
    }
    return expm1(largest);
}

double advise_ratio_error(enum load_unit one, enum load_unit other)
{
    double largest = 0;

    for (size_t i = 0; i < RATIO_ROWS; i++) {
        const struct ratio_row *row = &ratio_rows[i];

        if ((row->one == one && row->other == other) || (row->one == other && row->other == one))
            return expm1(row->error);
        largest = fmax(largest, row->error);
    }
    return expm1(largest);
}
