/* SPDX-License-Identifier: MIT
 * Reads the attributes of functions in .nv.info, and the sizes of constant banks. */
#include "kernel_usage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"
#include "log.h"

/* An attribute of .nv.info: format, name, bytes behind; then the index of a symbol, and a value. */
enum { SIZED = 4, HEAD_BYTES = 4, VALUE_BYTES = 8, STACK = 0x11, REGISTERS = 0x2f };

enum { RESERVED = 1024 }; /* bytes of shared memory */

static uint32_t word_at(const unsigned char *data, size_t bytes)
{
    uint32_t word = 0;

    memcpy(&word, data, bytes);
    return word;
}

enum status kernel_usages_open(const struct cubin *cubin, struct kernel_usages *out)
{
    struct cubin_section section;
    const char *name;
    size_t size;

    *out = (struct kernel_usages){.count = 0};
    while (cubin_symbol_at(cubin, out->count, &name, &size))
        out->count++;
    out->symbols = calloc(out->count + 1, sizeof(*out->symbols));
    if (!out->symbols)
        return log_memory("what a cubin says of its kernels");
    if (!cubin_section_named(cubin, ".nv.info", "", &section) || !section.data)
        return STATUS_OK;
    for (size_t offset = 0; offset + HEAD_BYTES <= section.bytes;) {
        const unsigned char *head = section.data + offset;
        const uint32_t bytes = head[0] == SIZED ? word_at(head + 2, 2) : 0;

        offset += HEAD_BYTES + bytes;
        if (offset > section.bytes)
            break;
        if (bytes != VALUE_BYTES || (head[1] != STACK && head[1] != REGISTERS))
            continue;
        const uint32_t symbol = word_at(head + HEAD_BYTES, 4);

        if (symbol < out->count)
            *(head[1] == STACK ? &out->symbols[symbol].stack_bytes
                               : &out->symbols[symbol].registers) =
                optional_of(word_at(head + HEAD_BYTES + 4, 4));
    }
    return STATUS_OK;
}

void kernel_usages_close(struct kernel_usages *usages)
{
    free(usages->symbols);
    *usages = (struct kernel_usages){0};
}

/* What instructions do to memory, by their opcode. */
static const struct {
    uint16_t opcode;
    size_t counter; /* offset in struct kernel_usage */
} memory_opcodes[] = {
    {OPCODE_LDL, offsetof(struct kernel_usage, local_loads)},
    {OPCODE_STL, offsetof(struct kernel_usage, local_stores)},
    {OPCODE_LDS, offsetof(struct kernel_usage, shared_loads)},
    {OPCODE_STS, offsetof(struct kernel_usage, shared_stores)},
    {OPCODE_LDGSTS, offsetof(struct kernel_usage, shared_stores)},
    {OPCODE_UBLKCP, offsetof(struct kernel_usage, shared_stores)},
    {OPCODE_ST, offsetof(struct kernel_usage, stores)},
    {OPCODE_STG, offsetof(struct kernel_usage, stores)},
    {OPCODE_ATOM, offsetof(struct kernel_usage, stores)},
    {OPCODE_ATOM_CAS, offsetof(struct kernel_usage, stores)},
    {OPCODE_ATOM_1A2, offsetof(struct kernel_usage, stores)},
    {OPCODE_ATOMG, offsetof(struct kernel_usage, stores)},
    {OPCODE_ATOMG_1A8, offsetof(struct kernel_usage, stores)},
    {OPCODE_ATOMG_CAS, offsetof(struct kernel_usage, stores)},
    {OPCODE_RED, offsetof(struct kernel_usage, stores)},
    {OPCODE_SUST, offsetof(struct kernel_usage, stores)},
};

/* Counts the instructions of memory, by the opcode in the lowest bits of each. */
static void count_memory(const struct cubin_function *function, struct kernel_usage *out)
{
    enum { OPCODE_BITS = 0x1ff };
    const unsigned char *code = function->code;

    for (size_t i = 0; i + INSTRUCTION_BYTES <= function->bytes; i += INSTRUCTION_BYTES) {
        const uint32_t opcode = word_at(code + i, 2) & OPCODE_BITS;

        for (size_t k = 0; k < sizeof(memory_opcodes) / sizeof(memory_opcodes[0]); k++)
            if (opcode == memory_opcodes[k].opcode)
                ++*(uint32_t *)((char *)out + memory_opcodes[k].counter);
    }
}

void kernel_usage_read(const struct cubin *cubin, const struct kernel_usages *usages,
                       const struct cubin_function *function, struct kernel_usage *out)
{
    struct cubin_section section;

    *out = (struct kernel_usage){.constant_bytes = optional_of(0)};
    count_memory(function, out);
    if (function->number < usages->count) {
        out->registers = usages->symbols[function->number].registers;
        out->stack_bytes = usages->symbols[function->number].stack_bytes;
    }
    if (cubin_section_named(cubin, ".nv.constant0.", function->symbol, &section))
        out->parameter_bytes = optional_of(section.bytes);
    if (cubin_section_named(cubin, ".nv.shared.", function->symbol, &section))
        out->shared_bytes = section.bytes;
    /* From sm_90 on it begins with what the driver keeps there. */
    if (out->shared_bytes >= RESERVED &&
        cubin_section_named(cubin, ".nv.shared.reserved.0", "", &section))
        out->shared_bytes -= RESERVED;
    if (cubin_section_named(cubin, ".nv.constant3", "", &section))
        out->constant_bytes = optional_of(section.bytes);
}
