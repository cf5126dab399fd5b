/* SPDX-License-Identifier: MIT
 * What an address in PTX is made of: all definitions of its register in the function, of the
 * registers that these add, and so on. */
#include "ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256, REGISTERS_MAX = 32, OPERANDS_MAX = 4, FUNCTION_LINES_MAX = 20000 };

/* A search for the symbols of an address. */
struct trace {
    const char *begin, *end; /* lines of the function */
    char registers[REGISTERS_MAX][NAME_MAX_BYTES]; /* to follow; `next` on: not yet followed */
    size_t count, next;
    char symbol[NAME_MAX_BYTES]; /* "": none yet */
    bool failed;
};

/* One instruction: its name, and its operands without brackets. */
struct line {
    char name[NAME_MAX_BYTES], operands[OPERANDS_MAX][NAME_MAX_BYTES];
    unsigned count;
};

/* Copies characters that names have. Returns how many. */
static size_t copy_name(const char *text, char out[NAME_MAX_BYTES])
{
    size_t bytes = 0;

    while (text[bytes] && (isalnum((unsigned char)text[bytes]) || strchr("%_$.", text[bytes])))
        bytes++;
    snprintf(out, NAME_MAX_BYTES, "%.*s", (int)bytes, text);
    return bytes;
}

/* Splits a line. False: it is no instruction that is followed. */
static bool split(const char *text, struct line *out)
{
    *out = (struct line){.count = 0};
    text += strspn(text, " \t");
    if (*text == '@') { /* a guard */
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    text += copy_name(text, out->name);
    while (*text && *text != ';' && out->count < OPERANDS_MAX) {
        text += strspn(text, " \t,[");
        text += copy_name(text, out->operands[out->count]);
        out->count += out->operands[out->count][0] != 0;
        text += strcspn(text, ",;");
    }
    return out->name[0] && out->count > 0;
}

/* The lines of the function that has a line. False: it has too many, or there is none. */
static bool find_function(const struct ptx *ptx, uint32_t line, const char **found,
                          struct trace *out)
{
    const char *const end = ptx->text + ptx->bytes;
    uint32_t number = 1, first = 1;

    *found = out->begin = out->end = NULL;
    for (const char *text = ptx->text; text < end && !out->end; number++) {
        const size_t bytes = strnlen(text, (size_t)(end - text));

        if (text + bytes >= end) /* no zero behind it */
            return false;
        if (*text == '.' && (strstr(text, ".entry ") || strstr(text, ".func "))) {
            out->begin = text;
            first = number;
        }
        if (number == line)
            *found = text;
        if (*found && strcmp(text, "}") == 0)
            out->end = text;
        text += bytes + 1;
    }
    return *found && out->begin && out->begin <= *found && out->end &&
           number - first <= FUNCTION_LINES_MAX;
}

/* An operand that an address is made of. */
static void add_operand(struct trace *trace, const char *operand)
{
    if (*operand != '%' && !isdigit((unsigned char)*operand)) {
        trace->failed |= trace->symbol[0] && strcmp(trace->symbol, operand) != 0;
        snprintf(trace->symbol, sizeof(trace->symbol), "%s", operand);
        return;
    }
    for (size_t i = 0; i < trace->count; i++)
        if (*operand != '%' || strcmp(trace->registers[i], operand) == 0)
            return;
    trace->failed |= trace->count == REGISTERS_MAX;
    if (*operand == '%' && !trace->failed)
        snprintf(trace->registers[trace->count++], NAME_MAX_BYTES, "%s", operand);
}

static bool is_one(const struct line *line, const char *name)
{
    return strncmp(line->name, name, strlen(name)) == 0;
}

/* Follows the operands of the instruction that defines a register. A product, a shift or a load
 * makes an index, and is not followed. */
static void add_definition(struct trace *trace, const struct line *line)
{
    unsigned from = 1, behind = line->count;

    if (is_one(line, "mad."))
        from = line->count - 1;
    else if (is_one(line, "selp."))
        behind = line->count - 1;
    else if (!is_one(line, "mov.") && !is_one(line, "add.") && !is_one(line, "sub."))
        behind = 0;
    trace->failed |= is_one(line, "cvta.");
    for (unsigned i = from; i < behind; i++)
        add_operand(trace, line->operands[i]);
}

static void follow(struct trace *trace)
{
    struct line line;

    for (; trace->next < trace->count && !trace->failed; trace->next++)
        for (const char *text = trace->begin; text < trace->end; text += strlen(text) + 1)
            if (split(text, &line) && strcmp(line.operands[0], trace->registers[trace->next]) == 0)
                add_definition(trace, &line);
}

bool ptx_constant_of(const struct ptx *ptx, uint32_t line, char *symbol, size_t room)
{
    struct trace trace = {.count = 0};
    const char *text, *address;
    struct line load;

    if (!ptx->text || !find_function(ptx, line, &text, &trace) || !split(text, &load) ||
        !is_one(&load, "ld.const."))
        return false;
    address = strchr(text, '[');
    if (!address)
        return false;
    copy_name(address + 1, load.operands[0]);
    add_operand(&trace, load.operands[0]);
    follow(&trace);
    snprintf(symbol, room, "%s", trace.symbol);
    return !trace.failed && trace.symbol[0];
}
