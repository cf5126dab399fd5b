/* SPDX-License-Identifier: MIT
 * SASS: the loads in the machine code of a kernel. This needs no disassembler and no CUDA
 * toolkit. */
#pragma once

#include "counter.h"
#include "payload.h"
#include "sha256.h"

/* Loads of each class, by width. */
typedef uint32_t sass_loads[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

struct kernel_sass {
    const char *symbol; /* mangled name, in the image */
    const void *code; /* in the image */
    size_t bytes;
    char sha256[SHA256_HEX_BYTES]; /* of the code bytes, lower-case hex */
    bool known; /* the encoding is known: instructions of 128 bits */
    sass_loads classes; /* if known: instructions anywhere in the code */
    /* those of them with modifiers that no path names: a priority, an order, a predicate ... */
    uint32_t modified;
    /* counts is valid: known, and it is clear how often each instruction is executed */
    bool counted;
    uint32_t loops; /* loops that were counted: 0 or 2 */
    struct sass_counts counts;
};

/* Reads code of an architecture into known, classes, counted and counts. */
void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out);

/* -- the loads that there should be ------------------------------------------------------------ */

/* Loads of a class, of any width. */
uint32_t sass_class_loads(const struct kernel_sass *sass, enum sass_class class);

/* Writes "2 LDC, 1 LDG.64": all loads in known code, without SEL and PRMT. */
void sass_classes_text(const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

/* Whether the code is known and its loads differ from those of the cell: the path's instruction, as
 * often as the workload loads, and no other, each without further modifiers. Then writes the loads
 * found into text. A difference is a fault where the path's `chosen` is 0, else the compiler's
 * choice. */
bool sass_differs(const struct cell *cell, const struct kernel_sass *sass,
                  char text[CELL_REASON_BYTES]);

/* -- one instruction --------------------------------------------------------------------------- */

/* Since Volta an instruction is 128 bits, little-endian. The low 9 bits are the operation and the
 * next 3 the kind of its operands. These come from the disassembly of kernels.cu for sm_70 to sm_90
 * (make check-sass compares). For sm_88, and from sm_100 to sm_121, small kernels that differ by
 * one load change the same bits. */
enum {
    INSTRUCTION_BYTES = 16,
    OPERATION_EXIT = 0x14d,
    OPERATION_BRA = 0x147,
    OPERATION_CALL = 0x144, /* to a relative address */
    OPERATION_RET = 0x150,
    OPERATION_ULDC = 0x0b9, /* without an index */
    OPERATION_TLD = 0x166, /* of a texture in a register */
    CONTROL_FIRST = 0x140, /* BRA, BRX, CALL, RET, BSSY, BSYNC, WARPSYNC, EXIT ... */
    CONTROL_LAST = 0x15f,
    /* on ordinary registers; uniform registers, conversions and memory follow */
    ARITHMETIC_LAST = 0x07f,
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

/* The high 64 bits of an instruction without the width of a load, without what says that its
 * address is made with a uniform register, and without scheduling. */
#define MODIFIER_BITS UINT64_C(0x1fff3fff1ff)

/* A modifier, too: a predicate; of a texture load, another instruction than TLD, or more dimensions
 * than one. */
#define MODIFIER_OTHER (UINT64_C(1) << 45)

struct instruction {
    unsigned operation, operands, predicate, index, bank, size, registers;
    unsigned condition; /* BRA: a predicate in addition to the one of every instruction */
    uint64_t modifiers; /* those of MODIFIER_BITS, and MODIFIER_OTHER */
    enum sass_class family; /* SASS_CLASS_COUNT: it neither loads nor selects */
};

/* Whether the encoding of an architecture is this one. */
bool instruction_known(uint32_t architecture);

/* The instruction at byte offset `at` of the code. */
struct instruction instruction_at(const unsigned char *code, size_t at);

/* The class of an instruction; SASS_CLASS_COUNT if it has none. */
enum sass_class instruction_class(const struct instruction *instruction, uint32_t architecture);

/* Whether a load of the class has modifiers that no path names. Operands, shuffles and selections
 * have none. */
bool instruction_modified(const struct instruction *instruction, enum sass_class class,
                          uint32_t architecture);

/* Whether an LDC, ULDC or LDCU has an index in a register. */
bool instruction_indexed(const struct instruction *instruction);

/* Whether it may have an operand from a constant bank. */
bool instruction_takes_constant(const struct instruction *instruction);

/* The logarithm of the bytes that a thread loads by it. The encoding distinguishes signed and
 * unsigned bytes and 16-bit values, and 32, 64 and 128 bits. A texture load counts the registers
 * that it writes. */
unsigned instruction_width(const struct instruction *instruction, enum sass_class class);

/* The byte offset to which a branch or call leads. */
int64_t branch_target(const unsigned char *code, size_t at, uint32_t architecture);
