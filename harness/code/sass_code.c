/* SPDX-License-Identifier: MIT */
#include "sass_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sass.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

enum { OPERATIONS = 512, OPERATION_NOP = 0x118 };

/* The names of operations, which are the low 9 bits. They come from the disassembly of all kernels
 * for sm_75 and sm_90, SEL from another kernel and VIADD from a published listing. From sm_100 on
 * the numbers are the same. An operation without a name is shown by its number. */
static const char *const names[OPERATIONS] = {
    [0x002] = "MOV",     [0x005] = "CS2R",      [0x006] = "VOTE",      [0x007] = "SEL",
    [0x00c] = "ISETP",   [0x010] = "IADD3",     [0x011] = "LEA",       [0x012] = "LOP3",
    [0x017] = "IMNMX",   [0x019] = "SHF",       [0x01c] = "PLOP3",     [0x020] = "FMUL",
    [0x021] = "FADD",    [0x023] = "FFMA",      [0x024] = "IMAD",      [0x025] = "IMAD.WIDE",
    [0x027] = "IMAD.HI", [0x035] = "HFMA2.MMA", [0x036] = "VIADD",     [0x082] = "UMOV",
    [0x086] = "VOTEU",   [0x08c] = "UISETP",    [0x090] = "UIADD3",    [0x091] = "ULEA",
    [0x092] = "ULOP3",   [0x099] = "USHF",      [0x0a4] = "UIMAD",     [0x0a5] = "UIMAD.WIDE",
    [0x0b9] = "ULDC",    [0x0bd] = "UFLO",      [0x0ca] = "R2UR",      [0x105] = "F2I",
    [0x106] = "I2F",     [0x108] = "MUFU",      [0x109] = "POPC",      [0x118] = "NOP",
    [0x119] = "S2R",     [0x11a] = "DEPBAR",    [0x11d] = "BAR",       [0x141] = "BSYNC",
    [0x145] = "BSSY",    [0x146] = "YIELD",     [0x147] = "BRA",       [0x149] = "BRX",
    [0x14d] = "EXIT",    [0x155] = "BMOV",      [0x15d] = "NANOSLEEP", [0x160] = "TEX",
    [0x166] = "TLD",     [0x181] = "LDG",       [0x182] = "LDC",       [0x183] = "LDL",
    [0x184] = "LDS",     [0x186] = "STG",       [0x187] = "STL",       [0x188] = "STS",
    [0x18e] = "RED",     [0x18f] = "CCTL",      [0x192] = "MEMBAR",    [0x1a8] = "ATOMG",
    [0x1ab] = "ERRBAR",  [0x1ac] = "LDCU",      [0x1c3] = "S2UR",
};

/* Operations that share the name of another: variants with an index, bindless variants. */
static const unsigned aliases[OPERATIONS] = {[0x0bb] = 0x0b9, [0x161] = 0x160, [0x167] = 0x166};

/* The first half of an instruction has the offset of a constant, in bytes. The second half has the
 * scheduling from this bit on: stall, barriers, reuse of operands. */
#define OFFSET_BITS (UINT64_C(0xffff) << 38)
enum { SCHEDULING_FIRST = 41 };

/* -- writing ----------------------------------------------------------------------------------- */

static unsigned operation_at(const unsigned char *code, size_t index)
{
    const unsigned char *at = code + index * INSTRUCTION_BYTES;
    const unsigned operation = at[0] | (at[1] & 1u) << 8;

    return aliases[operation] ? aliases[operation] : operation;
}

/* FNV-1a, with eight bytes at a time. */
static const uint64_t hash_start = 0xcbf29ce484222325;

static uint64_t hash_add(uint64_t hash, uint64_t value)
{
    for (size_t i = 0; i < sizeof(value); i++)
        hash = (hash ^ (value >> 8 * i & 0xff)) * 0x100000001b3;
    return hash;
}

char *sass_code_text(const void *code, size_t bytes)
{
    enum { OPCODE_TEXT_BYTES = SASS_OPCODE_BYTES + 24 };
    const unsigned char *data = code;
    size_t instructions = bytes / INSTRUCTION_BYTES, count = 0;
    unsigned operations[OPERATIONS]; /* different ones, in the order in which they come */
    size_t positions[OPERATIONS] = {0}, counts[OPERATIONS] = {0}; /* of an operation: its position
                                                                   * in that list; its count */
    uint64_t parts[SASS_PART_COUNT] = {hash_start, hash_start, hash_start};
    char *text, *at;

    while (instructions > 0 && operation_at(data, instructions - 1) == OPERATION_NOP)
        instructions--;
    for (size_t i = 0; i < instructions; i++) {
        const unsigned operation = operation_at(data, i);

        if (counts[operation]++ == 0) {
            positions[operation] = count;
            operations[count++] = operation;
        }
    }
    if (count > SASS_OPCODES_MAX)
        return strdup("");
    at = text = malloc(count * OPCODE_TEXT_BYTES + 2 * instructions +
                       SASS_PART_COUNT * SASS_PART_LETTERS + 5);
    if (!text)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const unsigned operation = operations[i];
        char number[8];

        snprintf(number, sizeof(number), "0x%03x", operation);
        at += sprintf(at, "%s%s %zu", i ? " " : "", names[operation] ? names[operation] : number,
                      counts[operation]);
    }
    *at++ = ';';
    for (size_t i = 0; i < instructions; i++)
        *at++ = letters[positions[operation_at(data, i)]];
    *at++ = ';';
    for (size_t i = 0; i < instructions; i += SASS_DIGEST_INSTRUCTIONS) {
        const size_t left = instructions - i;

        const size_t hashed = left < SASS_DIGEST_INSTRUCTIONS ? left : SASS_DIGEST_INSTRUCTIONS;
        uint64_t hash = hash_start;

        for (size_t k = 0; k < INSTRUCTION_BYTES * hashed; k++)
            hash = (hash ^ data[i * INSTRUCTION_BYTES + k]) * 0x100000001b3;
        *at++ = letters[hash >> 58];
    }
    *at++ = ';';
    for (size_t i = 0; i < instructions; i++) {
        const struct instruction instruction = instruction_at(data, i * INSTRUCTION_BYTES);
        const bool constant = instruction.family == SASS_LDC || instruction.family == SASS_ULDC ||
                              instruction_takes_constant(&instruction);
        const uint64_t offset_bits = constant ? OFFSET_BITS : 0;
        const unsigned operation = instruction.operation;
        uint64_t low, high;

        memcpy(&low, data + i * INSTRUCTION_BYTES, sizeof(low));
        memcpy(&high, data + i * INSTRUCTION_BYTES + sizeof(low), sizeof(high));
        /* The low bits are the opcode; operations that share a name differ in operands. */
        parts[SASS_OPERANDS] =
            hash_add(hash_add(parts[SASS_OPERANDS],
                              (low & ~(uint64_t)(OPERATIONS - 1) & ~offset_bits) |
                                  (aliases[operation] ? operation : 0)),
                     high & ((UINT64_C(1) << SCHEDULING_FIRST) - 1));
        parts[SASS_OFFSETS] = hash_add(parts[SASS_OFFSETS], low & offset_bits);
        parts[SASS_SCHEDULING] = hash_add(parts[SASS_SCHEDULING], high >> SCHEDULING_FIRST);
    }
    for (size_t i = 0; i < SASS_PART_COUNT * SASS_PART_LETTERS; i++)
        *at++ = letters[parts[i / SASS_PART_LETTERS] >> (4 + 6 * (i % SASS_PART_LETTERS)) & 63];
    *at = '\0';
    return text;
}

/* -- reading ----------------------------------------------------------------------------------- */

bool sass_code_parse(const char *text, struct sass_code *out)
{
    const char *first = strchr(text, ';'), *second = first ? strchr(first + 1, ';') : NULL;

    *out = (struct sass_code){0};
    if (!second)
        return false;
    for (int used = 0; *text != ';'; text += used) {
        struct sass_opcode *opcode = &out->opcodes[out->opcode_count];
        unsigned count;

        if (out->opcode_count == SASS_OPCODES_MAX ||
            sscanf(text, "%11[^ ;] %9u%n", opcode->name, &count, &used) != 2)
            return false;
        opcode->count = count;
        out->opcode_count++;
        used += text[used] == ' ';
    }
    out->sequence = first + 1;
    out->instructions = (size_t)(second - out->sequence);
    out->digests = second + 1;
    out->digest_count = strcspn(out->digests, ";");
    if (out->digests[out->digest_count]) {
        out->parts = out->digests + out->digest_count + 1;
        if (strspn(out->parts, letters) != SASS_PART_COUNT * SASS_PART_LETTERS ||
            out->parts[SASS_PART_COUNT * SASS_PART_LETTERS])
            return false;
    }
    for (size_t i = 0; i < out->instructions; i++) {
        const char *letter = strchr(letters, out->sequence[i]);

        if (!letter || (size_t)(letter - letters) >= out->opcode_count)
            return false;
    }
    return out->digest_count ==
           (out->instructions + SASS_DIGEST_INSTRUCTIONS - 1) / SASS_DIGEST_INSTRUCTIONS;
}

const char *sass_code_opcode(const struct sass_code *code, size_t index)
{
    return index < code->instructions
               ? code->opcodes[strchr(letters, code->sequence[index]) - letters].name
               : "";
}
