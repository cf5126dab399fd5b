/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <ar.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

/* images.S puts the archive between these. */
extern const char cbank_images_start[], cbank_images_end[];

/* -- the archive -------------------------------------------------------------------------------------- */

/* Resolves a member's name: "name/", or "/offset" into the table of long names, where "/\n" ends each. */
static void member_name(const struct ar_hdr *header, const struct image *long_names, struct image *out)
{
    const char *name = header->ar_name;
    size_t room = sizeof(header->ar_name);

    if (name[0] == '/' && name[1] >= '0' && name[1] <= '9' && long_names->data) {
        const size_t offset = strtoul(name + 1, NULL, 10);

        room = offset < long_names->bytes ? long_names->bytes - offset : 0;
        name = (const char *)long_names->data + (room ? offset : 0);
    }
    out->name = name;
    out->name_bytes = 0;
    while (out->name_bytes < room && name[out->name_bytes] != '/' && name[out->name_bytes] != '\n')
        out->name_bytes++;
}

bool image_at(size_t index, struct image *out)
{
    struct image long_names = {0};
    const char *at = cbank_images_start + SARMAG;

    while (cbank_images_end - at > (ptrdiff_t)sizeof(struct ar_hdr)) {
        const struct ar_hdr *header = (const struct ar_hdr *)at;
        const size_t left = (size_t)(cbank_images_end - at) - sizeof(*header);
        const size_t bytes = strtoul(header->ar_size, NULL, 10);
        const struct image member = {.data = at + sizeof(*header), .bytes = bytes};

        if (bytes > left)
            return false;
        if (memcmp(header->ar_name, "//", 2) == 0) {
            long_names = member;
        } else if (header->ar_name[0] != '/' || header->ar_name[1] != ' ') {
            if (index-- == 0) {
                *out = member;
                member_name(header, &long_names, out);
                return true;
            }
        }
        at += sizeof(*header) + bytes + bytes % 2;
    }
    return false;
}

/* Parses "module.prefixNN.suffix" and gives NN; false when the image's name is not of that form. */
static bool image_architecture(const struct image *image, const char *module, const char *prefix, const char *suffix,
                               uint32_t *architecture)
{
    char name[64], expected[64];

    if (image->name_bytes >= sizeof(name))
        return false;
    memcpy(name, image->name, image->name_bytes);
    name[image->name_bytes] = '\0';

    const size_t module_bytes = strlen(module), prefix_bytes = strlen(prefix);

    if (strncmp(name, module, module_bytes) != 0 || name[module_bytes] != '.' ||
        strncmp(name + module_bytes + 1, prefix, prefix_bytes) != 0)
        return false;
    *architecture = (uint32_t)strtoul(name + module_bytes + 1 + prefix_bytes, NULL, 10);
    snprintf(expected, sizeof(expected), "%s.%s%u.%s", module, prefix, (unsigned)*architecture, suffix);
    return strcmp(name, expected) == 0;
}

/* The image of the highest architecture from `lowest` to `highest`. */
static bool image_best(const char *module, const char *prefix, const char *suffix, uint32_t lowest, uint32_t highest,
                       struct image *out)
{
    struct image image;
    uint32_t best = 0, architecture;

    for (size_t i = 0; image_at(i, &image); i++) {
        if (!image_architecture(&image, module, prefix, suffix, &architecture))
            continue;
        if (architecture < lowest || architecture > highest || architecture < best)
            continue;
        best = architecture;
        *out = image;
    }
    return best != 0;
}

bool image_for_chip(const char *module, uint32_t major, uint32_t minor, struct image *out)
{
    return image_best(module, "sm_", "cubin", 10 * major, 10 * major + minor, out);
}

bool image_ptx(const char *module, uint32_t major, uint32_t minor, struct image *out)
{
    return image_best(module, "compute_", "ptx", 1, 10 * major + minor, out);
}

/* -- the cubin ---------------------------------------------------------------------------------------- */

/* An ELF file in memory. Members of the archive are not aligned, so everything is copied out, and every
 * access is checked against the size. */
struct elf {
    const unsigned char *data;
    size_t bytes;
    Elf64_Ehdr header;
};

static bool elf_read(const struct elf *elf, uint64_t offset, void *out, size_t bytes)
{
    if (offset > elf->bytes || bytes > elf->bytes - offset)
        return false;
    memcpy(out, elf->data + offset, bytes);
    return true;
}

static bool elf_open(const void *data, size_t bytes, struct elf *elf)
{
    *elf = (struct elf){.data = data, .bytes = bytes};
    return elf_read(elf, 0, &elf->header, sizeof(elf->header)) && memcmp(elf->header.e_ident, ELFMAG, SELFMAG) == 0 &&
           elf->header.e_ident[EI_CLASS] == ELFCLASS64 && elf->header.e_shentsize == sizeof(Elf64_Shdr);
}

/* Section `index`, known to lie inside the file unless it takes no room there. */
static bool elf_section(const struct elf *elf, size_t index, Elf64_Shdr *out)
{
    return index < elf->header.e_shnum &&
           elf_read(elf, elf->header.e_shoff + index * sizeof(*out), out, sizeof(*out)) &&
           (out->sh_type == SHT_NOBITS ||
            (out->sh_offset <= elf->bytes && out->sh_size <= elf->bytes - out->sh_offset));
}

/* The symbol table and its strings. */
static bool elf_symbols(const struct elf *elf, Elf64_Shdr *symbols, Elf64_Shdr *strings)
{
    for (size_t i = 0; elf_section(elf, i, symbols); i++)
        if (symbols->sh_type == SHT_SYMTAB)
            return elf_section(elf, symbols->sh_link, strings) && strings->sh_type == SHT_STRTAB &&
                   strings->sh_size > 0 && elf->data[strings->sh_offset + strings->sh_size - 1] == '\0';
    return false;
}

/* The function symbol that begins with prefix, and its code. */
static bool elf_function(const struct elf *elf, const char *prefix, const char **name, const unsigned char **code,
                         size_t *code_bytes)
{
    Elf64_Shdr symbols, strings, section;
    Elf64_Sym symbol;

    if (!elf_symbols(elf, &symbols, &strings))
        return false;
    for (uint64_t at = 0; at + sizeof(symbol) <= symbols.sh_size; at += sizeof(symbol)) {
        if (!elf_read(elf, symbols.sh_offset + at, &symbol, sizeof(symbol)) || symbol.st_name >= strings.sh_size)
            return false;
        *name = (const char *)elf->data + strings.sh_offset + symbol.st_name;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || strncmp(*name, prefix, strlen(prefix)) != 0)
            continue;
        if (!elf_section(elf, symbol.st_shndx, &section) || section.sh_type == SHT_NOBITS)
            return false;
        *code = elf->data + section.sh_offset;
        *code_bytes = section.sh_size;
        return true;
    }
    return false;
}

/* -- SASS --------------------------------------------------------------------------------------------- */

/* Since Volta an instruction is 128 bits, little-endian. The low 9 bits are the operation and the next 3 the kind of
 * its operands. Read off the disassembly of kernels.cu for sm_70 to sm_90 (make check-sass compares); for sm_88 and
 * from sm_100 to sm_121 off kernels of a few instructions that differ by one load, where the same bits change. */
enum {
    ENCODING_FIRST = 70, /* architectures */
    ENCODING_LAST = 121,
    INSTRUCTION_BYTES = 16,
    OPERATION_MASK = 0x1ff,
    OPERATION_LDC = 0x182,
    OPERATION_ULDC = 0x0b9,
    OPERATION_ULDC_INDEXED = 0x0bb,
    OPERATION_LDCU = 0x1ac,
    OPERATION_LDG = 0x181,
    OPERATION_LDS = 0x184,
    OPERATION_TEX = 0x160,
    OPERATION_TEX_BINDLESS = 0x161,
    OPERATION_TLD = 0x166,
    OPERATION_TLD_BINDLESS = 0x167,
    OPERATION_EXIT = 0x14d,
    CONTROL_FIRST = 0x140, /* BRA, BRX, CALL, RET, BSSY, BSYNC, WARPSYNC, EXIT ... */
    CONTROL_LAST = 0x15f,
    ARITHMETIC_LAST = 0x07f, /* of ordinary registers; behind it those of uniform registers, conversions, memory */
    OPERANDS_SHIFT = 9,
    OPERANDS_MASK = 0x7,
    OPERANDS_THIRD_CONSTANT = 3, /* FFMA R, R, R, c[][] */
    OPERANDS_SECOND_CONSTANT = 5,
    PREDICATE_SHIFT = 12,
    PREDICATE_MASK = 0xf,
    PREDICATE_ALWAYS = 0x7,
    INDEX_SHIFT = 24,
    INDEX_MASK = 0xff,
    INDEX_NONE = 0xff, /* RZ */
    CONSTANT_BANK_SHIFT = 54,
    CONSTANT_BANK_MASK = 0x1f,
    PARAMETER_BANK = 0,
    USER_BANK = 3,
};

/* Of LDG, in the high 64 bits: which other threads must see what it sees. From sm_80 on one field of 4 bits, where any
 * value but these is STRONG of some scope (5 CTA, 7 GPU, 10 SYS). Before, the same 4 bits are a scope and, above it, 2
 * bits of order. */
enum {
    ORDER_SHIFT = 13,
    ORDER_MASK = 0xf,
    ORDER_PLAIN = 0x0,
    ORDER_CONSTANT = 0x4,
    ORDER_ONE_FIELD_FIRST = 80, /* architecture */
    OLD_ORDER_SHIFT = 15,
    OLD_ORDER_MASK = 0x3,
    OLD_ORDER_CONSTANT = 0x0,
    OLD_ORDER_PLAIN = 0x1,
};

struct instruction {
    uint64_t low, high;
};

static struct instruction instruction_at(const unsigned char *code, size_t at)
{
    struct instruction instruction;

    memcpy(&instruction.low, code + at, sizeof(instruction.low));
    memcpy(&instruction.high, code + at + sizeof(instruction.low), sizeof(instruction.high));
    return instruction;
}

static unsigned operation(struct instruction instruction)
{
    return instruction.low & OPERATION_MASK;
}

static bool always(struct instruction instruction)
{
    return (instruction.low >> PREDICATE_SHIFT & PREDICATE_MASK) == PREDICATE_ALWAYS;
}

static unsigned constant_bank(struct instruction instruction)
{
    return instruction.low >> CONSTANT_BANK_SHIFT & CONSTANT_BANK_MASK;
}

static bool takes_constant(struct instruction instruction)
{
    const unsigned operands = instruction.low >> OPERANDS_SHIFT & OPERANDS_MASK;

    return operands == OPERANDS_THIRD_CONSTANT || operands == OPERANDS_SECOND_CONSTANT;
}

static bool constant_to_uniform(struct instruction instruction)
{
    return operation(instruction) == OPERATION_ULDC || operation(instruction) == OPERATION_ULDC_INDEXED ||
           operation(instruction) == OPERATION_LDCU;
}

static enum sass_class ldg_class(struct instruction instruction, uint32_t architecture)
{
    const unsigned order = instruction.high >> ORDER_SHIFT & ORDER_MASK;
    const unsigned old_order = instruction.high >> OLD_ORDER_SHIFT & OLD_ORDER_MASK;

    if (architecture >= ORDER_ONE_FIELD_FIRST)
        return order == ORDER_PLAIN ? SASS_LDG : order == ORDER_CONSTANT ? SASS_LDG_CONSTANT : SASS_LDG_STRONG;
    return old_order == OLD_ORDER_PLAIN      ? SASS_LDG
           : old_order == OLD_ORDER_CONSTANT ? SASS_LDG_CONSTANT
                                             : SASS_LDG_STRONG;
}

/* Without a register index it is one parameter, or a place of the table that the compiler knows. */
static enum sass_class ldc_class(struct instruction instruction)
{
    if ((instruction.low >> INDEX_SHIFT & INDEX_MASK) == INDEX_NONE)
        return SASS_CLASS_COUNT;
    return constant_bank(instruction) == USER_BANK        ? SASS_LDC
           : constant_bank(instruction) == PARAMETER_BANK ? SASS_LDC_PARAMETER
                                                          : SASS_CLASS_COUNT;
}

/* SASS_CLASS_COUNT for an instruction that is of none. */
static enum sass_class instruction_class(struct instruction instruction, uint32_t architecture)
{
    switch (operation(instruction)) {
    case OPERATION_LDC:
        return ldc_class(instruction);
    case OPERATION_ULDC:
    case OPERATION_ULDC_INDEXED:
    case OPERATION_LDCU:
        return constant_bank(instruction) == USER_BANK ? SASS_ULDC : SASS_CLASS_COUNT;
    case OPERATION_LDG:
        return ldg_class(instruction, architecture);
    case OPERATION_LDS:
        return SASS_LDS;
    case OPERATION_TEX:
    case OPERATION_TEX_BINDLESS:
    case OPERATION_TLD:
    case OPERATION_TLD_BINDLESS:
        return SASS_TLD;
    default:
        return operation(instruction) <= ARITHMETIC_LAST && takes_constant(instruction) &&
                       constant_bank(instruction) == USER_BANK
                   ? SASS_OPERAND
                   : SASS_CLASS_COUNT;
    }
}

static void classes_count(const unsigned char *code, size_t bytes, uint32_t architecture,
                          uint32_t classes[SASS_CLASS_COUNT])
{
    memset(classes, 0, SASS_CLASS_COUNT * sizeof(classes[0]));
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const enum sass_class class = instruction_class(instruction_at(code, at), architecture);

        if (class != SASS_CLASS_COUNT)
            classes[class]++;
    }
}

static void stretch_add(struct sass_stretch *stretch, struct instruction instruction)
{
    stretch->instructions++;
    if (operation(instruction) == OPERATION_LDC && ldc_class(instruction) == SASS_LDC)
        stretch->ldc_user++;
    else if (operation(instruction) == OPERATION_LDC)
        stretch->ldc_parameter++;
    else if (constant_to_uniform(instruction))
        stretch->uniform_constant++;
    else if (operation(instruction) == OPERATION_LDG)
        stretch->ldg++;
}

/* Whether not every warp executes the instruction, or not once: control flow makes a loop possible, and a constant
 * load under a predicate makes no request in a warp that has it false throughout. */
static bool uncountable(struct instruction instruction)
{
    if (operation(instruction) == OPERATION_EXIT)
        return false;
    if (operation(instruction) >= CONTROL_FIRST && operation(instruction) <= CONTROL_LAST)
        return true;
    return !always(instruction) && (operation(instruction) == OPERATION_LDC || constant_to_uniform(instruction));
}

/* Counts up to the unconditional EXIT. Behind it is padding that branches to itself. */
static bool sass_count(const unsigned char *code, size_t bytes, struct sass_counts *counts)
{
    struct sass_stretch *stretch = &counts->prologue;

    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        stretch_add(stretch, instruction);
        if (uncountable(instruction))
            return false;
        if (operation(instruction) == OPERATION_EXIT) {
            if (always(instruction))
                return true;
            stretch = &counts->body;
        }
    }
    return false;
}

/* SM number of a cubin: e_flags hold it in bits 8-15 from CUDA 13's ELF (ABI version 8) on, in bits 0-7
 * before. */
static uint32_t elf_architecture(const struct elf *elf)
{
    const unsigned shift = elf->header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;

    return elf->header.e_flags >> shift & 0xff;
}

bool image_function(const void *cubin, size_t bytes, const char *prefix, struct kernel_sass *out)
{
    struct elf elf;
    const unsigned char *code;
    size_t code_bytes;

    if (!elf_open(cubin, bytes, &elf) || !elf_function(&elf, prefix, &out->symbol, &code, &code_bytes))
        return false;
    sha256_hex(code, code_bytes, out->sha256);

    const uint32_t architecture = elf_architecture(&elf);

    out->known = architecture >= ENCODING_FIRST && architecture <= ENCODING_LAST;
    if (out->known)
        classes_count(code, code_bytes, architecture, out->classes);
    out->counts = (struct sass_counts){.architecture = architecture};
    out->counted = out->known && sass_count(code, code_bytes, &out->counts);
    return true;
}

bool image_kernel(const void *cubin, size_t bytes, const struct cell *cell, struct kernel_sass *out)
{
    char prefix[256];

    /* Itanium C++ ABI name of kernel<workload_W<radius>, path_P, pattern_T>. */
    snprintf(prefix, sizeof(prefix), "_Z6kernelI%zuworkload_%sILj%" PRIu32 "EE%zupath_%s%zupattern_%sE",
             strlen("workload_") + strlen(cell->workload->name), cell->workload->name,
             cell->parameters[PARAMETER_radius], strlen("path_") + strlen(cell->path->name), cell->path->name,
             strlen("pattern_") + strlen(cell->pattern->name), cell->pattern->name);
    return image_function(cubin, bytes, prefix, out);
}

/* -- what there should be ------------------------------------------------------------------------------ */

const char *const sass_class_names[SASS_CLASS_COUNT] = {
    [SASS_LDC] = "LDC",
    [SASS_LDC_PARAMETER] = "LDC.PARAMETER",
    [SASS_ULDC] = "ULDC",
    [SASS_OPERAND] = "OPERAND",
    [SASS_LDG] = "LDG",
    [SASS_LDG_CONSTANT] = "LDG.CONSTANT",
    [SASS_LDG_STRONG] = "LDG.STRONG",
    [SASS_TLD] = "TLD",
    [SASS_LDS] = "LDS",
};

/* The loads of a cell's kernel, without the copies that staging makes. A path that stages and loads nothing has one
 * load that never happens. */
static void classes_wanted(const struct cell *cell, uint32_t classes[SASS_CLASS_COUNT])
{
    const uint32_t payload = cell->path->loads ? workload_steps(cell->workload, cell->parameters) : 1;

    memset(classes, 0, SASS_CLASS_COUNT * sizeof(classes[0]));
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        if (strcmp(sass_class_names[i], cell->path->sass) == 0)
            classes[i] += payload;
    classes[SASS_LDG] += workload_input_loads(cell->workload, cell->parameters);
    classes[SASS_LDS] += workload_tile_loads(cell->workload, cell->parameters);
}

static void append(const char *what, char text[CELL_REASON_BYTES])
{
    const size_t used = strlen(text);

    snprintf(text + used, CELL_REASON_BYTES - used, "%s", what);
}

static void classes_append(const uint32_t classes[SASS_CLASS_COUNT], char text[CELL_REASON_BYTES])
{
    const char *separator = "";
    char one[40];

    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        if (classes[i]) {
            snprintf(one, sizeof(one), "%s%" PRIu32 " %s", separator, classes[i], sass_class_names[i]);
            append(one, text);
            separator = ", ";
        }
}

void image_classes(const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    text[0] = '\0';
    classes_append(sass->classes, text);
}

bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    const bool staged = cell->path->unit == UNIT_SHARED;
    uint32_t wanted[SASS_CLASS_COUNT];
    bool differs = false;

    if (!sass->known)
        return false;
    classes_wanted(cell, wanted);
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        differs |= staged && i == SASS_LDG ? sass->classes[i] <= wanted[i] : sass->classes[i] != wanted[i];
    if (!differs)
        return false;
    snprintf(text, CELL_REASON_BYTES, "%s wants ", cell->path->name);
    classes_append(wanted, text);
    append(staged ? " and copies; the kernel has " : "; the kernel has ", text);
    classes_append(sass->classes, text);
    return true;
}
