/* SPDX-License-Identifier: MIT
 * Where the results of instructions lie whatever they read: bytes that are loaded, numbers of
 * threads, bits that are counted. */
#include "transfer.h"

enum { BYTE_BITS = 8, WORD_BYTES = 4, TYPE_SIGNED = 1, TYPE_SIGNED_FIRST = 2 };

static const struct range any = {0};

/* Of loads of a part of a word, by FIELD_SIZE. */
static struct range loaded(const struct step *step)
{
    switch (step->in->opcode) {
    case OPCODE_LDC:
    case OPCODE_ULDC:
    case OPCODE_ULDC_INDEXED:
    case OPCODE_LDCU:
    case OPCODE_LDL:
    case OPCODE_LD:
    case OPCODE_LDG:
    case OPCODE_LDS:
        break;
    default:
        return any;
    }
    switch (step_field(step, FIELD_SIZE)) {
    case SIZE_BYTE:
        return range_of(0, UINT8_MAX);
    case SIZE_SIGNED_BYTE:
        return range_of((uint32_t)INT8_MIN, INT8_MAX);
    case SIZE_HALF:
        return range_of(0, UINT16_MAX);
    case SIZE_SIGNED_HALF:
        return range_of((uint32_t)INT16_MIN, INT16_MAX);
    default:
        return any;
    }
}

/* A number of a thread in its block, or of a lane. */
static struct range special(const struct step *step)
{
    const uint32_t number = step_field(step, FIELD_SPECIAL), axis = number - SPECIAL_TID_X;
    const uint32_t size = axis < 3 ? step->machine->facts->block[axis] : 0;

    if (step->in->opcode != OPCODE_S2R && step->in->opcode != OPCODE_S2UR)
        return any;
    if (number == SPECIAL_LANE)
        return range_of(0, WARP_LANES - 1);
    if (axis >= 3)
        return any;
    return range_of(0, (size                      ? size
                        : number == SPECIAL_TID_Z ? BLOCK_DEPTH_MAX
                                                  : BLOCK_THREADS_MAX) -
                           1);
}

bool transfer_is_least(const struct step *step, bool *is_signed)
{
    const struct instruction *in = step->in;
    const uint32_t type = step_field(step, FIELD_MODE),
                   sign = in->opcode == OPCODE_IMNMX ? TYPE_SIGNED_FIRST : TYPE_SIGNED;

    *is_signed = type == sign;
    /* Others compare halves of words. */
    return (in->opcode == OPCODE_IMNMX || in->opcode == OPCODE_VIMNMX) && !(type & ~sign) &&
           in->input[0].number == PREDICATE_TRUE;
}

/* The lesser of two, or the greater one where the predicate is negated. */
static struct range least(const struct step *step)
{
    const struct lane_tables *lanes = &step->machine->lanes;
    const struct value a = step_source(step, SOURCE_A, 0), b = step_source(step, SOURCE_B, 0);
    bool is_signed;

    return transfer_is_least(step, &is_signed)
               ? range_of_least(value_range(lanes, &a), value_range(lanes, &b),
                                step->in->input[0].negated, is_signed)
               : any;
}

/* PRMT: bytes that are zero stay zero, as where a byte becomes a word. */
static struct range permuted(const struct step *step)
{
    enum { SELECTED = 7, SIGN = 8, SELECTOR_BITS = 4 };
    const struct lane_tables *lanes = &step->machine->lanes;
    const struct value selector = step_source(step, SOURCE_B, 0),
                       a = step_source(step, SOURCE_A, 0), c = step_source(step, SOURCE_C, 0);
    const uint32_t ones[] = {range_ones(value_range(lanes, &a)),
                             range_ones(value_range(lanes, &c))};
    uint32_t out = 0;

    if (!value_is_number(&selector) || step_field(step, FIELD_MODE))
        return any;
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        const uint32_t select = selector.known >> (i * SELECTOR_BITS);
        const uint32_t byte =
            ones[(select & SELECTED) / WORD_BYTES] >> (select % WORD_BYTES * BYTE_BITS) & UINT8_MAX;

        out |= (select & SIGN && byte ? UINT8_MAX : byte) << (i * BYTE_BITS);
    }
    return range_of(0, out);
}

struct range transfer_range(const struct step *step)
{
    switch (step->in->transfer) {
    case TRANSFER_LOAD:
        return loaded(step);
    case TRANSFER_SPECIAL:
        return special(step);
    case TRANSFER_PERMUTE:
        return permuted(step);
    case TRANSFER_FUNCTION:
        break;
    default:
        return any;
    }
    switch (step->in->opcode) {
    case OPCODE_POPC:
        return range_of(0, WORD_BITS);
    case OPCODE_FLO: /* -1, where no bit is set */
        return range_of(UINT32_MAX, WORD_BITS - 1);
    case OPCODE_IMNMX:
    case OPCODE_VIMNMX:
        return least(step);
    default:
        return any;
    }
}
