/* SPDX-License-Identifier: MIT
 * Low bits that are known, high bits that lanes share: see value_low.h. */
#include "value_low.h"

#include "value_parts.h"

/* The value itself has its low bits. */
static bool is_whole(const struct value *value)
{
    return value_is_followed(value) && !(value->flags & (FLAG_HALF | FLAG_HIGH));
}

unsigned value_low_bits(const struct value *value)
{
    return is_whole(value) ? value->bits : value->low_bits;
}

struct value_low value_low_of(const struct lane_tables *tables, const struct value *value)
{
    const struct value stored = {.lanes = value->low_lanes};
    const bool followed = is_whole(value);
    struct value_low out = {.bits = value_low_bits(value)};

    for (unsigned i = 0; i < WARP_LANES; i++)
        out.lanes[i] = followed ? value->known + lane_of(tables, value, i)
                                : value->low_known + lane_of(tables, &stored, i);
    return out;
}

struct value value_with_low(struct lane_tables *tables, struct value value,
                            const struct value_low *low)
{
    uint32_t lanes[WARP_LANES];
    struct value known;

    if (value_is_followed(&value) || low->bits == 0)
        return value;
    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = low->lanes[i] & low_bits(low->bits);
    known = value_with_lanes(tables, value_number(0), lanes);
    if (!value_is_followed(&known))
        return value;
    value.low_bits = (uint8_t)low->bits;
    value.low_lanes = known.lanes;
    value.low_known = known.known;
    return value;
}

unsigned value_uniform_from(const struct lane_tables *tables, const struct value *value)
{
    if (value_is_uniform(value))
        return 0;
    if (value->flags & (FLAG_HALF | FLAG_HIGH))
        return WORD_BITS;
    if (!value_is_followed(value))
        return value->uniform_from ? value->uniform_from : WORD_BITS;
    /* What lanes add stays below: it carries nothing into the bits above. */
    return value_lanes_stay(tables, value) ? value->bits : WORD_BITS;
}

struct value value_of_shared_bits(const struct value *value)
{
    struct value out = value_uniform(LEVEL_WARP);

    out.why = value->why == WHY_DATA ? WHY_DATA : WHY_NONE;
    out.flags = (value->flags & (FLAG_DATA | FLAG_RELIED)) | FLAG_SIGNED |
                (value->flags & FLAG_WHOLE ? FLAG_RELIED : 0);
    return out;
}

bool value_banks_are_apart(const struct lane_tables *tables, const struct value *address)
{
    enum { BANK_BITS = 5, BANK_BYTES = 4, ROW_BITS = 7 };
    const struct value_low low = value_low_of(tables, address);
    uint32_t banks = 0;

    for (unsigned i = 0; i < WARP_LANES; i++)
        banks |= 1u << (low.lanes[i] / BANK_BYTES % (1u << BANK_BITS));
    return low.bits >= ROW_BITS && banks == UINT32_MAX;
}
