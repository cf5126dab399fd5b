/* SPDX-License-Identifier: MIT
 * The decoder of machine code: one instruction, its opcode, and the registers that it reads and
 * writes. This needs no disassembler and no CUDA toolkit.
 *
 * Since Volta an instruction has 128 bits, little-endian. These fields most instructions share; the
 * others are in enum bit_field.
 *
 *     127    105 104      91 87   81 80   72 71   64 63   32 31   24 23   16 15 12 11  9 8      0
 *    +----------+--------+----+-----+-------+-------+-------+-------+-------+-----+-----+--------+
 *    | schedule |        | in | out |  type |   C   | B/imm |   A   |result |guard| form| opcode |
 *    +----------+--------+----+-----+-------+-------+-------+-------+-------+-----+-----+--------+
 *
 * They come from the disassembly of kernels.cu for sm_70 to sm_90 (make check-sass compares). For
 * sm_88, and from sm_100 to sm_121, small kernels that differ by one load change the same bits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payload.h"

/* OPCODE_LDC, OPCODE_BRA ...: see opcodes.def. */
enum opcode {
#define OPCODE(number, id, ...)           OPCODE_##id = number,
#define OPCODE_FROM_100(number, id, ...)  OPCODE_##id = number,
#define OPCODE_BEFORE_90(number, id, ...) OPCODE_##id = number,
#define NAME_BEFORE_VOLTA(name)
#include "opcodes.def"
    /* ranges */
    OPCODE_ARITHMETIC_LAST = 0x07f, /* on ordinary registers */
    OPCODE_UNIFORM_FIRST = 0x080,
    OPCODE_UNIFORM_LAST = 0x0fe,
    OPCODE_CONVERSION_FIRST = OPCODE_FLO, /* F2I, I2F, MUFU, POPC, F2F, FRND ... */
    OPCODE_CONVERSION_LAST = OPCODE_FRND_113,
    OPCODE_CONTROL_FIRST = 0x140, /* BRA, BRX, CALL, RET, BSSY, BSYNC, WARPSYNC, EXIT ... */
    OPCODE_CONTROL_LAST = 0x15f,
    OPCODE_TEXTURE_FIRST = OPCODE_TEX,
    OPCODE_TEXTURE_LAST = OPCODE_TXQ,
    OPCODE_MEMORY_FIRST = OPCODE_LD,
    OPCODE_COUNT = 512
};

enum { INSTRUCTION_BYTES = 16 };

/* What bits 9 to 11 say: what is at bits 32 to 63, and whether that is B or C. */
enum form {
    FORM_REGISTER = 1,
    FORM_IMMEDIATE_C = 2,
    FORM_CONSTANT_C = 3, /* FFMA R, R, R, c[][] */
    FORM_IMMEDIATE_B = 4,
    FORM_CONSTANT_B = 5,
    FORM_UNIFORM_B = 6,
    FORM_UNIFORM_C = 7,
};

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

/* Fields of the 128 bits. Their places are in instruction.c. */
enum bit_field {
    FIELD_OPCODE,
    FIELD_FORM,
    FIELD_GUARD, /* a predicate, as PREDICATE_ALWAYS and PREDICATE_NEVER are */
    FIELD_GUARD_NUMBER,
    FIELD_GUARD_NEGATED,
    FIELD_RESULT,
    FIELD_A,
    FIELD_A_NEGATED,
    FIELD_B,
    FIELD_B_NEGATED,
    FIELD_C,
    FIELD_C_NEGATED,
    FIELD_IMMEDIATE,
    FIELD_IMMEDIATE_64_LOW, /* of a MOV of 64 bits */
    FIELD_IMMEDIATE_64_HIGH,
    FIELD_OFFSET, /* of memory: signed */
    FIELD_BANK,
    FIELD_BANK_OFFSET,
    FIELD_LDCU_OFFSET, /* it has one more bit */
    FIELD_SIZE, /* of a load or store: enum memory_size */
    FIELD_WIDE_ADDRESS, /* of 64 bits */
    FIELD_DESCRIBED, /* memory: with FIELD_ADDED, a uniform register describes it, from sm_80 on */
    FIELD_ADDED, /* memory: a uniform register is added to the address */
    FIELD_LDS_SCALE, /* X4, X8, X16 of the address; 0: none */
    FIELD_ORDER, /* of LDG: which threads must agree on the value, from sm_80 on */
    FIELD_ORDER_BEFORE_80,
    FIELD_TEXTURE_MASK, /* registers that it writes */
    FIELD_TEXTURE_DIMENSIONS, /* 0: one */
    FIELD_EXTENDED, /* .X: a carry comes in */
    FIELD_TYPE_64, /* of IMNMX, from sm_100 on: S64 or U64 */
    FIELD_HIGH_WORD, /* .HI */
    FIELD_SIGNED,
    FIELD_LEA_SHIFT,
    FIELD_SHIFT_TYPE, /* enum shift_type */
    FIELD_SHIFT_RIGHT,
    FIELD_LOGIC_TABLE, /* of LOP3: its 8 results */
    /* PRMT, 0: by a selector of bytes. IMNMX, 2: signed. VIMNMX, 1: signed; more: of halves */
    FIELD_MODE,
    FIELD_SPECIAL, /* register of S2R: enum special */
    FIELD_PAIR, /* CS2R writes a pair */
    FIELD_LONG, /* from sm_100 on: of 64 bits */
    FIELD_COMPARE_EXTENDED, /* .EX: the answer of the low words comes in */
    FIELD_COMPARE_COMBINED, /* by AND, OR, XOR with a predicate; 0: AND */
    FIELD_COMPARE_TEST, /* bits: less, equal, greater */
    FIELD_SHUFFLE_MODE, /* 0: by the number of a lane */
    FIELD_SHUFFLE_CLAMP, /* with the mask of the part of a warp */
    FIELD_SHUFFLE_LANE, /* where it is a number in the code */
    FIELD_TO_SIZE, /* conversions: 3 for 64 bits */
    FIELD_FROM_SIZE,
    FIELD_MINMAX_PREDICATES, /* FMNMX: it writes predicates that are not followed */
    FIELD_INPUT, /* predicates that are read */
    FIELD_INPUT_2,
    FIELD_INPUT_3,
    FIELD_INPUT_3_UNIFORM,
    FIELD_INPUT_LOAD, /* its number is inverted */
    FIELD_HAS_RELU, /* whether FIELD_INPUT is read */
    FIELD_HAS_ZD, /* whether FIELD_OUTPUT is written */
    FIELD_OUTPUT, /* predicates that are written */
    FIELD_OUTPUT_2,
    FIELD_CONDITION, /* of a branch: a predicate beside its guard */
    FIELD_BRANCH_KIND, /* of BRA: enum branch_kind */
    FIELD_BINDLESS, /* of constant memory: a uniform register names the bank */
    FIELD_DIVERGED, /* BRA.DIV has a uniform register; or BRA.U: by the next one */
    FIELD_HANDLE, /* of a texture or an image: a uniform register */
    FIELD_BRANCH_INPUT, /* a uniform predicate */
    FIELD_BRANCH_NUMBER,
    FIELD_COUNT
};

enum {
    PREDICATE_ALWAYS = 0x7, /* PT */
    PREDICATE_NEVER = 0xf, /* !PT */
    INDEX_NONE = 0xff, /* RZ */
    PARAMETER_BANK = 0,
    LITERAL_BANK = 2,
    USER_BANK = 3,
    ADDRESS_BANK = 4, /* of variables */
};

/* FIELD_SIZE */
enum memory_size {
    SIZE_BYTE,
    SIZE_SIGNED_BYTE,
    SIZE_HALF,
    SIZE_SIGNED_HALF,
    SIZE_WORD,
    SIZE_PAIR,
    SIZE_QUAD
};

/* FIELD_BRANCH_KIND. U: by a uniform predicate, or all threads where any may. DIV and CONV: where
 * the threads of a warp have diverged, and where they have not. */
enum branch_kind { BRANCH_PLAIN, BRANCH_U, BRANCH_DIV, BRANCH_CONV };

/* FIELD_SHIFT_TYPE */
enum shift_type { SHIFT_S64, SHIFT_U64, SHIFT_S32, SHIFT_U32 };

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
    bool negated; /* the sign bit of the field; other opcodes use it for their own purposes */
};

enum { OPERANDS_MAX = 3, RESULTS_MAX = 4, RESULT_WORDS_MAX = 4, INPUTS_MAX = 3 };

/* Which source is what. */
enum {
    SOURCE_A,
    SOURCE_B,
    SOURCE_C,
    SOURCE_ADDRESS = SOURCE_A, /* of memory; of constant memory, the index */
    SOURCE_ADDED = SOURCE_B, /* of memory: the uniform part of the address */
    SOURCE_DATA = SOURCE_C, /* of memory */
    SOURCE_HANDLE = SOURCE_A, /* of a texture: it is FIXED */
    SOURCE_BANK = SOURCE_B, /* of constant memory */
};

/* A predicate that an instruction takes as an input. */
struct predicate_input {
    uint16_t number; /* PREDICATE_TRUE: none */
    bool negated;
};

/* One instruction. */
struct instruction {
    uint64_t low, high; /* its bits */
    const char *name; /* "IMAD"; "?" if it is not in the table */
    enum sass_class family; /* of its loads; SASS_CLASS_COUNT: it neither loads nor selects */
    enum transfer transfer;
    uint16_t opcode; /* enum opcode */
    uint8_t form; /* enum form */
    /* a, b, c of the arithmetic; of memory: address, its uniform part, data */
    struct operand source[OPERANDS_MAX];
    /* a uniform register beside them: it describes the memory, a texture or an image, or has the
     * threads that BRA.DIV asks for */
    struct operand handle;
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

/* Whether code of an architecture is decoded as far as it goes: its number lies between those of
 * architectures that have this encoding. */
bool architecture_known(uint32_t architecture);

/* Whether the decoder was held against code that a compiler made for this very architecture. Of any
 * other nothing is proven: opcodes and fields may mean something else there. */
bool architecture_seen(uint32_t architecture);

/* Decodes the instruction at byte `offset` of the code. */
void instruction_decode(const unsigned char *code, size_t offset, uint32_t architecture,
                        struct instruction *out);

/* How what an instruction writes follows from what it reads, where its modifiers are those that the
 * transfer has; else a weaker one. */
enum transfer instruction_transfer(const struct instruction *instruction);

/* A field of an instruction, and of the code at a byte offset. */
uint32_t instruction_field(const struct instruction *instruction, enum bit_field field);
uint32_t code_field(const unsigned char *code, size_t offset, enum bit_field field);

/* Its guard is PT; !PT: it is never executed. */
bool instruction_always(const struct instruction *instruction);
bool instruction_never(const struct instruction *instruction);

/* The class of a load or selection; SASS_CLASS_COUNT if it is none. */
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
int64_t branch_target(const unsigned char *code, size_t offset, uint32_t architecture);

/* The name of an opcode on an architecture; NULL: it is not in the table. */
const char *opcode_name(unsigned opcode, uint32_t architecture);

/* The first opcode of the same name: variants have an index, or other sizes. */
unsigned opcode_base(unsigned opcode);
