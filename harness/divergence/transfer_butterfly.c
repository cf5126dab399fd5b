/* SPDX-License-Identifier: MIT
 * Butterfly reductions: lanes exchange values with those whose number differs in one bit, and each
 * makes the same of both.
 *
 *     lane      0      1      2      3
 *               a      b      c      d
 *     ^ 1     a + b  b + a  c + d  d + c        0 and 1 are alike, 2 and 3
 *     ^ 2     (a + b) + (c + d), ...            all are alike
 *
 * What is made must not depend on which of the two is one's own: integer sums, and bits of both. It
 * needs no other law, as both lanes combine the same two values. Then every function of it alone is
 * alike, too. All threads of the warp must have a part: what a lane gets from one that has none is
 * not defined. Floating point is left out: sums of two NaNs may be either. */
#include "transfer.h"

/* All threads of a warp are there: warps are whole, and execute this together. */
static bool all_take_part(const struct machine *machine)
{
    const uint32_t *block = machine->facts->block;

    return machine->whole && !machine->partial &&
           (block[0] == 0 || block[0] * block[1] * block[2] % WARP_LANES == 0);
}

bool transfer_exchange(const struct step *step, struct exchange *out)
{
    enum { BUTTERFLY = 3, LANE_IN_CODE = 7 /* form: also the clamp is in the code */ };
    const struct instruction *in = step->in;
    const uint32_t bit = step_field(step, FIELD_SHUFFLE_LANE);

    if (in->opcode != OPCODE_SHFL || step_field(step, FIELD_SHUFFLE_MODE) != BUTTERFLY ||
        in->form != LANE_IN_CODE || step_field(step, FIELD_SHUFFLE_CLAMP) != WARP_LANES - 1 ||
        bit == 0 || bit & (bit - 1) || in->source[SOURCE_A].number == REGISTER_ZERO ||
        !all_take_part(step->machine))
        return false;
    *out = (struct exchange){.source = (uint16_t)in->source[SOURCE_A].number, .bit = (uint8_t)bit};
    return true;
}

/* The bit by which one source is an exchange of another; 0: it is none. */
static uint8_t exchanged(const struct step *step, unsigned i, unsigned k)
{
    const struct machine *machine = step->machine;
    const struct operand *own = &step->in->source[i], *theirs = &step->in->source[k];
    const struct exchange *exchange;

    if (own->kind != OPERAND_REGISTER || theirs->kind != OPERAND_REGISTER ||
        own->number >= REGISTER_ZERO || theirs->number >= REGISTER_ZERO || own->negated ||
        theirs->negated)
        return 0;
    exchange = &machine->exchanges[theirs->number];
    return exchange->visit == machine->visit && exchange->source == own->number &&
                   exchange->written == machine->written[theirs->number] &&
                   machine->written[own->number] < exchange->written
               ? exchange->bit
               : 0;
}

/* Whether an instruction makes the same of two sources if they are exchanged. */
static bool is_symmetric(const struct step *step, unsigned i, unsigned k)
{
    const struct instruction *in = step->in;
    const unsigned table = step_field(step, FIELD_LOGIC_TABLE);
    struct value factor;

    switch (in->opcode) {
    case OPCODE_IADD3:
        return !step_field(step, FIELD_EXTENDED);
    case OPCODE_VIADD:
    case OPCODE_IMNMX:
    case OPCODE_VIMNMX:
        return k == SOURCE_B;
    case OPCODE_IMAD: /* a * 1 + c */
        factor = step_source(step, SOURCE_B, 0);
        return i == SOURCE_A && k == SOURCE_C && value_is_number(&factor) && factor.known == 1 &&
               !step_field(step, FIELD_EXTENDED);
    case OPCODE_LOP3: /* the table's rows are those of a, b and c */
        for (unsigned row = 0; row < 8; row++) {
            const unsigned bit_i = row >> (SOURCE_C - i) & 1, bit_k = row >> (SOURCE_C - k) & 1;
            const unsigned swapped = (row & ~(1u << (SOURCE_C - i)) & ~(1u << (SOURCE_C - k))) |
                                     bit_k << (SOURCE_C - i) | bit_i << (SOURCE_C - k);

            if ((table >> row & 1) != (table >> swapped & 1))
                return false;
        }
        return true;
    default:
        return false;
    }
}

/* Two sources of which one is an exchange of the other: all bits of their numbers; 0: there are
 * none. */
static unsigned exchanged_pair(const struct step *step, uint8_t *bit)
{
    for (unsigned i = 0; i < SOURCE_C; i++)
        for (unsigned k = i + 1; k <= SOURCE_C; k++) {
            *bit = exchanged(step, i, k);
            *bit = *bit ? *bit : exchanged(step, k, i);
            if (*bit && is_symmetric(step, i, k))
                return 1u << i | 1u << k;
        }
    return 0;
}

struct value transfer_butterfly(const struct step *step, struct value value)
{
    const bool shape_known = step->machine->facts->block[0];
    const struct value inputs = machine_inputs(step->machine, step->state, step->in);
    uint8_t bit = 0, alike = value_alike(&inputs);
    unsigned pair;

    if (value.lanes != LANES_DIVERGENT && value.lanes != LANES_THREAD)
        return value;
    pair = exchanged_pair(step, &bit);
    /* What else is read is the same for both lanes. */
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        if (!(pair >> i & 1) && step->in->source[i].kind != OPERAND_NONE) {
            const struct value third = step_source(step, i, 0);

            alike &= value_alike(&third);
        }
    if (!pair || !(alike & bit))
        return value;
    return value_alike_in(value_relied(value, shape_known ? 0 : FLAG_RELIED), bit);
}
