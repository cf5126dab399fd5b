/* SPDX-License-Identifier: MIT
 * Modifiers of the instructions whose results are followed exactly, as sums, shifts or the like.
 *
 * Bits 72 to 91 hold modifiers and predicates. Those that compilers were seen to set, or whose
 * meaning the transfer functions have, stand in the table. Any other may make something else of the
 * operands: that is some function of them. */
#include "instruction.h"

#define BIT(n)         (1u << ((n) - MODIFIERS_FIRST))
#define BITS(from, to) ((BIT(to) << 1) - BIT(from))

enum { MODIFIERS_FIRST = 72, MODIFIERS_COUNT = 20, HALF_OF_CODE = 64, MOVED_BYTES = 0xf };

/* Predicates that are written, those that are read, and whether an operand is uniform. */
#define WRITTEN BITS(81, 86)
#define READ    BITS(87, 91)

static const struct modelled {
    uint16_t opcode;
    uint32_t bits;
} modelled[] = {
    {OPCODE_SEL, BIT(80) | WRITTEN | READ},
    {OPCODE_FSEL, BIT(72) | READ},
    {OPCODE_ISETP, BITS(72, 78) | BITS(80, 86) | READ},
    {OPCODE_IADD3, BIT(72) | BITS(74, 75) | BITS(77, 86) | READ},
    {OPCODE_LEA, BITS(72, 80) | WRITTEN | READ},
    {OPCODE_LOP3, BITS(72, 79) | WRITTEN | READ},
    {OPCODE_PRMT, BITS(72, 74) | BIT(91)},
    {OPCODE_SHF, BITS(73, 76) | BIT(80) | BIT(91)},
    {OPCODE_IMAD, BITS(73, 75) | WRITTEN | READ},
    {OPCODE_IMAD_WIDE, BITS(73, 74) | WRITTEN | READ},
    {OPCODE_VIADD, BIT(72) | BIT(91)},
    {OPCODE_USEL, BIT(80) | WRITTEN | READ},
    {OPCODE_UISETP, BITS(72, 78) | BITS(80, 86) | READ},
    {OPCODE_UIADD3, BIT(72) | BITS(74, 75) | BITS(77, 86) | READ},
    {OPCODE_ULEA, BITS(72, 80) | WRITTEN | READ},
    {OPCODE_ULOP3, BITS(72, 79) | WRITTEN | READ},
    {OPCODE_UPRMT, BITS(72, 74) | BIT(91)},
    {OPCODE_USHF, BITS(73, 76) | BIT(80) | BIT(91)},
    {OPCODE_UIMAD, BITS(73, 75) | WRITTEN | READ},
    {OPCODE_UIMAD_WIDE, BITS(73, 74) | WRITTEN | READ},
    {OPCODE_UIADD3_64, BIT(72) | BITS(74, 75) | BITS(77, 86) | READ},
};

/* Whether an operand lies in a constant bank that a uniform register names: cx[UR4][0x10]. No
 * compiler of CUDA was seen to make one. */
static bool has_bindless_constant(const struct instruction *in)
{
    const bool loads = in->opcode == OPCODE_LDC || in->opcode == OPCODE_ULDC;

    return (loads || instruction_takes_constant(in)) && instruction_field(in, FIELD_BINDLESS);
}

enum transfer instruction_transfer(const struct instruction *in)
{
    const uint32_t modifiers = (uint32_t)(in->high >> (MODIFIERS_FIRST - HALF_OF_CODE)) &
                               BITS(MODIFIERS_FIRST, MODIFIERS_FIRST + MODIFIERS_COUNT - 1);
    const bool followed = in->transfer >= TRANSFER_ADD && in->transfer <= TRANSFER_COMPARE;

    /* MOV of some of the bytes: the others stay. One of 64 bits from the code has no mask. */
    if (in->opcode == OPCODE_MOV && in->form != FORM_IMMEDIATE_C &&
        (modifiers & MOVED_BYTES) != MOVED_BYTES)
        return TRANSFER_UNKNOWN;
    if (has_bindless_constant(in))
        return TRANSFER_UNKNOWN;
    for (size_t i = 0; followed && i < sizeof(modelled) / sizeof(modelled[0]); i++)
        if (modelled[i].opcode == in->opcode && modifiers & ~modelled[i].bits)
            return TRANSFER_FUNCTION;
    return in->transfer;
}
