/* SPDX-License-Identifier: MIT
 * The code of a kernel in short, and what is said where it changed: changes are planted in real kernels. */
#include <stdio.h>
#include <stdlib.h>

#include "code_change.h"
#include "image.h"
#include "table.h"
#include "test.h"

enum { CODE_BYTES_MAX = 1 << 20 };

/* Code as it is changed here. */
struct code {
    unsigned char bytes[CODE_BYTES_MAX];
    size_t count; /* instructions, padding left out */
};

/* The kernel of a workload by the first path, of the first pattern and image that have it. */
static bool find_code(const char *workload, struct code *out)
{
    static const struct table table = TABLE("workload", workloads, workload_count);
    struct cell cell = {.workload = table_find(&table, workload), .path = &paths[0]};
    struct kernel_sass sass;
    struct image image;

    assert_non_null(cell.workload);
    for (size_t pattern = 0; pattern < pattern_count; pattern++) {
        cell.pattern = &patterns[pattern];
        for (size_t i = 0; i < parameter_count; i++)
            cell.parameters[i] = cell_takes(cell.workload, cell.pattern) >> i & 1 ? parameters[i].min : 0;
        for (size_t i = 0; image_at(i, &image); i++)
            if (image_kernel(image.data, image.bytes, &cell, &sass) && sass.known) {
                assert_true(sass.bytes <= CODE_BYTES_MAX);
                memcpy(out->bytes, sass.code, sass.bytes);
                out->count = sass.bytes / INSTRUCTION_BYTES;
                return true;
            }
    }
    return false;
}

static char *text_of_code(const struct code *code)
{
    char *text = sass_code_text(code->bytes, code->count * INSTRUCTION_BYTES);

    assert_non_null(text);
    return text;
}

/* The change between two codes. */
static void check(const struct code *base, const struct code *new_code, struct code_change *out, char line[512])
{
    char *one = text_of_code(base), *other = text_of_code(new_code);

    assert_true(code_compare(one, other, out));
    code_change_text(out, line, 512);
    free(one);
    free(other);
}

/* -- texts -------------------------------------------------------------------------------------------- */

TEST(test_a_text_says_what_the_code_is)
{
    static const char *const of[] = {"add", "conv_2d", "refill"};
    static struct code code;

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct sass_code parsed;
        uint64_t sum = 0;
        char *text;

        if (!find_code(of[i], &code))
            skip();
        text = text_of_code(&code);
        assert_true(sass_code_parse(text, &parsed));
        for (size_t k = 0; k < parsed.opcode_count; k++)
            sum += parsed.opcodes[k].count;
        assert_int_equal(sum, parsed.instructions);
        assert_true(parsed.instructions > 5 && parsed.instructions <= code.count);
        assert_string_equal(sass_code_opcode(&parsed, parsed.instructions - 1), "BRA");
        assert_string_equal(sass_code_opcode(&parsed, parsed.instructions), "");
        assert_true(strlen(text) < 200 + 2 * parsed.instructions);
        free(text);
    }
}

TEST(test_texts_that_are_none)
{
    static const char *const texts[] = {
        "", ";", "LDC 1", "LDC 1;A", "LDC 1;B;x", "LDC;A;x", "LDC 1;A;", "LDC 1;A;xy", "LDC 1 MOV;A;x", "LDC x;A;x",
    };
    struct code_change change;
    struct sass_code parsed;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(sass_code_parse(texts[i], &parsed));
    assert_true(sass_code_parse("LDC 1;A;x", &parsed));
    assert_true(sass_code_parse(";;", &parsed));
    assert_false(code_compare(NULL, "LDC 1;A;x", &change));
    assert_false(code_compare("LDC 1;A;x", "nonsense", &change));
}

/* -- changes ------------------------------------------------------------------------------------------ */

/* Another opcode, at each place of a kernel. */
TEST(test_another_opcode)
{
    static struct code base, changed;
    struct sass_code parsed;
    char line[512], *text;

    if (!find_code("add", &base))
        skip();
    text = text_of_code(&base);
    assert_true(sass_code_parse(text, &parsed));
    for (size_t i = 0; i < parsed.instructions - 1; i++) {
        struct code_change change;

        changed = base;
        changed.bytes[i * INSTRUCTION_BYTES] = 0x08; /* MUFU, which no such kernel has */
        changed.bytes[i * INSTRUCTION_BYTES + 1] |= 1;
        check(&base, &changed, &change, line);
        assert_int_equal(change.opcode_at, i + 1);
        assert_string_equal(change.base_opcode, sass_code_opcode(&parsed, i));
        assert_string_equal(change.new_opcode, "MUFU");
        assert_int_equal(change.opcode_count, 2);
        assert_non_null(strstr(line, "MUFU 0 -> 1"));
    }
    free(text);
}

/* One bit of an operand, or of the scheduling. */
TEST(test_other_operands)
{
    static struct code base, changed;
    const size_t bits[] = {24, 70, 110};

    if (!find_code("add", &base))
        skip();
    for (size_t i = 0; i < 16; i++)
        for (size_t k = 0; k < sizeof(bits) / sizeof(bits[0]); k++) {
            struct code_change change;
            char line[512];

            changed = base;
            changed.bytes[i * INSTRUCTION_BYTES + bits[k] / 8] ^= (unsigned char)(1 << bits[k] % 8);
            check(&base, &changed, &change, line);
            assert_int_equal(change.opcode_at, 0);
            assert_int_equal(change.opcode_count, 0);
            assert_non_null(strstr(line, "operands or scheduling differ"));
        }
}

TEST(test_an_instruction_more)
{
    static struct code base, changed;
    struct code_change change;
    char line[512];

    if (!find_code("add", &base))
        skip();
    changed = base;
    memmove(changed.bytes + 6 * INSTRUCTION_BYTES, base.bytes + 5 * INSTRUCTION_BYTES,
            (base.count - 5) * INSTRUCTION_BYTES);
    changed.count++;
    check(&base, &changed, &change, line);
    assert_int_equal(change.new_instructions, change.base_instructions + 1);
    assert_int_equal(change.opcode_count, 1);
    assert_int_equal(change.opcodes[0].new_count, change.opcodes[0].base + 1);
    assert_true(change.opcode_at >= 6);
    check(&changed, &base, &change, line);
    assert_int_equal(change.opcodes[0].new_count + 1, change.opcodes[0].base);
}

TEST(test_the_first_other_opcode_is_named)
{
    static const struct {
        const char *base, *new_code, *line;
    } rows[] = {
        {"LDC 1 MOV 2 EXIT 1;ABBC;x", "MOV 2 LDC 1 EXIT 1;ABAC;y",
         "4 instructions, as many of each opcode; the first other opcode is 1: LDC -> MOV"},
        {"LDC 1 EXIT 1;AB;x", "LDC 1;A;x",
         "2 -> 1 instructions: EXIT 1 -> 0; the first other opcode is 2: EXIT -> the end"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct code_change change;
        char line[512];

        assert_true(code_compare(rows[i].base, rows[i].new_code, &change));
        code_change_text(&change, line, sizeof(line));
        assert_string_equal(line, rows[i].line);
    }
}
