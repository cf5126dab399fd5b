/* SPDX-License-Identifier: MIT
 * The decoder: the table of opcodes, the places of fields, and how both make operands. */
#include "instruction.h"

#include <string.h>

enum { HOPPER_FIRST = 90, LATE_FIRST = 100 }; /* architectures */

/* -- the table --------------------------------------------------------------------------------- */

/* Fields of a row. Operands are in the order of the disassembly: A at bit 24, B and C as the form
 * says. */
enum {
    A = 1 << 0,
    B = 1 << 1,
    C = 1 << 2,
    A2 = 1 << 3 | A, /* a pair of registers */
    B2 = 1 << 4 | B,
    C2 = 1 << 5 | C,
    P = 1 << 6, /* a predicate is written, FIELD_OUTPUT */
    Q = 1 << 7, /* and FIELD_OUTPUT_2 */
    IN = 1 << 8, /* a predicate is read, FIELD_INPUT */
    U = 1 << 9, /* on the uniform registers */
    SIZED = 1 << 10, /* as many registers as it loads */
    MASKED = 1 << 11, /* texture: registers of a mask, in two groups */
    ADDRESS = 1 << 12, /* memory: a register and 24 bits of offset */
    BANK = 1 << 13, /* constant memory: a register and an offset in a bank */
    DATA = 1 << 14, /* memory: the register at B is stored */
    ALL_PREDICATES = 1 << 15,
    FIXED = 1 << 16, /* B and C are registers, whatever the form */
    CONVERTED = 1 << 17, /* FIELD_TO_SIZE and FIELD_FROM_SIZE have the sizes of both */
    LONG = 1 << 18, /* pairs of registers where FIELD_LONG or the form says so, from sm_100 on */
    HALF = 1 << 19, /* a pair, but one register where FIELD_PAIR is 0 */
    IN2 = 1 << 20, /* a second predicate is read */
    IN3 = 1 << 21, /* and a third one: a uniform one where FIELD_INPUT_3_UNIFORM is set */
    IN_RELU = 1 << 22, /* a predicate is read, where FIELD_HAS_RELU is set: .RELU */
    IN_LOAD = 1 << 23, /* a predicate is read, FIELD_INPUT_LOAD */
    P_ZD = 1 << 24, /* a predicate is written, where FIELD_HAS_ZD is set: .ZD */
    P_UNIFORM = 1 << 25, /* P is a uniform predicate, though inputs are none */
    IS_A = 1 << 26, /* where FIELD_MINMAX_PREDICATES is set, it writes predicates that are not
                     * followed */
    VARIANT = 1 << 27, /* of the first row of its name */
    HANDLE = 1 << 28, /* a uniform register may be beside the others, as MASKED has one, too */
    BY_FORM = 1 << 29, /* the form says which operands are registers: see fields_of */
    TYPED = 1 << 30, /* pairs where FIELD_TYPE_64 is set, else single registers */
    PAIR_SHIFT = 3 /* from A to A2 */
};

enum { SASS_NONE = SASS_CLASS_COUNT };

#define ROW(number, id, label, kernels, loads, effect, written, operands) \
    [number] = {.name = label,                                            \
                .family = SASS_##loads,                                   \
                .transfer = TRANSFER_##effect,                            \
                .writes = written,                                        \
                .fields = operands},

static const struct row {
    const char *name; /* NULL: not in the table */
    uint8_t family, transfer, writes; /* registers from FIELD_RESULT on */
    uint32_t fields;
} rows[OPCODE_COUNT] = {
#define OPCODE(...) ROW(__VA_ARGS__)
#define OPCODE_FROM_100(...)
#define OPCODE_BEFORE_90(...)
#define NAME_BEFORE_VOLTA(name)
#include "opcodes.def"
};

static const struct row late_rows[OPCODE_COUNT] = {
#define OPCODE(...)
#define OPCODE_FROM_100(...) ROW(__VA_ARGS__)
#define OPCODE_BEFORE_90(...)
#define NAME_BEFORE_VOLTA(name)
#include "opcodes.def"
};

static const struct row early_rows[OPCODE_COUNT] = {
#define OPCODE(...)
#define OPCODE_FROM_100(...)
#define OPCODE_BEFORE_90(...) ROW(__VA_ARGS__)
#define NAME_BEFORE_VOLTA(name)
#include "opcodes.def"
};

static const struct row *row_of(unsigned opcode, uint32_t architecture)
{
    if (architecture >= LATE_FIRST && late_rows[opcode].name)
        return &late_rows[opcode];
    return architecture < HOPPER_FIRST && early_rows[opcode].name ? &early_rows[opcode]
                                                                  : &rows[opcode];
}

const char *opcode_name(unsigned opcode, uint32_t architecture)
{
    return row_of(opcode, architecture)->name;
}

unsigned opcode_base(unsigned opcode)
{
    unsigned base = 0;

    if (!(rows[opcode].fields & VARIANT))
        return opcode;
    while (!rows[base].name || strcmp(rows[base].name, rows[opcode].name) != 0)
        base++;
    return base;
}

/* -- fields ------------------------------------------------------------------------------------ */

static const struct place {
    uint8_t first, count; /* bits */
} places[FIELD_COUNT] = {
    [FIELD_OPCODE] = {0, 9},
    [FIELD_FORM] = {9, 3},
    [FIELD_GUARD] = {12, 4},
    [FIELD_GUARD_NUMBER] = {12, 3},
    [FIELD_GUARD_NEGATED] = {15, 1},
    [FIELD_RESULT] = {16, 8},
    [FIELD_A] = {24, 8},
    [FIELD_BRANCH_INPUT] = {24, 4},
    [FIELD_BRANCH_NUMBER] = {24, 3},
    [FIELD_IMMEDIATE_64_LOW] = {24, 32},
    [FIELD_B] = {32, 8},
    [FIELD_IMMEDIATE] = {32, 32},
    [FIELD_BRANCH_KIND] = {32, 2},
    [FIELD_LDCU_OFFSET] = {37, 17},
    [FIELD_BANK_OFFSET] = {38, 16},
    [FIELD_OFFSET] = {40, 24},
    [FIELD_HANDLE] = {40, 8},
    [FIELD_SHUFFLE_CLAMP] = {40, 13},
    [FIELD_BANK] = {54, 5},
    [FIELD_IMMEDIATE_64_HIGH] = {56, 32},
    [FIELD_SHUFFLE_LANE] = {53, 5},
    [FIELD_SHUFFLE_MODE] = {58, 2},
    [FIELD_TEXTURE_DIMENSIONS] = {61, 3},
    [FIELD_B_NEGATED] = {63, 1},
    [FIELD_C] = {64, 8},
    [FIELD_INPUT_LOAD] = {64, 4},
    [FIELD_MINMAX_PREDICATES] = {65, 1},
    [FIELD_INPUT_3_UNIFORM] = {67, 1},
    [FIELD_INPUT_3] = {68, 4},
    [FIELD_A_NEGATED] = {72, 1},
    [FIELD_WIDE_ADDRESS] = {72, 1},
    [FIELD_COMPARE_EXTENDED] = {72, 1},
    [FIELD_MODE] = {72, 3},
    [FIELD_TEXTURE_MASK] = {72, 4},
    [FIELD_LOGIC_TABLE] = {72, 8},
    [FIELD_SPECIAL] = {72, 8},
    [FIELD_SIGNED] = {73, 1},
    [FIELD_SIZE] = {73, 3},
    [FIELD_SHIFT_TYPE] = {73, 3},
    [FIELD_EXTENDED] = {74, 1},
    [FIELD_TYPE_64] = {74, 1},
    [FIELD_COMPARE_COMBINED] = {74, 2},
    [FIELD_C_NEGATED] = {75, 1},
    [FIELD_TO_SIZE] = {75, 2},
    [FIELD_LEA_SHIFT] = {75, 5},
    [FIELD_SHIFT_RIGHT] = {76, 1},
    [FIELD_COMPARE_TEST] = {76, 3},
    [FIELD_ORDER] = {77, 4},
    [FIELD_INPUT_2] = {77, 4},
    [FIELD_LDS_SCALE] = {78, 2},
    [FIELD_HAS_RELU] = {79, 1},
    [FIELD_ORDER_BEFORE_80] = {79, 2},
    [FIELD_HIGH_WORD] = {80, 1},
    [FIELD_PAIR] = {80, 1},
    [FIELD_LONG] = {80, 1},
    [FIELD_OUTPUT] = {81, 3},
    [FIELD_FROM_SIZE] = {84, 2},
    [FIELD_OUTPUT_2] = {84, 3},
    [FIELD_HAS_ZD] = {87, 1},
    [FIELD_INPUT] = {87, 4},
    [FIELD_CONDITION] = {87, 4},
    [FIELD_DESCRIBED] = {90, 1},
    [FIELD_ADDED] = {91, 1},
    [FIELD_BINDLESS] = {91, 1},
    [FIELD_DIVERGED] = {91, 1},
};

enum { HALF_OF_CODE = 64, INPUT_NUMBER = 7, INPUT_NEGATED = 3 /* bit */ };

static uint32_t field_of(uint64_t low, uint64_t high, enum bit_field field)
{
    const struct place place = places[field];
    uint64_t value = low >> place.first % HALF_OF_CODE;

    if (place.first >= HALF_OF_CODE)
        value = high >> (place.first - HALF_OF_CODE);
    else if (place.first > 0)
        value |= high << (HALF_OF_CODE - place.first);
    return (uint32_t)(value & ((UINT64_C(1) << place.count) - 1));
}

uint32_t instruction_field(const struct instruction *instruction, enum bit_field field)
{
    return field_of(instruction->low, instruction->high, field);
}

uint32_t code_field(const unsigned char *code, size_t offset, enum bit_field field)
{
    uint64_t half[2];

    memcpy(half, code + offset, sizeof(half));
    return field_of(half[0], half[1], field);
}

bool instruction_always(const struct instruction *instruction)
{
    return instruction_field(instruction, FIELD_GUARD) == PREDICATE_ALWAYS;
}

bool instruction_never(const struct instruction *instruction)
{
    return instruction_field(instruction, FIELD_GUARD) == PREDICATE_NEVER;
}

/* -- what is read ------------------------------------------------------------------------------ */

/* A uniform register: before sm_100 they have 6 bits. */
static uint32_t uniform_number(uint32_t number, uint32_t architecture)
{
    enum { URZ_BEFORE = 63 };

    if (architecture < LATE_FIRST)
        return (number & URZ_BEFORE) == URZ_BEFORE ? UNIFORM_ZERO
                                                   : UNIFORM_FIRST + (number & URZ_BEFORE);
    return UNIFORM_FIRST + number;
}

/* Whether one on the uniform registers has registers, predicates and a guard of the threads. */
static bool reads_threads(const struct row *row)
{
    return row->transfer == TRANSFER_WARP || row->transfer == TRANSFER_LANES;
}

/* The predicates that an instruction takes as inputs. */
static void decode_inputs(const struct row *row, struct instruction *out)
{
    static const struct {
        uint32_t flag;
        enum bit_field field,
            only_with; /* only_with: a field that must be set; FIELD_COUNT: none */
        uint8_t input, inverted;
    } inputs[] = {{IN, FIELD_INPUT, FIELD_COUNT, 0, 0},
                  {IN2, FIELD_INPUT_2, FIELD_COUNT, 1, 0},
                  {IN3, FIELD_INPUT_3, FIELD_COUNT, 2, 0},
                  {IN_RELU, FIELD_INPUT, FIELD_HAS_RELU, 0, 0},
                  {IN_LOAD, FIELD_INPUT_LOAD, FIELD_COUNT, 0, INPUT_NUMBER}};
    const bool uniform = row->fields & U && !reads_threads(row);

    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        const bool third = inputs[i].flag == IN3 && instruction_field(out, FIELD_INPUT_3_UNIFORM);
        const uint32_t first = uniform || third ? UNIFORM_PREDICATE_FIRST : PREDICATE_FIRST,
                       value = instruction_field(out, inputs[i].field);

        if (!(row->fields & inputs[i].flag) ||
            (inputs[i].only_with != FIELD_COUNT && !instruction_field(out, inputs[i].only_with)))
            continue;
        out->input[inputs[i].input] = (struct predicate_input){
            .number = (uint16_t)(first + ((value & INPUT_NUMBER) ^ inputs[i].inverted)),
            .negated = value >> INPUT_NEGATED,
        };
    }
}

/* The operand that the form is of. */
static struct operand decode_formed(const struct instruction *in, unsigned form, bool uniform)
{
    struct operand out = {.kind = uniform ? OPERAND_UNIFORM : OPERAND_REGISTER,
                          .number = instruction_field(in, FIELD_B),
                          .negated = instruction_field(in, FIELD_B_NEGATED)};

    if (form == FORM_IMMEDIATE_B || form == FORM_IMMEDIATE_C) {
        const uint32_t number = instruction_field(in, FIELD_IMMEDIATE);

        return (struct operand){.kind = OPERAND_IMMEDIATE,
                                .number = number,
                                .upper = number >> 31 ? UINT32_MAX : 0};
    }
    if ((form == FORM_CONSTANT_B || form == FORM_CONSTANT_C) && !uniform) {
        out.kind = OPERAND_CONSTANT;
        out.number = instruction_field(in, FIELD_BANK_OFFSET);
        out.bank = (uint8_t)instruction_field(in, FIELD_BANK);
    } else if (form >= FORM_UNIFORM_B) {
        out.kind = OPERAND_UNIFORM;
    }
    return out;
}

/* The fields of a row without the operands that are no registers in a form. CALL and WARPSYNC take
 * a number in the code, or a register. Of SHFL the lane and the clamp stand in the code, or in
 * registers. */
static uint32_t fields_of(const struct row *row, unsigned form)
{
    enum { LANE_IN_REGISTER = 2, CLAMP_IN_REGISTER = 4 };
    uint32_t fields = row->fields;

    if (!(fields & BY_FORM) || form == FORM_REGISTER)
        return fields;
    fields &= ~(uint32_t)C;
    if (row->transfer == TRANSFER_BRANCH || row->transfer == TRANSFER_NOTHING)
        return fields & ~(uint32_t)A2;
    return (form == LANE_IN_REGISTER ? fields : fields & ~(uint32_t)B) |
           (form == CLAMP_IN_REGISTER ? C : 0);
}

/* The sources of arithmetic. */
static void decode_arithmetic(const struct row *row, unsigned form, uint32_t architecture,
                              struct instruction *out)
{
    const bool fixed = row->fields & (FIXED | BY_FORM);
    const uint32_t fields = fields_of(row, form);
    const bool third =
        !fixed && row->fields & C &&
        (form == FORM_IMMEDIATE_C || form == FORM_CONSTANT_C || form == FORM_UNIFORM_C);
    const bool uniform = row->fields & U;
    const unsigned formed = third ? SOURCE_C : SOURCE_B, plain = third ? SOURCE_B : SOURCE_C;

    /* R2UR and REDUX read a register of the threads. */
    out->source[SOURCE_A] =
        (struct operand){.kind =
                             uniform && !reads_threads(row) ? OPERAND_UNIFORM : OPERAND_REGISTER,
                         .number = instruction_field(out, FIELD_A),
                         .negated = instruction_field(out, FIELD_A_NEGATED)};
    out->source[plain] = (struct operand){.kind = uniform ? OPERAND_UNIFORM : OPERAND_REGISTER,
                                          .number = instruction_field(out, FIELD_C),
                                          .negated = instruction_field(out, FIELD_C_NEGATED)};
    out->source[formed] = decode_formed(out, fixed ? FORM_REGISTER : form, uniform);
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        struct operand *source = &out->source[i];

        source->words = fields >> (i + PAIR_SHIFT) & 1 ? 2 : 1;
        if (!(fields >> i & 1))
            source->kind = OPERAND_NONE;
        else if (source->kind == OPERAND_UNIFORM)
            source->number = uniform_number(source->number, architecture);
    }
}

/* The uniform register beside the other operands. */
static void decode_handle(uint32_t architecture, struct instruction *out)
{
    enum { FORM_HANDLE = 7, PAIR = 2 };
    const bool texture = out->opcode >= OPCODE_TEXTURE_FIRST && out->opcode <= OPCODE_TEXTURE_LAST;
    const bool branch = out->opcode == OPCODE_BRA;

    if (branch ? !instruction_field(out, FIELD_DIVERGED) || out->form == FORM_IMMEDIATE_C
               : out->form != FORM_HANDLE)
        return;
    out->handle =
        (struct operand){.kind = OPERAND_UNIFORM,
                         .number =
                             uniform_number(instruction_field(out, branch ? FIELD_A : FIELD_HANDLE),
                                            architecture),
                         .words = texture ? PAIR : 1};
}

/* The mask of threads that WARPSYNC waits for, where it is in a register. */
static void decode_mask(uint32_t architecture, struct instruction *out)
{
    if (out->form == FORM_REGISTER)
        out->source[SOURCE_A] =
            (struct operand){.kind = OPERAND_REGISTER,
                             .number =
                                 instruction_field(out, architecture >= HOPPER_FIRST ? FIELD_A
                                                                                     : FIELD_B),
                             .words = 1};
}

/* Registers that a load or store moves, by FIELD_SIZE; and that an atomic has, at most, whose field
 * has the types U32, S32, U64, F32, F16x2 or 128 bits, S64, F64. */
static const uint8_t moved_registers[] = {1, 1, 1, 1, 1, 2, 4, 4},
                     atomic_registers[] = {1, 1, 2, 1, 4, 2, 2, 4};

/* The address of a load or store, and what is stored. */
static void decode_memory(const struct row *row, uint32_t architecture, struct instruction *out)
{
    enum { GLOBAL_DESCRIPTOR_FIRST = 80 /* architecture */, OFFSET_SIGN = 8 /* bits above it */ };
    const bool atomic = row->transfer == TRANSFER_ATOMIC;
    const bool global = out->opcode == OPCODE_LD || out->opcode == OPCODE_LDG ||
                        out->opcode == OPCODE_ST || out->opcode == OPCODE_STG ||
                        (atomic && out->opcode != OPCODE_ATOMS && out->opcode != OPCODE_ATOMS_CAS);
    /* The bit of a described address is one of the operation in atomics, which all are. */
    const bool wide = global && instruction_field(out, FIELD_WIDE_ADDRESS),
               whole = atomic || instruction_field(out, FIELD_DESCRIBED),
               added =
                   instruction_field(out, FIELD_ADDED) && !(atomic && out->form == FORM_REGISTER);
    /* From sm_80 on, the uniform register beside an address of 64 bits describes the memory. */
    const bool described = global && architecture >= GLOBAL_DESCRIPTOR_FIRST && whole;
    const bool swapped = out->opcode == OPCODE_ST && out->form == FORM_REGISTER;
    const uint32_t number = instruction_field(out, row->fields & DATA ? FIELD_C : FIELD_B),
                   size = instruction_field(out, FIELD_SIZE);

    out->wide_address = wide;
    out->offset = (int32_t)(instruction_field(out, FIELD_OFFSET) << OFFSET_SIGN) >> OFFSET_SIGN;
    out->source[SOURCE_ADDRESS] = (struct operand){.kind = OPERAND_REGISTER,
                                                   .number = instruction_field(out, FIELD_A),
                                                   .words = wide && (!added || whole) ? 2 : 1};
    if (added)
        *(described ? &out->handle : &out->source[SOURCE_ADDED]) =
            (struct operand){.kind = OPERAND_UNIFORM,
                             .number = uniform_number(number, architecture),
                             .words = wide ? 2 : 1};
    if (row->fields & DATA)
        out->source[SOURCE_DATA] =
            (struct operand){.kind = OPERAND_REGISTER,
                             .number = instruction_field(out, swapped ? FIELD_C : FIELD_B),
                             .words = atomic ? atomic_registers[size] : moved_registers[size]};
}

/* A load from constant memory: its index, and the bank with the offset. */
static void decode_bank(const struct row *row, uint32_t architecture, struct instruction *out)
{
    const uint32_t index = instruction_field(out, FIELD_A);
    const bool indexed = row->fields & A, uniform = row->fields & U;

    out->source[SOURCE_ADDRESS] =
        (struct operand){.kind = !indexed  ? OPERAND_NONE
                                 : uniform ? OPERAND_UNIFORM
                                           : OPERAND_REGISTER,
                         .number = indexed && uniform ? uniform_number(index, architecture) : index,
                         .words = 1};
    out->source[SOURCE_BANK] =
        (struct operand){.kind = OPERAND_CONSTANT,
                         .number =
                             instruction_field(out, out->opcode == OPCODE_LDCU ? FIELD_LDCU_OFFSET
                                                                               : FIELD_BANK_OFFSET),
                         .bank = (uint8_t)instruction_field(out, FIELD_BANK)};
    out->offset = (int32_t)(int16_t)out->source[SOURCE_BANK].number;
}

/* Whether an opcode, LONG, is on pairs: USEL has the form of a uniform operand for them. */
static bool is_long(const struct row *row, const struct instruction *in)
{
    if (instruction_field(in, FIELD_LONG) || row->transfer == TRANSFER_COMPARE)
        return instruction_field(in, FIELD_LONG);
    return in->form == FORM_IMMEDIATE_C ||
           (row->transfer == TRANSFER_SELECT &&
            (in->form == FORM_CONSTANT_C || in->form == FORM_UNIFORM_C)) ||
           (in->opcode == OPCODE_USEL && in->form == FORM_UNIFORM_B);
}

/* The sources of one on pairs: the form's bits say something else. */
static void decode_long(struct row row, uint32_t architecture, struct instruction *out)
{
    static const uint8_t forms[] = {0,
                                    FORM_REGISTER,
                                    FORM_IMMEDIATE_B,
                                    FORM_REGISTER,
                                    FORM_IMMEDIATE_B,
                                    FORM_CONSTANT_B,
                                    FORM_UNIFORM_B,
                                    FORM_UNIFORM_B};

    row.fields |= (row.fields & A ? A2 : 0) | B2;
    decode_arithmetic(&row, forms[out->form], architecture, out);
    if (row.transfer == TRANSFER_MOVE && out->form == FORM_IMMEDIATE_C) {
        out->source[SOURCE_B].number = instruction_field(out, FIELD_IMMEDIATE_64_LOW);
        out->source[SOURCE_B].upper = instruction_field(out, FIELD_IMMEDIATE_64_HIGH);
    }
}

/* -- what is written --------------------------------------------------------------------------- */

static void add_result(struct instruction *out, uint32_t first, uint32_t count)
{
    if (count == 0 || first == REGISTER_ZERO || first == UNIFORM_ZERO || first == PREDICATE_TRUE ||
        first == UNIFORM_PREDICATE_TRUE || out->results == RESULTS_MAX)
        return;
    out->result[out->results].first = (uint16_t)first;
    out->result[out->results++].count = (uint16_t)count;
}

/* The predicates of a mask, in runs. There are four at most: P0, P2, P4 and P6. */
static void add_masked(struct instruction *out, uint32_t first)
{
    const bool known = out->source[SOURCE_B].kind == OPERAND_IMMEDIATE;
    const uint32_t all = (1u << (PREDICATE_TRUE - PREDICATE_FIRST)) - 1;
    const uint32_t mask = known ? out->source[SOURCE_B].number & all : all;
    uint32_t count;

    for (uint32_t i = 0; mask >> i != 0; i += count + 1) {
        for (count = 0; mask >> (i + count) & 1; count++)
            ;
        add_result(out, first + i, count);
    }
}

static void decode_results(const struct row *row, uint32_t count, uint32_t architecture,
                           struct instruction *out)
{
    enum { GROUP = 2 /* registers of a texture beside each other */, WIDE_CONVERSION = 3 };
    const uint32_t first = instruction_field(out, FIELD_RESULT);
    const bool uniform = row->fields & U;
    const uint32_t predicates = uniform && (!reads_threads(row) || row->fields & P_UNIFORM)
                                    ? UNIFORM_PREDICATE_FIRST
                                    : PREDICATE_FIRST;

    if (row->fields & CONVERTED) {
        count = instruction_field(out, FIELD_TO_SIZE) == WIDE_CONVERSION ? 2 : 1;
        out->source[SOURCE_B].words =
            instruction_field(out, FIELD_FROM_SIZE) == WIDE_CONVERSION ? 2 : 1;
    }
    if (row->fields & HALF)
        count = instruction_field(out, FIELD_PAIR) ? 2 : 1;
    if (row->fields & SIZED)
        count = moved_registers[instruction_field(out, FIELD_SIZE)];
    if (row->transfer == TRANSFER_ATOMIC && row->fields & ADDRESS && count == 1)
        count = atomic_registers[instruction_field(out, FIELD_SIZE)];
    /* BMOV to another of the registers of barriers */
    if (out->opcode == OPCODE_BMOV && out->form != FORM_REGISTER)
        count = 0;
    if (row->fields & MASKED) {
        const uint32_t mask =
            (uint32_t)__builtin_popcount(instruction_field(out, FIELD_TEXTURE_MASK));

        /* A register that is named is written, whatever the mask says. */
        add_result(out, instruction_field(out, FIELD_C), mask > GROUP ? mask - GROUP : 1);
        count = mask > GROUP ? GROUP : mask > 0 ? mask : 1;
    }
    add_result(out, uniform ? uniform_number(first, architecture) : first, count);
    if (row->fields & ALL_PREDICATES)
        add_masked(out, predicates);
    if (row->fields & P || (row->fields & P_ZD && instruction_field(out, FIELD_HAS_ZD)))
        add_result(out, predicates + instruction_field(out, FIELD_OUTPUT), 1);
    /* No compiler was seen to give a load a predicate, and nvdisasm takes it as written, too. */
    if (row->fields & IN_LOAD)
        add_result(out, out->input[0].number, 1);
    if (row->fields & Q)
        add_result(out, predicates + instruction_field(out, FIELD_OUTPUT_2), 1);
}

/* -- all of it --------------------------------------------------------------------------------- */

/* What can be said without the operands. */
static const struct row *decode_head(const unsigned char *code, size_t offset,
                                     uint32_t architecture, struct instruction *out)
{
    const struct row *row;
    uint64_t half[2];

    memcpy(half, code + offset, sizeof(half));
    const unsigned opcode = field_of(half[0], half[1], FIELD_OPCODE);

    row = row_of(opcode, architecture);
    *out = (struct instruction){.low = half[0],
                                .high = half[1],
                                .name = row->name ? row->name : "?",
                                .family = row->name ? (enum sass_class)row->family : SASS_NONE,
                                .transfer = (enum transfer)row->transfer,
                                .opcode = (uint16_t)opcode,
                                .input = {{.number = PREDICATE_TRUE},
                                          {.number = PREDICATE_TRUE},
                                          {.number = PREDICATE_TRUE}}};
    out->form = (uint8_t)instruction_field(out, FIELD_FORM);
    out->guard = (uint16_t)(PREDICATE_FIRST + instruction_field(out, FIELD_GUARD_NUMBER));
    out->guard_negated = instruction_field(out, FIELD_GUARD_NEGATED);
    out->transfer = instruction_transfer(out);
    if (row->fields & IS_A && instruction_field(out, FIELD_MINMAX_PREDICATES))
        out->transfer = TRANSFER_UNKNOWN;
    return row;
}

void instruction_decode(const unsigned char *code, size_t offset, uint32_t architecture,
                        struct instruction *out)
{
    const struct row *row = decode_head(code, offset, architecture, out);
    uint32_t count = row->writes;

    if (out->transfer == TRANSFER_UNKNOWN)
        return;
    out->uniform = row->fields & U;
    /* The guard of an instruction on uniform registers is a uniform predicate. */
    if (out->uniform && !reads_threads(row))
        out->guard = (uint16_t)(out->guard - PREDICATE_FIRST + UNIFORM_PREDICATE_FIRST);
    decode_inputs(row, out);
    if (row->fields & ADDRESS) {
        decode_memory(row, architecture, out);
    } else if (row->fields & BANK) {
        decode_bank(row, architecture, out);
    } else if (row->fields & LONG && architecture >= LATE_FIRST && is_long(row, out)) {
        decode_long(*row, architecture, out);
        count *= 2;
    } else if (row->fields & TYPED && !instruction_field(out, FIELD_TYPE_64)) {
        const struct row narrow = {.transfer = row->transfer,
                                   .fields = (row->fields & ~(uint32_t)(A2 | B2)) | A | B};

        decode_arithmetic(&narrow, out->form, architecture, out);
        count = 1;
    } else {
        decode_arithmetic(row, out->form, architecture, out);
    }
    if (row->fields & (HANDLE | MASKED))
        decode_handle(architecture, out);
    if (out->opcode == OPCODE_WARPSYNC)
        decode_mask(architecture, out);
    decode_results(row, count, architecture, out);
}
