/* SPDX-License-Identifier: MIT
 * Rules of the divergence analysis, each with code for which it must not hold. */
#include "divergence.h"
#include "flow.h"
#include "instruction.h"
#include "test.h"

enum { CODE_MAX = 64, PT = 7, RZ = 255, TID_X = 0x21, REGISTERS = 1, NUMBER = 4, BANK = 5 };

/* Fields of the second word: registers that are zero, predicates that are not there, a sign. */
#define C_RZ      0xffull
#define NEGATED_A (1ull << 8)
#define NO_IN2    (7ull << 13)
#define TO(p)     ((uint64_t)(p) << 17 | 7ull << 20)
#define NO_IN     (7ull << 23)
#define SUM       (C_RZ | NO_IN2 | TO(PT) | NO_IN)
#define PRODUCT   (C_RZ | TO(PT) | NO_IN)

struct program {
    uint64_t words[CODE_MAX][2];
    size_t count;
    uint32_t architecture;
    struct code_facts facts;
};

static void set(uint64_t words[2], unsigned first, unsigned count, uint64_t value)
{
    value &= (1ull << count) - 1;
    words[first / 64] |= value << first % 64;
}

/* Appends an instruction. high: its second word. */
static uint64_t *append(struct program *program, unsigned opcode, unsigned form, uint32_t result,
                        uint32_t a, uint32_t b, uint64_t high)
{
    uint64_t *words = program->words[program->count++];

    words[0] = words[1] = 0;
    set(words, 0, 9, opcode);
    set(words, 9, 3, form);
    set(words, 12, 3, PT);
    set(words, 16, 8, result);
    set(words, 24, 8, a);
    set(words, 32, 32, b);
    words[1] |= high;
    return words;
}

static void append_special(struct program *program, uint32_t result, unsigned number)
{
    set(append(program, OPCODE_S2R, NUMBER, result, 0, 0, 0), 72, 8, number);
}

/* R4: data of each thread. */
static void append_data(struct program *program)
{
    append_special(program, 2, TID_X);
    set(append(program, OPCODE_LDS, NUMBER, 4, 2, 0, 0), 73, 3, SIZE_WORD);
}

static void append_lookup(struct program *program, uint32_t index)
{
    uint64_t *words = append(program, OPCODE_LDC, BANK, 9, index, 0, 0);

    set(words, 54, 5, USER_BANK);
    set(words, 73, 3, SIZE_WORD);
}

static void keep_lookup(const struct analysed_load *load, void *context)
{
    if (load->bank == USER_BANK)
        *(struct analysed_load *)context = *load;
}

/* What is said of the last lookup. */
static struct analysed_load lookup_of(struct program *program)
{
    struct analysed_load load = {.variation = VARIATION_COUNT};
    struct flow flow;

    append(program, OPCODE_EXIT, NUMBER, 0, 0, 0, NO_IN);
    assert_int_equal(flow_open(program->words, program->count * INSTRUCTION_BYTES,
                               program->architecture, NULL, 0, &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &program->facts, keep_lookup, &load), STATUS_OK);
    flow_close(&flow);
    return load;
}

/* -- which table ------------------------------------------------------------------------------- */

/* The base of c[3][4 * R4 + 0x100], where two tables begin at 0 and 0x100. The index is R4, or 64 -
 * R4 in one of two forms. */
static uint32_t base_of_index(bool downward, bool scaled_last)
{
    struct code_fact begins[] = {{0, 0x100}, {0x100, 0x100}};
    struct program program = {.architecture = 90, .facts.tables = {begins, 2}};
    const uint64_t sign = downward ? NEGATED_A : 0;

    append_data(&program);
    if (scaled_last)
        append(&program, OPCODE_IADD3, NUMBER, 4, 4, 64, SUM | sign);
    append(&program, OPCODE_IMAD, NUMBER, 4, 4, 4, PRODUCT);
    append(&program, OPCODE_IADD3, NUMBER, 4, 4, 0x100, SUM | (scaled_last ? 0 : sign));
    append_lookup(&program, 4);
    return lookup_of(&program).base;
}

TEST(a_number_beside_an_index_that_counts_down_tells_no_table)
{
    assert_int_equal(base_of_index(false, false), 0x100);
    assert_int_equal(base_of_index(true, true), 0x100); /* of the table at 0x100 */
    assert_int_equal(base_of_index(true, false), BASE_UNKNOWN); /* it may be that at 0 */
}

/* -- generic loads ----------------------------------------------------------------------------- */

/* A lookup at what a generic load brings, whose address is the same in all threads. */
static enum variation of_generic_load(bool parameter)
{
    struct code_fact pointer = {0x500, 0};
    struct program program = {.architecture = 90, .facts.parameters = {&pointer, parameter}};
    uint64_t *words = append(&program, OPCODE_LDC, BANK, 4, RZ, 0, 0);

    set(words, 38, 16, pointer.place);
    set(words, 73, 3, SIZE_PAIR);
    words = append(&program, OPCODE_LD, NUMBER, 6, 4, 0, 0);
    set(words, 72, 1, 1); /* an address of 64 bits */
    set(words, 73, 3, SIZE_WORD);
    append_lookup(&program, 6);
    return lookup_of(&program).variation;
}

TEST(a_generic_load_may_read_the_stack_of_each_thread)
{
    assert_int_equal(of_generic_load(true), VARIATION_WARP);
    assert_int_equal(of_generic_load(false), VARIATION_DATA);
}
