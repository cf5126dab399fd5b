/* SPDX-License-Identifier: MIT
 * The code of a kernel in short, and what is said where it changed: changes are planted in real
 * kernels. */
#include <stdio.h>
#include <stdlib.h>

#include "code_change.h"
#include "cubin.h"
#include "image.h"
#include "instruction.h"
#include "sass_code.h"
#include "table.h"
#include "test.h"

enum { CODE_BYTES_MAX = 1 << 20 };

/* Code as it is changed here. */
struct code {
    unsigned char bytes[CODE_BYTES_MAX];
    uint32_t architecture;
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
            cell.parameters[i] =
                cell_parameter_mask(cell.workload, cell.pattern) >> i & 1 ? parameters[i].min : 0;
        for (size_t i = 0; image_at(i, &image); i++)
            if (image_kernel(image.data, image.bytes, &cell, &sass) && sass.known) {
                assert_true(sass.bytes <= CODE_BYTES_MAX);
                memcpy(out->bytes, sass.code, sass.bytes);
                out->count = sass.bytes / INSTRUCTION_BYTES;
                out->architecture = sass.counts.architecture;
                return true;
            }
    }
    return false;
}

static char *text_of_code(const struct code *code)
{
    char *text = sass_code_text(code->bytes, code->count * INSTRUCTION_BYTES, code->architecture);

    assert_non_null(text);
    return text;
}

/* The change between two codes as a line that has `part`. */
static void check(const struct code *base, const struct code *new_code, const char *part)
{
    char *base_text = text_of_code(base), *new_text = text_of_code(new_code), line[512];

    assert_true(code_change(base_text, new_text, line, sizeof(line)));
    if (!strstr(line, part))
        fail_msg("%s lacks %s", line, part);
    free(base_text);
    free(new_text);
}

/* -- texts ------------------------------------------------------------------------------------- */

TEST(a_text_says_what_the_code_is)
{
    static const char *const names[] = {"add", "conv_2d", "refill"};
    static struct code code;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sass_code parsed;
        uint64_t sum = 0;
        char *text;

        if (!find_code(names[i], &code))
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
        "",
        ";",
        "LDC 1",
        "LDC 1;A",
        "LDC 1;B;x",
        "LDC;A;x",
        "LDC 1;A;",
        "LDC 1;A;xy",
        "LDC 1 MOV;A;x",
        "LDC x;A;x",
        "LDC 1;A;x;",
        "LDC 1;A;x;abc",
        "LDC 1;A;x;abcdefghijABCDEFGHIJ0123456789x",
        "LDC 1;A;x;abcdefghijABCDEFGHIJ012345678_",
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

/* -- changes ----------------------------------------------------------------------------------- */

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
        changed.bytes[i * INSTRUCTION_BYTES] = OPCODE_MUFU & UINT8_MAX; /* no such kernel has it */
        changed.bytes[i * INSTRUCTION_BYTES + 1] |= 1;
        snprintf(first, sizeof(first), "MUFU 0 -> 1; the first other opcode is %zu: %s -> MUFU",
                 i + 1, sass_code_opcode(&parsed, i));
        check(&base, &changed, first);
    }
    free(text);
}

/* One bit of each part of each instruction. Bit 42 is of the offset where an instruction reads a
 * constant bank, and of another operand where it does not. */
TEST(the_part_that_moved_is_said)
{
    static const struct {
        size_t bit;
        const char *words;
        uint32_t moved;
    } rows[] = {
        {24, "operands", 1u << CODE_OPERANDS},        {70, "operands", 1u << CODE_OPERANDS},
        {54, "operands", 1u << CODE_OPERANDS},        {105, "scheduling", 1u << CODE_SCHEDULING},
        {124, "scheduling", 1u << CODE_SCHEDULING},   {42, "operands", 1u << CODE_OPERANDS},
        {42, "constant offsets", 1u << CODE_OFFSETS},
    };
    enum { BIT_42 = 5 };
    static struct code base, changed;
    size_t constants = 0;
    char *before, *after;

    if (!find_code("add", &base))
        skip();
    before = text_of_code(&base);
    for (size_t i = 0; i < 16; i++)
        for (size_t k = 0; k <= BIT_42; k++) {
            const unsigned char *code = base.bytes + i * INSTRUCTION_BYTES;
            const unsigned operation = code[0] | (code[1] & 1u) << 8, form = code[1] >> 1 & 7;
            /* LDC, ULDC, LDCU; arithmetic whose second or third operand is a constant. */
            const bool constant = operation == OPCODE_LDC || operation == OPCODE_ULDC ||
                                  operation == OPCODE_ULDC_INDEXED || operation == OPCODE_LDCU ||
                                  (operation < OPCODE_UNIFORM_FIRST &&
                                   (form == FORM_CONSTANT_C || form == FORM_CONSTANT_B));
            const size_t row = k == BIT_42 && constant ? k + 1 : k;
            char line[64];

            constants += k == BIT_42 && constant;
            changed = base;
            changed.bytes[i * INSTRUCTION_BYTES + rows[row].bit / 8] ^=
                (unsigned char)(1 << rows[row].bit % 8);
            snprintf(line, sizeof(line), "the same opcodes in the same order: %s differ",
                     rows[row].words);
            check(&base, &changed, line);
            after = text_of_code(&changed);
            assert_int_equal(code_moved(before, after), rows[row].moved);
            free(after);
        }
    assert_true(constants > 1);
    /* All three in one instruction, and a text without parts, as older files have it. */
    changed = base;
    for (size_t k = 0; k < INSTRUCTION_BYTES; k++)
        for (size_t i = 0; i < 16 && (k == 3 || k == 5 || k == 15); i++)
            changed.bytes[i * INSTRUCTION_BYTES + k] ^= 1;
    check(&base, &changed, "in the same order: operands, constant offsets, scheduling differ");
    after = text_of_code(&changed);
    assert_int_equal(code_moved(before, after),
                     1u << CODE_OPERANDS | 1u << CODE_OFFSETS | 1u << CODE_SCHEDULING);
    *strrchr(before, ';') = '\0';
    assert_int_equal(code_moved(before, after), 0);
    assert_int_equal(code_moved(before, before), 0);
    assert_int_equal(code_moved(NULL, after), 0);
    free(before);
    free(after);
}

#define PARTS "abcdefghijABCDEFGHIJ0123456789"

TEST(test_changes_are_said_in_a_line)
{
    static const struct {
        const char *base, *new_code, *line;
    } rows[] = {
        {"LDC 1 MOV 2 EXIT 1;ABBC;x", "MOV 2 LDC 1 EXIT 1;ABAC;y",
         "4 -> 4 instructions; the first other opcode is 1: LDC -> MOV"},
        {"LDC 1 EXIT 1;AB;x", "LDC 1;A;x",
         "2 -> 1 instructions: EXIT 1 -> 0; the first other opcode is 2: EXIT -> the end"},
        {"LDC 1;A;x", "LDC 1;A;y",
         "1 -> 1 instructions, the same opcodes in the same order: operands or scheduling differ"},
        {"LDC 1;A;x;" PARTS, "LDC 1;A;x;" PARTS,
         "1 -> 1 instructions, the same opcodes in the same order: padding differs"},
        {"LDC 1;A;x", "LDC 1 EXIT 1;AB;x",
         "1 -> 2 instructions: EXIT 0 -> 1; the first other opcode is 2: the end -> EXIT"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[512];

        assert_true(code_change(rows[i].base, rows[i].new_code, line, sizeof(line)));
        assert_string_equal(line, rows[i].line);
    }
}

/* An instruction of sm_90, made by hand: its opcode with its form, and other bits. */
struct made {
    uint16_t opcode;
    uint64_t low, high; /* beside the opcode */
};

static char *text_of_made(const struct made *made, size_t count)
{
    unsigned char code[8 * INSTRUCTION_BYTES] = {0};

    for (size_t i = 0; i < count; i++) {
        const uint64_t low = made[i].low | made[i].opcode;

        memcpy(code + i * INSTRUCTION_BYTES, &low, sizeof(low));
        memcpy(code + i * INSTRUCTION_BYTES + sizeof(low), &made[i].high, sizeof(low));
    }
    return sass_code_text(code, count * INSTRUCTION_BYTES, 90);
}

/* Each change of a short sequence is of the parts that it is made in, and of no other. */
TEST(what_a_compiler_moved_in_sequences_made_by_hand)
{
    enum { COUNT = 3, LDC_AT_28, LDC_AT_30, ADD_R3, ADD_R4, ADD_STALLED, IMAD_R3, EXIT };
    static const struct made made[] = {
        [LDC_AT_28] = {0xb82, UINT64_C(0x28) << 40, 0},
        [LDC_AT_30] = {0xb82, UINT64_C(0x30) << 40, 0},
        [ADD_R3] = {0x210, UINT64_C(3) << 24, 0},
        [ADD_R4] = {0x210, UINT64_C(4) << 24, 0},
        [ADD_STALLED] = {0x210, UINT64_C(3) << 24, UINT64_C(5) << 41},
        [IMAD_R3] = {0x224, UINT64_C(3) << 24, 0},
        [EXIT] = {0x94d, 0, 0},
    };
    static const struct {
        int code[COUNT];
        uint32_t moved;
    } rows[] = {
        {{LDC_AT_28, ADD_R3, EXIT}, 0},
        {{LDC_AT_28, ADD_R4, EXIT}, 1u << CODE_OPERANDS},
        {{LDC_AT_30, ADD_R3, EXIT}, 1u << CODE_OFFSETS},
        {{LDC_AT_28, ADD_STALLED, EXIT}, 1u << CODE_SCHEDULING},
        {{LDC_AT_30, ADD_STALLED, EXIT}, 1u << CODE_OFFSETS | 1u << CODE_SCHEDULING},
        {{LDC_AT_28, IMAD_R3, EXIT}, 1u << CODE_OPCODES},
        /* in another order operands stand elsewhere, too */
        {{ADD_R3, LDC_AT_28, EXIT}, 1u << CODE_OPCODES | 1u << CODE_OPERANDS | 1u << CODE_OFFSETS},
    };
    char *texts[sizeof(rows) / sizeof(rows[0])];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct made code[COUNT] = {made[rows[i].code[0]], made[rows[i].code[1]],
                                         made[rows[i].code[2]]};

        texts[i] = text_of_made(code, COUNT);
        assert_int_equal(code_moved(texts[0], texts[i]), rows[i].moved);
        assert_int_equal(code_moved(texts[i], texts[0]), rows[i].moved);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        free(texts[i]);
}

TEST(an_index_of_names_finds_what_a_search_finds)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin plain, indexed;
    struct cubin_variable variable, same;
    struct cubin_section section, found, searched;
    struct cubin_index index;
    struct image image;
    uint64_t place = 0, place_again = 0;
    size_t sections = 0;

    if (!image_at(0, &image)) /* no kernels were compiled in */
        skip();
    assert_true(cubin_open(image.data, image.bytes, &plain, reason));
    indexed = plain;
    assert_true(cubin_index_open(&indexed, &index));
    for (; cubin_section_at(&plain, sections, &section); sections++) {
        const char *dot = strrchr(section.name, '.');
        char before[64] = "";

        if (!dot || dot + 1 - section.name >= (ptrdiff_t)sizeof(before))
            continue;
        dot++;
        memcpy(before, section.name, (size_t)(dot - section.name)); /* ".text." */
        assert_true(cubin_section_named(&plain, before, dot, &searched));
        assert_true(cubin_section_named(&indexed, before, dot, &found));
        assert_ptr_equal(found.data, searched.data);
        assert_string_equal(found.name, section.name);
        assert_false(cubin_section_named(&indexed, section.name, "~", &found));
    }
    assert_true(sections > 10);
    assert_false(cubin_section_named(&indexed, ".text.", "nothing", &found));
    while (cubin_next_variable(&plain, &place, &variable)) {
        assert_true(cubin_next_variable(&indexed, &place_again, &same));
        assert_ptr_equal(same.symbol, variable.symbol);
        assert_int_equal(same.bytes, variable.bytes);
    }
    assert_false(cubin_next_variable(&indexed, &place_again, &same));
    cubin_index_close(&index);
}
