/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sass_instruction.h"

static void stretch_add(struct sass_stretch *stretch, const struct instruction *instruction)
{
    const bool user = instruction->bank == USER_BANK && instruction_indexed(instruction);

    stretch->instructions++;
    stretch->ldc_user += instruction->family == SASS_LDC && user;
    stretch->ldc_parameter += instruction->family == SASS_LDC && !user;
    stretch->uniform_constant += instruction->family == SASS_ULDC;
}

/* Whether not every warp that gets there executes the instruction, or some go around others: a constant load under a
 * predicate makes no request in a warp that has it false throughout. */
static bool uncountable(const struct instruction *instruction)
{
    if (instruction->operation >= CONTROL_FIRST && instruction->operation <= CONTROL_LAST)
        return instruction->operation != OPERATION_EXIT && instruction->operation != OPERATION_BRA;
    return instruction->predicate != PREDICATE_ALWAYS &&
           (instruction->family == SASS_LDC || instruction->family == SASS_ULDC);
}

/* A loop: from its first instruction to the branch that leads back there. */
struct loop {
    size_t first, last;
};

enum { LOOPS_MAX = 2 };

/* Finds the loops behind the first EXIT, up to the unconditional one; behind that is padding that branches to itself. False
 * where there is another branch, or anything else but none, or two, one in the other. */
static bool find_loops(const unsigned char *code, size_t bytes, uint32_t architecture, struct loop loops[LOOPS_MAX],
                       uint32_t *count)
{
    size_t exit = bytes;

    *count = 0;
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        if (instruction.operation == OPERATION_EXIT && instruction.predicate == PREDICATE_ALWAYS)
            break;
        exit = instruction.operation == OPERATION_EXIT && exit == bytes ? at : exit;
        if (instruction.operation == OPERATION_BRA) {
            const int64_t target = branch_target(code, at, architecture);

            if (*count == LOOPS_MAX || target > (int64_t)at || target <= (int64_t)exit)
                return false;
            loops[(*count)++] = (struct loop){(size_t)target, at};
        }
    }
    /* The inner one ends first. */
    return *count == 0 || (*count == LOOPS_MAX && loops[1].first < loops[0].first);
}

/* Counts up to the unconditional EXIT. */
static bool sass_count(const unsigned char *code, size_t bytes, struct kernel_sass *out)
{
    struct sass_counts *counts = &out->counts;
    struct sass_stretch *stretch = &counts->prologue;
    struct loop loops[LOOPS_MAX];

    if (!find_loops(code, bytes, counts->architecture, loops, &out->loops))
        return false;
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        for (uint32_t i = out->loops; i-- > 0;)
            if (at == loops[i].first)
                stretch = i == 0 ? &counts->group : &counts->round;
        stretch_add(stretch, &instruction);
        if (uncountable(&instruction))
            return false;
        for (uint32_t i = 0; i < out->loops; i++)
            if (at == loops[i].last)
                stretch = i == 0 ? &counts->round : &counts->body;
        if (instruction.operation == OPERATION_EXIT) {
            if (instruction.predicate == PREDICATE_ALWAYS)
                return true;
            stretch = &counts->body;
        }
    }
    return false;
}

void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out)
{
    out->known = instruction_known(architecture);
    out->counts = (struct sass_counts){.architecture = architecture};
    out->loops = 0;
    out->counted = out->known && sass_count(code, bytes, out);
    memset(out->classes, 0, sizeof(out->classes));
    for (size_t at = 0; out->known && at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);
        const enum sass_class class = instruction_class(&instruction, architecture);

        if (class != SASS_CLASS_COUNT && instruction.predicate != PREDICATE_NEVER)
            out->classes[class][instruction_width(&instruction, class)]++;
    }
}
