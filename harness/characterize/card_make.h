/* SPDX-License-Identifier: MIT
 * A card from a characterization: the numbers that experiments measure, and those of the driver.
 * JSON, schema results/card.schema.json. */
#pragma once

#include "card.h"
#include "characterization.h"

struct card_request {
    const struct characterization *found;
    const char *file; /* the characterization, which the card names as evidence; NULL: none */
    /* card of the same chip, for the other numbers; NULL: a built-in one, if there is one */
    const char *base_path;
};

/* How many numbers of a card come from each origin. */
struct card_tally {
    size_t characterized, device, base, unknown;
};

/* Makes the card. A number is that of an experiment, else that of the driver. Else it is that of
 * the base card, if that is of the same chip (name, compute capability, SMs), or the one published
 * for all since Volta, else null. STATUS_USAGE, logged, for a bad base card or file. On success
 * *out is the caller's, to json_free. */
enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally);
