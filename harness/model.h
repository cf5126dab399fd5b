/* SPDX-License-Identifier: MIT
 * What the model says of a cell: predicted cache behaviour and time, from exact counts and a card. */
#ifndef CBANK_MODEL_H
#define CBANK_MODEL_H

#include <stdint.h>

#include "access.h"
#include "card.h"
#include "cell.h"

/* Parts of the predicted time of one launch, ns. The parts of overlapping units do not add up: time is
 * launch + ramp + max(issue, first level (serialization + misses), stream). */
struct model_parts {
    double launch_ns;        /* one more launch */
    double ramp_ns;          /* latency that nothing hides */
    double issue_ns;         /* instruction issue */
    double serialization_ns; /* the first level answering requests one after the other */
    double misses_ns;        /* what misses of the constant levels add */
    double stream_ns;        /* input and output through L2 and DRAM */
};

/* Predicted lookups of the constant levels in one launch (hot: after an earlier launch). Zero for paths
 * that do not use them. */
struct model_levels {
    double requests[CARD_LEVELS_MAX];
    double misses[CARD_LEVELS_MAX];
};

struct model_cell {
    double requests_per_load; /* transactions of the path's unit per payload load: distinct addresses for
                                 UNIT_IDC, sectors for UNIT_L1 */
    uint64_t footprint_bytes; /* distinct table bytes that the grid reads */
    double time_ns;
    struct model_parts parts;
    struct model_levels levels;
};

/* Predicts one cell; access are its exact counts. STATUS_ENVIRONMENT when out of memory. */
enum status model_predict(const struct cell *cell, const struct access_counts *access, const struct card *card,
                          struct model_cell *out);

#endif
