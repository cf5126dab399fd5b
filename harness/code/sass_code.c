/* SPDX-License-Identifier: MIT
 * The short text of a kernel's code: see sass_code.h. */
#include "sass_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

enum { LETTER_BITS = 6 };

/* -- writing ----------------------------------------------------------------------------------- */

/* The code without the padding behind it, and its opcodes. */
struct listing {
    const unsigned char *code;
    size_t instructions;
    uint32_t architecture;
    unsigned opcodes[OPCODE_COUNT]; /* different ones, in the order in which they come */
    size_t count;
    size_t positions[OPCODE_COUNT], counts[OPCODE_COUNT]; /* of an opcode: its position in that
                                                           * list; its count */
};

static unsigned opcode_at(const struct listing *listing, size_t index)
{
    return opcode_base(code_field(listing->code, index * INSTRUCTION_BYTES, FIELD_OPCODE));
}

static void list_opcodes(struct listing *listing)
{
    while (listing->instructions > 0 && opcode_at(listing, listing->instructions - 1) == OPCODE_NOP)
        listing->instructions--;
    for (size_t i = 0; i < listing->instructions; i++) {
        const unsigned opcode = opcode_at(listing, i);

        if (listing->counts[opcode]++ > 0)
            continue;
        listing->positions[opcode] = listing->count;
        listing->opcodes[listing->count++] = opcode;
    }
}

static char *put_opcodes(const struct listing *listing, char *out)
{
    for (size_t i = 0; i < listing->count; i++) {
        const unsigned opcode = listing->opcodes[i];
        const char *name = opcode_name(opcode, listing->architecture);
        char number[8];

        snprintf(number, sizeof(number), "0x%03x", opcode);
        out += sprintf(out, "%s%.*s %zu", i ? " " : "", SASS_OPCODE_BYTES - 1, name ? name : number,
                       listing->counts[opcode]);
    }
    *out++ = ';';
    return out;
}

static char *put_sequence(const struct listing *listing, char *out)
{
    for (size_t i = 0; i < listing->instructions; i++)
        *out++ = letters[listing->positions[opcode_at(listing, i)]];
    *out++ = ';';
    return out;
}

/* FNV-1a, with eight bytes at a time. */
static const uint64_t hash_start = 0xcbf29ce484222325, hash_prime = 0x100000001b3;

static uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * hash_prime;
    return hash;
}

static uint64_t hash_word(uint64_t hash, uint64_t value)
{
    for (size_t i = 0; i < sizeof(value); i++)
        hash = (hash ^ (value >> 8 * i & UINT8_MAX)) * hash_prime;
    return hash;
}

static char *put_digests(const struct listing *listing, char *out)
{
    for (size_t i = 0; i < listing->instructions; i += SASS_DIGEST_INSTRUCTIONS) {
        const size_t left = listing->instructions - i,
                     hashed = left < SASS_DIGEST_INSTRUCTIONS ? left : SASS_DIGEST_INSTRUCTIONS;
        const uint64_t hash = hash_bytes(hash_start, listing->code + i * INSTRUCTION_BYTES,
                                         hashed * INSTRUCTION_BYTES);

        *out++ = letters[hash >> (64 - LETTER_BITS)];
    }
    *out++ = ';';
    return out;
}

/* The first half of an instruction has the offset of a constant, in bytes. The second half has the
 * scheduling from this bit on: stall, barriers, reuse of operands. */
#define OFFSET_BITS (UINT64_C(0xffff) << 38)
#define OPCODE_BITS ((uint64_t)OPCODE_COUNT - 1)
enum { SCHEDULING_FIRST = 41, PART_FIRST = 4 /* bit of a hash that becomes letters */ };

static char *put_parts(const struct listing *listing, char *out)
{
    uint64_t parts[SASS_PART_COUNT] = {hash_start, hash_start, hash_start};

    for (size_t i = 0; i < listing->instructions; i++) {
        struct instruction in;

        instruction_decode(listing->code, i * INSTRUCTION_BYTES, listing->architecture, &in);
        const bool constant =
            in.family == SASS_LDC || in.family == SASS_ULDC || instruction_takes_constant(&in);
        const uint64_t offset_bits = constant ? OFFSET_BITS : 0;
        /* Variants share a name and differ in operands. */
        const uint64_t variant = opcode_base(in.opcode) == in.opcode ? 0 : in.opcode;
        const uint64_t unscheduled = in.high & ((UINT64_C(1) << SCHEDULING_FIRST) - 1);

        parts[SASS_OPERANDS] =
            hash_word(hash_word(parts[SASS_OPERANDS],
                                (in.low & ~OPCODE_BITS & ~offset_bits) | variant),
                      unscheduled);
        parts[SASS_OFFSETS] = hash_word(parts[SASS_OFFSETS], in.low & offset_bits);
        parts[SASS_SCHEDULING] = hash_word(parts[SASS_SCHEDULING], in.high >> SCHEDULING_FIRST);
    }
    for (size_t i = 0; i < SASS_PART_COUNT * SASS_PART_LETTERS; i++)
        *out++ = letters[parts[i / SASS_PART_LETTERS] >>
                             (PART_FIRST + LETTER_BITS * (i % SASS_PART_LETTERS)) &
                         ((1u << LETTER_BITS) - 1)];
    return out;
}

char *sass_code_text(const void *code, size_t bytes, uint32_t architecture)
{
    enum { OPCODE_TEXT_BYTES = SASS_OPCODE_BYTES + 24, ENDS = 5 };
    struct listing listing = {.code = code,
                              .instructions = bytes / INSTRUCTION_BYTES,
                              .architecture = architecture};
    char *text, *out;

    list_opcodes(&listing);
    if (listing.count > SASS_OPCODES_MAX)
        return strdup("");
    text = malloc(listing.count * OPCODE_TEXT_BYTES + 2 * listing.instructions +
                  SASS_PART_COUNT * SASS_PART_LETTERS + ENDS);
    if (!text)
        return NULL;
    out = put_opcodes(&listing, text);
    out = put_sequence(&listing, out);
    out = put_digests(&listing, out);
    out = put_parts(&listing, out);
    *out = '\0';
    return text;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Older texts have the numbers of opcodes that were not yet in the table. */
static void name_opcode(char name[SASS_OPCODE_BYTES])
{
    enum { HEXADECIMAL = 16 };
    const unsigned long number =
        strncmp(name, "0x", strlen("0x")) == 0 ? strtoul(name, NULL, HEXADECIMAL) : OPCODE_COUNT;
    const char *known = number < OPCODE_COUNT ? opcode_name((unsigned)number, 0) : NULL;

    if (known)
        snprintf(name, SASS_OPCODE_BYTES, "%s", known);
}

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
        name_opcode(opcode->name);
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
