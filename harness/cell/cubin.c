/* SPDX-License-Identifier: MIT */
#include "cubin.h"

#include <elf.h>
#include <string.h>

/* Members of the program's archive are not aligned: everything is copied out, and every access checked against the
 * size. */
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

bool cubin_find(const void *data, size_t bytes, const char *prefix, struct cubin_function *out)
{
    Elf64_Shdr symbols, strings, section;
    Elf64_Sym symbol;
    struct elf elf = {.data = data, .bytes = bytes};

    if (!elf_read(&elf, 0, &elf.header, sizeof(elf.header)) || memcmp(elf.header.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.header.e_ident[EI_CLASS] != ELFCLASS64 || elf.header.e_shentsize != sizeof(Elf64_Shdr) ||
        !elf_symbols(&elf, &symbols, &strings))
        return false;
    for (uint64_t at = 0; at + sizeof(symbol) <= symbols.sh_size; at += sizeof(symbol)) {
        if (!elf_read(&elf, symbols.sh_offset + at, &symbol, sizeof(symbol)) || symbol.st_name >= strings.sh_size)
            return false;
        out->symbol = (const char *)elf.data + strings.sh_offset + symbol.st_name;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || strncmp(out->symbol, prefix, strlen(prefix)) != 0)
            continue;
        if (!elf_section(&elf, symbol.st_shndx, &section) || section.sh_type == SHT_NOBITS)
            return false;
        out->code = elf.data + section.sh_offset;
        out->bytes = section.sh_size;
        /* SM number: e_flags hold it in bits 8-15 from CUDA 13's ELF (ABI version 8) on, in bits 0-7 before. */
        out->architecture = elf.header.e_flags >> (elf.header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0) & 0xff;
        return true;
    }
    return false;
}
