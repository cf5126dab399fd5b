/* SPDX-License-Identifier: MIT */
#include "facet.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const double clock_tolerance = 0.01; /* relative difference of SM clocks that is none */

static bool text_differs(const char *base, const char *new_text)
{
    return *base && *new_text && (strcmp(base, new_text) != 0 || strcmp(base, "mixed") == 0);
}

static bool clocks_differ(const struct side_cell *base, const struct side_cell *new_cell)
{
    const double ratio = new_cell->sm_clock_mhz / base->sm_clock_mhz;

    /* False for NaN, a clock that is not known. */
    return ratio > 1 + clock_tolerance || 1 / ratio > 1 + clock_tolerance;
}

bool facet_code_differs(const struct side_cell *base, const struct side_cell *new_cell)
{
    return text_differs(base->sha256, new_cell->sha256);
}

#define TEXT_OF(member)   .offset = offsetof(struct side_identity, member)
#define OF_CELLS(differs) .offset = SIZE_MAX, .cell_differs = differs

const struct facet facets[] = {
    {.name = "engine", .summary = "measured or modelled", TEXT_OF(engine)},
    {.name = "device", .summary = "name of the GPU or card", TEXT_OF(device.name)},
    {.name = "uuid", .summary = "the very GPU", TEXT_OF(device.uuid)},
    {.name = "driver", .summary = "version of the driver", .allowed = true, TEXT_OF(device.driver)},
    {.name = "vbios", .summary = "version of the GPU's firmware", .allowed = true, TEXT_OF(device.vbios)},
    {.name = "clocks", .summary = "SM clock of a cell, by more than 1 %", OF_CELLS(clocks_differ)},
    {.name = "ecc", .summary = "error correction of the memory", TEXT_OF(device.ecc)},
    {.name = "mig", .summary = "multi-instance mode", TEXT_OF(device.mig)},
    {.name = "sass", .summary = "machine code of a cell's kernel", OF_CELLS(facet_code_differs)},
};

const size_t facet_count = sizeof(facets) / sizeof(facets[0]);

bool facet_is_allowed(const struct facet *facet, const struct selection *allowed)
{
    bool found = facet->allowed;

    for (size_t i = 0; allowed && i < allowed->count; i++)
        found = found || allowed->rows[i] == facet;
    return found;
}

bool facet_differs(const struct facet *facet, const struct side *base, const struct side *new_side,
                   struct facet_difference *out)
{
    const char *text = (const char *)&base->identity + facet->offset;
    const char *new_text = (const char *)&new_side->identity + facet->offset;

    snprintf(out->base, sizeof(out->base), "%s", text);
    snprintf(out->new_text, sizeof(out->new_text), "%s", new_text);
    return text_differs(text, new_text);
}
