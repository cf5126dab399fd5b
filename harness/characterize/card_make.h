/* SPDX-License-Identifier: MIT
 * A card from a characterization: what was measured of a chip, and where every number comes from. JSON, schema
 * results/card.schema.json. */
#ifndef CBANK_CARD_MAKE_H
#define CBANK_CARD_MAKE_H

#include "card.h"
#include "characterization.h"

struct card_request {
    const struct characterization *found;
    const char *file;      /* which holds the answers that it rests on; NULL: none */
    const char *base_path; /* card whose numbers stand where nothing was found; NULL: built in */
};

/* Where the numbers of a card come from. */
struct card_tally {
    size_t characterized, device, base, unknown;
    char base_name[CARD_NAME_BYTES]; /* of the base card; "" where that is of another chip, and nothing was taken of it */
};

/* Makes the card. A number is what an experiment found, else what the driver says, else that of the base card, if that card
 * is of the same chip (name, compute capability, number of SMs), else null with the reason. STATUS_USAGE for a bad base
 * card or file, logged. On success *out is the caller's, to cJSON_Delete. */
enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally);

#endif
