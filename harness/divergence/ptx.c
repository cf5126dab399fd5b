/* SPDX-License-Identifier: MIT
 * What an address in PTX is made of: all definitions of its register in the function, of the
 * registers that these add, and so on. */
#include "ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"

enum { NAME_MAX_BYTES = 256, REGISTERS_MAX = 32, OPERANDS_MAX = 4, FUNCTION_LINES_MAX = 20000 };

/* A search for the symbols of an address. */
struct trace {
    const char *begin, *end; /* lines of the function */
    char registers[REGISTERS_MAX][NAME_MAX_BYTES]; /* to follow; `next` on: not yet followed */
    size_t count, next;
    char symbol[NAME_MAX_BYTES]; /* "": none yet */
    bool failed, generic; /* generic: by an address of constant memory that was made generic */
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

enum status ptx_open(const char *text, size_t bytes, struct ptx *out)
{
    uint32_t line = 1;

    *out = (struct ptx){.text = text, .bytes = text ? bytes : 0};
    for (size_t offset = 0; offset < out->bytes; line++) {
        const size_t end = offset + strnlen(text + offset, bytes - offset);

        if (end >= bytes) /* no zero behind it */
            break;
        if (text[offset] == '.' &&
            (strstr(text + offset, ".entry ") || strstr(text + offset, ".func "))) {
            if (!memory_grow(&out->functions, out->count, sizeof(*out->functions))) {
                ptx_close(out);
                return log_memory("the PTX of a cubin");
            }
            out->functions[out->count++] = (struct ptx_function){offset, line};
        }
        offset = end + 1;
    }
    return STATUS_OK;
}

void ptx_close(struct ptx *ptx)
{
    free(ptx->functions);
    *ptx = (struct ptx){0};
}

/* The last function that begins at or before a line; NULL: there is none. */
static const struct ptx_function *function_before(const struct ptx *ptx, uint32_t line)
{
    size_t low = 0, high = ptx->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (ptx->functions[middle].line <= line)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &ptx->functions[low - 1] : NULL;
}

/* The lines of the function that has a line. False: it has too many, or there is none. */
static bool find_function(const struct ptx *ptx, uint32_t line, const char **found,
                          struct trace *out)
{
    const struct ptx_function *function = function_before(ptx, line);

    *found = out->begin = out->end = NULL;
    if (!function)
        return false;
    const char *const end = ptx->text + ptx->bytes;
    uint32_t number = function->line;

    out->begin = ptx->text + function->offset;
    for (const char *text = out->begin; text < end && !out->end; number++) {
        const size_t bytes = strnlen(text, (size_t)(end - text));

        if (text + bytes >= end || number - function->line > FUNCTION_LINES_MAX)
            return false;
        if (number == line)
            *found = text;
        if (*found && strcmp(text, "}") == 0)
            out->end = text;
        text += bytes + 1;
    }
    return *found && out->end;
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
    else if (!is_one(line, "mov.") && !is_one(line, "add.") && !is_one(line, "sub.") &&
             !is_one(line, "cvta.const."))
        behind = 0;
    /* The generic address of what is in constant memory, as code for a debugger has it, is one of
     * the same symbol. */
    trace->failed |= is_one(line, "cvta.") && !is_one(line, "cvta.const.");
    trace->generic |= is_one(line, "cvta.const.");
    for (unsigned i = from; i < behind; i++)
        add_operand(trace, line->operands[i]);
}

static void follow(struct trace *trace)
{
    struct line line;

    for (; trace->next < trace->count && !trace->failed; trace->next++)
        for (const char *text = trace->begin; text < trace->end; text += strlen(text) + 1)
            if (strstr(text, trace->registers[trace->next]) && split(text, &line) &&
                strcmp(line.operands[0], trace->registers[trace->next]) == 0)
                add_definition(trace, &line);
}

bool ptx_constant_of(const struct ptx *ptx, uint32_t line, char *symbol, size_t room)
{
    struct trace trace = {.count = 0};
    const char *text, *address;
    struct line load;
    bool of_constants;

    if (!find_function(ptx, line, &text, &trace) || !split(text, &load) || !is_one(&load, "ld."))
        return false;
    of_constants = is_one(&load, "ld.const.");
    address = strchr(text, '[');
    if (!address)
        return false;
    copy_name(address + 1, load.operands[0]);
    add_operand(&trace, load.operands[0]);
    follow(&trace);
    snprintf(symbol, room, "%s", trace.symbol);
    return !trace.failed && trace.symbol[0] && (of_constants || trace.generic);
}
