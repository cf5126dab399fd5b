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
#include "size.h"
#include "test.h"

enum {
    LANES = 32,
    WARPS = 2, /* of a block */
    BLOCKS = 2,
    BODY = 26, /* instructions between the first values and EXIT */
    DATA_REGISTERS = 10, /* R1 is the stack's */
    PREDICATES = 4,
    CODE_MAX = 80,
    STEPS_MAX = 400,
    LOADS_MAX = CODE_MAX,
    LOCAL_WORDS = 64,
    PT = 7,
    RZ = 255,
    FIRST_64_BITS = 100, /* architecture */
    COUNTER = 0, /* the register that loops count in, where they do */
    OF_BLOCK = 3, /* a predicate that differs by block */
    OF_LANE = 2
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

static void set(uint64_t words[2], unsigned at, unsigned count, uint64_t value)
{
    value &= count < 64 ? (1ull << count) - 1 : UINT64_MAX;
    words[at / 64] |= value << at % 64;
    if (at / 64 == 0 && at + count > 64)
        words[1] |= value >> (64 - at);
}

static uint64_t get(const uint64_t words[2], unsigned at, unsigned count)
{
    const uint64_t value = at >= 64  ? words[1] >> (at - 64)
                           : at == 0 ? words[0]
                                     : words[0] >> at | words[1] << (64 - at);

    return value & ((1ull << count) - 1);
}

/* Appends an instruction with its operands A, B and C, and the predicates that arithmetic has
 * beside them. */
static uint64_t *append(struct program *program, unsigned operation, unsigned form, uint32_t result,
                        uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t *words = program->words[program->count++];

    words[0] = words[1] = 0;
    set(words, 0, 9, operation);
    set(words, 9, 3, form);
    set(words, 12, 3, PT);
    set(words, 16, 8, result);
    set(words, 24, 8, a);
    set(words, 32, 32, b);
    set(words, 64, 8, c);
    return words;
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

/* Where the program branches to: of architectures from sm_90 on, the low byte of the offset is at
 * bit 16. */
static void set_target(const struct program *program, uint64_t *words, size_t at, size_t to)
{
    const int64_t units = ((int64_t)to - (int64_t)at - 1) * 4;
    const uint64_t above = (uint64_t)(program->architecture >= 90 ? units >> 8 : units);

    if (program->architecture >= 90)
        set(words, 16, 8, (uint64_t)units);
    words[0] |= above << 34;
    set(words, 64, 18, above >> 30);
}

/* Arithmetic, of kinds 0 to 10. */
static void append_arithmetic(struct program *program, unsigned kind)
{
    const bool immediate = random_below(program, 3) == 0;
    const uint32_t result = result_register(program), a = any_register(program),
                   c = any_register(program);
    const uint32_t b = immediate ? small(program) : any_register(program);
    const unsigned form = immediate ? 4 : 1;
    uint64_t *words;

    switch (kind) {
    case 0:
        words = append(program, 0x119, 4, result, 0, 0, 0);
        set(words, 72, 8,
            (const uint8_t[]){0x21, 0x21, 0x00, 0x25, 0x39}[random_below(program, 5)]);
        break;
    case 1:
        append(program, 0x002, 4, result, 0, small(program), 0);
        break;
    case 2:
    case 3:
        words = append(program, 0x010, form, result, a, b, c);
        set(words, 72, 1, random_below(program, 4) == 0);
        set(words, 75, 1, random_below(program, 4) == 0);
        set(words, 77, 3, PT);
        set_predicates(words, PT, PT, true);
        break;
    case 4:
        words = append(program, 0x024, form, result, a, b, c);
        set(words, 73, 1, 1);
        set_predicates(words, PT, PT, true);
        break;
    case 5:
        words = append(program, 0x025, form, pair(program), a, b,
                       random_below(program, 2) ? RZ : pair(program));
        set(words, 73, 1, random_below(program, 2));
        set_predicates(words, PT, PT, true);
        break;
    case 6:
        words = append(program, 0x011, 1, result, a, any_register(program), RZ);
        set(words, 75, 5, random_below(program, 32));
        set(words, 73, 1, random_below(program, 2));
        set(words, 80, 1, random_below(program, 2));
        set_predicates(words, PT, PT, true);
        break;
    case 7:
        words =
            append(program, 0x019, form, result, a, immediate ? random_below(program, 34) : b, RZ);
        set(words, 73, 3, 3);
        break;
    case 8:
        words =
            append(program, 0x019, form, result, RZ,
                   immediate ? random_below(program, 2) ? 31 : random_below(program, 34) : b, a);
        set(words, 73, 3, 2 + random_below(program, 2));
        set(words, 76, 1, 1);
        set(words, 80, 1, 1);
        break;
    case 9:
    case 10:
        words = append(program, 0x012, form, result, a, b, c);
        set(words, 72, 8,
            random_below(program, 3)
                ? (const uint8_t[]){0xc0, 0xfc, 0x3c, 0xf8}[random_below(program, 4)]
                : random_below(program, 256));
        set_predicates(words, PT, PT, true);
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
        words = append(program, 0x00c, form, 0, a, b, 0);
        set(words, 68, 3, negated ? random_below(program, PREDICATES) : PT);
        set(words, 72, 2, negated + 2 * random_below(program, 2));
        set(words, 74, 2, random_below(program, 3));
        set(words, 76, 3, random_below(program, 8));
        set_predicates(words, predicate, random_below(program, PREDICATES),
                       random_below(program, 2));
        break;
    case 1: /* PLOP3 */
        words = append(program, 0x01c, 4, 0, 0, 0, random_below(program, 8));
        set(words, 68, 4, random_below(program, 16) & 11);
        set(words, 72, 5, random_below(program, 32));
        set(words, 77, 4, random_below(program, 16) & 11);
        set_predicates(words, predicate, random_below(program, PREDICATES), negated);
        break;
    case 2: /* IADD3 with a carry, and the word above it */
    case 3:
        words = append(program, 0x010, form, result_register(program), a, b, RZ);
        set(words, 74, 1, negated);
        set(words, 77, 4,
            negated && random_below(program, 2) ? random_below(program, PREDICATES) : 8 | PT);
        set_predicates(words, negated ? PT : predicate, negated ? predicate : PT, !negated);
        break;
    default: /* R2P */
        append(program, 0x004, 4, 0, a, random_below(program, 1 << PREDICATES), 0);
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
        words = append(program, 0x035, form, pair(program), pair(program),
                       immediate ? b : pair(program), 0);
        set(words, 72, 1, random_below(program, 4) == 0);
        set_predicates(words, PT, PT, true);
        break;
    case 2:
        words = append(program, 0x002, 1, pair(program), 0, pair(program), 0);
        set(words, 80, 1, 1);
        break;
    default:
        words = append(program, 0x007, immediate ? 2 : 3, pair(program), pair(program),
                       immediate ? b : pair(program), 0);
        set_predicates(words, 0, predicate, negated);
        break;
    }
}

static void append_random(struct program *program)
{
    const bool late = program->architecture >= FIRST_64_BITS,
               immediate = random_below(program, 3) == 0;
    const uint32_t result = result_register(program), a = any_register(program);
    const uint32_t b = immediate ? small(program) : any_register(program);
    const uint32_t predicate = random_below(program, PREDICATES);
    const unsigned form = immediate ? 4 : 1;
    const bool negated = random_below(program, 2);
    const unsigned kind = random_below(program, late ? 27 : 23);
    uint64_t *words;

    if (kind < 11) {
        append_arithmetic(program, kind);
        return;
    }
    if (kind >= 18) {
        (kind < 23 ? append_predicates : append_long)(program, kind < 23 ? kind - 18 : kind - 23);
        return;
    }
    switch (kind) {
    case 11:
        words = append(program, 0x007, form, result, a, b, 0);
        set_predicates(words, 0, predicate, negated);
        break;
    case 12:
    case 13:
        words = append(program, 0x00c, form, 0, a, b, 0x70);
        set(words, 73, 1, random_below(program, 2));
        set(words, 76, 3, random_below(program, 8));
        set(words, 80, 1, late && random_below(program, 4) == 0);
        if (get(words, 80, 1) && !immediate)
            words[0] = (words[0] & ~(0xffull << 24 | 0xffull << 32)) |
                       (uint64_t)pair(program) << 24 | (uint64_t)pair(program) << 32;
        else if (get(words, 80, 1))
            words[0] = (words[0] & ~(0xffull << 24)) | (uint64_t)pair(program) << 24;
        set_predicates(words, predicate, PT, false);
        break;
    case 14:
        append(program, 0x016, 4, result, a,
               negated ? random_below(program, 0x100) << 8 | 0x10 : random_below(program, 0x10000),
               any_register(program));
        break;
    case 15: /* a parameter, or blockDim.x */
        words = append(program, 0x182, 5, result, RZ, 0, 0);
        set(words, 38, 16,
            (late ? 0x360 : 0) + (random_below(program, 3)
                                      ? (late ? 0x20u : 0x200u) + 4 * random_below(program, 3)
                                      : 0));
        set(words, 73, 3, 4);
        break;
    case 16: /* shared memory: data */
        words = append(program, 0x184, 4, result, a, 0, 0);
        set(words, 40, 24, 4 * random_below(program, 8));
        set(words, 73, 3, 4);
        break;
    case 17: /* the stack */
        words = append(program, negated ? 0x187 : 0x183, 4, result, 1, negated ? result : 0, 0);
        set(words, 40, 24, 4 * random_below(program, 8));
        set(words, 73, 3, 4);
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
        words = append(program, 0x182, 5, result, any_register(program), 0, 0);
        set(words, 38, 16, 4 * random_below(program, 4));
        set(words, 54, 5, 3);
    } else if (kind == 1) {
        words = append(program, 0x184, 4, result, any_register(program), 0, 0);
        set(words, 40, 24, 4 * random_below(program, 4));
    } else {
        words = append(program, 0x181, 4, result, pair(program), 0, 0);
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
    uint64_t *words = append(program, 0x00c, form, 0, a, b, 0x70);

    set(words, 73, 1, 1);
    set(words, 76, 3, 1 + random_below(program, 6));
    set_predicates(words, predicate, PT, false);
    return words;
}

static void make_program(struct program *program, uint64_t seed)
{
    /* loops: where they branch back, and to where */
    uint32_t from[2] = {BODY, BODY}, to[2] = {0, 0};
    size_t starts[BODY + 1], branches[BODY];
    uint32_t targets[BODY], count = 0;

    *program = (struct program){.state = seed};
    program->architecture = (const uint32_t[]){80, 90, 120}[random_below(program, 3)];
    const bool late = program->architecture >= FIRST_64_BITS;

    /* The stack, and each register a value. */
    set(append(program, 0x182, 5, 1, RZ, 0, 0), 73, 3, 4);
    set(program->words[0], 38, 16, late ? 0x37c : 0x28);
    for (unsigned i = 0; i < DATA_REGISTERS + PREDICATES; i++)
        append_random(program);
    if (random_below(program, 2)) {
        set(append(program, 0x119, 4, 8, 0, 0, 0), 72, 8, 0x25);
        append_compare(program, OF_BLOCK, 8, 4, random_below(program, 2));
        set(append(program, 0x119, 4, 9, 0, 0, 0), 72, 8, 0);
        append_compare(program, OF_LANE, 9, 4, random_below(program, 32));
    }
    /* one number of a warp from memory, and a function of the thread and a parameter */
    if (random_below(program, 2)) {
        set(append(program, 0x184, 4, 8, RZ, 0, 0), 73, 3, 4);
        append_compare(program, 0, 8, 4, 0);
        set(append(program, 0x182, 5, 4, RZ, 0, 0), 73, 3, 4);
        set(program->words[program->count - 1], 38, 16, late ? 0x384 : 0x204);
        set(append(program, 0x119, 4, 9, 0, 0, 0), 72, 8, 0x21);
        set(append(program, 0x019, 1, 4, RZ, 4, 9), 73, 4, 11);
        set(program->words[program->count - 1], 80, 1, 1);
    }
    append(program, 0x002, 4, COUNTER, 0, small(program), 0);
    if (random_below(program, 2)) {
        to[0] = random_below(program, BODY - 4);
        from[0] = to[0] + 2 + random_below(program, BODY - 2 - to[0]);
        if (random_below(program, 3) == 0 && from[0] - to[0] > 6) { /* one within */
            to[1] = to[0] + 1 + random_below(program, 3);
            from[1] = to[1] + 1 + random_below(program, from[0] - to[1] - 2);
        }
    }
    for (uint32_t i = 0; i < BODY; i++) {
        const bool back = i == from[0] || i == from[1];
        const uint32_t kind = random_below(program, 12),
                       predicate = random_below(program, PREDICATES);

        starts[i] = program->count;
        if (back && random_below(program, 4)) {
            uint64_t *words =
                append(program, 0x010, 4, COUNTER, COUNTER, 1 + random_below(program, 4), RZ);

            set(words, 77, 3, PT);
            set_predicates(words, PT, PT, true);
            append_compare(program, predicate, COUNTER, 1, result_register(program));
        }
        const bool diverging = !back && kind == 0 && predicate == 1;
        const size_t at = program->count;

        if (back || (kind == 0 && i + 2 < BODY)) {
            branches[count] = at;
            if (back)
                program->back[i != from[0]] = at;
            targets[count++] =
                back ? (i == from[0] ? to[0] : to[1]) : i + 1 + random_below(program, BODY - i);
            /* Where nothing returns, a call is a jump. BRA.DIV is taken by warps whose lanes are
             * apart. */
            set(append(program, !back && predicate == 0 ? 0x144 : 0x147, 4, 0, 0, 0, 0), 87, 3, PT);
            set(program->words[at], 91, 1, diverging);
        } else if (kind <= 3) {
            append_load(program);
        } else {
            append_random(program);
        }
        if ((back || kind == 0 || random_below(program, 4) == 0) && !diverging) {
            program->words[at][0] &= ~(0xfull << 12);
            set(program->words[at], 12, 3, predicate);
            set(program->words[at], 15, 1, random_below(program, 2));
        }
    }
    starts[BODY] = program->count;
    for (uint32_t i = 0; i < count; i++)
        set_target(program, program->words[branches[i]], branches[i], starts[targets[i]]);
    set(append(program, 0x14d, 4, 0, 0, 0, 0), 87, 3, PT);
}

/* -- the interpreter --------------------------------------------------------------------------- */

struct lane {
    uint32_t registers[256], local[LOCAL_WORDS];
    bool predicates[8], done;
    size_t at, rounds[2]; /* of the outer and the inner loop */
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

    if (get(words, 0, 9) == 0x182 && get(words, 54, 5) == 3)
        *address = (uint32_t)(lane->registers[a] + get(words, 38, 16));
    else if (get(words, 0, 9) == 0x184)
        *address = (uint32_t)(lane->registers[a] + (uint64_t)offset);
    else if (get(words, 0, 9) == 0x181)
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
    case 0x182:
        if (get(words, 54, 5) == 3) {
            address_of(lane, words, &address);
            *value = hash_of(address + (is_given ? 0 : launch->memory));
        } else {
            const uint64_t base = architecture >= FIRST_64_BITS ? 0x360 : 0,
                           offset = get(words, 38, 16);

            *value = offset == base ? launch->block_size
                     : offset == (architecture >= FIRST_64_BITS ? 0x37cu : 0x28u)
                         ? 0xfffc00
                         : launch->parameters[offset / 4 % 4];
        }
        break;
    case 0x181:
    case 0x184:
        address_of(lane, words, &address);
        *value = hash_of(address + launch->memory);
        break;
    case 0x183:
        *value = lane->local[(lane->registers[number_a] + get(words, 40, 24)) / 4 % LOCAL_WORDS];
        break;
    case 0x187:
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
        const unsigned at = (const unsigned[]){87, 77, 68}[i];

        row = row << 1 | (lane->predicates[get(words, at, 3)] != get(words, at + 3, 1));
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
    case 0x00c:
        execute_compare(lane, words, a, b, long_b, architecture);
        return true;
    case 0x01c:
        execute_predicate_logic(lane, words);
        return true;
    case 0x004:
        execute_mask(lane, a, b);
        return true;
    default:
        return false;
    }
}

/* Executes an instruction in a lane; thread: in the block. */
static void step(struct lane *lane, const uint64_t words[2], const struct launch *launch,
                 uint32_t block, uint32_t thread, uint32_t architecture, bool is_given)
{
    const unsigned operation = (unsigned)get(words, 0, 9), form = (unsigned)get(words, 9, 3);
    const uint64_t result = get(words, 16, 8), number_a = get(words, 24, 8),
                   number_b = get(words, 32, 8), number_c = get(words, 64, 8);
    const bool by_number = form == 4 || form == 2;
    uint32_t a = lane->registers[number_a], c = lane->registers[number_c];
    const uint32_t b = by_number ? (uint32_t)get(words, 32, 32) : lane->registers[number_b];
    const uint64_t long_b = by_number ? (uint64_t)(int64_t)(int32_t)b : long_of(lane, number_b);
    const unsigned reads = (unsigned)get(words, 87, 3);
    const bool chosen = lane->predicates[reads] != get(words, 90, 1);
    uint64_t sum;
    uint32_t value = 0;

    if (execute_predicates(lane, words, a, b, long_b, architecture))
        return;
    switch (operation) {
    case 0x119: {
        const unsigned number = (unsigned)get(words, 72, 8);

        value = number == 0x21   ? thread
                : number == 0x00 ? thread % LANES
                : number == 0x25 ? block
                                 : (1u << thread % LANES) - 1;
        break;
    }
    case 0x002:
        if (get(words, 80, 1)) {
            write_result(lane, result + 1, (uint32_t)(long_b >> 32));
            value = (uint32_t)long_b;
        } else
            value = b;
        break;
    case 0x010:
        value = execute_sum(lane, words, a, b, c);
        break;
    case 0x024:
        value = a * b + c;
        break;
    case 0x025:
        sum = (get(words, 73, 1) ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b) : (uint64_t)a * b) +
              long_of(lane, number_c);
        write_result(lane, result + 1, (uint32_t)(sum >> 32));
        value = (uint32_t)sum;
        break;
    case 0x011: {
        const unsigned by = (unsigned)get(words, 75, 5);

        sum = (get(words, 73, 1) ? (uint64_t)(int32_t)a : (uint64_t)c << 32 | a) << by;
        value = b + (uint32_t)(get(words, 80, 1) ? sum >> 32 : sum);
        break;
    }
    case 0x019: {
        const unsigned by = (b & 0xff) < 32 ? b & 0xff : 32;

        if (!get(words, 76, 1))
            value = by < 32 ? a << by : 0;
        else if (get(words, 73, 3) == 2)
            value = (uint32_t)((int32_t)c >> (by < 32 ? by : 31));
        else
            value = by < 32 ? c >> by : 0;
        break;
    }
    case 0x012:
        value = logic_of(a, b, c, (unsigned)get(words, 72, 8));
        break;
    case 0x007:
        if (form == 2 || form == 3) {
            sum = chosen ? long_of(lane, number_a) : long_b;
            write_result(lane, result + 1, (uint32_t)(sum >> 32));
            value = (uint32_t)sum;
        } else
            value = chosen ? a : b;
        break;
    case 0x016:
        value = bytes_of((uint64_t)c << 32 | a, b);
        break;
    case 0x035:
        sum = (get(words, 72, 1) ? -long_of(lane, number_a) : long_of(lane, number_a)) + long_b;
        write_result(lane, result + 1, (uint32_t)(sum >> 32));
        value = (uint32_t)sum;
        break;
    default:
        if (!value_of_memory(lane, words, launch, architecture, is_given, &value))
            return;
    }
    write_result(lane, result, value);
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
    size_t at, rounds[2];
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
    struct proven *of = &checked->all[load->instruction];

    of->load = *load;
    of->is_load = true;
    of->depth = flow_depth(checked->flow, load->block);
}

/* A contradiction to the class of a load that lanes execute together; NULL: none. */
static const char *contradiction(struct proven *of, const uint64_t addresses[LANES],
                                 uint32_t active, uint32_t block, uint32_t block_size)
{
    const struct analysed_load *load = &of->load;
    const unsigned one = (unsigned)__builtin_ctz(active);
    const uint64_t address = addresses[one];

    if (load->variation >= VARIATION_THREAD || (load->condition && block_size % LANES != 0))
        return NULL;
    for (unsigned i = one + 1; i < LANES; i++) {
        const uint64_t apart = addresses[i] - address;

        if (!(active >> i & 1))
            continue;
        if (load->variation < VARIATION_AFFINE ? apart != 0
            : load->addresses
                ? (uint32_t)apart != load->lanes[i] - load->lanes[one]
                : (uint32_t)apart != (uint32_t)(addresses[one + 1] - address) * (i - one) &&
                      (active >> (one + 1) & 1))
            return "lanes";
    }
    /* In loops, rounds of different warps are not known to belong together. */
    if (load->variation == VARIATION_CONSTANT ||
        (load->variation == VARIATION_GRID && of->depth == 0)) {
        if (of->grid_seen && of->grid != address)
            return "the grid";
        of->grid_seen = true;
        of->grid = address;
    }
    if (load->variation == VARIATION_BLOCK && of->depth == 0) {
        if (of->block_seen[block] && of->block[block] != address)
            return "the block";
        of->block_seen[block] = true;
        of->block[block] = address;
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

        if (before->at != now->at ||
            memcmp(before->rounds, now->rounds, sizeof(now->rounds)) != 0 || !active)
            continue;
        const unsigned one = (unsigned)__builtin_ctz(active);

        checked->compared += (active & (active - 1)) != 0;
        for (unsigned i = 0; i < LANES; i++)
            same &=
                !(active >> i & 1) || (uint32_t)(now->addresses[i] - now->addresses[one]) ==
                                          (uint32_t)(before->addresses[i] - before->addresses[one]);
    }
    return same;
}

/* Whether lanes shift numbers on both sides of zero to the right as unsigned ones: an index has
 * overflowed, which the analysis takes not to happen. */
static bool overflows(const struct lane lanes[LANES], const uint64_t words[2], size_t at)
{
    const bool shift = get(words, 0, 9) == 0x019 && get(words, 76, 1) && get(words, 73, 3) != 2;
    const bool high = get(words, 0, 9) == 0x011 && get(words, 80, 1) && !get(words, 73, 1);
    const uint64_t number = get(words, shift ? 64 : 24, 8);
    uint32_t seen = 0;

    for (unsigned i = 0; i < LANES && (shift || high); i++)
        if (!lanes[i].done && lanes[i].at == at)
            seen |= 1u << (lanes[i].registers[number] >> 31);
    return seen == 3;
}

/* Runs a warp, the lanes at the first instruction together. */
static const char *run_warp(struct checked *checked, const struct launch *launch, uint32_t block,
                            uint32_t warp)
{
    const struct program *program = checked->program;
    static struct lane lanes[LANES];

    checked->moment_count = launch->memory ? checked->moment_count : 0;
    for (uint32_t i = 0; i < LANES; i++) {
        lanes[i] = (struct lane){.done = warp * LANES + i >= launch->block_size};
        for (unsigned k = 0; k < DATA_REGISTERS; k++)
            lanes[i].registers[k] = hash_of(k + 100 * i + 10000 * (uint64_t)block +
                                            100000 * (uint64_t)warp + launch->memory);
        for (unsigned k = 0; k < PREDICATES; k++)
            lanes[i].predicates[k] = hash_of(k + 7 * i + launch->memory) & 1;
        lanes[i].predicates[PT] = true;
        for (unsigned k = 0; k < LOCAL_WORDS; k++)
            lanes[i].local[k] = hash_of(k * 33 + i + launch->memory);
    }
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        size_t at = SIZE_MAX;
        uint64_t addresses[LANES] = {0};
        uint32_t active = 0;
        const uint64_t *words;

        for (unsigned i = 0; i < LANES; i++)
            at = !lanes[i].done && lanes[i].at < at ? lanes[i].at : at;
        if (at == SIZE_MAX)
            return NULL;
        words = program->words[at];
        if (overflows(lanes, words, at))
            return NULL;
        for (unsigned i = 0; i < LANES; i++)
            if (!lanes[i].done && lanes[i].at == at &&
                lanes[i].predicates[get(words, 12, 3)] != get(words, 15, 1) &&
                address_of(&lanes[i], words, &addresses[i]))
                active |= 1u << i;
        if (active && checked->all[at].is_load) {
            const struct analysed_load *load = &checked->all[at].load;
            const char *wrong = launch->memory ? NULL
                                               : contradiction(&checked->all[at], addresses, active,
                                                               block, launch->block_size);

            if (load->variation == VARIATION_THREAD &&
                !(load->condition && launch->block_size % LANES != 0)) {
                const struct lane *one = &lanes[__builtin_ctz(active)];
                struct moment now = {at, {one->rounds[0], one->rounds[1]}, active, {0}};

                memcpy(now.addresses, addresses, sizeof(addresses));
                if (launch->memory == 0)
                    checked->moments[checked->moment_count++] = now;
                else if (!apart_as_before(checked, &now))
                    wrong = "the data";
            }
            checked->proofs += checked->all[at].load.variation < VARIATION_DATA;
            if (wrong) {
                fprintf(stderr, "instruction %zu, block %u, warp %u: ", at, block, warp);
                return wrong;
            }
        }
        bool apart = false;

        for (unsigned i = 0; i < LANES; i++)
            apart |= lanes[i].done || lanes[i].at != at;
        for (unsigned i = 0; i < LANES; i++) {
            const unsigned operation = (unsigned)get(words, 0, 9);

            if (lanes[i].done || lanes[i].at != at)
                continue;
            lanes[i].at++;
            if (lanes[i].predicates[get(words, 12, 3)] == get(words, 15, 1))
                continue;
            if (operation == 0x14d)
                lanes[i].done = true;
            else if (operation == 0x147 && get(words, 91, 1) && !apart)
                continue;
            else if (operation == 0x147 || operation == 0x144) {
                lanes[i].at = (size_t)branch_target((const unsigned char *)program->words, at * 16,
                                                    program->architecture) /
                              16;
                lanes[i].rounds[0] += at == program->back[0];
                lanes[i].rounds[1] =
                    at == program->back[0] ? 0 : lanes[i].rounds[1] + (at == program->back[1]);
            } else
                step(&lanes[i], words, launch, block, warp * LANES + i, program->architecture,
                     checked->all[at].load.variation <= VARIATION_GRID);
        }
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
        assert_int_equal(flow_open(program.words, program.count * 16, program.architecture, NULL, 0,
                                   &flow),
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

    append(&program, 0x082, 4, 2, 0, 5, 0); /* UMOV UR2, 5: not R2 */
    set(append(&program, 0x119, 4, 2, 0, 0, 0), 72, 8, 0x25); /* S2R R2, SR_CTAID.X */
    set_predicates(append(&program, 0x1c2, 1, 4, 2, 0, 0), PT, PT, false); /* R2UR UR4, R2 */
    append(&program, 0x002, 6, 3, 0, 4, 0); /* MOV R3, UR4 */
    set(append(&program, 0x182, 5, 4, 3, 0, 0), 54, 5, 3);
    set(append(&program, 0x14d, 4, 0, 0, 0, 0), 87, 3, PT);
    assert_int_equal(flow_open(program.words, program.count * 16, 90, NULL, 0, &flow), STATUS_OK);
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

    set(append(&program, 0x119, 4, 2, 0, 0, 0), 72, 8, 0x25); /* S2R R2, SR_CTAID.X */
    set(append(&program, 0x147, 6, 0, 0, 0, 0), 87, 3, PT); /* BRA.DIV */
    set(program.words[1], 91, 1, 1);
    append(&program, 0x002, 1, 3, 0, 2, 0); /* MOV R3, R2, here and behind EXIT */
    set(append(&program, 0x182, 5, 4, 3, 0, 0), 54, 5, 3);
    set(append(&program, 0x14d, 4, 0, 0, 0, 0), 87, 3, PT);
    append(&program, 0x002, 1, 3, 0, 2, 0);
    set(append(&program, 0x147, 4, 0, 0, 0, 0), 87, 3, PT);
    set_target(&program, program.words[1], 1, 5);
    set_target(&program, program.words[6], 6, 3);
    assert_int_equal(flow_open(program.words, program.count * 16, 90, NULL, 0, &flow), STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
    assert_int_equal(checked.all[3].load.variation, VARIATION_WARP);
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

/* Instructions that take a predicate at bit `at`. All that they read beside it is of the grid. */
static const struct predicated {
    const char *text;
    unsigned operation, form, at;
    uint64_t high;
    uint32_t from, flags; /* from: an architecture that has it */
} predicated[] = {
    {"ISETP.EX", 0x00c, 1, 68, LESS | 1u << 8 | NO_IN3 | TO(1) | NO_IN, 80, ANSWER},
    {"ISETP", 0x00c, 1, 87, LESS | NO_IN3 | TO(1) | NO_IN, 80, ANSWER},
    {"FSETP", 0x00b, 1, 87, 1u << 12 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 1", 0x01c, 4, 87, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 2", 0x01c, 4, 77, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 3", 0x01c, 4, 68, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"PLOP3 3 uniform", 0x01c, 4, 68, ALL_AND | 1u << 3 | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80,
     ANSWER | OF_BLOCK_INPUT},
    {"LOP3", 0x012, 1, 87, C_RZ | 0xc0u << 8 | TO(1) | NO_IN, 80, ANSWER},
    {"IADD3.X carry", 0x010, 1, 87, C_RZ | X | NO_IN2 | TO(1) | NO_IN, 80, ANSWER},
    {"IADD3.X 1", 0x010, 1, 87, C_RZ | X | NO_IN2 | TO(7) | NO_IN, 80, 0},
    {"IADD3.X 2", 0x010, 1, 77, C_RZ | X | NO_IN2 | TO(7) | NO_IN, 80, 0},
    {"IMAD.X", 0x024, 1, 87, C_RZ | X | TO(7) | NO_IN, 80, 0},
    {"IMAD.WIDE.X", 0x025, 1, 87, C_RZ | X | TO(7) | NO_IN, 80, 0},
    {"IMAD.WIDE.X carry", 0x025, 1, 87, C_RZ | X | TO(1) | NO_IN, 80, ANSWER},
    {"IMAD.HI.X", 0x027, 1, 87, C_RZ | X | TO(7) | NO_IN, 80, 0},
    {"LEA.HI.X", 0x011, 1, 87, C_RZ | X | 1u << 16 | TO(7) | NO_IN, 80, 0},
    {"IADD.64.X", 0x035, 1, 87, X | TO(7) | NO_IN, 120, 0},
    {"SEL", 0x007, 1, 87, NO_IN, 80, 0},
    {"FSEL", 0x008, 1, 87, NO_IN, 80, 0},
    {"FMNMX", 0x009, 1, 87, NO_IN, 80, 0},
    {"IMNMX", 0x017, 1, 87, NO_IN, 80, 0},
    {"VIMNMX", 0x048, 1, 87, TO(7) | NO_IN, 90, 0},
    {"VIADDMNMX", 0x046, 1, 87, C_RZ | NO_IN, 90, 0},
    {"HFMA2.RELU", 0x031, 1, 87, C_RZ | 1u << 15 | NO_IN, 80, 0},
    {"LDG", 0x181, 4, 64, 1u << 8 | 4u << 9 | TO(7) | 1u << 26, 80, LOADS},
    {"UISETP.EX", 0x08c, 1, 68, LESS | 1u << 8 | NO_IN3 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UISETP", 0x08c, 1, 87, LESS | NO_IN3 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UPLOP3 2", 0x09c, 4, 77, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UPLOP3 3", 0x09c, 4, 68, ALL_AND | NO_IN3 | NO_IN2 | TO(1) | NO_IN, 80, UR | ANSWER},
    {"UIADD3.X 1", 0x090, 1, 87, C_URZ | X | NO_IN2 | TO(7) | NO_IN, 80, UR},
    {"UIADD3.X 2", 0x090, 1, 77, C_URZ | X | NO_IN2 | TO(7) | NO_IN, 80, UR},
    {"UIADD3.64.X", 0x097, 1, 87, C_RZ | X | NO_IN2 | TO(7) | NO_IN, 120, UR},
    {"UIMAD.WIDE.X", 0x0a5, 1, 87, C_URZ | X | TO(7) | NO_IN, 80, UR},
    {"ULEA.HI.X", 0x091, 1, 87, C_URZ | X | 1u << 16 | TO(7) | NO_IN, 80, UR},
    {"USEL", 0x087, 1, 87, NO_IN, 80, UR},
};

static enum variation variation_of(const struct program *program)
{
    static struct flow flow;
    static struct checked checked;
    const struct code_facts facts = {0};
    enum variation variation = VARIATION_COUNT;

    checked = (struct checked){.program = program, .flow = &flow};
    assert_int_equal(flow_open(program->words, program->count * 16, program->architecture, NULL, 0,
                               &flow),
                     STATUS_OK);
    assert_int_equal(divergence_visit_loads(&flow, &facts, note_load, &checked), STATUS_OK);
    for (size_t i = 0; i < program->count; i++)
        if (checked.all[i].is_load && get(program->words[i], 0, 9) == 0x182 &&
            get(program->words[i], 54, 5) == 3)
            variation = checked.all[i].load.variation;
    flow_close(&flow);
    return variation;
}

/* P0 is tid < c[0][0x200], and UP0 is ctaid < it. R4 to R7 and UR4 to UR7 are numbers of the grid.
 */
static void append_inputs(struct program *program)
{
    uint64_t *words;

    set(append(program, 0x119, 4, 2, 0, 0, 0), 72, 8, 0x21);
    for (unsigned i = 4; i < 8; i++) {
        words = append(program, 0x182, 5, i, RZ, 0, 0);
        set(words, 38, 16, 0x500);
        set(words, 73, 3, 4);
        words = append(program, 0x1c2, 1, i, i, 0, 0); /* R2UR */
        set(words, 81, 3, PT);
    }
    append_compare(program, 0, 2, 1, 4);
    set(append(program, 0x1c3, 4, 2, 0, 0, 0), 72, 8, 0x25); /* S2UR */
    words = append(program, 0x08c, 1, 0, 2, 4, 0x70);
    set(words, 73, 1, 1);
    set(words, 76, 3, 1);
    set(words, 91, 1, 1);
    set_predicates(words, 0, UPT, false);
}

/* A load from c[3] at what the instruction makes of its inputs: with predicate 0, or without one.
 * The predicate of a load is inverted. */
static enum variation variation_by(const struct predicated *of, bool with)
{
    static struct program program;
    const bool answers = of->flags & ANSWER, uniform = of->flags & UR, loads = of->flags & LOADS;
    uint64_t *words;

    program = (struct program){.architecture = of->from};
    append_inputs(&program);
    words = append(&program, of->operation, of->form, answers ? RZ : 8, loads ? RZ : 4,
                   loads ? 4 : 6, 0);
    words[1] = of->high | (uint64_t)uniform << 27;
    if (with)
        words[1] ^= 7ull << (of->at - 64);
    if (answers) /* SEL or USEL */
        set_predicates(append(&program, uniform ? 0x087 : 0x007, 1, 8, 4, 6, 0), 0, 1, false);
    if (uniform)
        append(&program, 0x002, 6, 8, 0, 8, 0); /* MOV R8, UR8 */
    set(append(&program, 0x182, 5, 9, 8, 0, 0), 54, 5, 3);
    set(program.words[program.count - 1], 73, 3, 4);
    set(append(&program, 0x14d, 4, 0, 0, 0, 0), 87, 3, PT);
    return variation_of(&program);
}

TEST(a_predicate_that_an_instruction_takes_is_an_input_of_its_result)
{
    for (size_t i = 0; i < sizeof(predicated) / sizeof(predicated[0]); i++) {
        const struct predicated *of = &predicated[i];
        const enum variation with = variation_by(of, true), without = variation_by(of, false);
        const enum variation expected = of->flags & LOADS                   ? VARIATION_DATA
                                        : of->flags & (UR | OF_BLOCK_INPUT) ? VARIATION_BLOCK
                                                                            : VARIATION_THREAD;

        if (with != expected || without != (of->flags & LOADS ? VARIATION_WARP : VARIATION_GRID))
            fail_msg("%s: with the predicate %d, without %d", of->text, with, without);
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

    assert_int_equal(written_by(0x046, 1, 6, C_RZ | NO_IN), 0); /* VIADDMNMX */
    assert_int_equal(written_by(0x048, 1, 6, 1u << 17 | 2u << 20 | NO_IN), 6); /* VIMNMX */
    assert_int_equal(written_by(0x04a, 1, 6, 1u << 17 | 2u << 20 | NO_IN), UP1 | UP2);
    assert_int_equal(written_by(0x086, 4, 0, TO(1) | NO_IN), UP1); /* VOTEU: its input is P7 */
    assert_int_equal(written_by(0x0ca, 1, 0, TO(1)), 2); /* R2UR */
    assert_int_equal(written_by(0x014, 1, 6, C_RZ | TO(1)), 2); /* VABSDIFF */
    assert_int_equal(written_by(0x004, 4, 0x7f, 0), 0x7f); /* R2P */
    assert_int_equal(written_by(0x004, 4, 0x2d, 0), 0x2d);
    assert_int_equal(written_by(0x004, 1, 6, 0), 0x7f); /* its mask is in a register */
    assert_int_equal(written_by(0x180, 4, 4, 1u << 8 | 4u << 9 | 1u << 26), 0); /* LD */
    assert_int_equal(written_by(0x180, 4, 4, 1u << 8 | 4u << 9 | 1u << 17 | 1u << 23), 2);
    assert_int_equal(written_by(0x181, 4, 4, 1u << 8 | 4u << 9 | TO(1)), 2);
    assert_int_equal(written_by(0x184, 4, 0, 4u << 9), 0); /* LDS */
}

TEST(a_predicate_that_is_not_followed_leaves_nothing_proven)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        static struct program program;
        uint64_t *words;

        program = (struct program){.architecture = 90};
        append_inputs(&program);
        if (kind < 2) { /* FMNMX and FMNMX.IS_A, which writes a predicate at another place */
            words = append(&program, 0x009, 1, 8, 4, 6, 0);
            words[1] = NO_IN | (uint64_t)kind << 1;
        } else { /* R2P, whose mask is not known, after a comparison of the grid */
            append_compare(&program, 1, 4, 1, 6);
            append(&program, 0x004, kind == 2 ? 4 : 1, 0, 4, kind == 2 ? 2 : 6, 0);
        }
        set_predicates(append(&program, 0x007, 1, 8, 4, 6, 0), 0, kind < 2 ? PT : 1, false);
        set(append(&program, 0x182, 5, 9, 8, 0, 0), 54, 5, 3);
        set(append(&program, 0x14d, 4, 0, 0, 0, 0), 87, 3, PT);
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
        append(&program, 0x002, 1, 8, 0, 4, 0);
        append(&program, 0x002, 4, 20, 0, 16 * ((uint32_t)program.count + 2), 0);
        call = program.count;
        set(append(&program, 0x144, 4, 0, 0, 0, 0), 87, 3, number); /* CALL.REL.NOINC */
        set(append(&program, 0x182, 5, 9, 8, 0, 0), 54, 5, 3);
        set(append(&program, 0x14d, 4, 0, 0, 0, 0), 87, 3, PT);
        set_target(&program, program.words[call], call, program.count);
        append(&program, 0x002, 1, 8, 0, 6, 0);
        set(append(&program, 0x150, 4, 0, 20, 0, 0), 87, 3, PT); /* RET */
        assert_int_equal(variation_of(&program), number == PT ? VARIATION_GRID : VARIATION_THREAD);
    }
}
