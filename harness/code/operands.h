/* SPDX-License-Identifier: MIT
 * The operands of machine code: registers that an instruction reads and writes. One row per
 * operation says which fields are operands. The encoding is the one of 128 bits, of sm_70 to
 * sm_121: see sass.h. */
#pragma once

#include "sass.h"

/* How the value that an instruction writes follows from what it reads. */
enum transfer {
    TRANSFER_UNKNOWN, /* not in the table: it may write every register */
    TRANSFER_NOTHING, /* no register is written */
    TRANSFER_FUNCTION, /* some function of what is read */
    TRANSFER_MOVE,
    TRANSFER_ADD,
    TRANSFER_ADD_WIDE, /* of 64 bits */
    TRANSFER_MULTIPLY, /* a * b + c */
    TRANSFER_MULTIPLY_WIDE, /* the same, of 64 bits */
    TRANSFER_SHIFT_ADD, /* LEA */
    TRANSFER_SHIFT,
    TRANSFER_LOGIC,
    TRANSFER_PERMUTE,
    TRANSFER_SELECT,
    TRANSFER_COMPARE,
    TRANSFER_HALVES, /* HFMA2: compilers make numbers by it, too */
    TRANSFER_SPECIAL, /* a special register */
    TRANSFER_LOAD,
    TRANSFER_STORE, /* to local or generic memory */
    TRANSFER_ATOMIC, /* each thread gets its own value from memory */
    TRANSFER_SHUFFLE,
    TRANSFER_WARP, /* the same for all threads of a warp */
    TRANSFER_LANES, /* different in each lane, of what other lanes have */
    TRANSFER_BRANCH, /* and what else changes the flow */
};

enum operand_kind {
    OPERAND_NONE,
    OPERAND_REGISTER,
    OPERAND_UNIFORM,
    OPERAND_IMMEDIATE,
    OPERAND_CONSTANT
};

/* Registers of all kinds have one numbering. */
enum {
    REGISTER_ZERO = 255, /* RZ */
    UNIFORM_FIRST = 256, /* UR0 */
    UNIFORM_ZERO = 511, /* URZ, of every architecture */
    PREDICATE_FIRST = 512, /* P0 */
    PREDICATE_TRUE = 519,
    UNIFORM_PREDICATE_FIRST = 520, /* UP0 */
    UNIFORM_PREDICATE_TRUE = 527,
    REGISTER_COUNT = 528
};

struct operand {
    enum operand_kind kind;
    uint32_t number; /* register, immediate, or offset in the bank */
    uint32_t upper; /* the second word of an immediate */
    uint8_t bank, words; /* words: registers that it takes, or 32-bit values in the bank */
    bool negated; /* the sign bit of the field; other operations use it for their own purposes */
};

enum { OPERANDS_MAX = 3, RESULTS_MAX = 4, INPUTS_MAX = 3 };

/* A predicate that an instruction takes as an input. */
struct predicate_input {
    uint16_t number; /* PREDICATE_TRUE: none */
    bool negated;
};

/* One instruction. */
struct operands {
    const char *name; /* "IMAD"; "?" if it is not in the table */
    uint64_t low, high; /* its bits */
    uint16_t operation;
    uint8_t form; /* bits 9 to 11 */
    enum transfer transfer;
    /* a, b, c of the arithmetic; of memory: address, its uniform part, data */
    struct operand source[OPERANDS_MAX];
    struct {
        uint16_t first, count;
    } result[RESULTS_MAX]; /* registers and predicates that it may write */
    uint8_t results;
    uint16_t guard; /* the predicate that it is executed under */
    bool guard_negated;
    struct predicate_input input[INPUTS_MAX]; /* in the order of the disassembly */
    bool uniform; /* it writes uniform registers */
    bool wide_address; /* of 64 bits */
    int32_t offset; /* of memory: added to the address */
};

/* Decodes the instruction at byte offset `at` of the code. */
void operands_at(const unsigned char *code, size_t at, uint32_t architecture, struct operands *out);
