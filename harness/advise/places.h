/* SPDX-License-Identifier: MIT
 * The places of one configuration, predicted; inside of the room. */
#ifndef CBANK_PLACES_H
#define CBANK_PLACES_H

#include "advise.h"

/* Paths at most. */
enum { PLACES_MAX = 64 };

struct places {
    struct advised_place *rows; /* room for path_count + 1, zeroed: those that hold the table, behind them the others */
    size_t count, excluded;
};

/* Predicts the places of a configuration, in the order of paths.def, on all processors. As advise_open. */
enum status places_predict(const struct cell *cell, const struct card *card, struct index_list *indices,
                           struct places *out);

/* Whether a place holds the table: its time is NaN where the model does not know it. */
static inline bool place_is_held(const struct advised_place *place)
{
    return !(place->time_ns <= 0);
}

#endif
