/* SPDX-License-Identifier: MIT
 * Lanes that lie on a ring: see value_ring.h. */
#include "value_ring.h"

#include "value_parts.h"

bool value_ring_lanes(const struct lane_tables *tables, const struct value *value,
                      uint32_t lanes[WARP_LANES])
{
    const struct value stored = {.lanes = value->ring};

    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = lane_of(tables, &stored, i);
    return value->ring != 0;
}

/* The value with a ring of these lanes, if they are not all the same. */
static struct value with_ring(struct lane_tables *tables, struct value value,
                              const uint32_t lanes[WARP_LANES], unsigned ring_zeros,
                              unsigned turn_zeros)
{
    const struct value table = value_with_lanes(tables, value_number(0), lanes);

    if (value_is_followed(&value) || table.lanes < LANES_TABLE)
        return value;
    value.ring = table.lanes;
    value.ring_zeros = (uint8_t)(ring_zeros < WORD_BITS ? ring_zeros : WORD_BITS);
    value.turn_zeros = (uint8_t)(turn_zeros < WORD_BITS ? turn_zeros : WORD_BITS);
    return value;
}

struct value value_ring_of_mask(struct lane_tables *tables, const struct value *value,
                                uint32_t mask, struct value out)
{
    const unsigned zeros = mask ? (unsigned)__builtin_ctz(mask) : WORD_BITS;
    const uint64_t size = ((uint64_t)mask >> (zeros % WORD_BITS)) + 1; /* a power of 2 */
    uint32_t lanes[WARP_LANES];

    /* The unknown part is uniform, and a multiple of 2^bits. It turns the ring. */
    if (mask == 0 || size & (size - 1) || !value_is_followed(value) || value->bits < zeros ||
        value->flags & (FLAG_HALF | FLAG_HIGH))
        return out;
    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = (value->known + lane_of(tables, value, i)) & mask;
    out.flags |= zeros > 0 && value->flags & FLAG_WHOLE ? FLAG_RELIED : 0;
    return with_ring(tables, out, lanes, zeros + (unsigned)__builtin_ctzll(size), value->bits);
}

struct value value_ring_of_product(struct lane_tables *tables, const struct value *factor,
                                   uint32_t number, struct value out)
{
    const struct range range = range_multiplied(value_range(tables, factor), number);
    uint32_t lanes[WARP_LANES];

    /* A range that is not all words has a place for each product of the factor's range. */
    if (!value_ring_lanes(tables, factor, lanes) || (range_is_all(range) && number != 1))
        return out;
    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] *= number;
    return with_ring(tables, out, lanes, factor->ring_zeros + (unsigned)__builtin_ctz(number),
                     factor->turn_zeros + (unsigned)__builtin_ctz(number));
}

static void keep_ring(const struct value *from, struct value *out)
{
    if (value_is_followed(out))
        return;
    out->ring = from->ring;
    out->ring_zeros = from->ring_zeros;
    out->turn_zeros = from->turn_zeros;
}

void value_ring_of_sum(const struct value *a, const struct value *b, struct value *sum)
{
    if (a->ring && value_is_uniform(b))
        keep_ring(a, sum);
    if (b->ring && value_is_uniform(a))
        keep_ring(b, sum);
}

void value_ring_of_either(const struct value *a, const struct value *b, struct value *out)
{
    if (a->ring == b->ring && a->ring_zeros == b->ring_zeros && a->turn_zeros == b->turn_zeros)
        keep_ring(a, out);
}
