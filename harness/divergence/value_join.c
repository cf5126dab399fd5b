/* SPDX-License-Identifier: MIT
 * Values that follow from several: the join of two paths, one of two by a predicate, some function
 * of all. */
#include "code_facts.h"
#include "value_low.h"
#include "value_parts.h"
#include "value_ring.h"

struct value value_function(const struct value *values, size_t count)
{
    struct value out = value_uniform(LEVEL_GRID);
    bool shared = true;

    out.alike = ALL_ALIKE;
    for (size_t i = 0; i < count; i++) {
        const struct value *plain = &values[i];
        struct value high;

        if (plain->flags & FLAG_HIGH) {
            high = value_plain(*plain);
            plain = &high;
        }
        out.alike &= value_alike(plain);
        if (!value_is_uniform(plain)) {
            out.why = (uint8_t)worse((enum why)out.why,
                                     plain->why ? (enum why)plain->why : WHY_ARITHMETIC);
            shared = false;
        } else if (plain->why == WHY_DATA) {
            out.why = WHY_DATA;
        }
        out.level = out.level > plain->level ? out.level : plain->level;
        out.flags |= plain->flags & (FLAG_RELIED | FLAG_DATA);
    }
    return shared ? value_leveled(out)
                  : value_not_followed(out, !(out.flags & FLAG_DATA), WHY_NONE);
}

struct value value_of_both(struct value a, struct value b)
{
    return value_function((const struct value[]){a, b}, 2);
}

bool value_equal(const struct value *a, const struct value *b)
{
    return a->known == b->known && a->displacement == b->displacement && a->lanes == b->lanes &&
           a->origin == b->origin && a->several == b->several && a->bits == b->bits &&
           a->level == b->level && a->why == b->why && a->flags == b->flags &&
           a->alike == b->alike && a->low_bits == b->low_bits && a->low_lanes == b->low_lanes &&
           a->low_known == b->low_known && a->uniform_from == b->uniform_from &&
           a->ring == b->ring && a->ring_zeros == b->ring_zeros && a->turn_zeros == b->turn_zeros &&
           range_equal(a->range, b->range);
}

/* Of a value that is one or the other: see `several` of a value. */
static uint16_t have_several(const struct value *a, const struct value *b)
{
    return a->several | b->several | (a->displacement != b->displacement);
}

/* From which bit on lanes share those of a value that is the one or the other for all of them; 0:
 * none. */
static uint8_t uniform_from_of_either(const struct lane_tables *tables, const struct value *a,
                                      const struct value *b)
{
    const unsigned from_a = value_uniform_from(tables, a), from_b = value_uniform_from(tables, b);
    const unsigned from = from_a > from_b ? from_a : from_b;

    return (uint8_t)(from < WORD_BITS ? from : 0);
}

struct value value_join(const struct lane_tables *tables, struct value a, struct value b,
                        enum level level, enum why why, uint8_t flags)
{
    struct value out = value_relied(value_joined(&a, &b), flags);
    const uint32_t differ = a.known ^ b.known;
    const unsigned equal = differ ? (unsigned)__builtin_ctz(differ) : WORD_BITS;

    if (value_is_known(&a) && value_equal(&a, &b))
        return value_relied(a, flags & FLAG_RELIED);
    out.level = out.level > level ? out.level : (uint8_t)level;
    out.bits = a.bits < b.bits ? a.bits : b.bits;
    out.bits = (uint8_t)(equal < out.bits ? equal : out.bits);
    if (out.bits == WORD_BITS)
        out.bits = WORD_BITS - 1;
    out.known = a.known;
    out.displacement = a.displacement;
    out.range = range_joined(value_range(tables, &a), value_range(tables, &b));
    out.origin = a.origin == b.origin ? a.origin : ORIGIN_MIXED;
    out.several = have_several(&a, &b);
    if (!why) {
        out.uniform_from = uniform_from_of_either(tables, &a, &b);
        value_ring_of_either(&a, &b, &out);
    }
    if (!why && a.lanes == b.lanes && !(a.lanes == LANES_THREAD && flags & FLAG_DATA)) {
        out.lanes = a.lanes;
        return value_leveled(out);
    }
    out.why = (uint8_t)worse((enum why)out.why, why ? why : WHY_STRIDES);
    out.alike = why ? 0 : out.alike;
    return value_not_followed(out,
                              why ? !(out.flags & FLAG_DATA)
                                  : !(flags & FLAG_DATA) && value_is_of_thread(&a) &&
                                        value_is_of_thread(&b),
                              WHY_NONE);
}

struct value value_select(struct lane_tables *tables, struct value predicate, struct value yes,
                          struct value no)
{
    uint32_t lanes[WARP_LANES];
    struct value out;

    if (value_is_number(&predicate))
        return value_relied(predicate.known & 1 ? yes : no, predicate.flags);
    if (value_is_known(&predicate) && value_is_known(&yes) && value_is_known(&no)) {
        for (unsigned i = 0; i < WARP_LANES; i++) {
            const struct value *chosen =
                (predicate.known + lane_of(tables, &predicate, i)) & 1 ? &yes : &no;

            lanes[i] = chosen->known + lane_of(tables, chosen, i);
        }
        out = value_relied(value_lanes(tables, lanes), predicate.flags | yes.flags | no.flags);
        out.several = have_several(&yes, &no);
        return out;
    }
    if (value_is_uniform(&predicate)) {
        out = value_join(tables, yes, no, (enum level)predicate.level, WHY_NONE, predicate.flags);
        out.why = (uint8_t)worse((enum why)out.why, (enum why)predicate.why);
        return out;
    }
    return value_join(tables, yes, no, LEVEL_WARP,
                      predicate.lanes == LANES_DIVERGENT && predicate.why == WHY_DATA ? WHY_DATA
                                                                                      : WHY_BRANCH,
                      predicate.flags);
}
