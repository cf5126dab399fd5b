/* SPDX-License-Identifier: MIT */
#include "kernel_loads.h"

/* -- kinds ------------------------------------------------------------------------------------- */

/* The kind of a load; LOAD_KIND_COUNT if the instruction is none. */
static unsigned load_kind(const struct instruction *instruction, uint32_t architecture)
{
    static const struct {
        unsigned operation, kind;
    } others[] = {{0x180, LOAD_GENERIC}, {0x183, LOAD_LOCAL}, {0x1ae, LOAD_COPY}};
    const bool uniform = instruction->family == SASS_ULDC,
               constant = uniform || instruction->family == SASS_LDC;
    const bool indexed = constant && instruction_indexed(instruction);
    const enum sass_class class = instruction_class(instruction, architecture);

    if (instruction->predicate == PREDICATE_NEVER)
        return LOAD_KIND_COUNT;
    if (!constant && class < SASS_SEL)
        return class;
    if (constant || instruction_takes_constant(instruction)) {
        if (instruction->bank == USER_BANK)
            return !indexed ? LOAD_FIXED : uniform ? SASS_ULDC : SASS_LDC;
        if (instruction->bank == PARAMETER_BANK)
            return !indexed ? LOAD_ARGUMENT : uniform ? LOAD_ARGUMENT_UNIFORM : SASS_LDC_PARAMETER;
        return LOAD_COMPILER;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].operation == instruction->operation)
            return others[i].kind;
    return LOAD_KIND_COUNT;
}

/* -- reading ----------------------------------------------------------------------------------- */

void kernel_loads_read(const struct flow *flow, struct kernel_loads *out)
{
    *out = (struct kernel_loads){.loops_known = !flow->lost, .calls_out = flow->calls_out};
    for (size_t b = 0; b < flow->block_count; b++)
        for (size_t i = flow->blocks[b].first; i <= flow->blocks[b].last; i++) {
            const struct instruction instruction =
                instruction_at(flow->code, i * INSTRUCTION_BYTES);
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
