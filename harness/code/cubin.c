/* SPDX-License-Identifier: MIT
 * Cubins are ELF files: headers, sections, the table of symbols. A file may be damaged, so each
 * read is checked against its size. */
#include "cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The assembler marks kernels with this bit of st_other. */
enum { OTHER_ENTRY = 0x10 };

/* Members of the program's archive are not aligned: everything is copied out, and every access is
 * checked against the size. */
static bool cubin_read(const struct cubin *cubin, uint64_t offset, void *out, size_t bytes)
{
    if (offset > cubin->bytes || bytes > cubin->bytes - offset)
        return false;
    memcpy(out, cubin->data + offset, bytes);
    return true;
}

/* Section `index`. It lies inside the file unless it takes no room there. */
static bool read_section(const struct cubin *cubin, size_t index, Elf64_Shdr *out)
{
    return index < cubin->sections.bytes / sizeof(*out) &&
           cubin_read(cubin, cubin->sections.offset + index * sizeof(*out), out, sizeof(*out)) &&
           (out->sh_type == SHT_NOBITS ||
            (out->sh_offset <= cubin->bytes && out->sh_size <= cubin->bytes - out->sh_offset));
}

bool cubin_open(const void *data, size_t bytes, struct cubin *out, char reason[CUBIN_REASON_BYTES])
{
    Elf64_Ehdr header = {0};
    Elf64_Shdr symbols, strings;
    const char *why = NULL;

    memcpy(&header, data, bytes < sizeof(header) ? bytes : sizeof(header));
    *out = (struct cubin){.data = data, .bytes = bytes};
    out->sections =
        (struct cubin_table){header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)};
    out->section_names = header.e_shstrndx;
    /* SM number: e_flags hold it in bits 8-15 in ELF files of CUDA 13 and later (ABI version 8), in
     * bits 0-7 before. */
    out->architecture = header.e_flags >> (header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0) & 0xff;
    if (bytes < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        why = "no ELF file; nvcc -cubin -arch=sm_90 makes a cubin";
    else if (bytes < sizeof(header))
        why = "cut off in its header; copy it again";
    else if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        why = "an ELF file of 32 bits or of the other byte order; nvcc -cubin -arch=sm_90 makes a "
              "cubin";
    else if (header.e_machine != EM_CUDA)
        why = "an ELF file for another machine than a GPU; nvcc -cubin -arch=sm_90 makes a cubin";
    else if (header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shoff <= bytes &&
             out->sections.bytes <= bytes - header.e_shoff)
        for (size_t i = 0; !out->strings.bytes && read_section(out, i, &symbols); i++)
            if (symbols.sh_type == SHT_SYMTAB && read_section(out, symbols.sh_link, &strings) &&
                strings.sh_type == SHT_STRTAB && strings.sh_size > 0 &&
                out->data[strings.sh_offset + strings.sh_size - 1] == '\0') {
                out->symbols = (struct cubin_table){symbols.sh_offset, symbols.sh_size};
                out->strings = (struct cubin_table){strings.sh_offset, strings.sh_size};
            }
    if (!why && !out->strings.bytes)
        why = "a cubin that is cut off or damaged; copy it again";
    if (why)
        snprintf(reason, CUBIN_REASON_BYTES, "%s", why);
    return !why;
}

/* A section by its name, in an index. */
struct cubin_name {
    const char *name;
    size_t section;
};

/* Symbol `number`, if it is of a type and has a name and a section. */
static bool read_symbol(const struct cubin *cubin, size_t number, unsigned type, Elf64_Sym *symbol,
                        Elf64_Shdr *section)
{
    return cubin_read(cubin, cubin->symbols.offset + number * sizeof(*symbol), symbol,
                      sizeof(*symbol)) &&
           ELF64_ST_TYPE(symbol->st_info) == type && symbol->st_name < cubin->strings.bytes &&
           read_section(cubin, symbol->st_shndx, section);
}

static size_t symbol_count(const struct cubin *cubin)
{
    return cubin->symbols.bytes / sizeof(Elf64_Sym);
}

/* The next symbol of a type that has a name and a section: number *place - 1 then. */
static bool next_symbol(const struct cubin *cubin, uint64_t *place, unsigned type,
                        Elf64_Sym *symbol, Elf64_Shdr *section)
{
    while (*place < symbol_count(cubin))
        if (read_symbol(cubin, (*place)++, type, symbol, section))
            return true;
    return false;
}

static const char *symbol_name(const struct cubin *cubin, const Elf64_Sym *symbol)
{
    return (const char *)cubin->data + cubin->strings.offset + symbol->st_name;
}

bool cubin_next(const struct cubin *cubin, uint64_t *place, struct cubin_function *out)
{
    Elf64_Shdr section;
    Elf64_Sym symbol;

    while (next_symbol(cubin, place, STT_FUNC, &symbol, &section)) {
        if (section.sh_type != SHT_PROGBITS)
            continue;
        *out = (struct cubin_function){
            .symbol = symbol_name(cubin, &symbol),
            .number = *place - 1,
            .code = cubin->data + section.sh_offset,
            .bytes = section.sh_size,
            .architecture = cubin->architecture,
            .kernel = symbol.st_other & OTHER_ENTRY,
        };
        return true;
    }
    return false;
}

bool cubin_section_at(const struct cubin *cubin, size_t index, struct cubin_section *out)
{
    Elf64_Shdr section, names;

    if (!read_section(cubin, index, &section))
        return false;
    *out = (struct cubin_section){"",
                                  section.sh_type == SHT_NOBITS ? NULL
                                                                : cubin->data + section.sh_offset,
                                  section.sh_size, section.sh_type};
    if (read_section(cubin, cubin->section_names, &names) && names.sh_type == SHT_STRTAB &&
        section.sh_name < names.sh_size && cubin->data[names.sh_offset + names.sh_size - 1] == '\0')
        out->name = (const char *)cubin->data + names.sh_offset + section.sh_name;
    return true;
}

/* The next symbol of a variable. */
static bool next_variable(const struct cubin *cubin, uint64_t *place, Elf64_Sym *symbol,
                          Elf64_Shdr *section)
{
    const struct cubin_index *index = cubin->index;

    if (!index)
        return next_symbol(cubin, place, STT_OBJECT, symbol, section);
    if (*place >= index->variable_count)
        return false;
    ++*place;
    return read_symbol(cubin, index->variables[*place - 1], STT_OBJECT, symbol, section);
}

bool cubin_next_variable(const struct cubin *cubin, uint64_t *place, struct cubin_variable *out)
{
    struct cubin_section within;
    Elf64_Shdr section;
    Elf64_Sym symbol;

    while (next_variable(cubin, place, &symbol, &section)) {
        const uint64_t offset = symbol.st_value - section.sh_addr;

        if (offset > section.sh_size || symbol.st_size > section.sh_size - offset ||
            !cubin_section_at(cubin, symbol.st_shndx, &within))
            continue;
        *out = (struct cubin_variable){
            .symbol = symbol_name(cubin, &symbol),
            .section = within.name,
            .offset = offset,
            .data = within.data ? within.data + offset : NULL,
            .bytes = symbol.st_size,
        };
        return true;
    }
    return false;
}

/* -- the index --------------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right)
{
    const struct cubin_name *a = left, *b = right;
    const int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->section > b->section) - (a->section < b->section);
}

bool cubin_index_open(struct cubin *cubin, struct cubin_index *index)
{
    const size_t sections = cubin->sections.bytes / sizeof(Elf64_Shdr);
    struct cubin_section section;
    Elf64_Shdr within;
    Elf64_Sym symbol;

    *index = (struct cubin_index){.sections = calloc(sections + 1, sizeof(*index->sections)),
                                  .variables =
                                      calloc(symbol_count(cubin) + 1, sizeof(*index->variables))};
    if (!index->sections || !index->variables) {
        cubin_index_close(index);
        return false;
    }
    for (size_t i = 0; cubin_section_at(cubin, i, &section); i++)
        index->sections[index->section_count++] = (struct cubin_name){section.name, i};
    qsort(index->sections, index->section_count, sizeof(*index->sections), compare_names);
    for (uint64_t place = 0; next_symbol(cubin, &place, STT_OBJECT, &symbol, &within);)
        index->variables[index->variable_count++] = (uint32_t)(place - 1);
    cubin->index = index;
    return true;
}

void cubin_index_close(struct cubin_index *index)
{
    free(index->sections);
    free(index->variables);
    *index = (struct cubin_index){0};
}

/* The order of a name and that of `before` and then `symbol`. */
static int compare_name(const char *name, const char *before, const char *symbol)
{
    const int order = strncmp(name, before, strlen(before));

    return order != 0 ? order : strcmp(name + strlen(before), symbol);
}

bool cubin_section_named(const struct cubin *cubin, const char *before, const char *symbol,
                         struct cubin_section *out)
{
    const struct cubin_index *index = cubin->index;
    size_t low = 0, high = index ? index->section_count : 0;

    for (size_t i = 0; !index && cubin_section_at(cubin, i, out); i++)
        if (compare_name(out->name, before, symbol) == 0)
            return true;
    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (compare_name(index->sections[middle].name, before, symbol) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return index && low < index->section_count &&
           compare_name(index->sections[low].name, before, symbol) == 0 &&
           cubin_section_at(cubin, index->sections[low].section, out);
}

/* -- symbols by their number ------------------------------------------------------------------- */

bool cubin_symbol_at(const struct cubin *cubin, size_t index, const char **name, size_t *bytes)
{
    Elf64_Sym symbol;

    if (index >= cubin->symbols.bytes / sizeof(symbol) ||
        !cubin_read(cubin, cubin->symbols.offset + index * sizeof(symbol), &symbol,
                    sizeof(symbol)) ||
        symbol.st_name >= cubin->strings.bytes)
        return false;
    *name = symbol_name(cubin, &symbol);
    *bytes = symbol.st_size;
    return true;
}

bool cubin_symbol_code(const struct cubin *cubin, size_t index, struct cubin_function *out,
                       uint64_t *begin)
{
    static const char code[] = ".text.";
    struct cubin_section section;
    Elf64_Shdr header;
    Elf64_Sym symbol;

    if (index >= cubin->symbols.bytes / sizeof(symbol) ||
        !cubin_read(cubin, cubin->symbols.offset + index * sizeof(symbol), &symbol,
                    sizeof(symbol)) ||
        ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        !read_section(cubin, symbol.st_shndx, &header) || header.sh_type != SHT_PROGBITS ||
        !cubin_section_at(cubin, symbol.st_shndx, &section) ||
        strncmp(section.name, code, strlen(code)) != 0 || symbol.st_value >= section.bytes)
        return false;
    *out = (struct cubin_function){.symbol = section.name + strlen(code),
                                   .number = index,
                                   .code = section.data,
                                   .bytes = section.bytes,
                                   .architecture = cubin->architecture,
                                   .kernel = symbol.st_other & OTHER_ENTRY};
    *begin = symbol.st_value;
    return out->code;
}

bool cubin_find(const void *data, size_t bytes, const char *prefix, struct cubin_function *out)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin cubin;
    uint64_t place = 0;

    if (!cubin_open(data, bytes, &cubin, reason))
        return false;
    while (cubin_next(&cubin, &place, out))
        if (strncmp(out->symbol, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}
