/* SPDX-License-Identifier: MIT
 * Which table a load from constant memory reads, by the PTX beside the code. */
#include "ptx.h"
#include "test.h"

/* A zero behind each line, as in a cubin. */
static const char text[] = ".version 9.0\0"
                           ".const .align 4 .b8 first[256];\0"
                           ".visible .entry one(\0"
                           ")\0"
                           "{\0"
                           "mov.u64 \t%rd8, first;\0"
                           "add.s64 \t%rd9, %rd8, %rd7;\0"
                           "@%p1 ld.const.u16 \t%r4, [%rd9+-514];\0" /* 8 */
                           "ld.const.u16 \t%r4, [second+4];\0"
                           "selp.b64 \t%rd3, %rd8, %rd2, %p1;\0" /* 10 */
                           "ld.const.f32 \t%f1, [%rd3];\0"
                           "mov.u64 \t%rd2, second;\0"
                           "ld.const.f32 \t%f1, [%rd7];\0" /* 13 */
                           "ld.global.f32 \t%f1, [%rd9];\0"
                           "cvta.to.const.u64 \t%rd4, %rd1;\0"
                           "selp.b64 \t%rd5, %rd8, %rd4, %p1;\0"
                           "ld.const.f32 \t%f1, [%rd5];\0" /* 17 */
                           "mad.wide.s32 \t%rd6, %r1, 4, %rd8;\0"
                           "ld.const.f32 \t%f1, [%rd6];\0"
                           "}\0"
                           ".visible .entry two()\0"
                           "mov.u64 \t%rd9, second;\0"
                           "ld.const.f32 \t%f1, [%rd9];\0" /* 23 */
                           "}";

static const char *table_of(uint32_t line)
{
    static char symbol[64];
    struct ptx ptx;
    bool found;

    assert_int_equal(ptx_open(text, sizeof(text), &ptx), STATUS_OK);
    found = ptx_constant_of(&ptx, line, symbol, sizeof(symbol));
    ptx_close(&ptx);
    return found ? symbol : "";
}

TEST(the_symbol_that_an_address_is_made_of)
{
    assert_string_equal(table_of(8), "first");
    assert_string_equal(table_of(9), "second");
    assert_string_equal(table_of(19), "first");
    assert_string_equal(table_of(23), "second"); /* registers are those of the function */
}

TEST(an_address_that_may_be_of_several_tables_tells_none)
{
    assert_string_equal(table_of(11), "");
    assert_string_equal(table_of(13), ""); /* of none */
    assert_string_equal(table_of(14), ""); /* no load of constants */
    assert_string_equal(table_of(17), ""); /* of a pointer */
    for (uint32_t line = 0; line < 40; line++)
        if (line != 8 && line != 9 && line != 19 && line != 23)
            assert_string_equal(table_of(line), "");
}

TEST(text_that_is_cut_off_tells_nothing)
{
    char symbol[64];

    for (size_t bytes = 0; bytes < sizeof(text) - 1; bytes++) {
        struct ptx ptx;

        assert_int_equal(ptx_open(text, bytes, &ptx), STATUS_OK);
        for (uint32_t line = 20; line < 25; line++)
            assert_false(ptx_constant_of(&ptx, line, symbol, sizeof(symbol)));
        ptx_close(&ptx);
    }
}
