/* SPDX-License-Identifier: MIT
 * What the analysis proves holds when the code is executed: random programs run in an
 * interpreter that shares nothing with the analysis but the bits. One branch closes a loop, and
 * no other branch leads back, so that threads at one instruction are in one round. Compilers see
 * to that by BSYNC. */
#include <stdio.h>
#include <stdlib.h>

#include "divergence.h"
#include "flow.h"
#include "instruction.h"
#include "instruction_words.h"
#include "size.h"
#include "test.h"

enum {
    LANES = 32,
    WARPS = 2, /* of a block */
    BLOCKS = 2,
    BODY = 26, /* instructions between the first values and EXIT */
    DATA_REGISTERS = 10, /* R1 is the stack's */
    PREDICATES = 4,
    CODE_MAX = 128,
    STEPS_MAX = 400,
    LOADS_MAX = CODE_MAX,
    LOCAL_WORDS = 64,
    PT = 7,
    RZ = 255,
    STACK_POINTER = 1,
    FIRST_64_BITS = 100, /* architecture */
    COUNTER = 0, /* the register that loops count in, where they do */
    OF_BLOCK = 3, /* a predicate that differs by block */
    OF_LANE = 2
};

/* Forms: what is at bit 32. */
enum { REGISTERS = 1, NUMBER_LAST = 2, LONG_REGISTERS = 3, NUMBER = 4, BANK = 5, UNIFORM = 6 };

/* Special registers, and places in the bank of parameters before sm_100 and from there on. */
enum {
    LANE_ID = 0x00,
    TID_X = 0x21,
    CTAID_X = 0x25,
    LANE_MASK_LT = 0x39,
    AND_PT = 0x70, /* of a comparison: no other predicate */
    PARAMETERS_FIRST = 0x200,
    PARAMETERS_LATE = 0x20, /* behind BLOCK_DIM_LATE */
    BLOCK_DIM_LATE = 0x360,
    STACK_FIRST = 0x28,
    STACK_LATE = 0x37c
};

/* -- programs ---------------------------------------------------------------------------------- */

struct program {
    uint64_t words[CODE_MAX][2];
    size_t count;
    uint32_t architecture;
    uint64_t state; /* of random numbers */
    size_t back[2]; /* the branches that close the outer and the inner loop */
};

static uint32_t random_below(struct program *program, uint32_t limit)
{
    program->state = program->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((program->state >> 33) % limit);
}

static uint64_t get(const uint64_t words[2], unsigned first, unsigned count)
{
    const uint64_t value = first >= 64  ? words[1] >> (first - 64)
                           : first == 0 ? words[0]
                                        : words[0] >> first | words[1] << (64 - first);

    return value & ((1ull << count) - 1);
}

/* Appends an instruction with its operands A, B and C. */
static uint64_t *append(struct program *program, unsigned operation, unsigned form, uint32_t result,
                        uint32_t a, uint32_t b, uint32_t c)
{
    return put_instruction(program->words[program->count++], operation, form, result, a, b, c);
}

static void set_predicates(uint64_t *words, uint32_t written, uint32_t read, bool negated)
{
    set(words, 81, 3, written);
    set(words, 84, 3, PT);
    set(words, 87, 3, read);
    set(words, 90, 1, negated);
}

static uint32_t any_register(struct program *program)
{
    const uint32_t number =
        random_below(program, 3) == 0 ? COUNTER : random_below(program, DATA_REGISTERS + 1);

    return number == DATA_REGISTERS || number == 1 ? RZ : number;
}

static uint32_t result_register(struct program *program)
{
    const uint32_t number = random_below(program, DATA_REGISTERS);

    return number == 1 ? 0 : number;
}

static uint32_t pair(struct program *program)
{
    return 2 + 2 * random_below(program, DATA_REGISTERS / 2 - 1);
}

static uint32_t small(struct program *program)
{
    static const uint32_t numbers[] = {0,  1,   2,          3,          4,          5,
                                       7,  8,   12,         16,         31,         32,
                                       64, 255, 0x5e3779b1, 0xfffffffc, 0xffffffff, 0xffffffe0};

    return numbers[random_below(program, sizeof(numbers) / sizeof(numbers[0]))];
}

static void append_exit(struct program *program)
{
    set(append(program, OPCODE_EXIT, NUMBER, 0, 0, 0, 0), 87, 3, PT);
}

/* Where the program branches to: of architectures from sm_90 on, the low byte of the offset is at
 * bit 16. */
static void set_target(const struct program *program, uint64_t *words, size_t from, size_t to)
{
    const int64_t units = ((int64_t)to - (int64_t)from - 1) * 4;
    const uint64_t above = (uint64_t)(program->architecture >= 90 ? units >> 8 : units);

    if (program->architecture >= 90)
        set(words, 16, 8, (uint64_t)units);
    words[0] |= above << 34;
    set(words, 64, 18, above >> 30);
}

/* The operands of an instruction that is drawn. */
struct drawn {
    bool immediate; /* b is a number */
    uint32_t result, a, b, c;
    unsigned form;
};

static uint32_t one_of(struct program *program, const uint8_t *numbers, uint32_t count)
{
    return numbers[random_below(program, count)];
}

#define ONE_OF(program, ...) \
    one_of(program, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* A sum, or the low or both words of a product. */
static void append_sum(struct program *program, const struct drawn *drawn)
{
    uint64_t *words =
        append(program, OPCODE_IADD3, drawn->form, drawn->result, drawn->a, drawn->b, drawn->c);

    set(words, 72, 1, random_below(program, 4) == 0);
    set(words, 75, 1, random_below(program, 4) == 0);
    set(words, 77, 3, PT);
    set_predicates(words, PT, PT, true);
}

static void append_product(struct program *program, const struct drawn *drawn, bool wide)
{
    const uint32_t result = wide ? pair(program) : drawn->result;
    const uint32_t c = !wide ? drawn->c : random_below(program, 2) ? RZ : pair(program);
    uint64_t *words = append(program, wide ? OPCODE_IMAD_WIDE : OPCODE_IMAD, drawn->form, result,
                             drawn->a, drawn->b, c);

    set(words, 73, 1, wide ? random_below(program, 2) : 1);
    set_predicates(words, PT, PT, true);
}

static void append_shifted_sum(struct program *program, const struct drawn *drawn)
{
    uint64_t *words =
        append(program, OPCODE_LEA, REGISTERS, drawn->result, drawn->a, any_register(program), RZ);

    set(words, 75, 5, random_below(program, 32));
    set(words, 73, 1, random_below(program, 2));
    set(words, 80, 1, random_below(program, 2));
    set_predicates(words, PT, PT, true);
}

static void append_shift(struct program *program, const struct drawn *drawn, bool right)
{
    uint32_t by = drawn->b;
    uint64_t *words;

    if (drawn->immediate)
        by = right && random_below(program, 2) ? 31 : random_below(program, 34);
    words = append(program, OPCODE_SHF, drawn->form, drawn->result, right ? RZ : drawn->a, by,
                   right ? drawn->a : RZ);
    set(words, 73, 3, right ? SHIFT_S32 + random_below(program, 2) : SHIFT_U32);
    set(words, 76, 1, right);
    set(words, 80, 1, right);
}

static void append_logic(struct program *program, const struct drawn *drawn)
{
    uint64_t *words =
        append(program, OPCODE_LOP3, drawn->form, drawn->result, drawn->a, drawn->b, drawn->c);

    set(words, 72, 8,
        random_below(program, 3) ? ONE_OF(program, 0xc0, 0xfc, 0x3c, 0xf8)
                                 : random_below(program, 256));
    set_predicates(words, PT, PT, true);
}

/* The lesser of two, or the greater, of signed or unsigned numbers. */
static void append_least(struct program *program, const struct drawn *drawn)
{
    uint64_t *words =
        append(program, OPCODE_VIMNMX, drawn->form, drawn->result, drawn->a, drawn->b, 0);

    set(words, 72, 1, random_below(program, 2));
    set_predicates(words, PT, PT, random_below(program, 2));
}

/* Arithmetic, of kinds 0 to 10. */
static void append_arithmetic(struct program *program, unsigned kind)
{
    struct drawn drawn = {.immediate = random_below(program, 3) == 0};

    drawn.result = result_register(program);
    drawn.a = any_register(program);
    drawn.c = any_register(program);
    drawn.b = drawn.immediate ? small(program) : any_register(program);
    drawn.form = drawn.immediate ? NUMBER : REGISTERS;
    switch (kind) {
    case 0:
        set(append(program, OPCODE_S2R, NUMBER, drawn.result, 0, 0, 0), 72, 8,
            ONE_OF(program, TID_X, TID_X, LANE_ID, CTAID_X, LANE_MASK_LT));
        break;
    case 1:
        append(program, OPCODE_MOV, NUMBER, drawn.result, 0, small(program), 0);
        break;
    case 2:
    case 3:
        append_sum(program, &drawn);
        break;
    case 4:
    case 5:
        append_product(program, &drawn, kind == 5);
        break;
    case 6:
        append_shifted_sum(program, &drawn);
        break;
    case 7:
    case 8:
        append_shift(program, &drawn, kind == 8);
        break;
    case 9:
    case 10:
        append_logic(program, &drawn);
        break;
    default:
        fail();
    }
}

/* Instructions that take or write several predicates, of kinds 0 to 4. */
static void append_predicates(struct program *program, unsigned kind)
{
    const bool immediate = random_below(program, 3) == 0, negated = random_below(program, 2);
    const uint32_t a = any_register(program), predicate = random_below(program, PREDICATES);
    const uint32_t b = immediate ? small(program) : any_register(program);
    const unsigned form = immediate ? 4 : 1;
    uint64_t *words;

    switch (kind) {
    case 0: /* ISETP.EX, and comparisons that are combined with a predicate */
        words = append(program, OPCODE_ISETP, form, 0, a, b, 0);
        set(words, 68, 3, negated ? random_below(program, PREDICATES) : PT);
        set(words, 72, 2, negated + 2 * random_below(program, 2));
        set(words, 74, 2, random_below(program, 3));
        set(words, 76, 3, random_below(program, 8));
        set_predicates(words, predicate, random_below(program, PREDICATES),
                       random_below(program, 2));
        break;
    case 1: /* PLOP3 */
        words = append(program, OPCODE_PLOP3, 4, 0, 0, 0, random_below(program, 8));
        set(words, 68, 4, random_below(program, 16) & 11);
        set(words, 72, 5, random_below(program, 32));
        set(words, 77, 4, random_below(program, 16) & 11);
        set_predicates(words, predicate, random_below(program, PREDICATES), negated);
        break;
    case 2: /* IADD3 with a carry, and the word above it */
    case 3:
        words = append(program, OPCODE_IADD3, form, result_register(program), a, b, RZ);
        set(words, 74, 1, negated);
        set(words, 77, 4,
            negated && random_below(program, 2) ? random_below(program, PREDICATES) : 8 | PT);
        set_predicates(words, negated ? PT : predicate, negated ? predicate : PT, !negated);
        break;
    default: /* R2P */
        append(program, OPCODE_R2P, 4, 0, a, random_below(program, 1 << PREDICATES), 0);
        break;
    }
}

/* Operations on pairs of registers, of sm_100 and later: kinds 0 to 3. */
static void append_long(struct program *program, unsigned kind)
{
    const bool immediate = random_below(program, 3) == 0, negated = random_below(program, 2);
    const uint32_t b = small(program), predicate = random_below(program, PREDICATES);
    const unsigned form = immediate ? 4 : 1;
    uint64_t *words;

    switch (kind) {
    case 0:
    case 1:
        words = append(program, OPCODE_IADD_64, form, pair(program), pair(program),
                       immediate ? b : pair(program), 0);
        set(words, 72, 1, random_below(program, 4) == 0);
        set_predicates(words, PT, PT, true);
        break;
    case 2:
        words = append(program, OPCODE_MOV, 1, pair(program), 0, pair(program), 0);
        set(words, 80, 1, 1);
        break;
    default:
        words = append(program, OPCODE_SEL, immediate ? 2 : 3, pair(program), pair(program),
                       immediate ? b : pair(program), 0);
        set_predicates(words, 0, predicate, negated);
        break;
    }
}

static void append_comparison(struct program *program, const struct drawn *drawn,
                              uint32_t predicate)
{
    const bool late = program->architecture >= FIRST_64_BITS;
    uint64_t *words = append(program, OPCODE_ISETP, drawn->form, 0, drawn->a, drawn->b, AND_PT);

    set(words, 73, 1, random_below(program, 2));
    set(words, 76, 3, random_below(program, 8));
    set(words, 80, 1, late && random_below(program, 4) == 0);
    if (get(words, 80, 1) && !drawn->immediate)
        words[0] = (words[0] & ~(0xffull << 24 | 0xffull << 32)) | (uint64_t)pair(program) << 24 |
                   (uint64_t)pair(program) << 32;
    else if (get(words, 80, 1))
        words[0] = (words[0] & ~(0xffull << 24)) | (uint64_t)pair(program) << 24;
    set_predicates(words, predicate, PT, false);
}

/* A load from the bank of parameters: a parameter, or blockDim.x. */
static void append_parameter(struct program *program, uint32_t result)
{
    const bool late = program->architecture >= FIRST_64_BITS;
    uint64_t *words = append(program, OPCODE_LDC, BANK, result, RZ, 0, 0);

    set(words, 38, 16,
        (late ? BLOCK_DIM_LATE : 0) +
            (random_below(program, 3)
                 ? (late ? PARAMETERS_LATE : PARAMETERS_FIRST) + 4 * random_below(program, 3)
                 : 0));
    set(words, 73, 3, SIZE_WORD);
}

/* A load or store of a word, at a register and an offset. */
static void append_memory(struct program *program, unsigned opcode, uint32_t result, uint32_t a,
                          uint32_t data)
{
    uint64_t *words = append(program, opcode, NUMBER, result, a, data, 0);

    set(words, 40, 24, 4 * random_below(program, 8));
    set(words, 73, 3, SIZE_WORD);
}

/* Two bytes where they are and some others, or any four. */
static void append_permutation(struct program *program, const struct drawn *drawn, bool halves)
{
    const uint32_t selector =
        halves ? random_below(program, 0x100) << 8 | 0x10 : random_below(program, 0x10000);

    append(program, OPCODE_PRMT, NUMBER, drawn->result, drawn->a, selector, any_register(program));
}

static void append_random(struct program *program)
{
    struct drawn drawn = {.immediate = random_below(program, 3) == 0};

    drawn.result = result_register(program);
    drawn.a = any_register(program);
    drawn.b = drawn.immediate ? small(program) : any_register(program);
    drawn.form = drawn.immediate ? NUMBER : REGISTERS;
    const uint32_t predicate = random_below(program, PREDICATES);
    const bool negated = random_below(program, 2);
    const unsigned kind = random_below(program, program->architecture >= FIRST_64_BITS ? 28 : 24);

    if (kind < 11) {
        append_arithmetic(program, kind);
        return;
    }
    if (kind == 27 || (kind == 23 && program->architecture < FIRST_64_BITS)) {
        append_least(program, &drawn);
        return;
    }
    if (kind >= 18) {
        (kind < 23 ? append_predicates : append_long)(program, kind < 23 ? kind - 18 : kind - 23);
        return;
    }
    switch (kind) {
    case 11:
        set_predicates(append(program, OPCODE_SEL, drawn.form, drawn.result, drawn.a, drawn.b, 0),
                       0, predicate, negated);
        break;
    case 12:
    case 13:
        append_comparison(program, &drawn, predicate);
        break;
    case 14:
        append_permutation(program, &drawn, negated);
        break;
    case 15:
        append_parameter(program, drawn.result);
        break;
    case 16: /* data */
        append_memory(program, OPCODE_LDS, drawn.result, drawn.a, 0);
        break;
    case 17: /* the stack */
        append_memory(program, negated ? OPCODE_STL : OPCODE_LDL, drawn.result, STACK_POINTER,
                      negated ? drawn.result : 0);
        break;
    default:
        fail();
    }
}

/* A load whose class is checked: from a constant bank, shared or global memory. */
static void append_load(struct program *program)
{
    const uint32_t result = result_register(program), kind = random_below(program, 3);
    uint64_t *words;

    if (kind == 0) {
        words = append(program, OPCODE_LDC, 5, result, any_register(program), 0, 0);
        set(words, 38, 16, 4 * random_below(program, 4));
        set(words, 54, 5, 3);
    } else if (kind == 1) {
        words = append(program, OPCODE_LDS, 4, result, any_register(program), 0, 0);
        set(words, 40, 24, 4 * random_below(program, 4));
    } else {
        words = append(program, OPCODE_LDG, 4, result, pair(program), 0, 0);
        set(words, 32, 8, 4);
        set(words, 72, 1, 1);
        set(words, 81, 3, PT);
        set(words, 90, 2, 3);
    }
    set(words, 73, 3, 4);
}

static uint64_t *append_compare(struct program *program, uint32_t predicate, uint32_t a,
                                unsigned form, uint32_t b)
{
    uint64_t *words = append(program, OPCODE_ISETP, form, 0, a, b, 0x70);

    set(words, 73, 1, 1);
    set(words, 76, 3, 1 + random_below(program, 6));
    set_predicates(words, predicate, PT, false);
    return words;
}

/* How many rounds a loop has from the thread's number on, as compilers count them: the greater of
 * it and a number, less it. What is made of that decides a load. */
static void append_rounds(struct program *program)
{
    const uint32_t predicate = random_below(program, PREDICATES);
    const struct drawn least = {.result = 7,
                                .a = 9,
                                .b = ONE_OF(program, 0, 1, 31, 32, 33, 64),
                                .form = NUMBER};
    uint64_t *words;

    set(append(program, OPCODE_S2R, NUMBER, 9, 0, 0, 0), 72, 8, TID_X);
    append_least(program, &least);
    words = append(program, OPCODE_IADD3, NUMBER, 7, 9, ONE_OF(program, 0, 16, 31, 32, 63), 7);
    set(words, 72, 1, random_below(program, 4) > 0);
    set(words, 77, 3, PT);
    set_predicates(words, PT, PT, true);
    switch (random_below(program, 4)) {
    case 0:
        append_compare(program, predicate, 7, NUMBER, ONE_OF(program, 0, 31, 32, 33, 63, 64));
        set_predicates(append(program, OPCODE_SEL, NUMBER, 8, RZ, 4, 0), 0, predicate, false);
        break;
    case 1:
        append_shift(program, &(struct drawn){true, 8, 7, 0, RZ, NUMBER}, true);
        set(program->words[program->count - 1], 32, 32, 4 + random_below(program, 3));
        break;
    case 2:
        words = append(program, OPCODE_LOP3, NUMBER, 8, 7, ONE_OF(program, 16, 32, 48, 224), RZ);
        set(words, 72, 8, 0xc0);
        set_predicates(words, PT, PT, true);
        break;
    default:
        append(program, OPCODE_MOV, REGISTERS, 8, 0, 7, 0);
    }
    words = append(program, OPCODE_LDS, NUMBER, 6, 8, 0, 0);
    set(words, 73, 3, SIZE_WORD);
}

/* A sum, and a product. */
static void append_add(struct program *program, uint32_t result, uint32_t a, uint32_t c)
{
    uint64_t *words = append(program, OPCODE_IADD3, NUMBER, result, a, small(program), c);

    set(words, 77, 3, PT);
    set_predicates(words, PT, PT, true);
}

static void append_times(struct program *program, uint32_t result, uint32_t a, uint32_t number)
{
    uint64_t *words = append(program, OPCODE_IMAD, NUMBER, result, a, number, RZ);

    set(words, 73, 1, 1);
    set_predicates(words, PT, PT, true);
}

/* An index that goes around: the thread's number and one that a warp shares, and some bits of the
 * sum. */
static void append_ring(struct program *program)
{
    uint64_t *words;

    set(append(program, OPCODE_S2R, NUMBER, 9, 0, 0, 0), 72, 8, TID_X);
    append_times(program, 9, 9, ONE_OF(program, 1, 1, 2, 3, 4, 7, 16));
    if (random_below(program, 3))
        append_parameter(program, 8);
    else
        set(append(program, OPCODE_LDS, NUMBER, 8, RZ, 0, 0), 73, 3, SIZE_WORD);
    append_times(program, 8, 8, ONE_OF(program, 1, 1, 4, 8, 6));
    append_add(program, 7, 9, 8);
    append_times(program, 7, 7, ONE_OF(program, 1, 1, 4));
    words = append(program, OPCODE_LOP3, NUMBER, 7, 7,
                   ONE_OF(program, 7, 15, 31, 63, 127, 28, 124, 252, 240, 0x5c, 0x2f), RZ);
    set(words, 72, 8, 0xc0);
    set_predicates(words, PT, PT, true);
    append_times(program, 7, 7, random_below(program, 4) ? ONE_OF(program, 1, 4, 12, 5) : 1u << 30);
    append_add(program, 8, 7, random_below(program, 3) ? RZ : any_register(program));
    words = append(program, OPCODE_LDS, NUMBER, 6, 8, 0, 0);
    set(words, 73, 3, SIZE_WORD);
}

/* An array of the thread: a store at one index, a load at another, which decides a load. Indices
 * and what is stored are mostly one for all threads. */
static void append_array(struct program *program)
{
    const uint32_t predicate = random_below(program, PREDICATES);
    uint64_t *words;

    append_parameter(program, 4);
    words = append(program, OPCODE_LOP3, NUMBER, 8, 4, 28, RZ);
    set(words, 72, 8, 0xc0);
    set_predicates(words, PT, PT, true);
    if (random_below(program, 4) == 0)
        set(append(program, OPCODE_S2R, NUMBER, 4, 0, 0, 0), 72, 8, TID_X);
    append_memory(program, OPCODE_STL, 0, STACK_POINTER, 4);
    append_add(program, 8, 8, STACK_POINTER);
    if (random_below(program, 4) == 0)
        set(append(program, OPCODE_S2R, NUMBER, 4, 0, 0, 0), 72, 8, CTAID_X);
    append_memory(program, OPCODE_STL, 0, 8, 4);
    if (random_below(program, 3) == 0) {
        words = program->words[program->count - 1];
        words[0] &= ~(0xfull << 12);
        set(words, 12, 3, predicate);
    }
    append_memory(program, OPCODE_LDL, 6, 8, 0);
    words = append(program, OPCODE_LDS, NUMBER, 7, 6, 0, 0);
    set(words, 73, 3, SIZE_WORD);
}

/* The stack, a value for each register, and some that differ as data, lanes and blocks do. */
static void append_values(struct program *program)
{
    const bool late = program->architecture >= FIRST_64_BITS;

    set(append(program, OPCODE_LDC, BANK, STACK_POINTER, RZ, 0, 0), 73, 3, SIZE_WORD);
    set(program->words[0], 38, 16, late ? STACK_LATE : STACK_FIRST);
    for (unsigned i = 0; i < DATA_REGISTERS + PREDICATES; i++)
        append_random(program);
    if (random_below(program, 2)) {
        set(append(program, OPCODE_S2R, NUMBER, 8, 0, 0, 0), 72, 8, CTAID_X);
        append_compare(program, OF_BLOCK, 8, NUMBER, random_below(program, 2));
        set(append(program, OPCODE_S2R, NUMBER, 9, 0, 0, 0), 72, 8, LANE_ID);
        append_compare(program, OF_LANE, 9, NUMBER, random_below(program, 32));
    }
    /* one number of a warp from memory, and a function of the thread and a parameter */
    if (random_below(program, 2)) {
        set(append(program, OPCODE_LDS, NUMBER, 8, RZ, 0, 0), 73, 3, SIZE_WORD);
        append_compare(program, 0, 8, NUMBER, 0);
        set(append(program, OPCODE_LDC, BANK, 4, RZ, 0, 0), 73, 3, SIZE_WORD);
        set(program->words[program->count - 1], 38, 16, late ? 0x384 : 0x204);
        set(append(program, OPCODE_S2R, NUMBER, 9, 0, 0, 0), 72, 8, TID_X);
        set(append(program, OPCODE_SHF, REGISTERS, 4, RZ, 4, 9), 73, 4, SHIFT_U32 | 1 << 3);
        set(program->words[program->count - 1], 80, 1, 1);
    }
    if (random_below(program, 2))
        append_rounds(program);
    if (random_below(program, 2))
        append_ring(program);
    if (random_below(program, 2))
        append_array(program);
    append(program, OPCODE_MOV, NUMBER, COUNTER, 0, small(program), 0);
}

/* The body: loops, where they branch back and to where; instructions and branches by their place in
 * the body. */
struct body {
    uint32_t from[2], to[2];
    size_t starts[BODY + 1], branches[BODY];
    uint32_t targets[BODY], count;
};

static void draw_loops(struct program *program, struct body *body)
{
    body->from[0] = body->from[1] = BODY;
    if (!random_below(program, 2))
        return;
    body->to[0] = random_below(program, BODY - 4);
    body->from[0] = body->to[0] + 2 + random_below(program, BODY - 2 - body->to[0]);
    if (random_below(program, 3) != 0 || body->from[0] - body->to[0] <= 6)
        return;
    /* one within */
    body->to[1] = body->to[0] + 1 + random_below(program, 3);
    body->from[1] = body->to[1] + 1 + random_below(program, body->from[0] - body->to[1] - 2);
}

/* Counts a round of a loop, and compares. */
static void append_round(struct program *program, uint32_t predicate)
{
    uint64_t *words =
        append(program, OPCODE_IADD3, NUMBER, COUNTER, COUNTER, 1 + random_below(program, 4), RZ);

    set(words, 77, 3, PT);
    set_predicates(words, PT, PT, true);
    append_compare(program, predicate, COUNTER, REGISTERS, result_register(program));
}

/* A branch. Where nothing returns, a call is a jump. BRA.DIV is taken by warps whose lanes are
 * apart. */
static void append_branch(struct program *program, struct body *body, uint32_t place, bool call,
                          bool diverging)
{
    const bool outer = place == body->from[0], back = outer || place == body->from[1];
    const size_t index = program->count;
    const uint32_t inner_target = body->to[1];

    body->branches[body->count] = index;
    if (back)
        program->back[!outer] = index;
    body->targets[body->count++] = outer  ? body->to[0]
                                   : back ? inner_target
                                          : place + 1 + random_below(program, BODY - place);
    set(append(program, call ? OPCODE_CALL_REL : OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
    set(program->words[index], 91, 1, diverging);
}

/* One place of the body: a branch, a load that is checked, or any instruction, under a guard or
 * not. */
static void append_place(struct program *program, struct body *body, uint32_t place)
{
    const bool back = place == body->from[0] || place == body->from[1];
    const uint32_t kind = random_below(program, 12), predicate = random_below(program, PREDICATES);
    const bool diverging = !back && kind == 0 && predicate == 1;
    size_t index;

    body->starts[place] = program->count;
    if (back && random_below(program, 4))
        append_round(program, predicate);
    index = program->count;
    if (back || (kind == 0 && place + 2 < BODY))
        append_branch(program, body, place, !back && predicate == 0, diverging);
    else if (kind <= 3)
        append_load(program);
    else
        append_random(program);
    if ((back || kind == 0 || random_below(program, 4) == 0) && !diverging) {
        program->words[index][0] &= ~(0xfull << 12);
        set(program->words[index], 12, 3, predicate);
        set(program->words[index], 15, 1, random_below(program, 2));
    }
}

static void make_program(struct program *program, uint64_t seed)
{
    struct body body = {0};

    *program = (struct program){.state = seed};
    program->architecture = ONE_OF(program, 80, 90, 120);
    append_values(program);
    draw_loops(program, &body);
    for (uint32_t place = 0; place < BODY; place++)
        append_place(program, &body, place);
    body.starts[BODY] = program->count;
    for (uint32_t i = 0; i < body.count; i++)
        set_target(program, program->words[body.branches[i]], body.branches[i],
                   body.starts[body.targets[i]]);
    append_exit(program);
}

/* -- the interpreter --------------------------------------------------------------------------- */

struct lane {
    uint32_t registers[256], local[LOCAL_WORDS];
    bool predicates[8], done;
    size_t next, rounds[2]; /* of the outer and the inner loop */
};

struct launch {
    uint32_t parameters[4], block_size;
    uint64_t memory; /* what is there */
};

static uint32_t hash_of(uint64_t value)
{
    value = (value ^ 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(value >> 29);
}

static uint64_t long_of(const struct lane *lane, uint64_t number)
{
    return number == RZ ? 0 : lane->registers[number] | (uint64_t)lane->registers[number + 1] << 32;
}

static void write_result(struct lane *lane, uint64_t number, uint32_t value)
{
    if (number != RZ)
        lane->registers[number] = value;
}

/* The address of a load that is checked; false: it is none. */
static bool address_of(const struct lane *lane, const uint64_t words[2], uint64_t *address)
{
    const uint64_t a = get(words, 24, 8);
    const int64_t offset = (int64_t)(get(words, 40, 24) << 40) >> 40;

    if (get(words, 0, 9) == OPCODE_LDC && get(words, 54, 5) == 3)
        *address = (uint32_t)(lane->registers[a] + get(words, 38, 16));
    else if (get(words, 0, 9) == OPCODE_LDS)
        *address = (uint32_t)(lane->registers[a] + (uint64_t)offset);
    else if (get(words, 0, 9) == OPCODE_LDG)
        *address = long_of(lane, a) + (uint64_t)offset;
    else
        return false;
    return true;
}

/* Executes a load, and gives its value, or a store: false. is_given: what it loads is the same in
 * the grid. */
static bool value_of_memory(struct lane *lane, const uint64_t words[2], const struct launch *launch,
                            uint32_t architecture, bool is_given, uint32_t *value)
{
    const uint64_t number_a = get(words, 24, 8), number_b = get(words, 32, 8);
    uint64_t address;

    switch (get(words, 0, 9)) {
    case OPCODE_LDC:
        if (get(words, 54, 5) == 3) {
            address_of(lane, words, &address);
            *value = hash_of(address + (is_given ? 0 : launch->memory));
        } else {
            const uint64_t base = architecture >= FIRST_64_BITS ? BLOCK_DIM_LATE : 0,
                           offset = get(words, 38, 16);

            *value =
                offset == base ? launch->block_size
                : offset == (architecture >= FIRST_64_BITS ? (unsigned)STACK_LATE : STACK_FIRST)
                    ? 0xfffc00
                    : launch->parameters[offset / 4 % 4];
        }
        break;
    case OPCODE_LDG:
    case OPCODE_LDS:
        address_of(lane, words, &address);
        *value = hash_of(address + launch->memory);
        break;
    case OPCODE_LDL:
        *value = lane->local[(lane->registers[number_a] + get(words, 40, 24)) / 4 % LOCAL_WORDS];
        break;
    case OPCODE_STL:
        lane->local[(lane->registers[number_a] + get(words, 40, 24)) / 4 % LOCAL_WORDS] =
            lane->registers[number_b];
        return false;
    default:
        fail_msg("operation %#x", (unsigned)get(words, 0, 9));
    }
    return true;
}

static void execute_compare(struct lane *lane, const uint64_t words[2], uint32_t a, uint32_t b,
                            uint64_t long_b, uint32_t architecture)
{
    const bool wide = architecture >= FIRST_64_BITS && get(words, 80, 1),
               is_signed = get(words, 73, 1);
    const uint64_t x = wide ? long_of(lane, get(words, 24, 8)) : a, y = wide ? long_b : b;
    const bool less = wide        ? (is_signed ? (int64_t)x < (int64_t)y : x < y)
                      : is_signed ? (int32_t)a < (int32_t)b
                                  : a < b;
    const unsigned test = (unsigned)get(words, 76, 3);

    const bool input = lane->predicates[get(words, 87, 3)] != get(words, 90, 1);
    const unsigned combine = (unsigned)get(words, 74, 2);
    bool answer = ((test & 1) && less) || ((test & 2) && x == y) || ((test & 4) && !less && x != y);

    /* .EX: where the high words are alike, the low ones decide. */
    if (get(words, 72, 1) && x == y)
        answer = lane->predicates[get(words, 68, 3)];
    answer = combine == 0 ? answer && input : combine == 1 ? answer || input : answer != input;
    if (get(words, 81, 3) != PT)
        lane->predicates[get(words, 81, 3)] = answer;
}

/* PLOP3. */
static void execute_predicate_logic(struct lane *lane, const uint64_t words[2])
{
    const unsigned results = (unsigned)(get(words, 64, 3) | get(words, 72, 5) << 3);
    unsigned row = 0;

    for (unsigned i = 0; i < 3; i++) {
        const unsigned place = (const unsigned[]){87, 77, 68}[i];

        row = row << 1 | (lane->predicates[get(words, place, 3)] != get(words, place + 3, 1));
    }
    lane->predicates[get(words, 81, 3)] = results >> row & 1;
}

/* R2P. */
static void execute_mask(struct lane *lane, uint32_t a, uint32_t mask)
{
    for (unsigned i = 0; i < PREDICATES; i++)
        if (mask >> i & 1)
            lane->predicates[i] = a >> i & 1;
}

/* IADD3 with carries. */
static uint32_t execute_sum(struct lane *lane, const uint64_t words[2], uint32_t a, uint32_t b,
                            uint32_t c)
{
    uint64_t sum = (uint64_t)(get(words, 72, 1) ? -a : a) + b + (get(words, 75, 1) ? -c : c);

    if (get(words, 74, 1))
        sum += (uint64_t)(lane->predicates[get(words, 87, 3)] != get(words, 90, 1)) +
               (lane->predicates[get(words, 77, 3)] != get(words, 80, 1));
    if (get(words, 81, 3) != PT)
        lane->predicates[get(words, 81, 3)] = sum >> 32 != 0;
    return (uint32_t)sum;
}

static uint32_t logic_of(uint32_t a, uint32_t b, uint32_t c, unsigned results)
{
    uint32_t value = 0;

    for (unsigned bit = 0; bit < 32; bit++)
        value |= (results >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1u)
                 << bit;
    return value;
}

/* PRMT. */
static uint32_t bytes_of(uint64_t both, uint32_t selectors)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < 4; i++) {
        const unsigned selector = selectors >> 4 * i & 0xf;
        const uint32_t byte = (uint32_t)(both >> 8 * (selector & 7)) & 0xff;

        value |= (selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    return value;
}

/* Executes an instruction that writes predicates alone; false: it is another one. */
static bool execute_predicates(struct lane *lane, const uint64_t words[2], uint32_t a, uint32_t b,
                               uint64_t long_b, uint32_t architecture)
{
    switch (get(words, 0, 9)) {
    case OPCODE_ISETP:
        execute_compare(lane, words, a, b, long_b, architecture);
        return true;
    case OPCODE_PLOP3:
        execute_predicate_logic(lane, words);
        return true;
    case OPCODE_R2P:
        execute_mask(lane, a, b);
        return true;
    default:
        return false;
    }
}

/* An instruction that a lane executes, with its operands. */
struct operation {
    const uint64_t *words;
    unsigned opcode, form;
    uint64_t result, number_a, number_c; /* of registers */
    uint32_t a, b, c;
    uint64_t long_b;
};

static struct operation operation_of(const struct lane *lane, const uint64_t words[2])
{
    struct operation out = {.words = words,
                            .opcode = (unsigned)get(words, 0, 9),
                            .form = (unsigned)get(words, 9, 3),
                            .result = get(words, 16, 8),
                            .number_a = get(words, 24, 8),
                            .number_c = get(words, 64, 8)};
    const uint64_t number_b = get(words, 32, 8);
    const bool by_number = out.form == NUMBER || out.form == NUMBER_LAST;

    out.a = lane->registers[out.number_a];
    out.c = lane->registers[out.number_c];
    out.b = by_number ? (uint32_t)get(words, 32, 32) : lane->registers[number_b];
    out.long_b = by_number ? (uint64_t)(int64_t)(int32_t)out.b : long_of(lane, number_b);
    return out;
}

/* Writes the high word of a pair; returns the low one. */
static uint32_t write_high(struct lane *lane, const struct operation *operation, uint64_t value)
{
    write_result(lane, operation->result + 1, (uint32_t)(value >> 32));
    return (uint32_t)value;
}

static uint32_t special_of(const struct operation *operation, uint32_t block, uint32_t thread)
{
    switch (get(operation->words, 72, 8)) {
    case TID_X:
        return thread;
    case LANE_ID:
        return thread % LANES;
    case CTAID_X:
        return block;
    default:
        return (1u << thread % LANES) - 1;
    }
}

static uint64_t wide_product(const struct lane *lane, const struct operation *operation)
{
    const uint64_t product =
        get(operation->words, 73, 1)
            ? (uint64_t)((int64_t)(int32_t)operation->a * (int32_t)operation->b)
            : (uint64_t)operation->a * operation->b;

    return product + long_of(lane, operation->number_c);
}

static uint32_t shifted_sum(const struct operation *operation)
{
    const uint64_t both = get(operation->words, 73, 1)
                              ? (uint64_t)(int32_t)operation->a
                              : (uint64_t)operation->c << 32 | operation->a;
    const uint64_t shifted = both << get(operation->words, 75, 5);

    return operation->b + (uint32_t)(get(operation->words, 80, 1) ? shifted >> 32 : shifted);
}

static uint32_t shifted(const struct operation *operation)
{
    const uint32_t given = operation->b & 0xff, by = given < 32 ? given : 32;

    if (!get(operation->words, 76, 1))
        return by < 32 ? operation->a << by : 0;
    if (get(operation->words, 73, 3) == SHIFT_S32)
        return (uint32_t)((int32_t)operation->c >> (by < 32 ? by : 31));
    return by < 32 ? operation->c >> by : 0;
}

static uint32_t selected(struct lane *lane, const struct operation *operation)
{
    const bool chosen =
        lane->predicates[get(operation->words, 87, 3)] != get(operation->words, 90, 1);

    if (operation->form != NUMBER_LAST && operation->form != LONG_REGISTERS)
        return chosen ? operation->a : operation->b;
    return write_high(lane, operation,
                      chosen ? long_of(lane, operation->number_a) : operation->long_b);
}

static uint64_t long_sum(const struct lane *lane, const struct operation *operation)
{
    const uint64_t a = long_of(lane, operation->number_a);

    return (get(operation->words, 72, 1) ? -a : a) + operation->long_b;
}

static uint32_t least_of(const struct operation *operation)
{
    const bool less = get(operation->words, 72, 1) ? (int32_t)operation->a < (int32_t)operation->b
                                                   : operation->a < operation->b;

    return less != get(operation->words, 90, 1) ? operation->a : operation->b;
}

/* Executes an instruction in a lane; thread: in the block. */
static void step(struct lane *lane, const uint64_t words[2], const struct launch *launch,
                 uint32_t block, uint32_t thread, uint32_t architecture, bool is_given)
{
    const struct operation in = operation_of(lane, words);
    uint32_t value = 0;

    if (execute_predicates(lane, words, in.a, in.b, in.long_b, architecture))
        return;
    switch (in.opcode) {
    case OPCODE_S2R:
        value = special_of(&in, block, thread);
        break;
    case OPCODE_MOV:
        value = get(words, 80, 1) ? write_high(lane, &in, in.long_b) : in.b;
        break;
    case OPCODE_IADD3:
        value = execute_sum(lane, words, in.a, in.b, in.c);
        break;
    case OPCODE_IMAD:
        value = in.a * in.b + in.c;
        break;
    case OPCODE_IMAD_WIDE:
        value = write_high(lane, &in, wide_product(lane, &in));
        break;
    case OPCODE_LEA:
        value = shifted_sum(&in);
        break;
    case OPCODE_SHF:
        value = shifted(&in);
        break;
    case OPCODE_LOP3:
        value = logic_of(in.a, in.b, in.c, (unsigned)get(words, 72, 8));
        break;
    case OPCODE_VIMNMX:
        value = least_of(&in);
        break;
    case OPCODE_SEL:
        value = selected(lane, &in);
        break;
    case OPCODE_PRMT:
        value = bytes_of((uint64_t)in.c << 32 | in.a, in.b);
        break;
    case OPCODE_IADD_64:
        value = write_high(lane, &in, long_sum(lane, &in));
        break;
    default:
        if (!value_of_memory(lane, words, launch, architecture, is_given, &value))
            return;
    }
    write_result(lane, in.result, value);
}

/* -- what was proven, and what is executed ----------------------------------------------------- */

struct proven {
    struct analysed_load load;
    bool is_load, executed;
    uint32_t depth;
    uint64_t grid, block[BLOCKS]; /* the first address that was seen */
    bool grid_seen, block_seen[BLOCKS];
};

/* The addresses of a load whose distances no data decides. */
struct moment {
    size_t index, rounds[2];
    uint32_t active;
    uint64_t addresses[LANES];
};

struct checked {
    const struct program *program;
    const struct flow *flow;
    struct proven all[CODE_MAX];
    uint64_t proofs; /* executions that were held against a class */
    uint64_t compared; /* with executions on other data */
    struct moment *moments; /* STEPS_MAX: loads of a warp on the first data */
    size_t moment_count;
};

static void note_load(const struct analysed_load *load, void *context)
{
    struct checked *checked = context;
    struct proven *proven = &checked->all[load->instruction];

    proven->load = *load;
    proven->is_load = true;
    proven->depth = flow_depth(checked->flow, load->block);
}

/* Whether lanes on a ring have one address where they have it in the ring, and else have several.
 */
static bool lies_on_the_ring(const struct analysed_load *load, const uint64_t addresses[LANES],
                             uint32_t active)
{
    bool lies = true;

    for (unsigned i = 0; load->ring_addresses && i < LANES; i++)
        for (unsigned k = 0; k < i; k++)
            lies &= !(active >> i & active >> k & 1) ||
                    (addresses[i] == addresses[k]) == (load->ring[i] == load->ring[k]);
    return lies;
}

/* A contradiction to the class of a load that lanes execute together; NULL: none. */
static const char *contradiction(struct proven *proven, const uint64_t addresses[LANES],
                                 uint32_t active, uint32_t block, uint32_t block_size)
{
    const struct analysed_load *load = &proven->load;
    const unsigned first = (unsigned)__builtin_ctz(active);
    const uint64_t address = addresses[first];

    if (load->condition && block_size % LANES != 0)
        return NULL;
    for (unsigned i = first; i < LANES; i++)
        if (active >> i & 1 && (uint32_t)addresses[i] - load->range.first >
                                   range_last(load->range) - load->range.first)
            return "the range";
    if (!lies_on_the_ring(load, addresses, active))
        return "the ring";
    if (load->variation >= VARIATION_THREAD)
        return NULL;
    for (unsigned i = first + 1; i < LANES; i++) {
        const uint64_t apart = addresses[i] - address;

        if (!(active >> i & 1))
            continue;
        if (load->variation < VARIATION_AFFINE ? apart != 0
            : load->addresses
                ? (uint32_t)apart != load->lanes[i] - load->lanes[first]
                : (uint32_t)apart != (uint32_t)(addresses[first + 1] - address) * (i - first) &&
                      (active >> (first + 1) & 1))
            return "lanes";
    }
    /* In loops, rounds of different warps are not known to belong together. */
    if (load->variation == VARIATION_CONSTANT ||
        (load->variation == VARIATION_GRID && proven->depth == 0)) {
        if (proven->grid_seen && proven->grid != address)
            return "the grid";
        proven->grid_seen = true;
        proven->grid = address;
    }
    if (load->variation == VARIATION_BLOCK && proven->depth == 0) {
        if (proven->block_seen[block] && proven->block[block] != address)
            return "the block";
        proven->block_seen[block] = true;
        proven->block[block] = address;
    }
    return NULL;
}

/* Whether lanes are as far apart as they were on the first data, in the same round of the loops. */
static bool apart_as_before(struct checked *checked, const struct moment *now)
{
    bool same = true;

    for (size_t k = 0; k < checked->moment_count; k++) {
        const struct moment *before = &checked->moments[k];
        const uint32_t active = before->active & now->active;

        if (before->index != now->index ||
            memcmp(before->rounds, now->rounds, sizeof(now->rounds)) != 0 || !active)
            continue;
        const unsigned first = (unsigned)__builtin_ctz(active);

        checked->compared += (active & (active - 1)) != 0;
        for (unsigned i = 0; i < LANES; i++)
            if (active >> i & 1)
                same &= (uint32_t)(now->addresses[i] - now->addresses[first]) ==
                        (uint32_t)(before->addresses[i] - before->addresses[first]);
    }
    return same;
}

/* Whether lanes shift numbers on both sides of zero to the right as unsigned ones: an index has
 * overflowed, which the analysis takes not to happen. */
static bool overflows(const struct lane lanes[LANES], const uint64_t words[2], size_t index)
{
    const bool shift =
        get(words, 0, 9) == OPCODE_SHF && get(words, 76, 1) && get(words, 73, 3) != 2;
    const bool high = get(words, 0, 9) == OPCODE_LEA && get(words, 80, 1) && !get(words, 73, 1);
    const uint64_t number = get(words, shift ? 64 : 24, 8);
    uint32_t seen = 0;

    for (unsigned i = 0; i < LANES && (shift || high); i++)
        if (!lanes[i].done && lanes[i].next == index)
            seen |= 1u << (lanes[i].registers[number] >> 31);
    return seen == 3;
}

/* A warp that runs. */
struct warp {
    struct checked *checked;
    const struct launch *launch;
    uint32_t block, number; /* number: in the block */
    struct lane lanes[LANES];
};

static void start_warp(struct warp *warp)
{
    const uint64_t memory = warp->launch->memory;

    for (uint32_t i = 0; i < LANES; i++) {
        struct lane *lane = &warp->lanes[i];

        *lane = (struct lane){.done = warp->number * LANES + i >= warp->launch->block_size};
        for (unsigned k = 0; k < DATA_REGISTERS; k++)
            lane->registers[k] = hash_of(k + 100 * i + 10000 * (uint64_t)warp->block +
                                         100000 * (uint64_t)warp->number + memory);
        for (unsigned k = 0; k < PREDICATES; k++)
            lane->predicates[k] = hash_of(k + 7 * i + memory) & 1;
        lane->predicates[PT] = true;
        for (unsigned k = 0; k < LOCAL_WORDS; k++)
            lane->local[k] = hash_of(k * 33 + memory); /* as if all threads had stored it */
    }
}

/* The first instruction that a lane comes to; SIZE_MAX: all are done. */
static size_t next_instruction(const struct warp *warp)
{
    size_t next = SIZE_MAX;

    for (unsigned i = 0; i < LANES; i++)
        if (!warp->lanes[i].done && warp->lanes[i].next < next)
            next = warp->lanes[i].next;
    return next;
}

static bool is_guarded(const struct lane *lane, const uint64_t words[2])
{
    return lane->predicates[get(words, 12, 3)] == get(words, 15, 1);
}

/* Holds a load against the other warps, and against the same one on other data. NULL: no
 * contradiction. */
static const char *check_load(struct warp *warp, size_t index, const uint64_t addresses[LANES],
                              uint32_t active)
{
    struct checked *checked = warp->checked;
    struct proven *proven = &checked->all[index];
    const struct launch *launch = warp->launch;
    const struct lane *first = &warp->lanes[__builtin_ctz(active)];
    struct moment now = {index, {first->rounds[0], first->rounds[1]}, active, {0}};
    const char *wrong = NULL;

    checked->proofs += proven->load.variation < VARIATION_DATA;
    if (launch->memory == 0)
        wrong = contradiction(proven, addresses, active, warp->block, launch->block_size);
    if (proven->load.variation != VARIATION_THREAD ||
        (proven->load.condition && launch->block_size % LANES != 0))
        return wrong;
    memcpy(now.addresses, addresses, sizeof(now.addresses));
    if (launch->memory == 0)
        checked->moments[checked->moment_count++] = now;
    else if (!apart_as_before(checked, &now))
        wrong = "the data";
    return wrong;
}

/* Executes an instruction in a lane that has come to it. apart: other lanes have not. */
static void execute(struct warp *warp, unsigned i, size_t index, bool apart)
{
    const struct program *program = warp->checked->program;
    const uint64_t *words = program->words[index];
    const unsigned opcode = (unsigned)get(words, 0, 9);
    struct lane *lane = &warp->lanes[i];

    lane->next++;
    if (is_guarded(lane, words) || (opcode == OPCODE_BRA && get(words, 91, 1) && !apart))
        return;
    if (opcode == OPCODE_EXIT) {
        lane->done = true;
        return;
    }
    if (opcode != OPCODE_BRA && opcode != OPCODE_CALL_REL) {
        step(lane, words, warp->launch, warp->block, warp->number * LANES + i,
             program->architecture, warp->checked->all[index].load.variation <= VARIATION_GRID);
        return;
    }
    lane->next = (size_t)branch_target((const unsigned char *)program->words,
                                       index * INSTRUCTION_BYTES, program->architecture) /
                 INSTRUCTION_BYTES;
    lane->rounds[0] += index == program->back[0];
    lane->rounds[1] = index == program->back[0] ? 0 : lane->rounds[1] + (index == program->back[1]);
}

/* Executes an instruction in all lanes that have come to it. Returns a contradiction; NULL. */
static const char *execute_together(struct warp *warp, size_t index)
{
    const uint64_t *words = warp->checked->program->words[index];
    uint64_t addresses[LANES] = {0};
    uint32_t come = 0, active = 0;
    const char *wrong = NULL;

    for (unsigned i = 0; i < LANES; i++) {
        const struct lane *lane = &warp->lanes[i];

        if (lane->done || lane->next != index)
            continue;
        come |= 1u << i;
        if (!is_guarded(lane, words) && address_of(lane, words, &addresses[i]))
            active |= 1u << i;
    }
    if (active && warp->checked->all[index].is_load)
        wrong = check_load(warp, index, addresses, active);
    if (wrong) {
        fprintf(stderr, "instruction %zu, block %u, warp %u: ", index, warp->block, warp->number);
        return wrong;
    }
    for (unsigned i = 0; i < LANES; i++)
        if (come >> i & 1)
            execute(warp, i, index, come != UINT32_MAX);
    return NULL;
}

/* Runs a warp, the lanes at the first instruction together. */
static const char *run_warp(struct checked *checked, const struct launch *launch, uint32_t block,
                            uint32_t number)
{
    static struct warp warp;

    warp.checked = checked;
    warp.launch = launch;
    warp.block = block;
    warp.number = number;
    start_warp(&warp);
    checked->moment_count = launch->memory ? checked->moment_count : 0;
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        const size_t index = next_instruction(&warp);
        const char *wrong;

        if (index == SIZE_MAX || overflows(warp.lanes, checked->program->words[index], index))
            return NULL;
        wrong = execute_together(&warp, index);
        if (wrong)
            return wrong;
    }
    return NULL;
}

TEST(what_is_proven_holds_when_random_programs_run)
{
    const uint64_t programs = repetitions(1000000, sanitized(500, 5000));
    uint64_t classes[VARIATION_COUNT] = {0}, proofs = 0, compared = 0;

    for (uint64_t seed = 1; seed <= programs; seed++) {
        static struct program program;
        static struct checked checked;
        static struct moment moments[STEPS_MAX];
        const struct code_facts facts = {0};
        struct flow flow;

        make_program(&program, seed);
        checked = (struct checked){.program = &program, .flow = &flow, .moments = moments};
        assert_int_equal(flow_open(program.words, program.count * INSTRUCTION_BYTES,
                                   program.architecture, NULL, 0, &flow),
                         STATUS_OK);
        assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
        for (size_t i = 0; i < program.count; i++)
            if (checked.all[i].is_load)
                classes[checked.all[i].load.variation]++;
        for (uint32_t run = 0; run < 2; run++) {
            struct launch launch = {{hash_of(seed), (uint32_t)seed % 9, 3, 0x7ffffff0},
                                    run == 0 ? 64 : 40,
                                    0};

            for (size_t i = 0; i < program.count; i++)
                checked.all[i].grid_seen = checked.all[i].block_seen[0] =
                    checked.all[i].block_seen[1] = false;
            for (uint32_t block = 0; block < BLOCKS; block++)
                for (uint32_t warp = 0; warp < 2 * WARPS; warp++) {
                    launch.memory = warp % 2 * seed;
                    const char *wrong = run_warp(&checked, &launch, block, warp / 2);

                    if (wrong)
                        fail_msg("program %llu, sm_%u, blocks of %u: %s", (unsigned long long)seed,
                                 program.architecture, launch.block_size, wrong);
                }
        }
        proofs += checked.proofs;
        compared += checked.compared;
        flow_close(&flow);
    }
    /* The test means something: each class was proven often, and executed. */
    for (unsigned i = 0; i < VARIATION_COUNT; i++)
        assert_true(classes[i] > programs / 100);
    assert_true(proofs > programs * 4);
    assert_true(compared > programs);
}

TEST(a_uniform_register_gets_the_value_of_a_register)
{
    static struct program program = {.architecture = 90};
    static struct flow flow;
    static struct checked checked = {.program = &program, .flow = &flow};
    const struct code_facts facts = {0};

    append(&program, OPCODE_UMOV, 4, 2, 0, 5, 0); /* UMOV UR2, 5: not R2 */
    set(append(&program, OPCODE_S2R, 4, 2, 0, 0, 0), 72, 8, CTAID_X); /* S2R R2, SR_CTAID.X */
    set_predicates(append(&program, OPCODE_R2UR, 1, 4, 2, 0, 0), PT, PT, false); /* R2UR UR4, R2 */
    append(&program, OPCODE_MOV, 6, 3, 0, 4, 0); /* MOV R3, UR4 */
    set(append(&program, OPCODE_LDC, 5, 4, 3, 0, 0), 54, 5, 3);
    append_exit(&program);
    assert_int_equal(flow_open(program.words, program.count * INSTRUCTION_BYTES, 90, NULL, 0,
                               &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
    assert_int_equal(checked.all[4].load.variation, VARIATION_BLOCK);
    flow_close(&flow);
}

TEST(a_warp_whose_lanes_are_apart_takes_a_copy_of_the_code)
{
    static struct program program = {.architecture = 90};
    static struct flow flow;
    static struct checked checked = {.program = &program, .flow = &flow};
    const struct code_facts facts = {0};

    set(append(&program, OPCODE_S2R, 4, 2, 0, 0, 0), 72, 8, CTAID_X); /* S2R R2, SR_CTAID.X */
    set(append(&program, OPCODE_BRA, 6, 0, 0, 0, 0), 87, 3, PT); /* BRA.DIV */
    set(program.words[1], 91, 1, 1);
    append(&program, OPCODE_MOV, 1, 3, 0, 2, 0); /* MOV R3, R2, here and behind EXIT */
    set(append(&program, OPCODE_LDC, 5, 4, 3, 0, 0), 54, 5, 3);
    append_exit(&program);
    append(&program, OPCODE_MOV, 1, 3, 0, 2, 0);
    set(append(&program, OPCODE_BRA, 4, 0, 0, 0, 0), 87, 3, PT);
    set_target(&program, program.words[1], 1, 5);
    set_target(&program, program.words[6], 6, 3);
    assert_int_equal(flow_open(program.words, program.count * INSTRUCTION_BYTES, 90, NULL, 0,
                               &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
    assert_int_equal(checked.all[3].load.variation, VARIATION_WARP);
    flow_close(&flow);
}

/* Before sm_80, BRA.DIV has no register that says so. What follows is reached all the same. */
TEST(code_behind_a_branch_of_lanes_that_are_apart_is_reached)
{
    static struct program program = {.architecture = 75};
    static struct flow flow;
    static struct checked checked = {.program = &program, .flow = &flow};
    const struct code_facts facts = {0};

    set(append(&program, OPCODE_BRA, 4, 0, 0, 0, 0), 87, 3, PT); /* BRA.DIV */
    set_target(&program, program.words[0], 0, 3);
    set(program.words[0], 32, 2, 2);
    set(append(&program, OPCODE_LDC, 5, 4, RZ, 0, 0), 54, 5, 3);
    append_exit(&program);
    append_exit(&program);
    assert_int_equal(flow_open(program.words, program.count * INSTRUCTION_BYTES, 75, NULL, 0,
                               &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
    assert_string_equal(checked.all[1].load.name, "LDC");
    assert_int_equal(checked.all[1].load.variation, VARIATION_CONSTANT);
    flow_close(&flow);
}

/* -- predicates as inputs ---------------------------------------------------------------------- */

enum {
    UPT = 7,
    UR = 1 << 0, /* on uniform registers */
    ANSWER = 1 << 1, /* it writes predicate 1, not a register */
    OF_BLOCK_INPUT = 1 << 2, /* its input is UP0 */
    LOADS = 1 << 3
};

/* Fields of the second word: registers that are zero, predicates that are not there, modifiers. */
#define C_RZ    0xffull
#define C_URZ   0x3full
#define NO_IN3  (7ull << 4)
#define NO_IN2  (7ull << 13)
#define TO(p)   ((p) << 17 | 7ull << 20)
#define NO_IN   (7ull << 23)
#define X       (1ull << 10)
#define LESS    (1ull << 9 | 1ull << 12)
#define ALL_AND (1ull << 8) /* of PLOP3 */

/* Instructions that take a predicate at bit `place`. All that they read beside it is of the grid.
 */
static const struct predicated {
    const char *text;
    unsigned operation, form, place;
    uint64_t high;
    uint32_t from, flags; /* from: an architecture that has it */
} predicated[] = {
    {"ISETP.EX", OPCODE_ISETP, 1, 68, LESS | 1u << 8 | NO_IN3 | TO(1) | NO_IN, 80, ANSWER},
    {"ISETP", OPCODE_ISETP, 1, 87, LESS | NO_IN3 | TO(1) | NO_IN, 80, ANSWER},
    {"FSETP", OPCODE_FSETP, 1, 87, 1u << 12 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 1", OPCODE_PLOP3, 4, 87, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 2", OPCODE_PLOP3, 4, 77, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 3", OPCODE_PLOP3, 4, 68, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 3 uniform", OPCODE_PLOP3, 4, 68, ALL_AND | 1u << 3 | NO_IN3 | NO_IN2 | TO(1) | NO_IN,
     80, ANSWER | OF_BLOCK_INPUT},
    {"LOP3", OPCODE_LOP3, 1, 87, C_RZ | 0xc0u << 8 | TO(1) | NO_IN, 80, ANSWER},
    {"IADD3.X carry", OPCODE_IADD3, 1, 87, C_RZ | X | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"IADD3.X 1", OPCODE_IADD3, 1, 87, C_RZ | X | NO_IN2 | TO(7) | NO_IN, 80, 0},
    {"IADD3.X 2", OPCODE_IADD3, 1, 77, C_RZ | X | NO_IN2 | TO(7) | NO_IN, 80, 0},
    {"IMAD.X", OPCODE_IMAD, 1, 87, C_RZ | X | TO(7) | NO_IN, 80, 0},
    {"IMAD.WIDE.X", OPCODE_IMAD_WIDE, 1, 87, C_RZ | X | TO(7) | NO_IN, 80, 0},
    {"IMAD.WIDE.X carry", OPCODE_IMAD_WIDE, 1, 87, C_RZ | X | TO(1) | NO_IN, 80, ANSWER},
    {"IMAD.HI.X", OPCODE_IMAD_HI, 1, 87, C_RZ | X | TO(7) | NO_IN, 80, 0},
    {"LEA.HI.X", OPCODE_LEA, 1, 87, C_RZ | X | 1u << 16 | TO(7) | NO_IN, 80, 0},
    {"IADD.64.X", OPCODE_IADD_64, 1, 87, X | TO(7) | NO_IN, 120, 0},
    {"SEL", OPCODE_SEL, 1, 87, NO_IN, 80, 0},
    {"FSEL", OPCODE_FSEL, 1, 87, NO_IN, 80, 0},
    {"FMNMX", OPCODE_FMNMX, 1, 87, NO_IN, 80, 0},
    {"IMNMX", OPCODE_IMNMX, 1, 87, NO_IN, 80, 0},
    {"VIMNMX", OPCODE_VIMNMX, 1, 87, TO(7) | NO_IN, 90, 0},
    {"VIADDMNMX", OPCODE_VIADDMNMX, 1, 87, C_RZ | NO_IN, 90, 0},
    {"HFMA2.RELU", OPCODE_HFMA2, 1, 87, C_RZ | 1u << 15 | NO_IN, 80, 0},
    {"LDG", OPCODE_LDG, 4, 64, 1u << 8 | 4u << 9 | TO(7) | 1u << 26, 80, LOADS},
    {"UISETP.EX", OPCODE_UISETP, 1, 68, LESS | 1u << 8 | NO_IN3 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UISETP", OPCODE_UISETP, 1, 87, LESS | NO_IN3 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UPLOP3 2", OPCODE_UPLOP3, 4, 77, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UPLOP3 3", OPCODE_UPLOP3, 4, 68, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UIADD3.X 1", OPCODE_UIADD3, 1, 87, C_URZ | X | NO_IN2 | TO(7) | NO_IN, 80, UR},
    {"UIADD3.X 2", OPCODE_UIADD3, 1, 77, C_URZ | X | NO_IN2 | TO(7) | NO_IN, 80, UR},
    {"UIADD3.64.X", OPCODE_UIADD3_64, 1, 87, C_RZ | X | NO_IN2 | TO(7) | NO_IN, 120, UR},
    {"UIMAD.WIDE.X", OPCODE_UIMAD_WIDE, 1, 87, C_URZ | X | TO(7) | NO_IN, 80, UR},
    {"ULEA.HI.X", OPCODE_ULEA, 1, 87, C_URZ | X | 1u << 16 | TO(7) | NO_IN, 80, UR},
    {"USEL", OPCODE_USEL, 1, 87, NO_IN, 80, UR},
};

static enum variation variation_of_last(const struct program *program, unsigned opcode)
{
    static struct flow flow;
    static struct checked checked;
    const struct code_facts facts = {0};
    enum variation variation = VARIATION_COUNT;

    checked = (struct checked){.program = program, .flow = &flow};
    assert_int_equal(flow_open(program->words, program->count * INSTRUCTION_BYTES,
                               program->architecture, NULL, 0, &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
    for (size_t i = 0; i < program->count; i++)
        if (checked.all[i].is_load && get(program->words[i], 0, 9) == opcode &&
            (opcode != OPCODE_LDC || get(program->words[i], 54, 5) == 3))
            variation = checked.all[i].load.variation;
    flow_close(&flow);
    return variation;
}

static enum variation variation_of(const struct program *program)
{
    return variation_of_last(program, OPCODE_LDC);
}

/* P0 is tid < c[0][0x200], and UP0 is ctaid < it. R4 to R7 and UR4 to UR7 are numbers of the grid.
 */
static void append_inputs(struct program *program)
{
    uint64_t *words;

    set(append(program, OPCODE_S2R, 4, 2, 0, 0, 0), 72, 8, TID_X);
    for (unsigned i = 4; i < 8; i++) {
        words = append(program, OPCODE_LDC, 5, i, RZ, 0, 0);
        set(words, 38, 16, 0x500);
        set(words, 73, 3, 4);
        words = append(program, OPCODE_R2UR, 1, i, i, 0, 0); /* R2UR */
        set(words, 81, 3, PT);
    }
    append_compare(program, 0, 2, 1, 4);
    set(append(program, OPCODE_S2UR, 4, 2, 0, 0, 0), 72, 8, CTAID_X); /* S2UR */
    words = append(program, OPCODE_UISETP, 1, 0, 2, 4, 0x70);
    set(words, 73, 1, 1);
    set(words, 76, 3, 1);
    set(words, 91, 1, 1);
    set_predicates(words, 0, UPT, false);
}

/* A load from c[3] at what the instruction makes of its inputs: with predicate 0, or without one.
 * The predicate of a load is inverted. */
static enum variation variation_by(const struct predicated *row, bool with)
{
    static struct program program;
    const bool answers = row->flags & ANSWER, uniform = row->flags & UR, loads = row->flags & LOADS;
    uint64_t *words;

    program = (struct program){.architecture = row->from};
    append_inputs(&program);
    words = append(&program, row->operation, row->form, answers ? RZ : 8, loads ? RZ : 4,
                   loads ? 4 : 6, 0);
    words[1] = row->high | (uint64_t)uniform << 27;
    if (with)
        words[1] ^= 7ull << (row->place - 64);
    if (answers) /* SEL or USEL */
        set_predicates(append(&program, uniform ? OPCODE_USEL : OPCODE_SEL, 1, 8, 4, 6, 0), 0, 1,
                       false);
    if (uniform)
        append(&program, OPCODE_MOV, 6, 8, 0, 8, 0); /* MOV R8, UR8 */
    set(append(&program, OPCODE_LDC, 5, 9, 8, 0, 0), 54, 5, 3);
    set(program.words[program.count - 1], 73, 3, 4);
    append_exit(&program);
    return variation_of(&program);
}

TEST(a_predicate_that_an_instruction_takes_is_an_input_of_its_result)
{
    for (size_t i = 0; i < sizeof(predicated) / sizeof(predicated[0]); i++) {
        const struct predicated *row = &predicated[i];
        const enum variation with = variation_by(row, true), without = variation_by(row, false);
        const enum variation expected = row->flags & LOADS                   ? VARIATION_DATA
                                        : row->flags & (UR | OF_BLOCK_INPUT) ? VARIATION_BLOCK
                                                                             : VARIATION_THREAD;

        if (with != expected || without != (row->flags & LOADS ? VARIATION_WARP : VARIATION_GRID))
            fail_msg("%s: with the predicate %d, without %d", row->text, with, without);
    }
}

/* Predicates that an instruction writes: UP0 follows P7. */
static uint32_t written_by(unsigned operation, unsigned form, uint32_t b, uint64_t high)
{
    struct program program = {.architecture = 90};
    struct instruction in;
    uint32_t written = 0;

    append(&program, operation, form, 8, 4, b, 0)[1] = high;
    instruction_decode((const unsigned char *)program.words, 0, program.architecture, &in);
    for (unsigned i = 0; i < in.results; i++)
        for (uint32_t k = 0; k < in.result[i].count && in.result[i].first >= PREDICATE_FIRST; k++)
            written |= 1u << (in.result[i].first - PREDICATE_FIRST + k);
    return written;
}

TEST(predicates_that_an_instruction_writes)
{
    enum { UP1 = 1 << 9, UP2 = 1 << 10 };

    assert_int_equal(written_by(OPCODE_VIADDMNMX, 1, 6, C_RZ | NO_IN), 0); /* VIADDMNMX */
    assert_int_equal(written_by(OPCODE_VIMNMX, 1, 6, 1u << 17 | 2u << 20 | NO_IN), 6); /* VIMNMX */
    assert_int_equal(written_by(OPCODE_UVIMNMX, 1, 6, 1u << 17 | 2u << 20 | NO_IN), UP1 | UP2);
    assert_int_equal(written_by(OPCODE_VOTEU, 4, 0, TO(1) | NO_IN),
                     UP1); /* VOTEU: its input is P7 */
    assert_int_equal(written_by(OPCODE_R2UR_EARLY, 1, 0, TO(1)), 2); /* R2UR */
    assert_int_equal(written_by(OPCODE_VABSDIFF, 1, 6, C_RZ | TO(1)), 2); /* VABSDIFF */
    assert_int_equal(written_by(OPCODE_R2P, 4, 0x7f, 0), 0x7f); /* R2P */
    assert_int_equal(written_by(OPCODE_R2P, 4, 0x2d, 0), 0x2d);
    assert_int_equal(written_by(OPCODE_R2P, 1, 6, 0), 0x7f); /* its mask is in a register */
    assert_int_equal(written_by(OPCODE_LD, 4, 4, 1u << 8 | 4u << 9 | 1u << 26), 0); /* LD */
    assert_int_equal(written_by(OPCODE_LD, 4, 4, 1u << 8 | 4u << 9 | 1u << 17 | 1u << 23), 2);
    assert_int_equal(written_by(OPCODE_LDG, 4, 4, 1u << 8 | 4u << 9 | TO(1)), 2);
    assert_int_equal(written_by(OPCODE_LDS, 4, 0, 4u << 9), 0); /* LDS */
}

TEST(a_predicate_that_is_not_followed_leaves_nothing_proven)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        static struct program program;
        uint64_t *words;

        program = (struct program){.architecture = 90};
        append_inputs(&program);
        if (kind < 2) { /* FMNMX and FMNMX.IS_A, which writes a predicate at another place */
            words = append(&program, OPCODE_FMNMX, 1, 8, 4, 6, 0);
            words[1] = NO_IN | (uint64_t)kind << 1;
        } else { /* R2P, whose mask is not known, after a comparison of the grid */
            append_compare(&program, 1, 4, 1, 6);
            append(&program, OPCODE_R2P, kind == 2 ? 4 : 1, 0, 4, kind == 2 ? 2 : 6, 0);
        }
        set_predicates(append(&program, OPCODE_SEL, 1, 8, 4, 6, 0), 0, kind < 2 ? PT : 1, false);
        set(append(&program, OPCODE_LDC, 5, 9, 8, 0, 0), 54, 5, 3);
        append_exit(&program);
        assert_int_equal(variation_of(&program), kind % 2 ? VARIATION_UNKNOWN : VARIATION_GRID);
    }
}

TEST(a_call_by_a_predicate_is_one_of_some_threads)
{
    for (unsigned number = 0; number <= PT; number += PT) {
        static struct program program;
        size_t call;

        program = (struct program){.architecture = 90};
        append_inputs(&program);
        append(&program, OPCODE_MOV, 1, 8, 0, 4, 0);
        append(&program, OPCODE_MOV, 4, 20, 0, 16 * ((uint32_t)program.count + 2), 0);
        call = program.count;
        set(append(&program, OPCODE_CALL_REL, 4, 0, 0, 0, 0), 87, 3, number); /* CALL.REL.NOINC */
        set(append(&program, OPCODE_LDC, 5, 9, 8, 0, 0), 54, 5, 3);
        append_exit(&program);
        set_target(&program, program.words[call], call, program.count);
        append(&program, OPCODE_MOV, 1, 8, 0, 6, 0);
        set(append(&program, OPCODE_RET, 4, 0, 20, 0, 0), 87, 3, PT); /* RET */
        assert_int_equal(variation_of(&program), number == PT ? VARIATION_GRID : VARIATION_THREAD);
    }
}

/* A load from c[3] at a register. */
static void append_lookup(struct program *program, uint32_t index)
{
    uint64_t *words = append(program, OPCODE_LDC, BANK, 9, index, 0, 0);

    set(words, 54, 5, 3);
    set(words, 73, 3, SIZE_WORD);
}

static void append_shared_load(struct program *program, uint32_t result, uint32_t address)
{
    set(append(program, OPCODE_LDS, NUMBER, result, address, 0, 0), 73, 3, SIZE_WORD);
}

/* Two arms of a branch call a function that loads at an address of theirs: each warp has one value
 * in each arm, and two where the arms join. */
TEST(a_function_called_in_both_arms_brings_two_values)
{
    enum { SECOND_ARM = 6, JOIN = 8, FUNCTION = 10, RETURN_ADDRESS = 20 };
    struct program program = {.architecture = 90};

    set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, TID_X);
    append_compare(&program, 0, 2, NUMBER, 5);
    set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
    program.words[2][0] &= ~(0xfull << 12); /* @P0 */
    append(&program, OPCODE_MOV, NUMBER, 4, 0, 8, 0);
    set(append(&program, OPCODE_CALL_REL, NUMBER, 0, 0, 0, 0), 87, 3, PT);
    set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
    append(&program, OPCODE_MOV, NUMBER, 4, 0, 64, 0);
    set(append(&program, OPCODE_CALL_REL, NUMBER, 0, 0, 0, 0), 87, 3, PT);
    append_lookup(&program, 5);
    append_exit(&program);
    append_shared_load(&program, 5, 4);
    set(append(&program, OPCODE_RET, NUMBER, 0, RETURN_ADDRESS, 0, 0), 87, 3, PT);
    set_target(&program, program.words[2], 2, SECOND_ARM);
    set_target(&program, program.words[4], 4, FUNCTION);
    set_target(&program, program.words[5], 5, JOIN);
    set_target(&program, program.words[7], 7, FUNCTION);
    assert_true(variation_of(&program) >= VARIATION_THREAD);
    /* Without the first call, the load is of one value. */
    program.words[2][0] |= 0xfull << 12; /* never */
    assert_int_equal(variation_of(&program), VARIATION_WARP);
}

/* Some threads of a warp go around a loop without the load. Where those that come to it wait for
 * others, these may come in another round, with another address. */
TEST(threads_of_several_rounds_meet_where_they_wait)
{
    enum { HEADER = 3, BRANCH = 3, PAST = 6, BACK = 8 };
    static const unsigned waits[] = {OPCODE_NOP, OPCODE_WARPSYNC};

    for (size_t i = 0; i < 2 * sizeof(waits) / sizeof(waits[0]); i++) {
        struct program program = {.architecture = 90};
        const bool apart = i % 2;

        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, TID_X);
        append_compare(&program, 0, 2, NUMBER, 5);
        append(&program, OPCODE_MOV, NUMBER, 4, 0, 8, 0);
        set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        program.words[BRANCH][0] &= ~(0xfull << 12); /* @P0 */
        append(&program, waits[i / 2], NUMBER, 0, 0, 0, 0);
        append_lookup(&program, 4);
        append(&program, OPCODE_VIADD, NUMBER, 4, 4, 4, 0);
        append_compare(&program, 1, 4, NUMBER, 100);
        set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        program.words[BACK][0] = (program.words[BACK][0] & ~(0xfull << 12)) | 0x1ull << 12;
        append_exit(&program);
        set_target(&program, program.words[BRANCH], BRANCH, PAST);
        set_target(&program, program.words[BACK], BACK, HEADER);
        if (!apart)
            program.words[BRANCH][0] |= 0xfull << 12; /* never */
        if (apart && waits[i / 2] == OPCODE_WARPSYNC)
            assert_true(variation_of(&program) >= VARIATION_THREAD);
        else
            assert_int_equal(variation_of(&program), VARIATION_GRID);
    }
}

/* The number of a block in its cluster stands above the 24 bits of a place in shared memory. */
TEST(a_place_in_shared_memory_is_known_in_each_block_of_a_cluster)
{
    enum { CLUSTER_CTAID = 0x88, PLACE_BITS = 24 };

    for (unsigned bits = PLACE_BITS - 1; bits <= PLACE_BITS; bits++) {
        struct program program = {.architecture = 90};

        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, CLUSTER_CTAID);
        append(&program, OPCODE_IMAD, NUMBER, 4, 2, 1u << bits, RZ);
        append_shared_load(&program, 5, 4);
        append_exit(&program);
        assert_int_equal(variation_of_last(&program, OPCODE_LDS),
                         bits == PLACE_BITS ? VARIATION_CONSTANT : VARIATION_BLOCK);
    }
}

/* Two arms of a branch call a function that loads at an address of theirs. Where threads of a warp
 * wait for each other in it, those of both arms load together. */
TEST(threads_of_two_arms_meet_in_a_function_that_waits)
{
    enum { SECOND_ARM = 6, JOIN = 8, FUNCTION = 9, RETURN_ADDRESS = 20 };
    static const unsigned waits[] = {OPCODE_NOP, OPCODE_WARPSYNC, OPCODE_BAR};

    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        struct program program = {.architecture = 90};

        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, TID_X);
        append_compare(&program, 0, 2, NUMBER, 5);
        set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        program.words[2][0] &= ~(0xfull << 12); /* @P0 */
        append(&program, OPCODE_MOV, NUMBER, 4, 0, 8, 0);
        set(append(&program, OPCODE_CALL_REL, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        append(&program, OPCODE_MOV, NUMBER, 4, 0, 64, 0);
        set(append(&program, OPCODE_CALL_REL, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        append_exit(&program);
        append(&program, waits[i], NUMBER, 0, 0, 0, 0);
        append_lookup(&program, 4);
        set(append(&program, OPCODE_RET, NUMBER, 0, RETURN_ADDRESS, 0, 0), 87, 3, PT);
        set_target(&program, program.words[2], 2, SECOND_ARM);
        set_target(&program, program.words[4], 4, FUNCTION);
        set_target(&program, program.words[5], 5, JOIN);
        set_target(&program, program.words[7], 7, FUNCTION);
        if (waits[i] == OPCODE_NOP)
            assert_int_equal(variation_of(&program), VARIATION_WARP);
        else
            assert_true(variation_of(&program) >= VARIATION_THREAD);
    }
}

/* Threads that wait for those of their mask have one sum a mask, not one a warp. */
TEST(a_sum_of_part_of_a_warp_is_not_one_of_the_warp)
{
    for (unsigned whole = 0; whole < 2; whole++) {
        struct program program = {.architecture = 90};

        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, TID_X);
        append_shared_load(&program, 4, 2);
        set(append(&program, OPCODE_S2R, NUMBER, 3, 0, 0, 0), 72, 8, LANE_MASK_LT);
        if (whole)
            append(&program, OPCODE_MOV, NUMBER, 3, 0, UINT32_MAX, 0);
        append(&program, OPCODE_WARPSYNC, REGISTERS, 0, 3, 0, 0);
        append(&program, OPCODE_REDUX, NUMBER, 4, 4, 0, 0);
        append(&program, OPCODE_MOV, UNIFORM, 5, 0, 4, 0);
        append_lookup(&program, 5);
        append_exit(&program);
        if (whole)
            assert_int_equal(variation_of(&program), VARIATION_WARP);
        else
            assert_true(variation_of(&program) >= VARIATION_THREAD);
    }
}

/* Threads that have parted need not have joined again where they ask who executes with them. */
TEST(the_active_mask_is_one_value_where_no_threads_part)
{
    for (unsigned part = 0; part < 2; part++) {
        struct program program = {.architecture = 80};

        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, part ? TID_X : CTAID_X);
        set_predicates(append(&program, OPCODE_ISETP, NUMBER, 0, 2, 3, 0), 0, PT, false);
        set(program.words[1], 76, 3, 1); /* less */
        set(program.words[1], 68, 3, PT);
        set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        program.words[2][0] &= ~(uint64_t)(PT << 12); /* @P0 */
        append(&program, OPCODE_MOV, NUMBER, 6, 0, 0, 0);
        set_target(&program, program.words[2], 2, 4);
        set(append(&program, OPCODE_VOTE, NUMBER, 5, 0, 0, 0), 87, 3, PT);
        set(program.words[4], 81, 3, PT);
        append_lookup(&program, 5);
        append_exit(&program);
        if (part)
            assert_true(variation_of(&program) >= VARIATION_THREAD);
        else
            assert_int_equal(variation_of(&program), VARIATION_WARP);
    }
}

/* An array of each thread at an index of the grid, with a store that blocks leave out as a whole,
 * or some threads alone. */
TEST(threads_that_go_together_have_the_same_in_their_arrays)
{
    for (unsigned part = 0; part < 2; part++) {
        struct program program = {.architecture = 80};

        set(append(&program, OPCODE_LDC, BANK, STACK_POINTER, RZ, 0, 0), 73, 3, SIZE_WORD);
        set(program.words[0], 38, 16, STACK_FIRST);
        set(append(&program, OPCODE_LDC, BANK, 4, RZ, 0, 0), 73, 3, SIZE_WORD);
        set(program.words[1], 38, 16, PARAMETERS_FIRST);
        append_times(&program, 8, 4, 4);
        append_add(&program, 8, 8, STACK_POINTER);
        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, part ? TID_X : CTAID_X);
        append_compare(&program, 0, 2, NUMBER, 3);
        set(append(&program, OPCODE_BRA, NUMBER, 0, 0, 0, 0), 87, 3, PT);
        program.words[6][0] &= ~(uint64_t)(PT << 12); /* @P0 */
        append_memory(&program, OPCODE_STL, 0, 8, 4);
        set_target(&program, program.words[6], 6, 8);
        append_memory(&program, OPCODE_LDL, 5, 8, 0);
        append_lookup(&program, 5);
        append_exit(&program);
        if (part)
            assert_true(variation_of(&program) >= VARIATION_THREAD);
        else
            assert_int_equal(variation_of(&program), VARIATION_WARP);
    }
}

/* An instruction that the table does not have may write every register. */
TEST(nothing_is_proven_behind_an_opcode_that_is_not_in_the_table)
{
    enum { IN_NO_TABLE = 0x0ff };

    for (unsigned known = 0; known < 2; known++) {
        struct program program = {.architecture = 80};

        set(append(&program, OPCODE_S2R, NUMBER, 2, 0, 0, 0), 72, 8, CTAID_X);
        append(&program, known ? OPCODE_NOP : IN_NO_TABLE, NUMBER, 0, 0, 0, 0);
        append_lookup(&program, 2);
        append_exit(&program);
        assert_int_equal(variation_of(&program), known ? VARIATION_BLOCK : VARIATION_UNKNOWN);
    }
}
