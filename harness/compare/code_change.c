/* SPDX-License-Identifier: MIT */
#include "code_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

enum { NAMED_MAX = 8 }; /* opcodes in a line */

static uint64_t count_of(const struct sass_code *code, const char *name)
{
    for (size_t i = 0; i < code->opcode_count; i++)
        if (strcmp(code->opcodes[i].name, name) == 0)
            return code->opcodes[i].count;
    return 0;
}

/* Adds the opcodes of one code whose counts differ; of the second those that the first has not. */
static void add_counts(struct code_change *out, const struct sass_code *base, const struct sass_code *new_code,
                       bool second)
{
    const struct sass_code *code = second ? new_code : base;

    for (size_t i = 0; i < code->opcode_count; i++) {
        struct opcode_change change = {.base = count_of(base, code->opcodes[i].name),
                                       .new_count = count_of(new_code, code->opcodes[i].name)};

        memcpy(change.opcode, code->opcodes[i].name, sizeof(change.opcode));
        if (change.base != change.new_count && (!second || change.base == 0))
            out->opcodes[out->opcode_count++] = change;
    }
}

static size_t lesser(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* The first instruction whose opcode differs, and the stretch in which the first lies that differs in any bit. */
static void find_first(struct code_change *out, const struct sass_code *base, const struct sass_code *new_code)
{
    const size_t common = lesser(base->instructions, new_code->instructions);
    const size_t blocks = lesser(base->digest_count, new_code->digest_count);
    size_t at = 0, block = 0;

    while (at < common && strcmp(sass_code_opcode(base, at), sass_code_opcode(new_code, at)) == 0)
        at++;
    if (at < common || base->instructions != new_code->instructions) {
        out->opcode_at = out->from = out->to = at + 1;
        snprintf(out->base_opcode, sizeof(out->base_opcode), "%s", sass_code_opcode(base, at));
        snprintf(out->new_opcode, sizeof(out->new_opcode), "%s", sass_code_opcode(new_code, at));
    }
    while (block < blocks && base->digests[block] == new_code->digests[block])
        block++;
    if (block == blocks)
        return;
    out->from = block * SASS_DIGEST_INSTRUCTIONS + 1;
    out->to = lesser(out->from + SASS_DIGEST_INSTRUCTIONS - 1, base->instructions);
    if (out->opcode_at && out->opcode_at < out->from + SASS_DIGEST_INSTRUCTIONS)
        out->to = out->opcode_at;
    if (out->to < out->from) /* a hash before it was the same by chance */
        out->from = out->to;
}

enum status code_compare(const char *base_text, const char *new_text, struct code_change **out)
{
    struct sass_code base, new_code;

    *out = NULL;
    if (!base_text || !new_text || !sass_code_parse(base_text, &base) || !sass_code_parse(new_text, &new_code))
        return STATUS_OK;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return log_memory("a comparison");
    (*out)->base_instructions = base.instructions;
    (*out)->new_instructions = new_code.instructions;
    add_counts(*out, &base, &new_code, false);
    add_counts(*out, &base, &new_code, true);
    find_first(*out, &base, &new_code);
    return STATUS_OK;
}

static const char *shown(const char *opcode)
{
    return *opcode ? opcode : "the end";
}

void code_change_text(const struct code_change *change, char *out, size_t bytes)
{
    const size_t named = lesser(change->opcode_count, NAMED_MAX);

    snprintf(out, bytes, "%" PRIu64, change->base_instructions);
    if (change->base_instructions != change->new_instructions)
        text_join(out, bytes, "", " -> %" PRIu64, change->new_instructions);
    text_join(out, bytes, "", " instructions%s",
              change->opcode_count ? ": "
              : change->opcode_at  ? ", as many of each opcode"
                                   : ", the same opcodes in the same order: operands or scheduling differ");
    for (size_t i = 0; i < named; i++)
        text_join(out, bytes, "", "%s%s %" PRIu64 " -> %" PRIu64, i ? ", " : "", change->opcodes[i].opcode,
                  change->opcodes[i].base, change->opcodes[i].new_count);
    if (named < change->opcode_count)
        text_join(out, bytes, "", " and %zu more opcodes", change->opcode_count - named);
    if (change->from < change->to)
        text_join(out, bytes, "", "; the first that differs is one of %" PRIu64 " to %" PRIu64, change->from,
                  change->to);
    if (change->opcode_at)
        text_join(out, bytes, "", "; the first %s is %" PRIu64 ": %s -> %s",
                  change->from < change->to ? "other opcode" : "that differs", change->opcode_at,
                  shown(change->base_opcode), shown(change->new_opcode));
}
