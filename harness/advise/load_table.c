/* SPDX-License-Identifier: MIT
 * The candidates of a load from constant memory: see load_table.h. */
#include "load_table.h"

#include <string.h>

#include "instruction.h"

/* The symbol that the PTX of a load names; "": none, which admits all. */
static void find_in_ptx(const struct accesses *all, const struct analysed_load *load, char *symbol,
                        size_t room)
{
    const struct code_fact *line =
        code_fact_before(&all->facts->ptx_lines, load->instruction * INSTRUCTION_BYTES);

    symbol[0] = 0;
    if (line && !load->several && !ptx_constant_of(all->facts->ptx, line->value, symbol, room))
        symbol[0] = 0;
}

/* Whether a load of `width` bytes in the range touches the table. Its bank has 64 KiB, and an
 * offset of 16 bits may stand for one below zero. */
static bool is_touched(const struct cubin_variable *table, struct range range, uint32_t width)
{
    enum { BANK_BYTES = 1 << 16 };
    const uint32_t first = range.first % BANK_BYTES;
    const uint64_t behind = (uint64_t)first + (range_last(range) - range.first) + width;

    return range_is_all(range) || behind - width >= BANK_BYTES ||
           (first < table->offset + table->bytes && table->offset < behind);
}

bool load_table_find(const struct accesses *all, const struct analysed_load *load, uint32_t width,
                     struct cubin_variable *out)
{
    static const char constants[] = ".nv.constant3";
    struct cubin_variable variable, found = {0};
    char symbol[256];
    size_t candidates = 0;
    bool has_symbol = false;

    find_in_ptx(all, load, symbol, sizeof(symbol));
    for (uint64_t place = 0; cubin_next_variable(all->cubin, &place, &variable);)
        has_symbol |= strcmp(variable.symbol, symbol) == 0;
    for (uint64_t place = 0; cubin_next_variable(all->cubin, &place, &variable);) {
        if (strncmp(variable.section, constants, strlen(constants)) != 0 ||
            !is_touched(&variable, load->range, width) ||
            (has_symbol && strcmp(variable.symbol, symbol) != 0))
            continue;
        found = variable;
        candidates++;
    }
    if (candidates == 1)
        *out = found;
    return candidates == 1;
}
