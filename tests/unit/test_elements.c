/* SPDX-License-Identifier: MIT
 * Elements of users' buffers: which differ, and how they are shown. */
#include "elements.h"

#include <math.h>

#include "cbank_case.h"
#include "table.h"
#include "test.h"

#define ELEMENTS(count, bytes, ...)                          \
    (&(struct cbank_buffer_report){.elements = (count),      \
                                   .element_bytes = (bytes), \
                                   .type = __VA_ARGS__})
#define WITHIN(array, type_, relative, absolute)                                          \
    ELEMENTS(COUNT(array), sizeof((array)[0]), (type_), .tolerance_relative = (relative), \
             .tolerance_absolute = (absolute))
#define OF(array, type) WITHIN(array, type, 0, 0)

TEST(integers_are_equal_bit_by_bit)
{
    static uint32_t a[9000], b[9000];

    for (uint32_t i = 0; i < COUNT(a); i++)
        a[i] = b[i] = 7 * i;
    assert_int_equal(elements_differ(OF(a, CBANK_TYPE_UNSIGNED), a, b), COUNT(a));
    b[8999]++;
    assert_int_equal(elements_differ(OF(a, CBANK_TYPE_UNSIGNED), a, b), 8999);
    b[4096] ^= 0x80000000;
    /* Tolerances are of floats. */
    assert_int_equal(elements_differ(WITHIN(a, CBANK_TYPE_UNSIGNED, 0, 1e30), a, b), 4096);
    assert_int_equal(elements_differ(OF(a, CBANK_TYPE_BYTES), a, b), 4096);
    assert_int_equal(elements_not_finite(OF(a, CBANK_TYPE_UNSIGNED), a, true), COUNT(a));
}

TEST(floats_are_equal_within_the_tolerance)
{
    const float expected[] = {1, -100, 0, INFINITY, NAN},
                near[] = {1.001F, -100.1F, 0.001F, INFINITY, -NAN};
    const float zero[] = {1, -100, -0.0F, INFINITY, NAN}, wrong[] = {1, NAN, 0, -INFINITY, 5};
    const double wide[] = {1, 2}, far[] = {1, 2.1};

    assert_int_equal(elements_differ(WITHIN(near, CBANK_TYPE_FLOAT, 0.0011, 0.0011), near,
                                     expected),
                     5);
    assert_int_equal(elements_differ(WITHIN(near, CBANK_TYPE_FLOAT, 0.0011, 0), near, expected), 2);
    assert_int_equal(elements_differ(WITHIN(near, CBANK_TYPE_FLOAT, 0, 0.0011), near, expected), 1);
    assert_int_equal(elements_differ(OF(near, CBANK_TYPE_FLOAT), near, expected), 0);
    assert_int_equal(elements_differ(OF(zero, CBANK_TYPE_FLOAT), zero, expected), 5);
    for (size_t i = 1; i < COUNT(wrong); i++)
        if (i != 2)
            assert_int_equal(elements_differ(ELEMENTS(1, 4, CBANK_TYPE_FLOAT,
                                                      .tolerance_relative = 1e3),
                                             &wrong[i], &expected[i]),
                             0);
    assert_int_equal(elements_differ(WITHIN(wide, CBANK_TYPE_FLOAT, 0, 0.01), wide, far), 1);
    assert_int_equal(elements_not_finite(OF(expected, CBANK_TYPE_FLOAT), expected, true), 3);
    assert_int_equal(elements_not_finite(OF(expected, CBANK_TYPE_FLOAT), expected, false), 4);
    assert_int_equal(elements_not_finite(OF(wide, CBANK_TYPE_FLOAT), wide, true), 2);
}

TEST(half_precision_is_known)
{
    const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00};
    static const char *const texts[] = {"1", "-2", "5.96046448e-08", "65504", "inf", "nan"};
    char text[ELEMENT_TEXT_BYTES];

    for (size_t i = 0; i < COUNT(halves); i++)
        assert_string_equal(element_text(OF(halves, CBANK_TYPE_FLOAT), halves, i, text), texts[i]);
    assert_int_equal(elements_not_finite(OF(halves, CBANK_TYPE_FLOAT), halves, true), 4);
}

TEST(elements_that_nobody_wrote_are_found)
{
    const unsigned char a[] = {1, 2, 0xa5, 4, 0xa5, 0xa5}, b[] = {1, 2, 3, 0x5a, 0x5a, 0x5a};

    assert_int_equal(elements_untouched(ELEMENTS(6, 1, 0), a, 0xa5, b, 0x5a), 4);
    assert_int_equal(elements_untouched(ELEMENTS(3, 2, 0), a, 0xa5, b, 0x5a), 2);
    assert_int_equal(elements_untouched(ELEMENTS(2, 3, 0), a, 0xa5, b, 0x5a), 2);
}

TEST(elements_are_shown_by_their_type)
{
    const int8_t small[] = {-3, 100};
    const uint64_t large[] = {UINT64_MAX};
    const unsigned char raw[12] = {0, 1, 0xff};
    char text[ELEMENT_TEXT_BYTES];

    assert_string_equal(element_text(OF(small, CBANK_TYPE_SIGNED), small, 0, text), "-3");
    assert_string_equal(element_text(OF(small, CBANK_TYPE_UNSIGNED), small, 0, text), "253");
    assert_string_equal(element_text(OF(small, CBANK_TYPE_SIGNED), small, 1, text), "100");
    assert_string_equal(element_text(OF(large, CBANK_TYPE_UNSIGNED), large, 0, text),
                        "18446744073709551615");
    assert_string_equal(element_text(OF(large, CBANK_TYPE_SIGNED), large, 0, text), "-1");
    assert_string_equal(element_text(ELEMENTS(1, 3, 0), raw, 0, text), "00 01 ff");
    assert_string_equal(element_text(ELEMENTS(1, 12, 0), raw, 0, text),
                        "00 01 ff 00 00 00 00 00 ...");
}
