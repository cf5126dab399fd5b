/* SPDX-License-Identifier: MIT
 * Bits of abstract values: LOP3. */
#include "value_low.h"
#include "value_parts.h"
#include "value_ring.h"

/* The bits for which one of these rows of LOP3's table can hold: those where the operands can be 1,
 * and where 0. */
static uint32_t bits_of_rows(unsigned rows, const uint32_t ones[3], const uint32_t zeros[3])
{
    uint32_t bits = 0;

    for (unsigned row = 0; row < 8; row++)
        if (rows >> row & 1)
            bits |= (row & 4 ? ones : zeros)[0] & (row & 2 ? ones : zeros)[1] &
                    (row & 1 ? ones : zeros)[2];
    return bits;
}

/* Where an operand can be 1, and where 0; returns where lanes can differ. */
static uint32_t bits_of(const struct lane_tables *tables, const struct value *value, uint32_t *ones,
                        uint32_t *zeros)
{
    const bool followed = value_is_followed(value);
    const uint32_t above = ~low_bits(value->bits);
    uint64_t carries = !followed;

    *ones = *zeros = followed ? above : UINT32_MAX;
    for (unsigned i = 0; i < lanes_apart(value); i++) {
        const uint64_t sum = (uint64_t)value->known + lane_of(tables, value, i);

        *ones |= (uint32_t)sum;
        *zeros |= ~(uint32_t)sum;
        carries |= (sum ^ value->known) >> value->bits;
    }
    return (*ones & *zeros & (carries ? UINT32_MAX : ~above)) |
           (value->flags & FLAG_HALF ? above & ~low_bits(HALF_BITS) : 0);
}

static struct value logic_of(struct lane_tables *tables, const struct value operands[3],
                             unsigned results)
{
    static const unsigned without[3] = {0x0f, 0x33, 0x55}; /* rows in which the operand is 0 */
    struct value out = value_joined(&operands[0], &operands[1]);
    uint32_t lanes[WARP_LANES], ones[3], zeros[3], differing[3], varying = 0, whole = UINT32_MAX,
                                                                 either;
    bool differ = false;

    out = value_joined(&out, &operands[2]);
    out.lanes = LANES_UNIFORM;
    for (unsigned i = 0; i < 3; i++) {
        differing[i] = bits_of(tables, &operands[i], &ones[i], &zeros[i]);
        whole &= low_bits(operands[i].bits);
        differ |= operands[i].lanes != LANES_UNIFORM;
    }
    if (differ && out.flags & FLAG_WHOLE)
        out.flags |= FLAG_RELIED;
    out.flags |= results & 1 ? FLAG_SIGNED : 0;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned flipped = (results >> (4 >> i) & without[i]) | (results & without[i])
                                                                          << (4 >> i);

        varying |= bits_of_rows(results ^ flipped, ones, zeros) & differing[i] & ~whole;
    }
    if (!varying)
        out.flags &= (uint8_t)~FLAG_HALF;
    else if (!(out.flags & FLAG_HALF) || varying & low_bits(HALF_BITS))
        return value_not_followed(out, !(out.flags & FLAG_DATA), WHY_ARITHMETIC);
    /* In bits of `whole` each lane is known. Above, bits that are known the same way extend it. */
    const uint32_t known = bits_of_rows(results, ones, zeros) & ~whole;

    either = known & bits_of_rows(~results, ones, zeros);
    out.bits = (uint8_t)(either ? __builtin_ctz(either) : WORD_BITS);
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (lane > 0 && !differ) {
            lanes[lane] = lanes[0];
            continue;
        }
        for (unsigned i = 0; i < 3; i++) {
            ones[i] = operands[i].known + lane_of(tables, &operands[i], lane);
            zeros[i] = ~ones[i];
        }
        lanes[lane] = (bits_of_rows(results, ones, zeros) & whole) | (known & low_bits(out.bits));
    }
    out.why = 0;
    out = value_with_lanes(tables, out, lanes);
    out.displacement = 0;
    return value_leveled(out);
}

/* Where the bits that are not known of each lane are those of one operand, the result is that
 * operand and a number in each lane: (x & ~7) | y, x ^ y where y stays below the bits that are
 * known of x. False: it is no such operation. */
static bool logic_of_low_bits(struct lane_tables *tables, const struct value operands[3],
                              unsigned results, struct value *out)
{
    static const unsigned rows[3] = {0xf0, 0xcc, 0xaa}; /* in which the operand is 1 */
    uint32_t ones[3], zeros[3], lanes[WARP_LANES], whole = UINT32_MAX;
    struct value all = value_joined(&operands[0], &operands[1]);
    const struct value *kept = NULL;

    all = value_joined(&all, &operands[2]);
    for (unsigned i = 0; i < 3; i++) {
        bits_of(tables, &operands[i], &ones[i], &zeros[i]);
        whole &= low_bits(operands[i].bits);
    }
    for (unsigned i = 0; i < 3; i++)
        if (operands[i].lanes >= LANES_TABLE && !(operands[i].flags & (FLAG_HALF | FLAG_HIGH)) &&
            !(bits_of_rows(results ^ rows[i], ones, zeros) & ~whole))
            kept = &operands[i];
    if (!kept)
        return false;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        for (unsigned i = 0; i < 3; i++) {
            ones[i] = operands[i].known + lane_of(tables, &operands[i], lane);
            zeros[i] = ~ones[i];
        }
        lanes[lane] = (bits_of_rows(results, ones, zeros) & whole) -
                      ((kept->known + lane_of(tables, kept, lane)) & whole);
    }
    *out = value_relied(value_add(tables, *kept, value_lanes(tables, lanes)), all.flags);
    out->flags |= (all.flags & FLAG_SIGNED) | (results & 1 ? FLAG_SIGNED : 0) |
                  (all.flags & FLAG_WHOLE ? FLAG_RELIED : 0);
    out->displacement = out->origin = out->several = 0;
    return true;
}

/* The low bits of a result. So many of them are known as `bits` says. */
static struct value_low logic_low(const struct lane_tables *tables, const struct value operands[3],
                                  unsigned results, unsigned bits)
{
    struct value_low low[3], all = {.bits = bits};
    uint32_t ones[3], zeros[3];

    for (unsigned i = 0; i < 3; i++)
        low[i] = value_low_of(tables, &operands[i]);
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        for (unsigned i = 0; i < 3; i++) {
            ones[i] = low[i].lanes[lane];
            zeros[i] = ~ones[i];
        }
        all.lanes[lane] = bits_of_rows(results, ones, zeros);
    }
    return all;
}

/* The operand whose bits an AND with a number takes; NULL: the operation is no such AND. */
static const struct value *masked(const struct value operands[3], unsigned results, uint32_t *mask)
{
    static const unsigned rows[3] = {0xf0, 0xcc, 0xaa}; /* in which the operand is 1 */

    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++)
            if (i != k && results == (rows[i] & rows[k]) && value_is_number(&operands[k])) {
                *mask = operands[k].known;
                return &operands[i];
            }
    return NULL;
}

/* An AND that takes bits which all lanes share follows from these; one that takes others may turn
 * lanes around a ring. */
static void logic_with_mask(struct lane_tables *tables, const struct value operands[3],
                            unsigned results, struct value *out)
{
    uint32_t mask;
    const struct value *const value = masked(operands, results, &mask);
    const unsigned from = value ? value_uniform_from(tables, value) : WORD_BITS;

    if (from < WORD_BITS && !(mask & low_bits(from)))
        *out = value_of_shared_bits(value);
    else if (value)
        *out = value_ring_of_mask(tables, value, mask, *out);
}

struct value value_logic(struct lane_tables *tables, const struct value read[3], unsigned results)
{
    const struct value operands[] = {value_as_number(read[0]), value_as_number(read[1]),
                                     value_as_number(read[2])};
    unsigned bits = WORD_BITS;
    struct value out;
    struct value_low low;
    uint32_t ones[3], zeros[3];

    for (unsigned i = 0; i < 3; i++) {
        ones[i] = range_ones(value_range(tables, &operands[i]));
        zeros[i] = value_is_number(&operands[i]) ? ~operands[i].known : UINT32_MAX;
        ones[i] &= value_is_number(&operands[i]) ? operands[i].known : UINT32_MAX;
        bits = value_low_bits(&operands[i]) < bits ? value_low_bits(&operands[i]) : bits;
    }
    out = logic_of(tables, operands, results);
    if (!value_is_followed(&out) && !logic_of_low_bits(tables, operands, results, &out))
        logic_with_mask(tables, operands, results, &out);
    out = value_in_range(out, range_of(0, bits_of_rows(results, ones, zeros)));
    if (value_is_followed(&out) || bits == 0)
        return out;
    low = logic_low(tables, operands, results, bits);
    return value_with_low(tables, out, &low);
}
