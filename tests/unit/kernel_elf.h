/* SPDX-License-Identifier: MIT
 * For tests: the cubin of a kernel file, as an ELF file that a test fills. */
#ifndef CBANK_TESTS_KERNEL_ELF_H
#define CBANK_TESTS_KERNEL_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cbank_case.h"
#include "test.h"

enum {
    TEXT_A = 1,
    TEXT_B,
    CONSTANTS,
    VARIABLES,
    SYMBOLS,
    STRINGS,
    SECTIONS,
    SECTION_BYTES = 1024,
    SYMBOLS_MAX = 16
};

/* A cubin with two functions, a variable in constant memory, and variables with initial values. */
struct elf_file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym symbols[SYMBOLS_MAX];
    unsigned char code[16], variables[SECTION_BYTES];
    char strings[SECTION_BYTES];
    size_t symbol_count, string_bytes, variable_bytes;
};

static inline uint32_t put_string(struct elf_file *file, const char *text)
{
    const size_t start = file->string_bytes;

    assert_true(start + strlen(text) < sizeof(file->strings));
    strcpy(file->strings + start, text);
    file->string_bytes += strlen(text) + 1;
    return (uint32_t)start;
}

static inline void put_symbol(struct elf_file *file, const char *name, unsigned type,
                              uint16_t section, uint64_t value, uint64_t bytes)
{
    assert_true(file->symbol_count < SYMBOLS_MAX);
    file->symbols[file->symbol_count++] = (Elf64_Sym){.st_name = put_string(file, name),
                                                      .st_info = ELF64_ST_INFO(STB_LOCAL, type),
                                                      .st_other = type == STT_FUNC ? 0x10 : 0,
                                                      .st_shndx = section,
                                                      .st_value = value,
                                                      .st_size = bytes};
}

static inline void put_variable(struct elf_file *file, const char *name, const void *data,
                                size_t bytes)
{
    assert_true(file->variable_bytes + bytes <= sizeof(file->variables));
    put_symbol(file, name, STT_OBJECT, VARIABLES, file->variable_bytes, bytes);
    memcpy(file->variables + file->variable_bytes, data, bytes);
    file->variable_bytes += bytes;
}

static inline void put_table(struct elf_file *file, const char *name, uint32_t line,
                             enum cbank_space space)
{
    struct cbank_table_info info = {.version = CBANK_CASE_VERSION,
                                    .line = line,
                                    .space = space,
                                    .written = space,
                                    .entry_bytes = 4,
                                    .entries = 256};
    char symbol[CBANK_NAME_BYTES + 32];

    strcpy(info.name, name);
    snprintf(symbol, sizeof(symbol), "cbank_table_info_%s", name);
    put_variable(file, symbol, &info, sizeof(info));
}

/* A cubin with the kernel of this symbol, and no variables yet. */
static inline void begin_elf(struct elf_file *file, const char *kernel)
{
    *file = (struct elf_file){.string_bytes = 1, .symbol_count = 1};
    put_symbol(file, kernel, STT_FUNC, TEXT_A, 0, sizeof(file->code));
    put_symbol(file, "cbank_case_call", STT_FUNC, TEXT_B, 0, sizeof(file->code));
    put_symbol(file, "entries14cbank_tag_gridE", STT_OBJECT, CONSTANTS, 8, 4);
}

static inline void end_elf(struct elf_file *file)
{
    static const struct {
        const char *name;
        uint32_t type;
        size_t offset;
    } rows[SECTIONS] = {
        [TEXT_A] = {".text.a", SHT_PROGBITS, offsetof(struct elf_file, code)},
        [TEXT_B] = {".text.b", SHT_PROGBITS, offsetof(struct elf_file, code)},
        [CONSTANTS] = {".nv.constant3", SHT_PROGBITS, offsetof(struct elf_file, code)},
        [VARIABLES] = {".nv.global.init", SHT_PROGBITS, offsetof(struct elf_file, variables)},
        [SYMBOLS] = {".symtab", SHT_SYMTAB, offsetof(struct elf_file, symbols)},
        [STRINGS] = {".strtab", SHT_STRTAB, offsetof(struct elf_file, strings)},
    };

    for (size_t i = 1; i < SECTIONS; i++)
        file->sections[i] = (Elf64_Shdr){.sh_name = put_string(file, rows[i].name),
                                         .sh_type = rows[i].type,
                                         .sh_offset = rows[i].offset,
                                         .sh_size = sizeof(file->code)};
    file->sections[VARIABLES].sh_size = file->variable_bytes;
    file->sections[SYMBOLS].sh_size = file->symbol_count * sizeof(Elf64_Sym);
    file->sections[SYMBOLS].sh_link = STRINGS;
    file->sections[STRINGS].sh_size = file->string_bytes;
    file->header = (Elf64_Ehdr){.e_machine = 190 /* EM_CUDA */,
                                .e_flags = 90,
                                .e_shoff = offsetof(struct elf_file, sections),
                                .e_shentsize = sizeof(Elf64_Shdr),
                                .e_shnum = SECTIONS,
                                .e_shstrndx = STRINGS};
    memcpy(file->header.e_ident, ELFMAG, SELFMAG);
    file->header.e_ident[EI_CLASS] = ELFCLASS64;
    file->header.e_ident[EI_DATA] = ELFDATA2LSB;
}

static const struct cbank_case_info a_case = {.version = CBANK_CASE_VERSION,
                                              .line = 7,
                                              .size_count = 1,
                                              .sizes = {1024},
                                              .name = "blend"};

/* The cubin of a file with a case and two tables. */
static inline void make_elf(struct elf_file *file)
{
    begin_elf(file, "_ZN5outer5blendIN5cbank5tableEEEvT_");
    put_variable(file, "cbank_case_info", &a_case, sizeof(a_case));
    put_table(file, "signs", 5, CBANK_SPACE_CONSTANT);
    put_table(file, "grid", 3, CBANK_SPACE_GLOBAL);
    end_elf(file);
}

#endif
