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
static bool image_architecture(const struct image *image, const char *module, const char *prefix,
                               const char *suffix, uint32_t *architecture)
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
static bool image_best(const char *module, const char *prefix, const char *suffix, uint32_t lowest,
                       uint32_t highest, struct image *out)
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
    return elf_read(elf, 0, &elf->header, sizeof(elf->header)) &&
           memcmp(elf->header.e_ident, ELFMAG, SELFMAG) == 0 && elf->header.e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->header.e_shentsize == sizeof(Elf64_Shdr);
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
static bool elf_function(const struct elf *elf, const char *prefix, const char **name,
                         const unsigned char **code, size_t *code_bytes)
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

/* Since Volta an instruction is 128 bits, little-endian. The low 9 bits are the operation; the same values
 * on sm_75 to sm_121, read off the disassembly of kernels.cu for each (make check-sass compares). */
enum {
    ARCHITECTURE_128_BIT = 70,
    INSTRUCTION_BYTES = 16,
    OPERATION_MASK = 0x1ff,
    OPERATION_LDC = 0x182,
    OPERATION_ULDC = 0x0b9,
    OPERATION_ULDC_INDEXED = 0x0bb,
    OPERATION_LDCU = 0x1ac,
    OPERATION_LDG = 0x181,
    OPERATION_EXIT = 0x14d,
    OPERATION_BRANCH = 0x147,
    PREDICATE_SHIFT = 12,
    PREDICATE_MASK = 0xf,
    PREDICATE_ALWAYS = 0x7,
    CONSTANT_BANK_SHIFT = 54,
    CONSTANT_BANK_MASK = 0x1f,
    USER_BANK = 3,
};

static void stretch_add(struct sass_stretch *stretch, uint64_t low)
{
    stretch->instructions++;
    switch (low & OPERATION_MASK) {
    case OPERATION_LDC:
        if ((low >> CONSTANT_BANK_SHIFT & CONSTANT_BANK_MASK) == USER_BANK)
            stretch->ldc_user++;
        else
            stretch->ldc_parameter++;
        break;
    case OPERATION_ULDC:
    case OPERATION_ULDC_INDEXED:
    case OPERATION_LDCU:
        stretch->uniform_constant++;
        break;
    case OPERATION_LDG:
        stretch->ldg++;
        break;
    default:
        break;
    }
}

/* Counts up to the unconditional EXIT. A branch before it would make a loop possible: not counted then. */
static bool sass_count(const unsigned char *code, size_t bytes, struct sass_counts *counts)
{
    struct sass_stretch *stretch = &counts->prologue;

    *counts = (struct sass_counts){0};
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        uint64_t low;

        memcpy(&low, code + at, sizeof(low));
        stretch_add(stretch, low);
        if ((low & OPERATION_MASK) == OPERATION_BRANCH)
            return false;
        if ((low & OPERATION_MASK) == OPERATION_EXIT) {
            if ((low >> PREDICATE_SHIFT & PREDICATE_MASK) == PREDICATE_ALWAYS)
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

bool image_kernel(const void *cubin, size_t bytes, const struct cell *cell, struct kernel_sass *out)
{
    struct elf elf;
    char prefix[256];
    const unsigned char *code;
    size_t code_bytes;

    /* Itanium C++ ABI name of kernel<workload_W<radius>, path_P, pattern_T>. */
    snprintf(prefix, sizeof(prefix), "_Z6kernelI%zuworkload_%sILj%" PRIu32 "EE%zupath_%s%zupattern_%sE",
             strlen("workload_") + strlen(cell->workload->name), cell->workload->name,
             cell->parameters[PARAMETER_radius], strlen("path_") + strlen(cell->path->name), cell->path->name,
             strlen("pattern_") + strlen(cell->pattern->name), cell->pattern->name);
    if (!elf_open(cubin, bytes, &elf) || !elf_function(&elf, prefix, &out->symbol, &code, &code_bytes))
        return false;
    sha256_hex(code, code_bytes, out->sha256);
    out->counted = elf_architecture(&elf) >= ARCHITECTURE_128_BIT && sass_count(code, code_bytes, &out->counts);
    out->counts.architecture = elf_architecture(&elf);
    out->known = false;
    return true;
}

bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    (void)cell;
    (void)sass;
    (void)text;
    return false;
}
