/* SPDX-License-Identifier: MIT
 * Relocations of calls say which function is called. */
#include "callees.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"
#include "log.h"
#include "memory.h"

enum { BYTES_MAX = 1 << 28 };

/* The index of a function among the callees, which may be a new one; `count`: there is no room. */
static enum status add_callee(struct callees *callees, const struct cubin_function *function,
                              size_t *index)
{
    *index = 0;
    while (*index < callees->count && callees->all[*index].code != function->code)
        ++*index;
    if (*index < callees->count || function->bytes > BYTES_MAX - callees->bytes)
        return STATUS_OK;
    if (!memory_grow(&callees->all, callees->count, sizeof(*callees->all)))
        return log_memory("the functions that a kernel calls");
    callees->all[callees->count++] = (struct callee){.symbol = function->symbol,
                                                     .code = function->code,
                                                     .begin = callees->bytes,
                                                     .bytes = (uint32_t)function->bytes};
    callees->bytes += (uint32_t)(function->bytes / INSTRUCTION_BYTES * INSTRUCTION_BYTES);
    return STATUS_OK;
}

/* A relocation of a section of code, if it is of a call. */
static enum status add_call(const struct cubin *cubin, struct callees *callees, size_t from,
                            const Elf64_Rela *entry)
{
    const struct callee caller = callees->all[from];
    struct cubin_function function;
    enum status status;
    uint64_t begin;
    unsigned opcode;
    size_t to;

    if (entry->r_offset + INSTRUCTION_BYTES > caller.bytes ||
        entry->r_offset % INSTRUCTION_BYTES != 0)
        return STATUS_OK;
    opcode = code_field(caller.code, entry->r_offset, FIELD_OPCODE);
    if ((opcode != OPCODE_CALL_ABS && opcode != OPCODE_CALL_REL) ||
        !cubin_symbol_code(cubin, entry->r_info >> 32, &function, &begin))
        return STATUS_OK;
    begin += (uint64_t)entry->r_addend;
    status = add_callee(callees, &function, &to);
    if (status != STATUS_OK || to == callees->count || begin >= callees->all[to].bytes)
        return status;
    if (!memory_grow(&callees->calls, callees->call_count, sizeof(*callees->calls)))
        return log_memory("the calls of a kernel");
    callees->calls[callees->call_count++] =
        (struct flow_jump){.offset = caller.begin + (uint32_t)entry->r_offset,
                           .count = 1,
                           .base = callees->all[to].begin + (uint32_t)begin};
    return STATUS_OK;
}

/* Adds the calls of a section of code, by its relocations of a type. */
static enum status add_calls(const struct cubin *cubin, struct callees *callees, size_t from,
                             bool with_addend)
{
    const size_t bytes = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    enum status status = STATUS_OK;
    struct cubin_section section;

    if (!cubin_section_named(cubin, with_addend ? ".rela.text." : ".rel.text.",
                             callees->all[from].symbol, &section) ||
        !section.data || section.type != (with_addend ? SHT_RELA : SHT_REL))
        return STATUS_OK;
    for (size_t place = 0; status == STATUS_OK && place + bytes <= section.bytes; place += bytes) {
        Elf64_Rela entry = {.r_addend = 0};

        memcpy(&entry, section.data + place, bytes);
        status = add_call(cubin, callees, from, &entry);
    }
    return status;
}

enum status callees_find(const struct cubin *cubin, const struct cubin_function *kernel,
                         struct callees *out)
{
    enum status status;
    size_t first;

    *out = (struct callees){.code = kernel->code};
    status = add_callee(out, kernel, &first);
    for (size_t i = 0; status == STATUS_OK && i < 2 * out->count; i++)
        status = add_calls(cubin, out, i / 2, i % 2);
    if (status == STATUS_OK && out->count > 1) {
        out->owned = calloc(out->bytes, 1);
        out->code = out->owned;
        if (!out->owned)
            status = log_memory("the functions that a kernel calls");
    }
    for (size_t i = 0; status == STATUS_OK && out->owned && i < out->count; i++)
        memcpy(out->owned + out->all[i].begin, out->all[i].code,
               out->all[i].bytes / INSTRUCTION_BYTES * INSTRUCTION_BYTES);
    if (status != STATUS_OK)
        callees_close(out);
    return status;
}

const struct callee *callees_at(const struct callees *callees, uint32_t place)
{
    size_t i = callees->count - 1;

    while (i > 0 && callees->all[i].begin > place)
        i--;
    return &callees->all[i];
}

void callees_close(struct callees *callees)
{
    free(callees->owned);
    free(callees->all);
    free(callees->calls);
    *callees = (struct callees){0};
}
