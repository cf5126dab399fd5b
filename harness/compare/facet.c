/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"

/* Relative differences of SM clocks: beyond which times are not comparable; up to which processes of one setting read. Settings
 * are 15 MHz apart, and what a cell's clock read over ten processes of one lies within 0.13 % (results/.../processes). */
static const double clock_tolerance = 0.01, clock_same = 0.003;

static bool text_differs(const char *base, const char *new_text)
{
    return *base && *new_text && (strcmp(base, new_text) != 0 || side_is_mixed(base));
}

/* Whether a ratio of clocks is beyond a tolerance. False for NaN, a clock that is not known. */
static bool is_beyond(double ratio, double tolerance)
{
    return ratio > 1 + tolerance || 1 / ratio > 1 + tolerance;
}

static bool clocks_differ(const struct side_cell *base, const struct side_cell *new_cell)
{
    return is_beyond(new_cell->clock.value / base->clock.value, clock_tolerance);
}

bool facet_code_differs(const struct side_cell *base, const struct side_cell *new_cell)
{
    return text_differs(base->sha256, new_cell->sha256);
}

#define TEXT_OF(member)   .offset = offsetof(struct side_identity, member)
#define OF_CELLS(differs) .offset = SIZE_MAX, .cell_differs = differs

const struct facet facets[FACETS] = {
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

const size_t facet_count = FACETS;

/* Whether it may differ: by default, or since the user allows it. */
static bool is_allowed(const struct facet *facet, const struct selection *allowed)
{
    bool found = facet->allowed;

    for (size_t i = 0; allowed && i < allowed->count; i++)
        found = found || allowed->rows[i] == facet;
    return found;
}

double facet_clock_ratio(const struct comparison_cell *cell, const struct selection *allowed)
{
    const double ratio = cell->sides[BASE]->clock.value / cell->sides[NEW]->clock.value;
    const struct facet *clocks = facets;

    while (clocks->cell_differs != clocks_differ)
        clocks++;
    return is_beyond(ratio, clock_same) && !is_allowed(clocks, allowed) ? ratio : 1;
}

bool facet_differs_in(const struct facet *facet, const struct comparison_cell *cell)
{
    const struct side_cell *base = cell->sides[BASE], *new_cell = cell->sides[NEW];

    return facet->cell_differs && base && new_cell && facet->cell_differs(base, new_cell);
}

/* Whether the facet of *out differs; sets its texts. */
static bool differs(const struct comparison *comparison, const struct compared_gpu *gpu, size_t cells,
                    struct facet_difference *out)
{
    const size_t offset = out->facet->offset;
    size_t count = 0;

    if (offset != SIZE_MAX) {
        snprintf(out->base, sizeof(out->base), "%s", (const char *)&gpu->sides[BASE]->identity + offset);
        snprintf(out->new_text, sizeof(out->new_text), "%s", (const char *)&gpu->sides[NEW]->identity + offset);
        return text_differs(out->base, out->new_text);
    }
    for (size_t i = comparison->cell_count - cells; i < comparison->cell_count; i++)
        count += facet_differs_in(out->facet, &comparison->cells[i]);
    snprintf(out->base, sizeof(out->base), "%zu cell%s", count, count == 1 ? "" : "s");
    memcpy(out->new_text, out->base, sizeof(out->base));
    return count > 0;
}

void gpu_find_differences(const struct comparison *comparison, struct compared_gpu *gpu, size_t count)
{
    for (const struct facet *facet = facets; facet < facets + FACETS; facet++) {
        struct facet_difference *difference = &gpu->differences[gpu->difference_count];

        *difference =
            (struct facet_difference){.facet = facet, .allowed = is_allowed(facet, comparison->options.allowed)};
        gpu->difference_count += differs(comparison, gpu, count, difference);
    }
}
