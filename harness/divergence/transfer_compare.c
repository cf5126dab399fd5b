/* SPDX-License-Identifier: MIT
 * Comparisons, and the lesser of two: where all lanes of a warp have one answer. */
#include "transfer.h"
#include "value_low.h"
#include "value_parts.h"

enum { LESS = 1, EQUAL = 2, GREATER = 4 }; /* FIELD_COMPARE_TEST */

static bool answer_of(unsigned test, bool is_signed, uint32_t x, uint32_t y)
{
    const bool less = is_signed ? (int32_t)x < (int32_t)y : x < y;

    return (test & LESS && less) || (test & EQUAL && x == y) || (test & GREATER && !less && x != y);
}

/* Whether an instruction compares words, and takes no answer but one that it is ANDed with. */
static bool compares_words(const struct step *step)
{
    return step->in->transfer == TRANSFER_COMPARE && step->in->source[SOURCE_A].words == 1 &&
           !step_field(step, FIELD_COMPARE_COMBINED) && !step_field(step, FIELD_COMPARE_EXTENDED);
}

/* The answer of each lane, where a comparison is of one word that all lanes know, and takes no
 * predicate, which branches would lose. False: it is not such a one. */
static bool known_answer(const struct step *step, struct value *out)
{
    struct lane_tables *tables = &step->machine->lanes;
    const struct value a = step_source(step, SOURCE_A, 0), b = step_source(step, SOURCE_B, 0),
                       with = step_input(step, 0);
    uint32_t lanes[WARP_LANES];

    if (!compares_words(step) || !value_is_number(&with) || !(with.known & 1) ||
        !value_is_known(&a) || !value_is_known(&b) || a.origin != ORIGIN_NONE ||
        b.origin != ORIGIN_NONE || ((a.flags | b.flags) & FLAG_RELIED))
        return false;
    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = answer_of(step_field(step, FIELD_COMPARE_TEST), step_field(step, FIELD_SIGNED),
                             a.known + lane_of(tables, &a, i), b.known + lane_of(tables, &b, i));
    *out = value_lanes(tables, lanes);
    return true;
}

/* Whether all lanes have one answer to a comparison of two words: what they add stays within low
 * bits that are known of both sides, and where the bits above are equal, these decide alike:
 * threadIdx.x < 64. Then the sides become what the answer follows from. */
static bool compares_alike(const struct lane_tables *tables, struct value sides[2], unsigned test)
{
    unsigned bits = 0, holds = 0;

    for (unsigned i = 0; i < 2; i++)
        if (sides[i].lanes != LANES_UNIFORM && sides[i].bits > bits)
            bits = sides[i].bits;
    if (sides[0].bits < bits || sides[1].bits < bits || bits >= WORD_BITS ||
        !value_lanes_stay(tables, &sides[0]) || !value_lanes_stay(tables, &sides[1]))
        return false;
    for (unsigned i = 0; i < WARP_LANES; i++) {
        const uint32_t low = (1u << bits) - 1;

        holds += answer_of(test, false, (sides[0].known + lane_of(tables, &sides[0], i)) & low,
                           (sides[1].known + lane_of(tables, &sides[1], i)) & low);
    }
    if (holds > 0 && holds < WARP_LANES)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        sides[i].flags |= sides[i].flags & FLAG_WHOLE ? FLAG_RELIED : 0;
        sides[i].lanes = LANES_UNIFORM;
    }
    return true;
}

/* The same, where the bits that lanes share decide: x < 64 does not ask for the low bits of x, and
 * neither does x <= 63. */
static bool shared_bits_decide(const struct lane_tables *tables, struct value sides[2],
                               unsigned test)
{
    const unsigned from = value_uniform_from(tables, &sides[0]);
    uint32_t low;

    if (from >= WORD_BITS || !value_is_uniform(&sides[1]) || sides[1].bits < from)
        return false;
    low = sides[1].known & ((1u << from) - 1);
    if (!((test == LESS || test == (GREATER | EQUAL)) && low == 0) &&
        !((test == GREATER || test == (LESS | EQUAL)) && low == (1u << from) - 1))
        return false;
    sides[0] = value_of_shared_bits(&sides[0]);
    sides[1].flags |= sides[1].flags & FLAG_WHOLE ? FLAG_RELIED : 0;
    return true;
}

static bool uniform_answer(const struct step *step, struct value *out)
{
    const struct lane_tables *tables = &step->machine->lanes;
    const unsigned test = step_field(step, FIELD_COMPARE_TEST);
    /* Where the stack begins is not known: what is known of an address is of its distance. */
    struct value sides[] = {value_as_number(step_source(step, SOURCE_A, 0)),
                            value_as_number(step_source(step, SOURCE_B, 0)), step_input(step, 0)};

    if (!compares_words(step) ||
        (!compares_alike(tables, sides, test) && !shared_bits_decide(tables, sides, test)))
        return false;
    *out = value_function(sides, sizeof(sides) / sizeof(sides[0]));
    return true;
}

bool transfer_answer(const struct step *step, struct value *out)
{
    return known_answer(step, out) || uniform_answer(step, out);
}

bool transfer_choice(const struct step *step, struct choice *out)
{
    const struct lane_tables *tables = &step->machine->lanes;
    const unsigned test = step->in->input[0].negated ? GREATER : LESS;
    struct value sides[2];
    bool is_signed;

    if (!transfer_is_least(step, &is_signed))
        return false;
    out->values[0] = step_source(step, SOURCE_A, 0);
    out->values[1] = step_source(step, SOURCE_B, 0);
    /* Of two that are equal, either is the lesser one. */
    for (unsigned equal = 0; equal <= EQUAL; equal += EQUAL) {
        sides[0] = out->values[0];
        sides[1] = out->values[1];
        if (sides[0].origin == ORIGIN_NONE && sides[1].origin == ORIGIN_NONE &&
            (compares_alike(tables, sides, test | equal) ||
             shared_bits_decide(tables, sides, test | equal))) {
            out->first = value_function(sides, 2);
            return true;
        }
    }
    return false;
}
