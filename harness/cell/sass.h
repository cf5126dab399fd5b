/* SPDX-License-Identifier: MIT
 * SASS: what the machine code of a kernel says of its loads. Needs no disassembler and no CUDA toolkit. */
#ifndef CBANK_SASS_H
#define CBANK_SASS_H

#include "cell.h"

/* Instruction counts of a stretch of code that a warp executes once from end to end. */
struct sass_stretch {
    uint32_t instructions;
    uint32_t ldc_user;      /* LDC from the user bank with a register index */
    uint32_t ldc_parameter; /* every other: parameters, a table among them too, block size, stack */
    uint32_t uniform_constant; /* ULDC, LDCU */
};

/* What the SASS of one kernel does. Of straight-line code everything up to and including the first EXIT is executed by
 * every launched warp (prologue), what follows by warps with an element (body). Of a kernel that strides, behind it, a loop
 * for each element has another in it, for each group of lookups in flight: neither has a way around it, so that a warp
 * executes the first (round) as often as it has an element, the other (group) for each of its groups. */
struct sass_counts {
    uint32_t architecture; /* 90 for sm_90 */
    struct sass_stretch prologue, body, round, group;
};

/* The classes of instructions by which paths.def names payload loads. From SASS_SHFL on a kernel may have them for other
 * reasons, too. */
enum sass_class {
    SASS_LDC, /* user bank, with a register index */
    SASS_LDC_PARAMETER, /* parameter bank, with a register index */
    SASS_ULDC, /* user bank, into uniform registers: ULDC or LDCU */
    SASS_OPERAND, /* user bank, in an arithmetic instruction */
    SASS_LDG, /* plain */
    SASS_LDG_CONSTANT,
    SASS_LDG_STRONG,
    SASS_TLD, /* TLD or TEX */
    SASS_LDS,
    SASS_SHFL, /* from a register of another thread */
    SASS_SEL, /* from one of two registers: no load */
    SASS_CLASS_COUNT
};

/* How much a thread loads by one instruction, as the logarithm of its bytes; of a texture load, the registers written. */
enum { SASS_WORD = 2, SASS_WIDTH_COUNT = 5 };

/* "LDG.128.CONSTANT". Of a word the name of the class in paths.def. */
extern const char *const sass_names[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

/* Loads of each class, by width. */
typedef uint32_t sass_loads[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

enum { SASS_HASH_HEX_BYTES = 65 }; /* 64 digits and NUL */

struct kernel_sass {
    const char *symbol; /* mangled name, in the image */
    const void *code; /* in the image */
    size_t bytes;
    char sha256[SASS_HASH_HEX_BYTES]; /* of the code bytes, lower-case hex */
    bool known; /* the encoding is known here: of 128 bits */
    sass_loads classes; /* if known: instructions anywhere in the code */
    bool counted; /* counts is valid: known, and what is executed how often is as described there */
    uint32_t loops; /* of what was counted: 0 or 2 */
    struct sass_counts counts;
};

/* Reads code of an architecture into known, classes, counted and counts. */
void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out);

/* -- the loads that there should be -------------------------------------------------------------------- */

/* Loads of a class, of any width. */
uint32_t image_class_loads(const struct kernel_sass *sass, enum sass_class class);

/* The class of the payload loads of a path. */
enum sass_class image_class(const struct path *path);

/* The most bytes of a thread's element that one instruction of the path loads: a wider element takes several. */
uint32_t image_widest(const struct path *path);

/* The instruction that the payload loads of a cell must be, of sass_names. */
const char *image_instruction(const struct cell *cell);

/* Instructions of that kind that a payload load of the cell takes: more than one where its elements are wider than one
 * such instruction loads, or where each has a choice of two. */
uint32_t image_pieces(const struct cell *cell);

/* "2 LDC, 1 LDG.64": the loads anywhere in known code, without SEL. */
void image_classes(const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

/* Whether the code is known and its loads are not those that the cell's path names, as many as its workload makes, and
 * no others; then with what was found in text. A fault where the path's `chosen` is 0, else the compiler's choice. */
bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

/* -- one instruction ----------------------------------------------------------------------------------- */

/* Since Volta an instruction is 128 bits, little-endian. The low 9 bits are the operation and the next 3 the kind of its
 * operands. Read off the disassembly of kernels.cu for sm_70 to sm_90 (make check-sass compares); for sm_88 and from
 * sm_100 to sm_121 off kernels of a few instructions that differ by one load, where the same bits change. */
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
