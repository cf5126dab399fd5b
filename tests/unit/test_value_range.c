/* SPDX-License-Identifier: MIT
 * Ranges of words, against all words of small ones. */
#include "test.h"
#include "value_range.h"

static const uint32_t firsts[] = {0, 1, 5, 0x100, 0x7ffffffc, 0x80000000, 0xfffffff9, UINT32_MAX};

enum { FIRSTS = sizeof(firsts) / sizeof(firsts[0]), SPANS = 9, WORD_BITS = 32 };

static bool has(struct range range, uint32_t word)
{
    return word - range.first <= range_last(range) - range.first;
}

/* What is made of words of two ranges, or of one and a number. */
enum made { SUM, PRODUCT, SHIFT, SIGNED_SHIFT, LEAST, GREATEST, SIGNED_LEAST, EITHER, MADE };

static uint32_t word_of(enum made made, uint32_t a, uint32_t b)
{
    switch (made) {
    case SUM:
        return a + b;
    case PRODUCT:
        return a * b;
    case SHIFT:
        return a >> b % WORD_BITS;
    case SIGNED_SHIFT:
        return (uint32_t)((int32_t)a >> b % WORD_BITS);
    case LEAST:
        return a < b ? a : b;
    case GREATEST:
        return a > b ? a : b;
    case SIGNED_LEAST:
        return (int32_t)a < (int32_t)b ? a : b;
    default:
        return a;
    }
}

static struct range range_made(enum made made, struct range a, struct range b)
{
    switch (made) {
    case SUM:
        return range_added(a, b);
    case PRODUCT:
        return range_multiplied(a, b.first);
    case SHIFT:
    case SIGNED_SHIFT:
        return range_shifted_right(a, b.first % WORD_BITS, made == SIGNED_SHIFT);
    case LEAST:
    case GREATEST:
    case SIGNED_LEAST:
        return range_of_least(a, b, made == GREATEST, made == SIGNED_LEAST);
    default:
        return range_joined(a, b);
    }
}

TEST(each_word_lies_in_the_range_that_is_worked_out)
{
    for (enum made made = 0; made < MADE; made++)
        for (size_t i = 0; i < FIRSTS * FIRSTS; i++)
            for (uint32_t k = 0; k < SPANS * SPANS; k++) {
                const bool number = made == PRODUCT || made == SHIFT || made == SIGNED_SHIFT;
                const uint32_t a = firsts[i / FIRSTS], b = firsts[i % FIRSTS], a_span = k / SPANS,
                               b_span = number ? 0 : k % SPANS;
                const struct range out =
                    range_made(made, range_of(a, a + a_span), range_of(b, b + b_span));

                for (uint32_t n = 0; n < (a_span + 1) * (b_span + 1); n++) {
                    const uint32_t x = a + n % (a_span + 1), y = b + n / (a_span + 1);

                    assert_true(has(out, word_of(made, x, y)));
                    if (made == EITHER)
                        assert_true(has(out, y));
                }
            }
}

TEST(a_range_is_no_larger_than_it_must_be)
{
    const struct range bytes = range_of(0, 255), around = range_of(UINT32_MAX - 1, 1);

    assert_true(range_equal(range_added(bytes, range_of(0x100, 0x100)), range_of(0x100, 0x1ff)));
    assert_true(range_equal(range_multiplied(bytes, 4), range_of(0, 1020)));
    assert_true(range_equal(range_multiplied(bytes, (uint32_t)-4), range_of((uint32_t)-1020, 0)));
    assert_true(range_equal(range_multiplied(around, 2), range_of(UINT32_MAX - 3, 2)));
    assert_true(range_equal(range_shifted_right(bytes, 4, false), range_of(0, 15)));
    assert_true(range_equal(range_shifted_right(around, 1, true), range_of(UINT32_MAX, 0)));
    assert_true(range_equal(range_shifted_right(around, 1, false), range_of(0, INT32_MAX)));
    assert_true(range_equal(range_joined(range_of(7, 9), around), range_of(UINT32_MAX - 1, 9)));
    assert_int_equal(range_ones(range_of(3, 20)), 31);
    assert_int_equal(range_ones(around), UINT32_MAX);
}

TEST(too_many_words_are_all_words)
{
    const struct range half = range_of(0, UINT32_MAX / 2), all = {0};

    assert_true(range_is_all(range_of(5, 4)));
    assert_true(range_is_all(range_added(half, range_of(0, UINT32_MAX / 2 + 1))));
    assert_false(range_is_all(range_added(half, half)));
    assert_true(range_is_all(range_multiplied(half, 4)));
    assert_true(range_is_all(range_joined(half, all)));
    assert_true(range_is_all(range_joined(half, range_of(UINT32_MAX / 2, UINT32_MAX))));
}
