/* SPDX-License-Identifier: MIT
 * Rules of the divergence analysis, each with code for which it must not hold. */
#include "divergence.h"
#include "flow.h"
#include "instruction.h"
#include "instruction_words.h"
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
#define NO_IN3    (7ull << 4)
#define LESS      (1ull << 9 | 1ull << 12)

struct program {
    uint64_t words[CODE_MAX][2];
    size_t count;
    uint32_t architecture;
    struct code_facts facts;
};

/* Appends an instruction. high: its second word. */
static uint64_t *append(struct program *program, unsigned opcode, unsigned form, uint32_t result,
                        uint32_t a, uint32_t b, uint64_t high)
{
    return put_instruction(program->words[program->count++], opcode, form, result, a, b, high);
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

static void keep_last(const struct analysed_load *load, void *context)
{
    *(struct analysed_load *)context = *load;
}

static void visit(struct program *program, load_visit *keep, struct analysed_load *load)
{
    struct flow flow;

    assert_int_equal(flow_open(program->words, program->count * INSTRUCTION_BYTES,
                               program->architecture, NULL, 0, &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &program->facts, keep, load), STATUS_OK);
    flow_close(&flow);
}

/* What is said of the last lookup. */
static struct analysed_load lookup_of(struct program *program)
{
    struct analysed_load load = {.variation = VARIATION_COUNT};

    append(program, OPCODE_EXIT, NUMBER, 0, 0, 0, NO_IN);
    visit(program, keep_lookup, &load);
    return load;
}

/* -- where an address lies --------------------------------------------------------------------- */

/* R4: what a load of data brings by 8, 16 or 32 bits. */
static void append_data_of(struct program *program, enum memory_size size)
{
    append_special(program, 2, TID_X);
    set(append(program, OPCODE_LDS, NUMBER, 4, 2, 0, 0), 73, 3, size);
}

static void assert_range(struct program *program, uint32_t first, uint32_t last)
{
    const struct range range = lookup_of(program).range;

    assert_int_equal(range.first, first);
    assert_int_equal(range_last(range), last);
}

TEST(bytes_of_data_have_a_range)
{
    static const struct {
        enum memory_size size;
        uint32_t first, last; /* of 4 * data + 0x100 */
    } rows[] = {
        {SIZE_BYTE, 0x100, 0x100 + 4 * 255},
        {SIZE_SIGNED_BYTE, 0x100 - 4 * 128, 0x100 + 4 * 127},
        {SIZE_HALF, 0x100, 0x100 + 4 * 65535},
        {SIZE_WORD, 0, UINT32_MAX},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct program program = {.architecture = 90};

        append_data_of(&program, rows[i].size);
        append(&program, OPCODE_IMAD, NUMBER, 4, 4, 4, PRODUCT);
        append(&program, OPCODE_IADD3, NUMBER, 4, 4, 0x100, SUM);
        append_lookup(&program, 4);
        assert_range(&program, rows[i].first, rows[i].last);
    }
}

/* The least, or the greatest, of data and 63; `type` is of words or halves, signed or not. */
static void append_least(struct program *program, unsigned opcode, unsigned type, bool greatest)
{
    append_data_of(program, SIZE_WORD);
    append(program, opcode, NUMBER, 4, 4, 63, (uint64_t)(greatest ? 15 : 7) << 23 | type << 8);
    append_lookup(program, 4);
}

TEST(the_least_of_two_has_a_range_where_words_are_compared)
{
    static const struct {
        unsigned opcode, type;
        bool greatest;
        uint32_t first, last;
    } rows[] = {
        {OPCODE_IMNMX, 0, false, 0, 63},          {OPCODE_IMNMX, 0, true, 63, UINT32_MAX},
        {OPCODE_IMNMX, 2, false, 0x80000000, 63}, /* signed */
        {OPCODE_IMNMX, 2, true, 63, 0x7fffffff},  {OPCODE_VIMNMX, 0, false, 0, 63},
        {OPCODE_VIMNMX, 1, true, 63, 0x7fffffff}, /* signed */
        {OPCODE_VIMNMX, 2, false, 0, UINT32_MAX}, /* of halves */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct program program = {.architecture = 90};

        append_least(&program, rows[i].opcode, rows[i].type, rows[i].greatest);
        assert_range(&program, rows[i].first, rows[i].last);
    }
}

/* R4 is a byte of data, to which some threads add 0x100. */
TEST(a_join_has_the_ranges_and_the_numbers_of_both_paths)
{
    struct program program = {.architecture = 90};
    struct analysed_load load;
    uint64_t *added;

    append_data_of(&program, SIZE_BYTE);
    append(&program, OPCODE_ISETP, NUMBER, 0, 4, 9, LESS | NO_IN3 | TO(0) | NO_IN);
    added = append(&program, OPCODE_IADD3, NUMBER, 4, 4, 0x100, SUM);
    added[0] &= ~(0xfull << 12); /* @P0 */
    append_lookup(&program, 4);
    load = lookup_of(&program);
    assert_int_equal(load.range.first, 0);
    assert_int_equal(range_last(load.range), 0x1ff);
    assert_true(load.several);
}

/* -- indices that go around, and numbers of rounds ----------------------------------------------
 */

/* A lookup at (threadIdx.x * times + a parameter) & mask. */
static struct analysed_load lookup_around(uint32_t times, uint32_t mask)
{
    struct program program = {.architecture = 90};
    uint64_t *words;

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_IMAD, NUMBER, 2, 2, times, PRODUCT);
    words = append(&program, OPCODE_LDC, BANK, 4, RZ, 0, 0);
    set(words, 38, 16, 0x210);
    set(words, 73, 3, SIZE_WORD);
    append(&program, OPCODE_IADD3, REGISTERS, 4, 2, 4, SUM);
    append(&program, OPCODE_LOP3, NUMBER, 4, 4, mask, C_RZ | 0xc0ull << 8 | TO(PT) | NO_IN);
    append(&program, OPCODE_IMAD, NUMBER, 4, 4, 4, PRODUCT);
    append_lookup(&program, 4);
    return lookup_of(&program);
}

TEST(an_index_that_goes_around_has_as_many_addresses_as_without_a_turn)
{
    static const struct {
        uint32_t times, mask, addresses; /* 0: not known */
    } rows[] = {
        {1, 31, 32},  {1, 15, 16},   {8, 63, 8},
        {3, 255, 32}, {1, 1023, 32}, {1, 0x5c, 0}, /* the bits are not beside each other */
        {1, 28, 0}, /* a carry from the two bits below moves some threads on */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct analysed_load load = lookup_around(rows[i].times, rows[i].mask);

        assert_int_equal(load.variation, VARIATION_THREAD);
        assert_int_equal(load.ring_addresses, rows[i].addresses);
        assert_true(load.one_dimension == (rows[i].addresses > 0));
    }
}

/* A lookup at how often a loop runs from threadIdx.x to `limit` in steps of 2^step. */
static enum variation rounds_vary(uint32_t limit, uint32_t step)
{
    const uint32_t stride = 1u << step;
    struct program program = {.architecture = 90};

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_VIMNMX, NUMBER, 4, 2, limit - stride, 15ull << 23 | TO(PT) | 1ull << 8);
    append(&program, OPCODE_IADD3, NUMBER, 4, 2, stride - 1,
           4 | NEGATED_A | NO_IN2 | TO(PT) | NO_IN);
    append(&program, OPCODE_SHF, NUMBER, 4, RZ, step,
           4 | (uint64_t)SHIFT_U32 << 9 | 1ull << 12 | 1ull << 16);
    append_lookup(&program, 4);
    return lookup_of(&program).variation;
}

TEST(a_loop_from_the_thread_to_a_number_of_whole_warps_has_one_number_of_rounds)
{
    assert_int_equal(rounds_vary(1024, 5), VARIATION_WARP);
    assert_int_equal(rounds_vary(1024, 8), VARIATION_WARP);
    assert_int_equal(rounds_vary(1000, 5),
                     VARIATION_THREAD); /* 8 threads of a warp run once more */
    assert_int_equal(rounds_vary(1024, 4), VARIATION_THREAD);
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

/* -- what a warp shares ------------------------------------------------------------------------ */

#define SHIFT  (3ull << 9 | 1ull << 12 | 1ull << 16) /* SHF.R.U32.HI */
#define FUNNEL (1ull << 9 | 1ull << 12) /* SHF.R.U64 */
#define AND    (0xc0ull << 8)
#define RESULT 4 /* the register that a lookup takes */
#define CHOSEN 0 /* predicate */

/* A lookup at one of two numbers, by a predicate. */
static enum variation by_predicate(struct program *program)
{
    append(program, OPCODE_MOV, NUMBER, 6, 0, 8, 0);
    append(program, OPCODE_MOV, NUMBER, 7, 0, 64, 0);
    append(program, OPCODE_SEL, REGISTERS, RESULT, 6, 7, (uint64_t)CHOSEN << 23);
    append_lookup(program, RESULT);
    return lookup_of(program).variation;
}

static enum variation below(uint32_t limit)
{
    struct program program = {.architecture = 90};

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_ISETP, NUMBER, 0, 2, limit, LESS | NO_IN3 | TO(CHOSEN) | NO_IN);
    return by_predicate(&program);
}

TEST(a_limit_between_two_warps_splits_none)
{
    assert_int_equal(below(64), VARIATION_WARP);
    assert_int_equal(below(65), VARIATION_THREAD);
    assert_int_equal(below(48), VARIATION_THREAD);
}

static enum variation of_mask(uint32_t mask)
{
    struct program program = {.architecture = 90};

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_LOP3, NUMBER, RZ, 2, mask, C_RZ | AND | TO(CHOSEN) | NO_IN);
    return by_predicate(&program);
}

TEST(a_mask_of_bits_above_a_warp_splits_none)
{
    assert_int_equal(of_mask(32), VARIATION_WARP);
    assert_int_equal(of_mask(33), VARIATION_THREAD);
}

/* threadIdx.x * factor >> 32 + by */
static enum variation quotient(uint32_t factor, uint32_t by)
{
    struct program program = {.architecture = 90};

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_IMAD_WIDE, NUMBER, 4, 2, factor, PRODUCT);
    append(&program, OPCODE_SHF, NUMBER, RESULT, RZ, by, SHIFT | 5);
    append_lookup(&program, RESULT);
    return lookup_of(&program).variation;
}

TEST(a_quotient_by_a_multiple_of_32_is_one_of_the_warp)
{
    assert_int_equal(quotient(0xaaaaaaab, 6), VARIATION_WARP); /* / 96 */
    assert_int_equal(quotient(0xaaaaaaab, 5), VARIATION_THREAD); /* / 48 */
    assert_int_equal(quotient(0xaaaaaaac, 6), VARIATION_THREAD); /* of some numbers only */
}

/* The high word of 32 * n + rest, and what threadIdx.x makes in the low word of 64 bits. */
static enum variation high_word(uint32_t rest, bool negated, uint32_t factor)
{
    struct program program = {.architecture = 90};
    uint64_t *words;

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_IADD3, NUMBER, 2, 2, 0, SUM | (negated ? NEGATED_A : 0));
    append(&program, OPCODE_IMAD, NUMBER, 2, 2, factor, PRODUCT);
    append(&program, OPCODE_MOV, NUMBER, 3, 0, 0, 0);
    words = append(&program, OPCODE_LDC, BANK, 6, RZ, 0, 0);
    set(words, 38, 16, 0x500);
    set(words, 73, 3, SIZE_WORD);
    append(&program, OPCODE_IMAD, NUMBER, 6, 6, 32, PRODUCT);
    append(&program, OPCODE_IADD3, NUMBER, 6, 6, rest, SUM);
    append(&program, OPCODE_IMAD_WIDE, NUMBER, 8, 6, 1, 2 | TO(PT) | NO_IN);
    append_lookup(&program, 9);
    return lookup_of(&program).variation;
}

TEST(a_high_word_to_which_no_lane_carries_is_uniform)
{
    assert_int_equal(high_word(0, false, 1), VARIATION_WARP);
    /* 2 * threadIdx.x may reach 32 and more. */
    assert_int_equal(high_word(0, false, 2), VARIATION_THREAD);
    /* 31 - threadIdx.x stays below 32, but in 64 bits it is 2^32 less where it is unsigned. */
    assert_int_equal(high_word(31, true, 1), VARIATION_THREAD);
}

/* {threadIdx.x * 2^30 >> 32, threadIdx.x} >> 5, masked. */
static enum variation funnel(uint32_t mask)
{
    struct program program = {.architecture = 90};

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_IMAD_WIDE, NUMBER, 6, 2, 1u << 30, PRODUCT);
    append(&program, OPCODE_SHF, NUMBER, RESULT, 2, 5, FUNNEL | 7);
    append(&program, OPCODE_LOP3, NUMBER, RESULT, RESULT, mask, C_RZ | AND | TO(PT) | NO_IN);
    append_lookup(&program, RESULT);
    return lookup_of(&program).variation;
}

TEST(of_a_pair_that_is_shifted_the_low_bits_are_those_of_the_low_word)
{
    assert_int_equal(funnel(0xff), VARIATION_WARP);
    assert_true(funnel(UINT32_MAX) >= VARIATION_THREAD);
}

TEST(the_complement_of_an_index_counts_down)
{
    struct program program = {.architecture = 90};
    struct analysed_load load;

    append_special(&program, 2, TID_X);
    append(&program, OPCODE_LOP3, REGISTERS, RESULT, RZ, 2, C_RZ | 0x33ull << 8 | TO(PT) | NO_IN);
    append(&program, OPCODE_IMAD, NUMBER, RESULT, RESULT, 4, PRODUCT);
    append_lookup(&program, RESULT);
    load = lookup_of(&program);
    assert_int_equal(load.variation, VARIATION_AFFINE);
    assert_int_equal(load.stride_bytes, -4);
}

/* A lookup at the number of the warp in its SM. Before it, threads may wait for a part of them. */
static enum variation of_warp_number(bool parts)
{
    enum { VIRTUAL_ID = 0x03, LANE_MASK_LT = 0x39 };
    struct program program = {.architecture = 90};

    append_special(&program, 3, LANE_MASK_LT);
    if (parts)
        append(&program, OPCODE_WARPSYNC, REGISTERS, 0, 3, 0, 0);
    append_special(&program, RESULT, VIRTUAL_ID);
    append_lookup(&program, RESULT);
    return lookup_of(&program).variation;
}

TEST(the_number_of_a_warp_is_one_for_threads_that_read_it_together)
{
    assert_int_equal(of_warp_number(false), VARIATION_WARP);
    assert_int_equal(of_warp_number(true), VARIATION_UNKNOWN);
}

/* -- butterfly reductions ---------------------------------------------------------------------- */

/* What is not as it should be. */
struct butterfly {
    unsigned without; /* a bit of the lane's number that no stage is of */
    bool difference; /* not a sum */
    bool with_own; /* each lane adds what it has once more */
    bool written_between; /* the value is written again before it is added */
    bool halves; /* the shuffles are of 16 lanes */
    bool some_exit, some_branch; /* before the first stage */
    uint32_t block; /* threads; 0: not known */
};

static void append_stage(struct program *program, const struct butterfly *wrong, unsigned bit)
{
    const unsigned clamp = wrong->halves ? 0x100f : 0x1f;
    const uint64_t third = wrong->with_own ? 7 : C_RZ;
    uint64_t *words = append(program, OPCODE_SHFL, 7, 5, RESULT, clamp << 8, TO(PT));

    set(words, 53, 5, bit);
    set(words, 58, 2, 3); /* by exclusive or */
    if (wrong->written_between)
        append(program, OPCODE_IMAD, NUMBER, RESULT, RESULT, 3, PRODUCT);
    append(program, OPCODE_MOV, REGISTERS, 7, 0, RESULT, 0);
    append(program, OPCODE_IADD3, REGISTERS, RESULT, RESULT, 5,
           (SUM & ~C_RZ) | third | (wrong->difference ? NEGATED_A : 0));
}

static struct analysed_load of_butterfly(struct butterfly wrong)
{
    struct program program = {.architecture = 90, .facts.block = {wrong.block, 1, 1}};
    size_t branch;

    append_data(&program);
    append(&program, OPCODE_ISETP, NUMBER, 0, RESULT, 5, LESS | NO_IN3 | TO(CHOSEN) | NO_IN);
    branch = program.count;
    append(&program, wrong.some_exit ? OPCODE_EXIT : OPCODE_BRA, NUMBER, 0, 0, 0, NO_IN);
    if (!wrong.some_exit && !wrong.some_branch)
        program.words[branch][0] |= 0xfull << 12; /* never */
    else
        program.words[branch][0] &= ~(0xfull << 12); /* @P0 */
    for (unsigned bit = 1; bit < 32; bit *= 2)
        if (bit != wrong.without)
            append_stage(&program, &wrong, bit);
    append_lookup(&program, RESULT);
    if (!wrong.some_exit) /* past the lookup, to the end */
        set(program.words[branch], 16, 8, (program.count - branch - 1) * 4);
    return lookup_of(&program);
}

TEST(a_butterfly_of_sums_is_one_value_of_the_warp)
{
    struct analysed_load load = of_butterfly((struct butterfly){0});

    assert_int_equal(load.variation, VARIATION_WARP);
    assert_non_null(load.condition); /* whole warps */
    load = of_butterfly((struct butterfly){.block = 64});
    assert_int_equal(load.variation, VARIATION_WARP);
    assert_null(load.condition);
}

TEST(a_butterfly_that_is_none_proves_nothing)
{
    static const struct butterfly wrong[] = {
        {.without = 8},   {.difference = true}, {.with_own = true},    {.written_between = true},
        {.halves = true}, {.some_exit = true},  {.some_branch = true}, {.block = 48},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (of_butterfly(wrong[i]).variation < VARIATION_THREAD)
            fail_msg("butterfly %zu", i);
}

/* -- banks ------------------------------------------------------------------------------------- */

/* A load of shared memory at factor * data + 4 * threadIdx.x, as bits that are set beside each
 * other. */
static struct analysed_load of_copies(uint32_t factor)
{
    struct analysed_load load = {.variation = VARIATION_COUNT};
    struct program program = {.architecture = 90};

    append_data(&program);
    append(&program, OPCODE_IMAD, NUMBER, 4, 4, factor, PRODUCT);
    append(&program, OPCODE_LOP3, NUMBER, 2, 2, 31, C_RZ | AND | TO(PT) | NO_IN);
    append(&program, OPCODE_IMAD, NUMBER, 2, 2, 4, PRODUCT);
    append(&program, OPCODE_LOP3, REGISTERS, 4, 4, 2, C_RZ | 0xfcull << 8 | TO(PT) | NO_IN);
    set(append(&program, OPCODE_LDS, NUMBER, 5, 4, 0, 0), 73, 3, SIZE_WORD);
    append(&program, OPCODE_EXIT, NUMBER, 0, 0, 0, NO_IN);
    visit(&program, keep_last, &load);
    return load;
}

TEST(a_table_that_has_a_copy_for_each_bank_is_read_without_conflicts)
{
    assert_true(of_copies(128).banks_apart);
    assert_int_equal(of_copies(128).variation, VARIATION_DATA);
    assert_false(of_copies(64).banks_apart); /* 16 copies */
    assert_false(of_copies(132).banks_apart); /* rows that are padded */
}
