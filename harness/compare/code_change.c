/* SPDX-License-Identifier: MIT */
#include "code_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

enum { NAMED_MAX = 8 }; /* opcodes in a line */

static uint64_t count_of(const struct sass_code *code, const char *name)
{
    for (size_t i = 0; i < code->opcode_count; i++)
        if (strcmp(code->opcodes[i].name, name) == 0)
            return code->opcodes[i].count;
    return 0;
}

bool code_compare(const char *base_text, const char *new_text, struct code_change *out)
{
    struct sass_code codes[2];
    size_t at = 0;

    *out = (struct code_change){0};
    if (!base_text || !new_text || !sass_code_parse(base_text, &codes[0]) || !sass_code_parse(new_text, &codes[1]))
        return false;
    out->base_instructions = codes[0].instructions;
    out->new_instructions = codes[1].instructions;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < codes[side].opcode_count; i++) {
            const char *name = codes[side].opcodes[i].name;
            struct opcode_change *change = &out->opcodes[out->opcode_count];

            *change = (struct opcode_change){.base = count_of(&codes[0], name), .new_count = count_of(&codes[1], name)};
            memcpy(change->opcode, name, sizeof(change->opcode));
            /* The second code adds opcodes that the first has not. */
            out->opcode_count += change->base != change->new_count && (side == 0 || change->base == 0);
        }
    while (at < codes[0].instructions && at < codes[1].instructions &&
           strcmp(sass_code_opcode(&codes[0], at), sass_code_opcode(&codes[1], at)) == 0)
        at++;
    if (at < codes[0].instructions || at < codes[1].instructions) {
        out->opcode_at = at + 1;
        snprintf(out->base_opcode, sizeof(out->base_opcode), "%s", sass_code_opcode(&codes[0], at));
        snprintf(out->new_opcode, sizeof(out->new_opcode), "%s", sass_code_opcode(&codes[1], at));
    }
    return true;
}

void code_change_text(const struct code_change *change, char *out, size_t bytes)
{
    snprintf(out, bytes, "%" PRIu64, change->base_instructions);
    if (change->base_instructions != change->new_instructions)
        text_join(out, bytes, "", " -> %" PRIu64, change->new_instructions);
    text_join(out, bytes, "", " instructions%s",
              change->opcode_count ? ": "
              : change->opcode_at  ? ", as many of each opcode"
                                   : ", the same opcodes in the same order: operands or scheduling differ");
    for (size_t i = 0; i < change->opcode_count && i < NAMED_MAX; i++)
        text_join(out, bytes, "", "%s%s %" PRIu64 " -> %" PRIu64, i ? ", " : "", change->opcodes[i].opcode,
                  change->opcodes[i].base, change->opcodes[i].new_count);
    if (change->opcode_count > NAMED_MAX)
        text_join(out, bytes, "", " and %zu more opcodes", change->opcode_count - NAMED_MAX);
    if (change->opcode_at)
        text_join(out, bytes, "", "; the first other opcode is %" PRIu64 ": %s -> %s", change->opcode_at,
                  *change->base_opcode ? change->base_opcode : "the end",
                  *change->new_opcode ? change->new_opcode : "the end");
}
