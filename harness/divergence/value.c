/* SPDX-License-Identifier: MIT
 * Abstract values, and arithmetic on them. */
#include "value.h"

#include <stdlib.h>
#include <string.h>

#include "code_facts.h"
#include "log.h"
#include "value_low.h"
#include "value_parts.h"
#include "value_ring.h"

enum { TABLES_MAX = 1 << 14, SLOTS = 1 << 15 };

/* -- what lanes add ---------------------------------------------------------------------------- */

enum status lane_tables_open(struct lane_tables *out)
{
    *out = (struct lane_tables){.tables = malloc(TABLES_MAX * sizeof(*out->tables)),
                                .slots = calloc(SLOTS, sizeof(*out->slots))};
    return out->tables && out->slots ? STATUS_OK : log_memory("tables of lanes");
}

void lane_tables_close(struct lane_tables *tables)
{
    free(tables->tables);
    free(tables->slots);
    *tables = (struct lane_tables){0};
}

uint32_t lane_of(const struct lane_tables *tables, const struct value *value, unsigned lane)
{
    return value->lanes < LANES_TABLE ? 0 : tables->tables[value->lanes - LANES_TABLE][lane];
}

struct value value_with_lanes(struct lane_tables *tables, struct value value,
                              const uint32_t lanes[WARP_LANES])
{
    uint32_t table[WARP_LANES], hash = 2166136261u;
    bool same = true;

    for (unsigned i = 0; i < WARP_LANES; i++) {
        table[i] = lanes[i] - lanes[0];
        hash = (hash ^ table[i]) * 16777619u;
        same &= table[i] == 0;
    }
    value.known += lanes[0];
    value.displacement += lanes[0];
    if (value.bits < WORD_BITS)
        value.known &= (1u << value.bits) - 1;
    value.lanes = LANES_UNIFORM;
    if (same)
        return value;
    for (hash %= SLOTS;; hash = (hash + 1) % SLOTS) {
        const uint16_t slot = tables->slots[hash];

        if (slot == 0 && tables->count == TABLES_MAX)
            break;
        if (slot == 0) {
            memcpy(tables->tables[tables->count++], table, sizeof(table));
            tables->slots[hash] = (uint16_t)tables->count;
        }
        if (slot == 0 || memcmp(tables->tables[slot - 1], table, sizeof(table)) == 0) {
            value.lanes = (uint16_t)(tables->slots[hash] - 1 + LANES_TABLE);
            return value;
        }
    }
    return value_divergent(WHY_ARITHMETIC);
}

/* -- values ------------------------------------------------------------------------------------ */

struct value value_number(uint32_t number)
{
    return (struct value){.known = number,
                          .displacement = number,
                          .bits = WORD_BITS,
                          .level = LEVEL_CONSTANT,
                          .flags = number >> 31 ? FLAG_SIGNED : 0};
}

struct value value_uniform(enum level level)
{
    return (struct value){.level = (uint8_t)(level > LEVEL_GRID ? level : LEVEL_GRID),
                          .flags = (level == LEVEL_WARP ? FLAG_DATA : 0) | FLAG_SIGNED};
}

struct value value_loaded(void)
{
    struct value value = value_uniform(LEVEL_WARP);

    value.why = WHY_DATA;
    return value;
}

struct value value_divergent(enum why why)
{
    return (struct value){.level = LEVEL_WARP,
                          .lanes = LANES_DIVERGENT,
                          .why = (uint8_t)why,
                          .flags = FLAG_DATA | FLAG_SIGNED};
}

struct value value_of_thread(enum why why)
{
    return (struct value){.level = LEVEL_WARP,
                          .lanes = LANES_THREAD,
                          .why = (uint8_t)why,
                          .flags = FLAG_SIGNED};
}

struct value value_lanes(struct lane_tables *tables, const uint32_t lanes[WARP_LANES])
{
    struct value value = value_with_lanes(tables, value_number(0), lanes);

    value.displacement = 0;
    for (unsigned i = 0; i < WARP_LANES; i++)
        value.flags |= lanes[i] >> 31 ? FLAG_SIGNED : 0;
    return value;
}

uint8_t value_alike(const struct value *value)
{
    return value_is_uniform(value) ? ALL_ALIKE : value->alike;
}

struct value value_alike_in(struct value value, uint8_t bit)
{
    struct value uniform = value_uniform(LEVEL_WARP);

    value.alike |= bit;
    value.uniform_from = value.ring_zeros = value.turn_zeros = 0;
    value.ring = 0;
    if (value.alike != ALL_ALIKE)
        return value;
    uniform.why = value.why == WHY_DATA ? WHY_DATA : WHY_NONE;
    uniform.flags = value.flags & (FLAG_DATA | FLAG_RELIED | FLAG_SIGNED);
    return uniform;
}

struct value value_relied(struct value value, uint8_t flags)
{
    value.flags |= flags & (FLAG_RELIED | FLAG_DATA);
    return value;
}

bool value_is_known(const struct value *value)
{
    return value->bits == WORD_BITS && !(value->flags & FLAG_HALF) &&
           (value->lanes == LANES_UNIFORM || value->lanes >= LANES_TABLE);
}

struct range value_range(const struct lane_tables *tables, const struct value *value)
{
    struct range range;

    /* Addresses of the stack are followed as if it began at 0. */
    if (value->origin != ORIGIN_NONE || value->flags & (FLAG_HALF | FLAG_HIGH))
        return (struct range){0};
    if (!value_is_known(value))
        return value->range;
    range = range_of(value->known, value->known);
    for (unsigned i = 1; value->lanes != LANES_UNIFORM && i < WARP_LANES; i++) {
        const uint32_t lane = value->known + lane_of(tables, value, i);

        range = range_joined(range, range_of(lane, lane));
    }
    return range;
}

struct value value_in_range(struct value value, struct range range)
{
    if (!value_is_known(&value))
        value.range = range;
    return value;
}

bool value_is_number(const struct value *value)
{
    return value->bits == WORD_BITS && value->lanes == LANES_UNIFORM && !(value->flags & FLAG_HALF);
}

bool value_is_uniform(const struct value *value)
{
    return value->lanes == LANES_UNIFORM && !(value->flags & (FLAG_HIGH | FLAG_HALF));
}

bool value_is_of_thread(const struct value *value)
{
    return value->lanes != LANES_DIVERGENT &&
           !(value->lanes == LANES_AFFINE && value->flags & FLAG_DATA);
}

bool value_lanes_stay(const struct lane_tables *tables, const struct value *value)
{
    bool stay = value->lanes >= LANES_TABLE && !(value->flags & FLAG_HALF);

    for (unsigned i = 0; i < WARP_LANES && stay; i++) {
        const int64_t sum = (int64_t)value->known + (int32_t)lane_of(tables, value, i);

        stay = sum >= 0 && sum >> value->bits == 0;
    }
    return stay || value_is_uniform(value);
}

bool value_is_followed(const struct value *value)
{
    return value->lanes == LANES_UNIFORM || value->lanes >= LANES_TABLE;
}

unsigned lanes_apart(const struct value *value)
{
    return value->lanes < LANES_TABLE ? 1 : WARP_LANES;
}

enum why worse(enum why a, enum why b)
{
    return a == WHY_DATA || b == WHY_DATA ? WHY_DATA : a ? a : b;
}

uint32_t low_bits(unsigned bits)
{
    return bits >= WORD_BITS ? UINT32_MAX : (1u << bits) - 1;
}

struct value value_joined(const struct value *a, const struct value *b)
{
    struct value out = {.level = a->level > b->level ? a->level : b->level,
                        .alike = value_alike(a) & value_alike(b),
                        .flags = a->flags | b->flags,
                        .why = (uint8_t)worse((enum why)a->why, (enum why)b->why)};

    if (a->lanes == LANES_DIVERGENT || b->lanes == LANES_DIVERGENT)
        out.lanes = LANES_DIVERGENT;
    return out;
}

/* Forgets what is known of some bits of lanes that are not known, and of how they lie on a ring. */
static void forget_bits(struct value *value)
{
    value->low_bits = value->uniform_from = 0;
    value->ring_zeros = value->turn_zeros = 0;
    value->low_lanes = value->ring = 0;
    value->low_known = 0;
}

/* Makes a number of what may have been an address, whose bits are others now. */
static void become_number(struct value *value)
{
    value->displacement = value->origin = value->several = 0;
    forget_bits(value);
}

struct value value_leveled(struct value value)
{
    if (value.lanes == LANES_THREAD && value.flags & FLAG_HALF && value.flags & FLAG_DATA)
        value.lanes = LANES_DIVERGENT;
    if (value.lanes == LANES_THREAD)
        value.flags &= (uint8_t)~FLAG_HALF;
    if (value.lanes == LANES_DIVERGENT)
        value.flags |= FLAG_DATA;
    if (value.lanes == LANES_DIVERGENT || value.lanes == LANES_THREAD)
        value.bits = 0;
    else
        value.alike = 0;
    if (value.lanes == LANES_UNIFORM || value.lanes >= LANES_TABLE)
        forget_bits(&value);
    if (value.low_bits == 0)
        value.low_lanes = (uint16_t)(value.low_known = 0);
    value.known &= low_bits(value.bits);
    if (value.bits == WORD_BITS) {
        value.level = LEVEL_CONSTANT;
        value.flags |= value.flags & FLAG_WHOLE ? FLAG_RELIED : 0;
        if (value.lanes != LANES_AFFINE)
            value.flags &= (uint8_t)~FLAG_DATA;
    } else if (value.level == LEVEL_CONSTANT)
        value.level = LEVEL_GRID;
    return value;
}

struct value value_not_followed(struct value value, bool given, enum why why)
{
    value.lanes = given ? LANES_THREAD : LANES_DIVERGENT;
    value.why = (uint8_t)(value.why ? value.why : why);
    return value_leveled(value);
}

struct value value_as_number(struct value value)
{
    if (value.origin != ORIGIN_STACK && value.origin != ORIGIN_MIXED)
        return value;
    value.bits = 0;
    value.origin = ORIGIN_NONE;
    forget_bits(&value);
    return value_leveled(value);
}

struct value value_plain(struct value value)
{
    if (!(value.flags & FLAG_HIGH))
        return value;
    value.flags &= (uint8_t)~FLAG_HIGH;
    become_number(&value);
    value.range = (struct range){0};
    return value_not_followed(value, !(value.flags & FLAG_DATA), WHY_HIGH);
}

struct value value_half(struct value value, uint8_t flags)
{
    value = value_relied(value_plain(value), flags);
    value.bits = value.bits < HALF_BITS ? value.bits : HALF_BITS;
    value.flags |= FLAG_HALF | FLAG_SIGNED;
    value.alike = 0;
    become_number(&value);
    value.range = (struct range){0};
    return value_leveled(value);
}

/* Whether lanes are evenly apart. */
static bool lanes_are_even(const struct lane_tables *tables, const struct value *value)
{
    const uint32_t stride = lane_of(tables, value, 1);
    bool even = value->lanes != LANES_DIVERGENT && value->lanes != LANES_THREAD;

    for (unsigned i = 0; i < WARP_LANES; i++)
        even &= lane_of(tables, value, i) == i * stride;
    return even;
}

/* The origin of a pointer and an index, or of a table in constant memory and the window of that. */
static uint16_t added_origin(uint16_t a, uint16_t b)
{
    if (a == ORIGIN_NONE || (a == ORIGIN_CONSTANT && b >= ORIGIN_SYMBOL))
        return b;
    if (b == ORIGIN_NONE || (b == ORIGIN_CONSTANT && a >= ORIGIN_SYMBOL))
        return a;
    return ORIGIN_MIXED;
}

static struct value sum_of(struct lane_tables *tables, struct value a, struct value b)
{
    struct value out = value_joined(&a, &b);
    uint32_t lanes[WARP_LANES];

    out.several = a.several | b.several;
    out.bits = a.bits < b.bits ? a.bits : b.bits;
    out.known = a.known + b.known;
    out.displacement = a.displacement + b.displacement;
    out.origin = added_origin(a.origin, b.origin);
    if (out.lanes == LANES_DIVERGENT)
        return value_leveled(out);
    if ((a.lanes != LANES_UNIFORM && a.lanes < LANES_TABLE) ||
        (b.lanes != LANES_UNIFORM && b.lanes < LANES_TABLE)) {
        if (!lanes_are_even(tables, &a) || !lanes_are_even(tables, &b))
            return value_not_followed(out, value_is_of_thread(&a) && value_is_of_thread(&b),
                                      WHY_ARITHMETIC);
        out.lanes = LANES_AFFINE;
        return value_leveled(out);
    }
    if (a.lanes < LANES_TABLE || b.lanes < LANES_TABLE) {
        out.lanes = a.lanes > b.lanes ? a.lanes : b.lanes;
        return value_leveled(out);
    }
    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = lane_of(tables, &a, i) + lane_of(tables, &b, i);
    return value_leveled(value_with_lanes(tables, out, lanes));
}

/* A sum with a uniform value that adds nothing to the bits below those that lanes share. */
static uint8_t uniform_from_of_sum(const struct value *a, const struct value *uniform)
{
    return value_is_uniform(uniform) && uniform->bits >= a->uniform_from &&
                   !(uniform->known & low_bits(a->uniform_from))
               ? a->uniform_from
               : 0;
}

struct value value_add(struct lane_tables *tables, struct value a, struct value b)
{
    struct value sum = sum_of(tables, a, b);
    struct value_low low_a, low_b;

    value_ring_of_sum(&a, &b, &sum);
    if (!value_is_followed(&sum))
        sum.uniform_from = uniform_from_of_sum(&a, &b) | uniform_from_of_sum(&b, &a);
    sum = value_in_range(sum, range_added(value_range(tables, &a), value_range(tables, &b)));
    if (value_is_followed(&sum) || value_low_bits(&a) == 0 || value_low_bits(&b) == 0)
        return sum;
    low_a = value_low_of(tables, &a);
    low_b = value_low_of(tables, &b);
    for (unsigned i = 0; i < WARP_LANES; i++)
        low_a.lanes[i] += low_b.lanes[i];
    low_a.bits = low_a.bits < low_b.bits ? low_a.bits : low_b.bits;
    return value_with_low(tables, sum, &low_a);
}

/* The low bits of a product with a number that is not 0. */
static struct value_low low_of_product(const struct lane_tables *tables, const struct value *factor,
                                       uint32_t number)
{
    struct value_low low = value_low_of(tables, factor);

    low.bits += (unsigned)__builtin_ctz(number);
    low.bits = low.bits < WORD_BITS ? low.bits : WORD_BITS - 1;
    for (unsigned i = 0; i < WARP_LANES; i++)
        low.lanes[i] *= number;
    return low;
}

/* A product with a number that is not 0: what its lanes add. */
static struct value lanes_multiplied(struct lane_tables *tables, struct value out,
                                     const struct value *factor, uint32_t number)
{
    uint32_t lanes[WARP_LANES];

    if (factor->lanes < LANES_TABLE) {
        const struct value product = value_leveled(out);
        struct value_low low;

        if (value_is_followed(&product))
            return product;
        low = low_of_product(tables, factor, number);
        return value_with_low(tables, product, &low);
    }
    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = lane_of(tables, factor, i) * number;
    return value_leveled(value_with_lanes(tables, out, lanes));
}

static struct value product_of(struct lane_tables *tables, struct value a, struct value b)
{
    const struct value *number = value_is_number(&a) ? &a : value_is_number(&b) ? &b : NULL;
    struct value factor = number == &a ? b : a, out = value_joined(&a, &b);
    uint32_t lanes[WARP_LANES];

    if (number && number->known == 0)
        return value_relied(value_number(0), number->flags);
    if (number) {
        const unsigned zeros = (unsigned)__builtin_ctz(number->known);

        out.bits = (uint8_t)(factor.bits + zeros < WORD_BITS ? factor.bits + zeros : WORD_BITS);
        out.known = factor.known * number->known;
        out.displacement = factor.displacement * number->known;
        out.lanes = factor.lanes;
        if (zeros >= HALF_BITS)
            out.flags &= (uint8_t)~FLAG_HALF;
        if (number->known >> HALF_BITS) /* hashes do overflow */
            out.flags |= FLAG_SIGNED;
        if (number->known == 1) {
            out.origin = factor.origin;
            out.several = factor.several;
        }
        out = value_in_range(lanes_multiplied(tables, out, &factor, number->known),
                             range_multiplied(value_range(tables, &factor), number->known));
        return value_ring_of_product(tables, &factor, number->known, out);
    }
    if (value_is_known(&a) && value_is_known(&b)) {
        for (unsigned i = 0; i < WARP_LANES; i++)
            lanes[i] = (a.known + lane_of(tables, &a, i)) * (b.known + lane_of(tables, &b, i));
        return value_relied(value_lanes(tables, lanes), out.flags);
    }
    /* Known zeros at the end of both factors. */
    if (a.lanes == LANES_UNIFORM && b.lanes == LANES_UNIFORM) {
        const unsigned zeros_a = a.known ? (unsigned)__builtin_ctz(a.known) : a.bits;
        const unsigned zeros_b = b.known ? (unsigned)__builtin_ctz(b.known) : b.bits;
        const unsigned by_a = a.bits + zeros_b, by_b = b.bits + zeros_a;

        out.bits = (uint8_t)(by_a < by_b ? by_a : by_b);
        if (out.bits >= WORD_BITS)
            out.bits = WORD_BITS - 1;
        out.known = a.known * b.known;
        return value_leveled(out);
    }
    if ((a.lanes == LANES_UNIFORM || b.lanes == LANES_UNIFORM) && lanes_are_even(tables, &a) &&
        lanes_are_even(tables, &b)) {
        out.lanes = LANES_AFFINE;
        return value_leveled(out);
    }
    return value_not_followed(out,
                              !(out.flags & FLAG_DATA) ||
                                  (a.lanes == LANES_UNIFORM && !(a.flags & FLAG_DATA) &&
                                   value_is_of_thread(&b)) ||
                                  (b.lanes == LANES_UNIFORM && !(b.flags & FLAG_DATA) &&
                                   value_is_of_thread(&a)),
                              WHY_ARITHMETIC);
}

static bool is_one(const struct value *value)
{
    return value_is_number(value) && value->known == 1 && value->origin == ORIGIN_NONE;
}

struct value value_multiply(struct lane_tables *tables, struct value a, struct value b)
{
    if (is_one(&a) || is_one(&b))
        return product_of(tables, a, b);
    return product_of(tables, value_as_number(a), value_as_number(b));
}

struct value value_negate(struct lane_tables *tables, struct value a)
{
    return value_multiply(tables, value_number(UINT32_MAX), a);
}

static struct value shifted_right(struct lane_tables *tables, struct value a, unsigned by,
                                  bool is_signed)
{
    struct value out = a;
    uint32_t lanes[WARP_LANES];
    bool negative = false;

    become_number(&out);
    out.range = range_shifted_right(value_range(tables, &a), by, is_signed);
    if (a.flags & FLAG_HALF)
        return value_not_followed(out, !(a.flags & FLAG_DATA), WHY_ARITHMETIC);
    if (a.uniform_from && by >= a.uniform_from)
        return value_in_range(value_of_shared_bits(&a), out.range);
    if (value_is_known(&a)) {
        for (unsigned i = 0; i < WARP_LANES; i++) {
            const uint32_t lane = a.known + lane_of(tables, &a, i);

            lanes[i] = by < WORD_BITS ? lane >> by : 0;
            if (is_signed && lane >> 31)
                lanes[i] |= ~low_bits(WORD_BITS - by);
        }
        return value_relied(value_lanes(tables, lanes), a.flags);
    }
    if (is_signed && by >= WORD_BITS - 1 &&
        !(a.flags & FLAG_SIGNED)) /* the sign, as divisions take it */
        return value_relied(value_number(0), a.flags & FLAG_RELIED);
    out.flags &= is_signed ? UINT8_MAX : (uint8_t)~FLAG_SIGNED;
    out.known = by < WORD_BITS ? a.known >> by : 0;
    out.bits = (uint8_t)(a.bits > by ? a.bits - by : 0);
    if (a.lanes == LANES_UNIFORM)
        return value_leveled(out);
    for (unsigned i = 0; i < WARP_LANES; i++)
        negative |= (int64_t)a.known + (int32_t)lane_of(tables, &a, i) < 0;
    if (a.lanes >= LANES_TABLE && by <= a.bits && (is_signed || !negative)) {
        /* The uniform part is a multiple of 2^bits and what is known, to which lanes add: no other
         * carry reaches the result. A part of a lane that is negative is a small number below zero,
         * which an unsigned shift makes large. */
        for (unsigned i = 0; i < WARP_LANES; i++)
            lanes[i] =
                (uint32_t)(((int64_t)a.known + (int32_t)lane_of(tables, &a, i)) >> by) - out.known;
        out.flags |= a.flags & FLAG_WHOLE ? FLAG_RELIED : 0;
        return value_leveled(value_with_lanes(tables, out, lanes));
    }
    if (a.lanes >= LANES_TABLE && !is_signed) {
        bool carries = false;

        /* Lanes add within the bits that are known, and these are shifted out. */
        for (unsigned i = 0; i < WARP_LANES; i++)
            carries |= ((int64_t)a.known + (int32_t)lane_of(tables, &a, i)) >> a.bits != 0;
        if (!carries) {
            out.lanes = LANES_UNIFORM;
            out.flags |= a.flags & FLAG_WHOLE ? FLAG_RELIED : 0;
            return value_leveled(out);
        }
    }
    return value_not_followed(out, !(a.flags & FLAG_DATA), WHY_ARITHMETIC);
}

struct value value_shift_right(struct lane_tables *tables, struct value a, unsigned by,
                               bool is_signed)
{
    by = by < WORD_BITS ? by : WORD_BITS;
    return by == 0 ? a : shifted_right(tables, value_as_number(a), by, is_signed);
}

bool value_divide(struct lane_tables *tables, struct value a, uint32_t by, struct value *out)
{
    uint32_t lanes[WARP_LANES];

    a = value_as_number(a);
    if (value_is_known(&a)) {
        for (unsigned i = 0; i < WARP_LANES; i++)
            lanes[i] = (a.known + lane_of(tables, &a, i)) / by;
        *out = value_relied(value_lanes(tables, lanes), a.flags);
        return true;
    }
    /* Multiples of 2^bits have what lanes add between them. */
    if (a.bits >= WORD_BITS || by % (1u << a.bits) != 0 || !value_lanes_stay(tables, &a))
        return false;
    a.flags |= a.flags & FLAG_WHOLE ? FLAG_RELIED : 0;
    a.lanes = LANES_UNIFORM;
    *out = value_function(&a, 1);
    return true;
}
