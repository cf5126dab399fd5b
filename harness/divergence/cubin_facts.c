/* SPDX-License-Identifier: MIT
 * Reads the sections of a cubin that all its kernels share: relocations, PTX. */
#include "cubin_facts.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"

/* A relocation: the symbol with its name, and the place. */
struct relocation {
    const char *name;
    uint64_t offset;
    uint32_t symbol, type;
};

/* Steps through the relocations of a section. False: at the end. */
static bool next_relocation(const struct cubin *cubin, const struct cubin_section *section,
                            size_t *place, struct relocation *out)
{
    const size_t bytes = section->type == SHT_RELA  ? sizeof(Elf64_Rela)
                         : section->type == SHT_REL ? sizeof(Elf64_Rel)
                                                    : 0;
    size_t size;

    while (bytes > 0 && section->data && *place + bytes <= section->bytes) {
        Elf64_Rel entry;

        memcpy(&entry, section->data + *place, sizeof(entry));
        *place += bytes;
        *out = (struct relocation){NULL, entry.r_offset, (uint32_t)(entry.r_info >> 32),
                                   (uint32_t)entry.r_info};
        if (out->symbol <= SYMBOLS_MAX && out->offset <= UINT32_MAX &&
            cubin_symbol_at(cubin, out->symbol, &out->name, &size))
            return true;
    }
    return false;
}

/* The section whose relocations a section has, by its name; NULL: it has none. */
static const char *relocated_name(const struct cubin_section *section)
{
    static const char with_addend[] = ".rela", without[] = ".rel";

    if (section->type == SHT_RELA && strncmp(section->name, ".rela.", 6) == 0)
        return section->name + strlen(with_addend);
    return section->type == SHT_REL && strncmp(section->name, ".rel.", 5) == 0
               ? section->name + strlen(without)
               : NULL;
}

static enum status add_sequences(const struct cubin_section *section, bool of_ptx,
                                 struct cubin_facts *out)
{
    struct relocation relocation;

    for (size_t place = 0; next_relocation(out->cubin, section, &place, &relocation);) {
        if (!memory_grow(&out->sequences, out->sequence_count, sizeof(*out->sequences)))
            return log_memory("the lines of a cubin");
        out->sequences[out->sequence_count++] =
            (struct line_sequence){relocation.name, relocation.offset, of_ptx};
    }
    return STATUS_OK;
}

/* Variables whose addresses stand in bank 4. */
static enum status add_addresses(const struct cubin_section *section, struct cubin_facts *out)
{
    enum { ADDRESS_OF = 2 };
    struct relocation relocation;
    enum status status = STATUS_OK;

    for (size_t place = 0;
         status == STATUS_OK && next_relocation(out->cubin, section, &place, &relocation);)
        if (relocation.type == ADDRESS_OF)
            status = code_fact_add(&out->addresses, (uint32_t)relocation.offset, relocation.symbol);
    return status;
}

static int compare_sequences(const void *left, const void *right)
{
    const struct line_sequence *a = left, *b = right;
    const int order = strcmp(a->symbol, b->symbol);

    return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

enum status cubin_facts_open(const struct cubin *cubin, struct cubin_facts *out)
{
    static const char addresses[] = ".nv.constant4";
    struct cubin_section section = {.data = NULL};
    enum status status = STATUS_OK;

    *out = (struct cubin_facts){.cubin = cubin};
    cubin_section_named(cubin, ".debug_line", "", &out->source_lines);
    cubin_section_named(cubin, ".nv_debug_line_sass", "", &out->ptx_lines);
    for (size_t i = 0; status == STATUS_OK && cubin_section_at(cubin, i, &section); i++) {
        const char *name = relocated_name(&section);

        if (name && strcmp(name, ".debug_line") == 0 && out->source_lines.data)
            status = add_sequences(&section, false, out);
        else if (name && strcmp(name, ".nv_debug_line_sass") == 0 && out->ptx_lines.data)
            status = add_sequences(&section, true, out);
        else if (name && strncmp(name, addresses, strlen(addresses)) == 0)
            status = add_addresses(&section, out);
    }
    if (out->sequence_count > 1)
        qsort(out->sequences, out->sequence_count, sizeof(*out->sequences), compare_sequences);
    code_facts_sort(&out->addresses);
    if (status == STATUS_OK && cubin_section_named(cubin, ".nv_debug_ptx_txt", "", &section))
        status = ptx_open((const char *)section.data, section.bytes, &out->ptx);
    if (status != STATUS_OK)
        cubin_facts_close(out);
    return status;
}

const struct line_sequence *cubin_facts_sequences(const struct cubin_facts *facts,
                                                  const char *symbol, size_t *count)
{
    size_t low = 0, high = facts->sequence_count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (strcmp(facts->sequences[middle].symbol, symbol) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low;
         high < facts->sequence_count && strcmp(facts->sequences[high].symbol, symbol) == 0; high++)
        ;
    *count = high - low;
    return *count ? facts->sequences + low : NULL;
}

void cubin_facts_close(struct cubin_facts *facts)
{
    ptx_close(&facts->ptx);
    code_facts_close(&facts->addresses);
    free(facts->sequences);
    *facts = (struct cubin_facts){0};
}
