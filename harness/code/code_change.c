/* SPDX-License-Identifier: MIT
 * What changed between two codes of a kernel, in one line: opcodes whose counts differ, the first
 * instruction that is another, or which bits moved although the opcodes are the same. */
#include "code_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sass_code.h"
#include "text.h"

const char *const code_part_names[] = {"opcodes", "operands", "constant_offsets", "scheduling"};
static const char *const code_part_words[] = {"opcodes", "operands", "constant offsets",
                                              "scheduling"};

static uint64_t count_of(const struct sass_code *code, const char *name)
{
    uint64_t count = 0;

    for (size_t i = 0; i < code->opcode_count; i++)
        if (strcmp(code->opcodes[i].name, name) == 0)
            count += code->opcodes[i].count;
    return count;
}

/* The first instruction whose opcode is another; the end of the longer code if there is none. */
static size_t first_other(const struct sass_code codes[2])
{
    size_t place = 0;

    while ((place < codes[0].instructions || place < codes[1].instructions) &&
           strcmp(sass_code_opcode(&codes[0], place), sass_code_opcode(&codes[1], place)) == 0)
        place++;
    return place;
}

uint32_t code_moved(const char *base, const char *new_code)
{
    struct sass_code codes[2];
    uint32_t moved = 0;

    if (!base || !new_code || !sass_code_parse(base, &codes[0]) ||
        !sass_code_parse(new_code, &codes[1]))
        return 0;
    if (first_other(codes) < codes[0].instructions || first_other(codes) < codes[1].instructions)
        moved |= 1u << CODE_OPCODES;
    for (size_t i = 0; codes[0].parts && codes[1].parts && i < SASS_PART_COUNT; i++)
        if (memcmp(codes[0].parts + i * SASS_PART_LETTERS, codes[1].parts + i * SASS_PART_LETTERS,
                   SASS_PART_LETTERS) != 0)
            moved |= 1u << (CODE_OPERANDS + i);
    return moved;
}

bool code_change(const char *base, const char *new_code, char *out, size_t bytes)
{
    struct sass_code codes[2];
    size_t changed = 0, place;
    uint32_t moved;

    if (!base || !new_code || !sass_code_parse(base, &codes[0]) ||
        !sass_code_parse(new_code, &codes[1]))
        return false;
    snprintf(out, bytes, "%" PRIu64 " -> %" PRIu64 " instructions", codes[0].instructions,
             codes[1].instructions);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < codes[side].opcode_count; i++) {
            const char *name = codes[side].opcodes[i].name;
            const uint64_t before = count_of(&codes[0], name), after = count_of(&codes[1], name);

            /* The second code adds the opcodes that the first lacks. */
            if (before != after && (side == 0 || before == 0))
                text_join(out, bytes, "", "%s%s %" PRIu64 " -> %" PRIu64, changed++ ? ", " : ": ",
                          name, before, after);
        }
    place = first_other(codes);
    if (place < codes[0].instructions || place < codes[1].instructions) {
        const char *before = sass_code_opcode(&codes[0], place),
                   *after = sass_code_opcode(&codes[1], place);

        text_join(out, bytes, "", "; the first other opcode is %zu: %s -> %s", place + 1,
                  *before ? before : "the end", *after ? after : "the end");
    } else {
        moved = code_moved(base, new_code);
        text_join(out, bytes, "", ", the same opcodes in the same order: ");
        for (size_t i = CODE_OPERANDS, said = 0; i < CODE_PARTS; i++)
            if (moved >> i & 1)
                text_join(out, bytes, "", "%s%s", said++ ? ", " : "", code_part_words[i]);
        text_join(out, bytes, "", "%s",
                  moved                              ? " differ"
                  : codes[0].parts && codes[1].parts ? "padding differs"
                                                     : "operands or scheduling differ");
    }
    return true;
}
