/* SPDX-License-Identifier: MIT
 * Which table an address in constant memory is in: see value_base.h. */
#include "value_base.h"

#include "code_facts.h"

static bool has_begin(const struct value *value)
{
    return value->base != BASE_NONE && value->base < BASE_OFFSET;
}

/* The base of a value, or of a number as the start of a sum. */
static uint16_t base_of(const struct value *value)
{
    return value->base == BASE_NONE && value_is_number(value) && value->known ? BASE_OFFSET
                                                                              : value->base;
}

uint16_t value_base_of_rounds(const struct value *before, const struct value *after,
                              uint16_t joined)
{
    return base_of(before) == BASE_NONE && base_of(after) == BASE_OFFSET ? BASE_NONE : joined;
}

uint16_t value_base_joined(const struct value *a, const struct value *b)
{
    const struct value *const both[] = {a, b};

    for (unsigned i = 0; i < 2; i++)
        if (both[i]->base == BASE_UNKNOWN || (has_begin(both[i]) && !value_is_number(both[i])))
            return BASE_UNKNOWN;
    return BASE_NONE;
}

uint16_t value_base_either(const struct value *a, const struct value *b)
{
    return base_of(a) == base_of(b) ? base_of(a) : BASE_UNKNOWN;
}

/* The base of a value to which a constant is added. */
static uint16_t base_and_number(uint16_t base, const struct value *number)
{
    if (number->known == 0)
        return base;
    /* In a table at 0, an index that counts down may begin where another table does. */
    if (has_begin(number) && base != number->base)
        return base == BASE_NONE || base == BASE_OFFSET || base == BASE_DOWNWARD ? number->base
                                                                                 : BASE_UNKNOWN;
    if (base == BASE_NEGATIVE)
        return BASE_DOWNWARD;
    return base == BASE_NONE ? BASE_OFFSET : base;
}

uint16_t value_base_added(const struct value *a, const struct value *b)
{
    if (value_is_number(a) && value_is_number(b) && !has_begin(a) && !has_begin(b))
        return BASE_NONE;
    if (value_is_number(b))
        return base_and_number(a->base, b);
    if (value_is_number(a))
        return base_and_number(b->base, a);
    if (a->base == b->base)
        return has_begin(a) ? BASE_UNKNOWN : a->base;
    if (a->base == BASE_UNKNOWN || b->base == BASE_UNKNOWN || (has_begin(a) && has_begin(b)))
        return BASE_UNKNOWN;
    if (has_begin(a) || has_begin(b))
        return has_begin(a) ? a->base : b->base;
    if (a->base == BASE_DOWNWARD || b->base == BASE_DOWNWARD)
        return BASE_DOWNWARD;
    return a->base == BASE_OFFSET || b->base == BASE_OFFSET ? BASE_OFFSET : BASE_NONE;
}
