/* SPDX-License-Identifier: MIT
 * The transfer functions of instructions: see transfer.h. What is not known to be a sum, a product,
 * a shift, a selection or the like is some function of all that is read. */
#include "transfer.h"

/* -- what is read ------------------------------------------------------------------------------ */

struct value step_source(const struct step *step, unsigned i, unsigned word)
{
    return machine_source(step->machine, step->state, step->in, step->index, i, word);
}

struct value step_input(const struct step *step, unsigned i)
{
    return machine_input(step->machine, step->state, step->in, i);
}

uint32_t step_field(const struct step *step, enum bit_field field)
{
    return instruction_field(step->in, field);
}

/* A source with its sign. */
static struct value signed_source(const struct step *step, unsigned i)
{
    const struct operand *operand = &step->in->source[i];
    const struct value value = step_source(step, i, 0);

    return operand->negated && operand->kind != OPERAND_NONE
               ? value_negate(&step->machine->lanes, value)
               : value;
}

/* Some function of all that is read. */
static struct value function_of_all(const struct step *step)
{
    struct value values[INPUTS_MAX + 2 * OPERANDS_MAX];
    size_t count = 0;

    for (unsigned i = 0; i < INPUTS_MAX; i++)
        if (step->in->input[i].number != PREDICATE_TRUE) /* a number decides nothing */
            values[count++] = step_input(step, i);
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        for (unsigned word = 0; word < step->in->source[i].words && word < 2; word++)
            values[count++] = step_source(step, i, word);
    return value_function(values, count);
}

/* -- sums, products, shifts -------------------------------------------------------------------- */

struct value transfer_high(const struct value *parts, size_t count, const struct value *low)
{
    struct value out = value_uniform(LEVEL_GRID);

    for (size_t i = 0; i < count + (low != NULL); i++) {
        const struct value *part = i < count ? &parts[i] : low;

        /* Lanes of a function that is not followed need not go as those of the low word do. */
        if (part->lanes == LANES_DIVERGENT || part->flags & FLAG_HALF ||
            (i < count && part->lanes == LANES_THREAD))
            return value_of_both(value_function(parts, count), low ? *low : value_number(0));
        out.level = part->level > out.level ? part->level : out.level;
        if (part->origin == ORIGIN_SHARED && i < count)
            out.origin = ORIGIN_SHARED;
        out.flags |= (part->flags & (FLAG_RELIED | FLAG_DATA)) |
                     (part->lanes != LANES_UNIFORM ? FLAG_HIGH : 0) |
                     (i < count ? part->flags & FLAG_HIGH : 0);
    }
    return out;
}

/* The high word of a sum with that low word, or its carry, without the mark of one that goes with
 * the low word: where what lanes add stays below what they share, in each part and in the sum,
 * nothing of it is carried. */
static struct value without_carry(const struct step *step, struct value high,
                                  const struct value *parts, size_t count, const struct value *low)
{
    const struct lane_tables *lanes = &step->machine->lanes;
    bool alike = high.lanes == LANES_UNIFORM && value_lanes_stay(lanes, low);

    for (size_t i = 0; i < count; i++)
        alike &= value_lanes_stay(lanes, &parts[i]);
    if (!alike || !(high.flags & FLAG_HIGH))
        return high;
    high.flags &= (uint8_t)~FLAG_HIGH;
    high.flags |= low->flags & FLAG_WHOLE ? FLAG_RELIED : 0;
    return high;
}

static bool all_uniform(const struct value *values, size_t count)
{
    bool uniform = true;

    for (size_t i = 0; i < count; i++)
        uniform &= value_is_uniform(&values[i]);
    return uniform;
}

/* What an operand is known to be the one or the other of; NULL: nothing of the kind. */
static const struct choice *choice_of(const struct step *step, unsigned i)
{
    const struct operand *operand = &step->in->source[i];
    const struct choice *choice =
        operand->kind == OPERAND_REGISTER ? &step->machine->choices[operand->number] : NULL;

    return choice && choice->visit == step->machine->visit &&
                   choice->from == step->state[operand->number].from
               ? choice
               : NULL;
}

static struct value sum_of_three(const struct step *step, const struct value *parts)
{
    struct lane_tables *lanes = &step->machine->lanes;

    return value_add(lanes, value_add(lanes, parts[SOURCE_A], parts[SOURCE_B]), parts[SOURCE_C]);
}

/* The sum of three words. Where one of them is a choice, it is one of two sums: max(992, x) - x +
 * 31 is 1023 - x or 31. */
static struct value low_sum(const struct step *step, const struct value parts[OPERANDS_MAX])
{
    struct lane_tables *lanes = &step->machine->lanes;

    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        const struct choice *choice = choice_of(step, i);
        struct value sums[2], replaced[OPERANDS_MAX] = {parts[0], parts[1], parts[2]};

        for (unsigned k = 0; choice && k < 2; k++) {
            replaced[i] = step->in->source[i].negated ? value_negate(lanes, choice->values[k])
                                                      : choice->values[k];
            sums[k] = sum_of_three(step, replaced);
        }
        if (choice)
            return value_select(lanes, choice->first, sums[0], sums[1]);
    }
    return sum_of_three(step, parts);
}

/* a + b + c. IADD3.X adds two carries, and is a high word. */
static struct value sum(const struct step *step, unsigned word)
{
    struct value parts[OPERANDS_MAX + 2], low;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        parts[i] = signed_source(step, i);
    if (step->in->transfer == TRANSFER_ADD && step->in->opcode != OPCODE_VIADD &&
        step_field(step, FIELD_EXTENDED)) {
        parts[OPERANDS_MAX] = step_input(step, 0);
        parts[OPERANDS_MAX + 1] = step_input(step, 1);
        return transfer_high(parts, OPERANDS_MAX + 2, NULL);
    }
    low = low_sum(step, parts);
    if (word == 0)
        return low;
    struct value high[OPERANDS_MAX];

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        high[i] = step_source(step, i, 1);
    const struct value all = transfer_high(high, OPERANDS_MAX, &low);

    return all_uniform(high, OPERANDS_MAX) ? without_carry(step, all, parts, OPERANDS_MAX, &low)
                                           : all;
}

/* a * b + c */
static struct value product(const struct step *step, unsigned word)
{
    struct lane_tables *lanes = &step->machine->lanes;
    struct value a = step_source(step, SOURCE_A, 0), b = step_source(step, SOURCE_B, 0), low;

    if (step->in->transfer == TRANSFER_MULTIPLY && step_field(step, FIELD_EXTENDED)) {
        /* IMAD.X: compilers add a carry to high words by it, with 0 or 1 as the factor. */
        const bool kept = value_is_number(&b) && b.known == 1 &&
                          !step->in->source[SOURCE_A].negated &&
                          !step->in->source[SOURCE_B].negated;
        const struct value parts[] = {kept ? a
                                           : value_multiply(lanes, value_plain(a), value_plain(b)),
                                      step_source(step, SOURCE_C, 0), step_input(step, 0)};

        return transfer_high(parts, sizeof(parts) / sizeof(parts[0]), NULL);
    }
    b = signed_source(step, SOURCE_B);
    low = value_add(lanes, value_multiply(lanes, value_plain(a), value_plain(b)),
                    signed_source(step, SOURCE_C));
    if (word == 0)
        return low;
    struct value parts[] = {value_plain(a), value_plain(b), step_source(step, SOURCE_C, 1)};

    /* Where the low word differs by its factors, the high one does with it. */
    for (unsigned i = 0; i < SOURCE_C; i++)
        if (parts[i].lanes == LANES_THREAD && low.lanes == LANES_THREAD)
            parts[i].lanes = LANES_AFFINE;
    const struct value third = signed_source(step, SOURCE_C);

    const struct value all = transfer_high(parts, OPERANDS_MAX, &low);

    return all_uniform(parts, OPERANDS_MAX) ? without_carry(step, all, &third, 1, &low) : all;
}

/* LEA: a, shifted to the left, and b. LEA.HI: the bits of a with c above it that the shift brings
 * into the next word, and b. */
static struct value shifted_sum(const struct step *step)
{
    struct lane_tables *lanes = &step->machine->lanes;
    const unsigned by = step_field(step, FIELD_LEA_SHIFT);
    const bool high = step_field(step, FIELD_HIGH_WORD),
               extended = step_field(step, FIELD_EXTENDED);
    const struct value parts[] = {signed_source(step, SOURCE_A), step_source(step, SOURCE_B, 0),
                                  step_source(step, SOURCE_C, 0), step_input(step, 0)};
    const struct value a = value_plain(parts[SOURCE_A]), b = parts[SOURCE_B];
    struct value out;

    if (high && !extended && by > 0 && step->in->source[SOURCE_C].number == REGISTER_ZERO &&
        !step->in->source[SOURCE_A].negated) {
        /* The operand, shifted to the right: .SX32 brings its sign. */
        out = value_shift_right(lanes, a, WORD_BITS - by, step_field(step, FIELD_SIGNED));
        if (out.lanes != LANES_DIVERGENT && out.lanes != LANES_THREAD && !(b.flags & FLAG_HIGH))
            return value_add(lanes, out, b);
    }
    if (high || extended)
        return transfer_high(parts, sizeof(parts) / sizeof(parts[0]), NULL);
    return value_add(lanes, value_multiply(lanes, a, value_number(1u << by)), b);
}

bool transfer_quotient(const struct step *step, struct quotient *out)
{
    const struct instruction *in = step->in;
    const struct value a = step_source(step, SOURCE_A, 0), b = step_source(step, SOURCE_B, 0);

    if ((in->opcode != OPCODE_IMAD_WIDE && in->opcode != OPCODE_IMAD_HI) ||
        step_field(step, FIELD_SIGNED) || step_field(step, FIELD_EXTENDED) ||
        in->source[SOURCE_C].number != REGISTER_ZERO || !value_is_number(&b) || b.known == 0)
        return false;
    *out = (struct quotient){.dividend = value_plain(a), .factor = b.known};
    return true;
}

/* A high word of a product, shifted to the right, as the quotient that compilers mean by it: x * m
 * >> (32 + by) is x / d for all x of 32 bits where 2^(32 + by) <= m * d <= 2^(32 + by) + 2^by (T.
 * Granlund, P. Montgomery: Division by Invariant Integers using Multiplication. PLDI 1994). */
static bool quotient(const struct step *step, unsigned by, struct value *out)
{
    const uint32_t number = step->in->source[SOURCE_C].number;
    const struct quotient *found = step->in->source[SOURCE_C].kind == OPERAND_REGISTER
                                       ? &step->machine->quotients[number]
                                       : NULL;
    uint64_t power, divisor, rest;

    if (!found || found->visit != step->machine->visit || found->from != step->state[number].from ||
        by >= WORD_BITS - 1)
        return false;
    power = UINT64_C(1) << (WORD_BITS + by);
    divisor = (power + found->factor - 1) / found->factor;
    rest = divisor * found->factor - power;
    return divisor <= UINT32_MAX && rest <= UINT64_C(1) << by &&
           value_divide(&step->machine->lanes, found->dividend, (uint32_t)divisor, out);
}

/* SHF: a word of the pair c:a, shifted by b. */
static struct value shift(const struct step *step)
{
    struct lane_tables *lanes = &step->machine->lanes;
    const struct value parts[OPERANDS_MAX] = {step_source(step, SOURCE_A, 0),
                                              step_source(step, SOURCE_B, 0),
                                              step_source(step, SOURCE_C, 0)};
    const unsigned type = step_field(step, FIELD_SHIFT_TYPE);
    const bool right = step_field(step, FIELD_SHIFT_RIGHT),
               high = step_field(step, FIELD_HIGH_WORD);
    const bool one_word = type >= SHIFT_S32, is_signed = type == SHIFT_S32 || type == SHIFT_S64;
    const uint32_t a = step->in->source[SOURCE_A].number;
    const unsigned by = parts[SOURCE_B].known & UINT8_MAX;
    struct value out;

    if (!value_is_number(&parts[SOURCE_B]))
        return value_function(parts, OPERANDS_MAX);
    if (!right && !high && (one_word || by < WORD_BITS))
        return by < WORD_BITS
                   ? value_multiply(lanes, value_plain(parts[SOURCE_A]), value_number(1u << by))
                   : value_number(0);
    if (right && high && type == SHIFT_U32 && a == REGISTER_ZERO && quotient(step, by, &out))
        return out;
    if (right && high && one_word && (a == REGISTER_ZERO || a == UNIFORM_ZERO))
        return value_shift_right(lanes, value_plain(parts[SOURCE_C]), by, is_signed);
    /* The low word of a pair that is shifted to the right: where the high word differs, the bits
     * that come of the low one are known. */
    if (right && !high && !one_word && by < WORD_BITS) {
        const struct value low = value_shift_right(lanes, value_plain(parts[SOURCE_A]), by, false);

        if (value_is_uniform(&parts[SOURCE_C]) && by > 0)
            return value_add(lanes, low,
                             value_multiply(lanes, parts[SOURCE_C],
                                            value_number(1u << (WORD_BITS - by))));
        if (by <= HALF_BITS)
            return value_half(low, parts[SOURCE_C].flags);
    }
    /* The high word of a pair that is shifted to the left. */
    if (!right && high && !one_word && by < WORD_BITS && parts[SOURCE_C].lanes == LANES_UNIFORM)
        return transfer_high(&parts[SOURCE_C], 1, &parts[SOURCE_A]);
    return value_function(parts, OPERANDS_MAX);
}

/* -- bits and bytes ---------------------------------------------------------------------------- */

/* ~x is -x - 1. ~x of a high word goes with ~x of its low one. */
static struct value complement(const struct step *step, const struct value *x)
{
    struct lane_tables *lanes = &step->machine->lanes;

    return x->flags & FLAG_HIGH
               ? transfer_high(x, 1, NULL)
               : value_add(lanes, value_negate(lanes, *x), value_number(UINT32_MAX));
}

static struct value logic(const struct step *step)
{
    static const uint8_t complements[OPERANDS_MAX] = {0x0f, 0x33, 0x55}; /* of one operand */
    const uint32_t table = step_field(step, FIELD_LOGIC_TABLE);
    struct value operands[OPERANDS_MAX], out;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        operands[i] = value_plain(step_source(step, i, 0));
    out = value_logic(&step->machine->lanes, operands, table);
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        const struct value x = step_source(step, i, 0);

        if (table == complements[i] && (out.lanes == LANES_DIVERGENT || out.lanes == LANES_THREAD))
            return complement(step, &x);
    }
    return out;
}

/* PRMT takes four bytes out of the eight of a and c, each by 4 bits of a selector: two for the
 * byte, one for the word, and one for its sign instead. Followed: bytes 0 and 1 of a word, which
 * stay where they are. Above are their sign, zeros, or what is left there. */
static struct value permutation(const struct step *step)
{
    enum {
        WORD_BIT = 1 << 2,
        SIGN_BIT = 1 << 3,
        BYTE_BITS = 4, /* of the selector */
        TWO_BYTES = 0x10, /* bytes 1 and 0 */
        TWO_BYTES_MASK = UINT8_MAX & ~(WORD_BIT | WORD_BIT << BYTE_BITS),
        BOTH = 0x11
    };
    struct lane_tables *lanes = &step->machine->lanes;
    const struct value selector = step_source(step, SOURCE_B, 0);
    const uint32_t bytes[] = {selector.known & 0xf, selector.known >> 4 & 0xf,
                              selector.known >> 8 & 0xf, selector.known >> 12 & 0xf};
    const unsigned word = bytes[0] & WORD_BIT ? SOURCE_C : SOURCE_A,
                   other_word = word == SOURCE_C ? SOURCE_A : SOURCE_C;
    const uint32_t sign = bytes[1] | SIGN_BIT;
    const bool extended = (selector.known >> 8 & UINT8_MAX) == sign * BOTH;
    const uint32_t zero = step->in->uniform ? UNIFORM_ZERO : REGISTER_ZERO;

    if (!value_is_number(&selector) || step_field(step, FIELD_MODE) ||
        (selector.known & TWO_BYTES_MASK) != TWO_BYTES ||
        (bytes[0] & WORD_BIT) != (bytes[1] & WORD_BIT))
        return function_of_all(step);
    if (!extended && (step->in->source[bytes[2] & WORD_BIT ? SOURCE_C : SOURCE_A].number != zero ||
                      step->in->source[bytes[3] & WORD_BIT ? SOURCE_C : SOURCE_A].number != zero))
        return value_half(step_source(step, word, 0), step_source(step, other_word, 0).flags);
    return value_shift_right(lanes,
                             value_multiply(lanes, value_plain(step_source(step, word, 0)),
                                            value_number(1u << HALF_BITS)),
                             HALF_BITS, extended);
}

static struct value selection(const struct step *step, unsigned word)
{
    const struct instruction *in = step->in;
    const struct value yes = step_source(step, SOURCE_A, word),
                       no = step_source(step, SOURCE_B, word);

    /* FSEL changes the sign. */
    if (in->opcode != OPCODE_SEL && in->opcode != OPCODE_USEL &&
        (in->source[SOURCE_A].negated || in->source[SOURCE_B].negated))
        return function_of_all(step);
    return value_select(&step->machine->lanes, step_input(step, 0), yes, no);
}

/* HFMA2: 0 * 0 and a number is how compilers move one. */
static struct value halves(const struct step *step)
{
    const struct instruction *in = step->in;

    return in->form == FORM_IMMEDIATE_C && in->source[SOURCE_A].number == REGISTER_ZERO &&
                   in->source[SOURCE_B].number == REGISTER_ZERO &&
                   in->input[0].number == PREDICATE_TRUE
               ? step_source(step, SOURCE_C, 0)
               : function_of_all(step);
}

/* The lesser of two, or the greater, is the one or the other; of others, a function. */
static struct value least(const struct step *step)
{
    const struct value all = function_of_all(step);
    struct choice choice;
    struct value out;

    if (value_is_uniform(&all) || !transfer_choice(step, &choice))
        return all;
    out = value_select(&step->machine->lanes, choice.first, choice.values[0], choice.values[1]);
    out.displacement = out.origin = out.several = 0;
    return out;
}

/* -- results ----------------------------------------------------------------------------------- */

static struct value result(const struct step *step, unsigned word)
{
    switch (step->in->transfer) {
    case TRANSFER_MOVE:
        return step_source(step, SOURCE_B, word == 0 ? 0 : 1);
    case TRANSFER_ADD_WIDE:
        /* .X: the upper half of 128 bits, with a carry. */
        return step_field(step, FIELD_EXTENDED) ? function_of_all(step) : sum(step, word);
    case TRANSFER_MULTIPLY_WIDE:
        return step_field(step, FIELD_EXTENDED) ? function_of_all(step) : product(step, word);
    case TRANSFER_ADD:
        return sum(step, word);
    case TRANSFER_MULTIPLY:
        return product(step, word);
    case TRANSFER_SHIFT_ADD:
        return shifted_sum(step);
    case TRANSFER_SHIFT:
        return shift(step);
    case TRANSFER_LOGIC:
        return logic(step);
    case TRANSFER_PERMUTE:
        return permutation(step);
    case TRANSFER_SELECT:
        return selection(step, word);
    case TRANSFER_HALVES:
        return halves(step);
    case TRANSFER_SPECIAL:
        return transfer_special(step);
    case TRANSFER_LOAD:
        return transfer_load(step, word);
    case TRANSFER_SHUFFLE:
        return transfer_shuffle(step);
    case TRANSFER_WARP:
        return transfer_warp(step);
    case TRANSFER_ATOMIC:
        return value_divergent(WHY_DATA);
    case TRANSFER_LANES:
        return transfer_lanes(step);
    case TRANSFER_UNKNOWN:
    case TRANSFER_BRANCH:
    case TRANSFER_STORE:
    case TRANSFER_NOTHING:
        return value_divergent(WHY_OPERATION);
    case TRANSFER_FUNCTION:
        return word == 0 ? least(step) : function_of_all(step);
    default:
        return function_of_all(step);
    }
}

struct value transfer_register(const struct step *step, unsigned word)
{
    const struct value value = transfer_butterfly(step, result(step, word));
    const struct range range = word == 0 ? transfer_range(step) : (struct range){0};

    return range_is_all(range) ? value : value_in_range(value, range);
}

/* A carry: it goes into the high word alone. */
static struct value carry(const struct step *step)
{
    struct value parts[OPERANDS_MAX + INPUTS_MAX + 1], out, low;
    size_t count = 0;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        parts[count++] = step_source(step, i, 0);
    for (unsigned i = 0; i < INPUTS_MAX; i++)
        parts[count++] = step_input(step, i);
    if (step->in->source[SOURCE_C].words == 2)
        parts[count++] = step_source(step, SOURCE_C, 1);
    out = transfer_high(parts, count, NULL);
    /* Of three numbers, there are two carries. */
    if (step->in->transfer != TRANSFER_ADD || step_field(step, FIELD_EXTENDED) ||
        !value_is_number(&parts[SOURCE_C]) || parts[SOURCE_C].known)
        return out;
    low = transfer_register(step, 0);
    return without_carry(step, out, parts, SOURCE_C, &low);
}

struct value transfer_predicate(const struct step *step, bool first)
{
    const struct instruction *in = step->in;
    struct value out;

    if (in->transfer == TRANSFER_WARP && in->opcode != OPCODE_REDUX && !is_r2ur(in))
        return transfer_warp(step);
    if (in->transfer >= TRANSFER_SPECIAL || in->transfer <= TRANSFER_NOTHING)
        return value_divergent(in->transfer == TRANSFER_LOAD || in->transfer == TRANSFER_ATOMIC
                                   ? WHY_DATA
                                   : WHY_LANES);
    /* The predicates that a mask leaves as they are: which ones is not known. */
    if (in->opcode == OPCODE_R2P && in->source[SOURCE_B].kind != OPERAND_IMMEDIATE)
        return value_divergent(WHY_OPERATION);
    if (first && transfer_answer(step, &out))
        return out;
    /* LOP3 tells whether the result is 0. */
    if (in->transfer == TRANSFER_LOGIC)
        return value_of_both(logic(step), machine_inputs(step->machine, step->state, in));
    if (in->transfer == TRANSFER_ADD || in->transfer == TRANSFER_SHIFT_ADD ||
        in->transfer == TRANSFER_MULTIPLY_WIDE)
        return carry(step);
    return function_of_all(step);
}
