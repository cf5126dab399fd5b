/* SPDX-License-Identifier: MIT
 * The table of the kinds of loads, and their numbers in the machine code of a kernel. */
#include "kernel_loads.h"

/* -- kinds ------------------------------------------------------------------------------------- */

const struct load_row load_rows[LOAD_ROWS] = {
    {SASS_LDC, "LDC", " c[3][register]",
     "a __constant__ table, at an index in a register: where a warp has several addresses, each "
     "takes its own cycles"},
    {SASS_ULDC, "ULDC/LDCU", " c[3][register]",
     "a __constant__ table, at an index that is the same in all threads of a warp: nothing is "
     "serialized"},
    {SASS_OPERAND, "operand", " c[3][number]",
     "a __constant__ table, at an index that is known when the kernel is compiled: nothing is "
     "serialized"},
    {LOAD_FIXED, "LDC", " c[3][number]",
     "a __constant__ table, at an index that is known when the kernel is compiled: nothing is "
     "serialized"},
    {LOAD_FIXED_UNIFORM, "ULDC/LDCU", " c[3][number]",
     "a __constant__ table, at an index that is known when the kernel is compiled: nothing is "
     "serialized"},
    {SASS_LDC_PARAMETER, "LDC", " c[0][register]",
     "an array in the parameters, at an index in a register: where a warp has several addresses, "
     "each takes its own cycles"},
    {LOAD_ARGUMENT_UNIFORM, "ULDC/LDCU", " c[0][register]",
     "an array in the parameters, at an index that is the same in all threads of a warp: "
     "nothing is serialized"},
    {LOAD_ARGUMENT, "c[0][number]", "",
     "a parameter of the kernel, or the size of a block: no table"},
    {LOAD_COMPILER, "c[2], c[4]", "",
     "the compiler's own: literals, addresses of variables, jumps of a switch: no table"},
    {SASS_LDG, "LDG", "", "global memory, through L1: a table by a pointer, or other data"},
    {SASS_LDG_CONSTANT, "LDG", ".CONSTANT",
     "global memory, read-only, through L1: a const __restrict__ pointer, __ldg, or a static "
     "const array of the kernel"},
    {SASS_LDG_STRONG, "LDG", ".STRONG", "global memory past L1: volatile, atomic, or __ldcg"},
    {SASS_LDS, "LDS", "", "shared memory: a table that the block copied, or a tile of the input"},
    {SASS_TLD, "TEX/TLD", "", "global memory by a texture: a table or an image"},
    {SASS_SHFL, "SHFL", "",
     "a register of another thread: a table in registers, or a value that threads pass on"},
    {LOAD_COPY, "LDGSTS", "", "a copy from global into shared memory"},
    {LOAD_GENERIC, "LD", "",
     "by a pointer that may lead to several memories: a table, or other data"},
    {LOAD_LOCAL, "LDL", "",
     "the thread's own memory, behind L1: an array of the kernel that is indexed at run time, "
     "or spilled registers"},
};

/* The kind of a load; LOAD_KIND_COUNT if the instruction is none. */
static unsigned load_kind(const struct instruction *instruction, uint32_t architecture)
{
    static const struct {
        unsigned opcode, kind;
    } others[] = {{OPCODE_LD, LOAD_GENERIC}, {OPCODE_LDL, LOAD_LOCAL}, {OPCODE_LDGSTS, LOAD_COPY}};
    const bool uniform = instruction->family == SASS_ULDC,
               constant = uniform || instruction->family == SASS_LDC;
    const bool indexed = constant && instruction_indexed(instruction);
    const enum sass_class class = instruction_class(instruction, architecture);
    const uint32_t bank = instruction_field(instruction, FIELD_BANK);

    if (instruction_never(instruction))
        return LOAD_KIND_COUNT;
    if (!constant && class < SASS_SEL)
        return class;
    if (constant || instruction_takes_constant(instruction)) {
        if (bank == USER_BANK && indexed)
            return uniform ? SASS_ULDC : SASS_LDC;
        if (bank == USER_BANK)
            return uniform ? LOAD_FIXED_UNIFORM : LOAD_FIXED;
        if (bank == PARAMETER_BANK)
            return !indexed ? LOAD_ARGUMENT : uniform ? LOAD_ARGUMENT_UNIFORM : SASS_LDC_PARAMETER;
        return LOAD_COMPILER;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].opcode == instruction->opcode)
            return others[i].kind;
    return LOAD_KIND_COUNT;
}

/* -- reading ----------------------------------------------------------------------------------- */

void kernel_loads_read(const struct flow *flow, struct kernel_loads *out)
{
    *out = (struct kernel_loads){.loops_known = !flow->lost, .calls_out = flow->calls_out};
    for (size_t b = 0; b < flow->block_count; b++)
        for (size_t i = flow->blocks[b].first; i <= flow->blocks[b].last; i++) {
            struct instruction instruction;

            instruction_decode(flow->code, i * INSTRUCTION_BYTES, flow->architecture, &instruction);
            const unsigned kind = load_kind(&instruction, flow->architecture);
            const bool word = kind == LOAD_COPY || instruction_takes_constant(&instruction);
            unsigned width;

            if (kind == LOAD_KIND_COUNT)
                continue;
            width = word ? SASS_WORD
                         : instruction_width(&instruction, kind < SASS_CLASS_COUNT
                                                               ? (enum sass_class)kind
                                                               : SASS_LDC);
            out->all[kind][width]++;
            out->in_loops[kind][width] += flow_depth(flow, (uint32_t)b) > 0;
        }
}
