/* SPDX-License-Identifier: MIT
 * Which compares and moves are taken for a small array, and which are not. Compilers make the
 * former of arrays: tests/kernels/compares.py. The latter are written here, as no compiler was seen
 * to write them. */
#include <stdlib.h>

#include "instruction_words.h"
#include "test.h"
#include "user_access.h"

enum {
    CODE_MAX = 64,
    NUMBER = 4,
    REGISTERS = 1,
    BANK = 5,
    PT = 7,
    RZ = 255,
    EQUAL = 2,
    NOT_EQUAL = 5,
    INDEX = 4,
    RESULT = 0,
    PARAMETERS = 0x210
};

/* Fields of the second word: no other predicates are read, and one is written. */
#define ASKS(p, test) \
    ((uint64_t)(test) << 12 | 7ull << 4 | (uint64_t)(p) << 17 | 7ull << 20 | 7ull << 23)

struct program {
    uint64_t words[CODE_MAX][2];
    size_t count;
};

static uint64_t *append(struct program *program, unsigned opcode, unsigned form, uint32_t result,
                        uint32_t a, uint32_t b, uint64_t high)
{
    return put_instruction(program->words[program->count++], opcode, form, result, a, b, high);
}

/* P = index == number */
static void ask(struct program *program, unsigned predicate, uint32_t number)
{
    append(program, OPCODE_ISETP, NUMBER, 0, INDEX, number, ASKS(predicate, EQUAL));
}

/* Puts an instruction that was appended under a predicate in place of PT. */
static void guard(uint64_t *words, unsigned predicate)
{
    words[0] &= ~(0xfull << 12);
    set(words, 12, 4, predicate);
}

static void move(struct program *program, unsigned predicate, uint32_t to, uint32_t number)
{
    guard(append(program, OPCODE_MOV, NUMBER, to, 0, number, 0), predicate);
}

/* An entry of an array: a compare and a move, one behind the other. */
static void entry(struct program *program, uint32_t place, uint32_t number)
{
    ask(program, 0, place);
    move(program, 0, RESULT, number);
}

/* The arrays of a program, which the caller frees; *count of them. */
static struct compared_array *arrays_of(struct program *program, size_t *count)
{
    struct callee kernel = {.begin = 0};
    struct facts facts = {.callees = {.all = &kernel, .count = 1}};
    struct cubin_kernel found = {.name = "test"};
    struct flow flow;
    struct accesses all = {.flow = &flow, .facts = &facts, .kernel = &found};

    append(program, OPCODE_EXIT, NUMBER, 0, 0, 0, 7ull << 23);
    assert_int_equal(flow_open(program->words, program->count * INSTRUCTION_BYTES, 90, NULL, 0,
                               &flow),
                     STATUS_OK);
    assert_int_equal(accesses_find_compared(&all), STATUS_OK);
    texts_close(&found.texts);
    flow_close(&flow);
    *count = found.compared_count;
    return found.compared;
}

/* The entries of the one array that is found; 0: none is. */
static uint32_t entries_of(struct program program)
{
    size_t count;
    struct compared_array *arrays = arrays_of(&program, &count);
    const uint32_t entries = count > 0 ? arrays[0].entries : 0;

    assert_true(count <= 1);
    free(arrays);
    return entries;
}

TEST(places_in_ascending_order_and_evenly_apart_are_those_of_an_array)
{
    static const struct {
        uint32_t places[4], entries;
    } rows[] = {{{0, 4, 8, 12}, 4},   {{UINT32_MAX - 3, 0, 4, 8}, 4},
                {{0, 12, 24, 36}, 4}, {{0, 4, 8, 16}, 0},
                {{0, 4, 12, 16}, 0},  {{0, 1, 2, 3}, 0},
                {{12, 8, 4, 0}, 0},   {{0, 0, 0, 0}, 0},
                {{0, 6, 12, 18}, 0},  {{0, 256, 512, 768}, 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct program program = {.count = 0};

        for (unsigned k = 0; k < 4; k++)
            entry(&program, rows[i].places[k], 7 * k);
        if (entries_of(program) != rows[i].entries)
            fail_msg("row %zu: %u", i, entries_of(program));
    }
}

TEST(two_entries_are_not_told_from_a_selection)
{
    struct program program = {.count = 0};

    entry(&program, 0, 1);
    entry(&program, 4, 2);
    assert_int_equal(entries_of(program), 0);
    entry(&program, 8, 3);
    assert_int_equal(entries_of(program), 3);
}

TEST(one_value_of_the_index_is_compared)
{
    struct program program = {.count = 0};

    for (unsigned k = 0; k < 4; k++) {
        entry(&program, 4 * k, k);
        if (k == 1) /* the register changes */
            append(&program, OPCODE_MOV, NUMBER, INDEX, 0, 5, 0);
    }
    assert_int_equal(entries_of(program), 0);
}

TEST(a_predicate_is_what_was_written_last)
{
    struct program program = {.count = 0};

    for (unsigned k = 0; k < 4; k++)
        ask(&program, k, 4 * k);
    append(&program, OPCODE_ISETP, NUMBER, 0, INDEX, 8, ASKS(2, NOT_EQUAL));
    for (unsigned k = 0; k < 4; k++)
        move(&program, k, RESULT, k);
    assert_int_equal(entries_of(program), 0);
}

TEST(an_entry_is_a_number_of_the_code_or_a_word_of_the_parameters)
{
    for (unsigned strange = 0; strange < 4; strange++) {
        struct program numbers = {.count = 0}, words = {.count = 0};

        for (unsigned k = 0; k < 4; k++) {
            const uint32_t offset = PARAMETERS + 4 * k + (strange == 2 && k == 2 ? 4 : 0);

            ask(&numbers, 0, 4 * k);
            if (strange == 1 && k == 2)
                guard(append(&numbers, OPCODE_MOV, REGISTERS, RESULT, 0, 9, 0), 0);
            else if (strange == 3 && k == 2)
                append(&numbers, OPCODE_MOV, NUMBER, RESULT, 0, 9, 0);
            else
                move(&numbers, 0, RESULT, k);
            ask(&words, 0, 4 * k);
            guard(append(&words, OPCODE_MOV, BANK, RESULT, 0, offset >> 2 << 8, 0), 0);
        }
        assert_int_equal(entries_of(numbers), strange == 1 || strange == 3 ? 0 : 4);
        assert_int_equal(entries_of(words), strange == 2 ? 0 : 4);
    }
}

TEST(what_reads_the_register_between_ends_no_array_that_goes_on)
{
    struct program program = {.count = 0};

    for (unsigned k = 0; k < 6; k++) {
        entry(&program, 4 * k, k);
        if (k == 2)
            append(&program, OPCODE_MOV, REGISTERS, 9, 0, RESULT, 0);
    }
    assert_int_equal(entries_of(program), 0);
}

TEST(two_arrays_in_one_register)
{
    struct program program = {.count = 0};
    struct compared_array *arrays;
    size_t count;

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned k = 0; k < 3 + round; k++)
            entry(&program, 4 * k, k);
        append(&program, OPCODE_MOV, REGISTERS, 9 + round, 0, RESULT, 0);
    }
    arrays = arrays_of(&program, &count);
    assert_int_equal(count, 2);
    assert_int_equal(arrays[0].entries, 3);
    assert_int_equal(arrays[1].entries, 4);
    free(arrays);
}

TEST(words_of_one_entry_are_one_array)
{
    struct program program = {.count = 0};
    struct compared_array *arrays;
    size_t count;

    for (unsigned k = 0; k < 4; k++) {
        ask(&program, 0, 8 * k);
        move(&program, 0, RESULT, k);
        move(&program, 0, RESULT + 1, k + 1);
    }
    arrays = arrays_of(&program, &count);
    assert_int_equal(count, 1);
    assert_int_equal(arrays[0].width_bytes, 8);
    assert_int_equal(arrays[0].stride_bytes, 8);
    free(arrays);
}
