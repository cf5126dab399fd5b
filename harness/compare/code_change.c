/* SPDX-License-Identifier: MIT */
#include "compare_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sass_code.h"
#include "text.h"

static uint64_t count_of(const struct sass_code *code, const char *name)
{
    for (size_t i = 0; i < code->opcode_count; i++)
        if (strcmp(code->opcodes[i].name, name) == 0)
            return code->opcodes[i].count;
    return 0;
}

bool code_change(const char *base, const char *new_code, char *out, size_t bytes)
{
    struct sass_code codes[2];
    size_t changed = 0, at = 0;

    if (!base || !new_code || !sass_code_parse(base, &codes[0]) || !sass_code_parse(new_code, &codes[1]))
        return false;
    snprintf(out, bytes, "%" PRIu64 " -> %" PRIu64 " instructions", codes[0].instructions, codes[1].instructions);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < codes[side].opcode_count; i++) {
            const char *name = codes[side].opcodes[i].name;
            const uint64_t was = count_of(&codes[0], name), is = count_of(&codes[1], name);

            /* The second code adds the opcodes that the first lacks. */
            if (was != is && (side == 0 || was == 0))
                text_join(out, bytes, "", "%s%s %" PRIu64 " -> %" PRIu64, changed++ ? ", " : ": ", name, was, is);
        }
    while (at < codes[0].instructions && at < codes[1].instructions &&
           strcmp(sass_code_opcode(&codes[0], at), sass_code_opcode(&codes[1], at)) == 0)
        at++;
    if (at < codes[0].instructions || at < codes[1].instructions) {
        const char *was = sass_code_opcode(&codes[0], at), *is = sass_code_opcode(&codes[1], at);

        text_join(out, bytes, "", "; the first other opcode is %zu: %s -> %s", at + 1, *was ? was : "the end",
                  *is ? is : "the end");
    } else {
        text_join(out, bytes, "", ", the same opcodes in the same order: operands or scheduling differ");
    }
    return true;
}
