/* SPDX-License-Identifier: MIT
 * Reads the attributes of functions in .nv.info, and the sizes of constant banks. */
#include "kernel_usage.h"

#include <string.h>

#include "instruction.h"

/* An attribute of .nv.info: format, name, bytes behind; then the index of a symbol, and a value. */
enum { SIZED = 4, HEAD_BYTES = 4, VALUE_BYTES = 8, STACK = 0x11, REGISTERS = 0x2f };

static uint32_t word_at(const unsigned char *data, size_t bytes)
{
    uint32_t word = 0;

    memcpy(&word, data, bytes);
    return word;
}

/* Reads the attributes of one function. */
static void read_attributes(const struct cubin *cubin, const struct cubin_section *section,
                            const char *symbol, struct kernel_usage *out)
{
    for (size_t offset = 0; offset + HEAD_BYTES <= section->bytes;) {
        const unsigned char *head = section->data + offset;
        const uint32_t bytes = head[0] == SIZED ? word_at(head + 2, 2) : 0;
        const char *name;
        size_t size;

        offset += HEAD_BYTES + bytes;
        if (offset > section->bytes)
            return;
        if (bytes != VALUE_BYTES || (head[1] != STACK && head[1] != REGISTERS) ||
            !cubin_symbol_at(cubin, word_at(head + HEAD_BYTES, 4), &name, &size) ||
            strcmp(name, symbol) != 0)
            continue;
        *(head[1] == STACK ? &out->stack_bytes : &out->registers) =
            optional_of(word_at(head + HEAD_BYTES + 4, 4));
    }
}

/* Counts the instructions of local memory, by the opcode in the lowest bits of each. */
static void count_local(const struct cubin_function *function, struct kernel_usage *out)
{
    enum { OPCODE_BITS = 0x1ff };
    const unsigned char *code = function->code;

    for (size_t i = 0; i + INSTRUCTION_BYTES <= function->bytes; i += INSTRUCTION_BYTES) {
        const uint32_t opcode = word_at(code + i, 2) & OPCODE_BITS;

        out->local_loads += opcode == OPCODE_LDL;
        out->local_stores += opcode == OPCODE_STL;
    }
}

void kernel_usage_read(const struct cubin *cubin, const struct cubin_function *function,
                       struct kernel_usage *out)
{
    static const char user_bank[] = ".nv.constant3", parameter_bank[] = ".nv.constant0.";
    struct cubin_section section;

    *out = (struct kernel_usage){.constant_bytes = optional_of(0)};
    count_local(function, out);
    for (size_t i = 0; cubin_section_at(cubin, i, &section); i++) {
        const bool parameters =
            strncmp(section.name, parameter_bank, strlen(parameter_bank)) == 0 &&
            strcmp(section.name + strlen(parameter_bank), function->symbol) == 0;

        if (parameters)
            out->parameter_bytes = optional_of(section.bytes);
        else if (strcmp(section.name, user_bank) == 0)
            out->constant_bytes = optional_of(section.bytes);
        else if (section.data && strcmp(section.name, ".nv.info") == 0)
            read_attributes(cubin, &section, function->symbol, out);
    }
}
