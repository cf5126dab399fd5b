/* SPDX-License-Identifier: MIT
 * A card from a characterization: what was found out about a chip in place of a base card's values, and where every
 * value comes from. JSON, schema results/card.schema.json. */
#ifndef CBANK_CARD_MAKE_H
#define CBANK_CARD_MAKE_H

#include "card.h"
#include "characterization.h"

struct card_request {
    const struct characterization *found;
    const char *file;      /* which holds the answers that it rests on; NULL: none */
    const char *base_path; /* card whose values stand where nothing was found; NULL: built in */
};

/* Where the values of a card come from. */
struct card_tally {
    size_t characterized, device, base;
    char base_name[CARD_NAME_BYTES]; /* of the base card */
};

/* Makes the card. Values of the base card say so; those of a base card of another chip (name, compute capability,
 * number of SMs) are assumed. What was found and contradicts itself, or does not go with the other values of its level,
 * is left out, with the reason. STATUS_USAGE for a bad base card or file, logged. On success *out is the caller's, to
 * cJSON_Delete. */
enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally);

#endif
