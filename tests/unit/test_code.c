/* SPDX-License-Identifier: MIT
 * The code of a kernel in short, and what is said where it changed: changes are planted in real kernels. */
#include <stdio.h>
#include <stdlib.h>

#include "compare_report.h"
#include "image.h"
#include "sass_code.h"
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
            cell.parameters[i] = cell_parameter_mask(cell.workload, cell.pattern) >> i & 1 ? parameters[i].min : 0;
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

/* The change between two codes as a line that has `part`. */
static void check(const struct code *base, const struct code *new_code, const char *part)
{
    char *one = text_of_code(base), *other = text_of_code(new_code), line[512];

    assert_true(code_change(one, other, line, sizeof(line)));
    if (!strstr(line, part))
        fail_msg("%s lacks %s", line, part);
    free(one);
    free(other);
}

/* -- texts -------------------------------------------------------------------------------------------- */

TEST(a_text_says_what_the_code_is)
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

TEST(texts_that_are_none_are_refused)
{
    static const char *const texts[] = {
        "", ";", "LDC 1", "LDC 1;A", "LDC 1;B;x", "LDC;A;x", "LDC 1;A;", "LDC 1;A;xy", "LDC 1 MOV;A;x", "LDC x;A;x",
    };
    struct sass_code parsed;
    char line[64];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(sass_code_parse(texts[i], &parsed));
    assert_true(sass_code_parse("LDC 1;A;x", &parsed));
    assert_true(sass_code_parse(";;", &parsed));
    assert_false(code_change(NULL, "LDC 1;A;x", line, sizeof(line)));
    assert_false(code_change("LDC 1;A;x", "nonsense", line, sizeof(line)));
}

/* -- changes ------------------------------------------------------------------------------------------ */

/* Another opcode, at each position of a kernel. */
TEST(another_opcode_is_named)
{
    static struct code base, changed;
    struct sass_code parsed;
    char *text;

    if (!find_code("add", &base))
        skip();
    text = text_of_code(&base);
    assert_true(sass_code_parse(text, &parsed));
    for (size_t i = 0; i < parsed.instructions - 1; i++) {
        char first[64];

        changed = base;
        changed.bytes[i * INSTRUCTION_BYTES] = 0x08; /* MUFU, which no such kernel has */
        changed.bytes[i * INSTRUCTION_BYTES + 1] |= 1;
        snprintf(first, sizeof(first), "MUFU 0 -> 1; the first other opcode is %zu: %s -> MUFU", i + 1,
                 sass_code_opcode(&parsed, i));
        check(&base, &changed, first);
    }
    free(text);
}

/* One bit of an operand, or of the scheduling. */
TEST(other_operands_are_said)
{
    static struct code base, changed;
    const size_t bits[] = {24, 70, 110};

    if (!find_code("add", &base))
        skip();
    for (size_t i = 0; i < 16 * sizeof(bits) / sizeof(bits[0]); i++) {
        changed = base;
        changed.bytes[i / 3 * INSTRUCTION_BYTES + bits[i % 3] / 8] ^= (unsigned char)(1 << bits[i % 3] % 8);
        check(&base, &changed, "instructions, the same opcodes in the same order: operands or scheduling differ");
    }
}

TEST(test_changes_are_said_in_a_line)
{
    static const struct {
        const char *base, *new_code, *line;
    } rows[] = {
        {"LDC 1 MOV 2 EXIT 1;ABBC;x", "MOV 2 LDC 1 EXIT 1;ABAC;y",
         "4 -> 4 instructions; the first other opcode is 1: LDC -> MOV"},
        {"LDC 1 EXIT 1;AB;x", "LDC 1;A;x",
         "2 -> 1 instructions: EXIT 1 -> 0; the first other opcode is 2: EXIT -> the end"},
        {"LDC 1;A;x", "LDC 1 EXIT 1;AB;x",
         "1 -> 2 instructions: EXIT 0 -> 1; the first other opcode is 2: the end -> EXIT"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[512];

        assert_true(code_change(rows[i].base, rows[i].new_code, line, sizeof(line)));
        assert_string_equal(line, rows[i].line);
    }
}
