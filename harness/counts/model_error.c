/* SPDX-License-Identifier: MIT
 * Which simple times may be said, and with what interval. scripts/studies/model_error.py chooses
 * the rows of model_errors.def, and holds them against cells that chose nothing. */
#include "model_error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Results of H100 and H200 chose the rows and checked them. */
enum { CHECKED_ARCHITECTURE = 90 };

/* Measured over simple time: the interval of nine of ten cells of a group, and the median. */
struct model_error {
    const char *group;
    double low, median, high;
};

static const struct model_error model_errors[] = {
#define MODEL_ERROR(group, low, median, high) {group, low, median, high},
#include "model_errors.def"
#undef MODEL_ERROR
};

static const char *const load_units[] = {
    [UNIT_IDC] = "constant cache",
    [UNIT_UNIFORM] = "uniform datapath",
    [UNIT_IMC] = "constant operands",
    [UNIT_L1] = "L1",
    [UNIT_L2] = "L2",
    [UNIT_TEXTURE] = "texture",
    [UNIT_SHARED] = "shared memory",
    [UNIT_REGISTERS] = "registers of the warp",
    [UNIT_SELECT] = "arithmetic",
};

/* Bins of the simple time, in us: the table of errors has the same. */
static const struct {
    const char *name;
    double end_ns;
} bins[] = {{"below 3 us", 3e3},
            {"3 to 10 us", 1e4},
            {"10 to 100 us", 1e5},
            {"over 100 us", INFINITY}};

void model_group(const struct cell *cell, const struct cell_estimate *estimate,
                 char out[MODEL_GROUP_BYTES])
{
    const char *const form = uses_grid_stride_loop(cell)                     ? "lookup"
                             : cell->pattern && cell->pattern->index_is_step ? "filter"
                                                                             : "pattern";
    size_t bin = 0;

    out[0] = '\0';
    if (isnan(estimate->time_ns.value))
        return;
    while (estimate->time_ns.value >= bins[bin].end_ns)
        bin++;
    snprintf(out, MODEL_GROUP_BYTES, "%s, %s, %s, %s", form, load_units[cell->path->unit],
             time_units[estimate->longest].name, bins[bin].name);
}

bool model_checked_time(const struct cell *cell, const struct card *card,
                        const struct cell_estimate *estimate, struct time_range *out)
{
    const double value = estimate->time_ns.value;
    char group[MODEL_GROUP_BYTES];

    model_group(cell, estimate, group);
    for (size_t i = 0; card_architecture(card) == CHECKED_ARCHITECTURE &&
                       i < sizeof(model_errors) / sizeof(model_errors[0]);
         i++)
        if (strcmp(model_errors[i].group, group) == 0) {
            *out = (struct time_range){value * model_errors[i].median, value * model_errors[i].low,
                                       value * model_errors[i].high};
            return true;
        }
    *out = (struct time_range){NAN, estimate->least_ns / TIME_MODEL_ERROR, INFINITY};
    return false;
}
