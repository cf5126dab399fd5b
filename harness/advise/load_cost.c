/* SPDX-License-Identifier: MIT
 * The cycles of a warp's load in each memory space. */
#include "load_cost.h"

#include <math.h>

#include "access.h"

const struct space_row space_rows[SPACES] = {
    [SPACE_SHUFFLE] = {.path = "shuffle",
                       .bytes_most = UINT64_MAX,
                       .entries_most = CBANK_WARP_THREADS,
                       .width_most = ACCESS_BANK_BYTES,
                       .copied = true},
    /* without an attribute of the kernel */
    [SPACE_SHARED] = {.path = "shared", .bytes_most = 49152, .copied = true, .copy_stores = 1},
    [SPACE_GLOBAL] = {.path = "global", .bytes_most = UINT64_MAX},
    [SPACE_CONSTANT] = {.path = "constant", .bytes_most = CBANK_TABLE_BYTES},
    [SPACE_TEXTURE] = {.path = "texture", .bytes_most = UINT64_MAX},
};

/* The longer one; NaN where one is not known. */
static double longer(double a, double b)
{
    return isnan(a + b) ? NAN : fmax(a, b);
}

/* Times for `passes` of shared memory or of L1. */
static struct cycles passes_cycles(double passes, const struct card *card)
{
    const struct card_number rate = card->number[CARD_SHARED_WAVEFRONTS_PER_CYCLE];

    return (struct cycles){passes / rate.value, passes / rate.high, passes / rate.low};
}

/* The same, and at least what a request takes at a rate of the card. */
static struct cycles request_cycles(enum card_key requests, double passes, const struct card *card)
{
    const struct card_number rate = card->number[requests];
    const struct cycles all = passes_cycles(passes, card);

    return (struct cycles){longer(all.value, 1 / rate.value), longer(all.low, 1 / rate.high),
                           longer(all.high, 1 / rate.low)};
}

struct cycles load_cycles(enum space space, const struct warp_counts *counts, uint32_t width,
                          const struct card *card)
{
    const struct card_number address = card->number[CARD_CONSTANT_ADDRESS_CYCLES];

    switch (space) {
    case SPACE_CONSTANT:
        return (struct cycles){counts->addresses * address.value, counts->addresses * address.low,
                               counts->addresses * address.high};
    case SPACE_SHARED:
        return passes_cycles(counts->wavefronts, card);
    case SPACE_SHUFFLE:
        return passes_cycles(ceil((double)width / ACCESS_BANK_BYTES), card);
    case SPACE_TEXTURE:
        return request_cycles(CARD_TEXTURE_REQUESTS_PER_CYCLE, counts->tag_wavefronts, card);
    default:
        return request_cycles(CARD_L1_REQUESTS_PER_CYCLE,
                              longer(counts->tag_wavefronts, counts->wavefronts), card);
    }
}

struct cycles copy_cycles(enum space space, const struct card *card)
{
    struct cycles sum = request_cycles(CARD_L1_REQUESTS_PER_CYCLE, 1, card);

    cycles_add(&sum, passes_cycles(space_rows[space].copy_stores, card));
    return sum;
}

void cycles_add(struct cycles *sum, struct cycles more)
{
    sum->value += more.value;
    sum->low += more.low;
    sum->high += more.high;
}
