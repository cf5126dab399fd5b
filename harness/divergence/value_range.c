/* SPDX-License-Identifier: MIT
 * Arithmetic on ranges: see value_range.h. Sums are those of words, which go around; products and
 * shifts are worked out in 64 bits. */
#include "value_range.h"

static const struct range all_words = {0, 0};

/* Words behind the first. */
static uint32_t span_of(struct range range)
{
    return UINT32_MAX - range.left_out;
}

static struct range range_from(uint32_t first, uint64_t span)
{
    return span >= UINT32_MAX ? all_words : (struct range){first, UINT32_MAX - (uint32_t)span};
}

struct range range_of(uint32_t first, uint32_t last)
{
    return range_from(first, last - first);
}

uint32_t range_last(struct range range)
{
    return range.first + span_of(range);
}

bool range_is_all(struct range range)
{
    return range.left_out == 0;
}

bool range_equal(struct range a, struct range b)
{
    return a.first == b.first && a.left_out == b.left_out;
}

/* The smallest range from the first word of one that has both. */
static struct range from_the_first(struct range a, struct range b)
{
    const uint32_t ahead = b.first - a.first; /* modulo 2^32 */
    const uint64_t behind = (uint64_t)ahead + span_of(b);

    return range_from(a.first, behind > span_of(a) ? behind : span_of(a));
}

struct range range_joined(struct range a, struct range b)
{
    const struct range from_a = from_the_first(a, b), from_b = from_the_first(b, a);

    if (range_is_all(a) || range_is_all(b))
        return all_words;
    return from_a.left_out >= from_b.left_out ? from_a : from_b;
}

struct range range_added(struct range a, struct range b)
{
    return range_from(a.first + b.first, (uint64_t)span_of(a) + span_of(b));
}

struct range range_multiplied(struct range range, uint32_t number)
{
    const bool negative = number >> 31;
    const uint64_t times = negative ? (uint64_t)UINT32_MAX + 1 - number : number;

    if (range_is_all(range) && number != 1)
        return all_words;
    return range_from((negative ? range_last(range) : range.first) * number,
                      times * span_of(range));
}

/* The same range as signed or unsigned numbers, from the least to the largest. False: it goes
 * around. */
static bool as_numbers(struct range range, bool is_signed, int64_t *least, int64_t *largest)
{
    const uint32_t flip = is_signed ? UINT32_C(1) << 31 : 0;
    const uint32_t first = range.first ^ flip, last = range_last(range) ^ flip;

    if (first > last || range_is_all(range)) {
        *least = is_signed ? INT32_MIN : 0;
        *largest = is_signed ? INT32_MAX : UINT32_MAX;
        return false;
    }
    *least = (int64_t)first - flip;
    *largest = (int64_t)last - flip;
    return true;
}

struct range range_shifted_right(struct range range, unsigned by, bool is_signed)
{
    int64_t least, largest;

    as_numbers(range, is_signed, &least, &largest);
    by = by < 32 ? by : is_signed ? 31 : 32;
    return range_of((uint32_t)(least >> by), (uint32_t)(largest >> by));
}

struct range range_of_least(struct range a, struct range b, bool greatest, bool is_signed)
{
    int64_t least[2], largest[2];
    unsigned low, high;

    as_numbers(a, is_signed, &least[0], &largest[0]);
    as_numbers(b, is_signed, &least[1], &largest[1]);
    low = (least[0] < least[1]) == greatest;
    high = (largest[0] < largest[1]) == greatest;
    return range_of((uint32_t)least[low], (uint32_t)largest[high]);
}

uint32_t range_ones(struct range range)
{
    int64_t least, largest;
    uint32_t ones = 0;

    as_numbers(range, false, &least, &largest);
    while (ones < largest)
        ones = ones << 1 | 1;
    return ones;
}
