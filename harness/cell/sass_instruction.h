/* SPDX-License-Identifier: MIT
 * One instruction of SASS, taken apart; inside of the room. Since Volta an instruction is 128 bits, little-endian. The low
 * 9 bits are the operation and the next 3 the kind of its operands. Read off the disassembly of kernels.cu for sm_70 to
 * sm_90 (make check-sass compares); for sm_88 and from sm_100 to sm_121 off kernels of a few instructions that differ by
 * one load, where the same bits change. */
#ifndef CBANK_SASS_INSTRUCTION_H
#define CBANK_SASS_INSTRUCTION_H

#include "sass.h"

enum {
    INSTRUCTION_BYTES = 16,
    OPERATION_EXIT = 0x14d,
    OPERATION_BRA = 0x147,
    OPERATION_CALL = 0x144, /* to a place relative to it */
    OPERATION_RET = 0x150,
    OPERATION_ULDC = 0x0b9, /* without an index */
    CONTROL_FIRST = 0x140, /* BRA, BRX, CALL, RET, BSSY, BSYNC, WARPSYNC, EXIT ... */
    CONTROL_LAST = 0x15f,
    ARITHMETIC_LAST = 0x07f, /* of ordinary registers; behind it those of uniform registers, conversions, memory */
    CONVERSION_FIRST = 0x100, /* FLO, F2I, I2F, MUFU, POPC, F2F, FRND ... */
    CONVERSION_LAST = 0x113,
    OPERANDS_REGISTER = 1,
    OPERANDS_THIRD_CONSTANT = 3, /* FFMA R, R, R, c[][] */
    OPERANDS_SECOND_CONSTANT = 5,
    PREDICATE_ALWAYS = 0x7,
    PREDICATE_NEVER = 0xf,
    INDEX_NONE = 0xff, /* RZ */
    PARAMETER_BANK = 0,
    USER_BANK = 3,
};

struct instruction {
    unsigned operation, operands, predicate, index, bank, order, old_order, size, registers;
    unsigned condition; /* of BRA: a predicate beside the one that all instructions have */
    enum sass_class family; /* SASS_CLASS_COUNT: it neither loads nor selects */
};

/* Whether the encoding of an architecture is this one. */
bool instruction_known(uint32_t architecture);

/* The instruction at a byte of code. */
struct instruction instruction_at(const unsigned char *code, size_t at);

/* SASS_CLASS_COUNT for an instruction that is of none. */
enum sass_class instruction_class(const struct instruction *instruction, uint32_t architecture);

/* Whether an LDC or ULDC, LDCU has an index in a register. */
bool instruction_indexed(const struct instruction *instruction);

/* Whether it may have an operand of a constant bank. */
bool instruction_takes_constant(const struct instruction *instruction);

/* The logarithm of the bytes that a thread loads by it. Signed and unsigned bytes, of 16 bits, and 32, 64, 128 bits. A
 * texture load says which registers it writes. */
unsigned instruction_width(const struct instruction *instruction, enum sass_class class);

/* Where a branch or call leads. */
int64_t branch_target(const unsigned char *code, size_t at, uint32_t architecture);

#endif
