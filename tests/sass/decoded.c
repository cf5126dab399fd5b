/* SPDX-License-Identifier: MIT
 * Prints what the decoder says of each instruction of machine code, for tests that hold it against
 * a disassembler.
 *
 *     usage: decoded ARCHITECTURE FILE   FILE: the bytes of one section of code
 *            decoded                     prints the architectures whose code was seen
 *
 * A line of an instruction has its name, or "?" where the table does not have it, then the operands
 * that are read and, behind a bar, the registers that are written:
 *
 *     LDG R4:2 UR6:2 P0 | R8:2
 *
 * R4:2 are R4 and R5. What is always zero or true is left out, and so are numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"

enum { BYTES_MAX = 1 << 24, ARCHITECTURE_MAX = 1000 };

static void print_register(uint32_t number, uint32_t count)
{
    if (number >= UNIFORM_PREDICATE_FIRST)
        printf(" UP%u", number - UNIFORM_PREDICATE_FIRST);
    else if (number >= PREDICATE_FIRST)
        printf(" P%u", number - PREDICATE_FIRST);
    else if (number >= UNIFORM_FIRST)
        printf(" UR%u", number - UNIFORM_FIRST);
    else
        printf(" R%u", number);
    if (number < PREDICATE_FIRST || count > 1)
        printf(":%u", count);
}

static void print_predicate(uint32_t number)
{
    if (number != PREDICATE_TRUE && number != UNIFORM_PREDICATE_TRUE)
        print_register(number, 1);
}

static void print_instruction(const struct instruction *in)
{
    printf("%s", in->transfer == TRANSFER_UNKNOWN ? "?" : in->name);
    print_predicate(in->guard);
    for (unsigned i = 0; i <= OPERANDS_MAX; i++) {
        const struct operand *source = i < OPERANDS_MAX ? &in->source[i] : &in->handle;

        if ((source->kind == OPERAND_REGISTER || source->kind == OPERAND_UNIFORM) &&
            source->number != REGISTER_ZERO && source->number != UNIFORM_ZERO)
            print_register(source->number, source->words);
    }
    for (unsigned i = 0; i < INPUTS_MAX; i++)
        print_predicate(in->input[i].number);
    printf(" |");
    for (unsigned i = 0; i < in->results; i++)
        print_register(in->result[i].first, in->result[i].count);
    printf("\n");
}

int main(int argc, char **argv)
{
    unsigned char *code = malloc(BYTES_MAX);
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    size_t bytes;

    for (uint32_t i = 0; argc == 1 && i < ARCHITECTURE_MAX; i++)
        if (architecture_seen(i))
            printf("%u\n", i);
    if (argc == 1 || !code || !file) {
        free(code);
        return argc == 1 ? 0 : 2;
    }
    bytes = fread(code, 1, BYTES_MAX, file);
    for (size_t offset = 0; offset + INSTRUCTION_BYTES <= bytes; offset += INSTRUCTION_BYTES) {
        struct instruction in;

        instruction_decode(code, offset, (uint32_t)strtoul(argv[1], NULL, 10), &in);
        print_instruction(&in);
    }
    fclose(file);
    free(code);
    return 0;
}
