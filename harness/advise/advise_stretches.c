/* SPDX-License-Identifier: MIT
 * Crossovers: the best place along an axis, all else being as it is. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "places.h"
#include "source.h"
#include "table.h"

const char *const advise_axis_names[ADVISE_AXIS_COUNT] = {
    [ADVISE_DISTINCT] = "distinct",
    [ADVISE_TABLE_BYTES] = "table_bytes",
    [ADVISE_LOADS] = "loads",
};

enum { POINTS_MAX = 8 };

/* Values that are asked for, and what makes a configuration one of them. False: there is no such. */
struct axis {
    uint32_t values[POINTS_MAX]; /* 0 ends them */
    enum parameter_index parameter;
    bool (*prepare)(struct cell *cell, uint32_t value);
};

/* The pattern or source that reads so many distinct addresses takes the place of the configuration's. */
static bool prepare_distinct(struct cell *cell, uint32_t value)
{
    const uint32_t width = table_width(cell->parameters);

    for (size_t i = 0; i < parameter_count; i++)
        if (cell->pattern->takes >> i & 1)
            cell->parameters[i] = 0;
    cell->pattern = table_find(cell_pattern_table(cell->workload), "distinct");
    if (cell->pattern->takes >> PARAMETER_stride_bytes & 1)
        cell->parameters[PARAMETER_stride_bytes] = width < 4 ? 4 : width;
    return value > 0;
}

/* A table of whole entries, of at least as many as a warp reads of it. */
static bool prepare_table(struct cell *cell, uint32_t value)
{
    return value % table_width(cell->parameters) == 0;
}

static bool prepare_loads(struct cell *cell, uint32_t value)
{
    return cell->workload->takes >> PARAMETER_loads & 1 && value % cell->parameters[PARAMETER_in_flight] == 0;
}

static const struct axis axes[ADVISE_AXIS_COUNT] = {
    [ADVISE_DISTINCT] = {{1, 2, 4, 8, 16, 32}, PARAMETER_distinct, prepare_distinct},
    [ADVISE_TABLE_BYTES] = {{256, 1024, 2048, 4096, 16384, 65536}, PARAMETER_table_bytes, prepare_table},
    [ADVISE_LOADS] = {{1, 4, 16, 64}, PARAMETER_loads, prepare_loads},
};

/* The best place at one value; *path is NULL where none can be. */
static enum status find_best(const struct advice *advice, const struct cell *cell, struct index_list *indices,
                             const struct path **path)
{
    struct places places = {.rows = calloc(path_count, sizeof(*places.rows))};
    struct advice best = {.card = advice->card, .modelled = true, .places = places.rows};
    enum status status = places.rows ? places_predict(cell, advice->card, indices, &places) : log_memory("%zu places", path_count);

    best.count = places.count;
    *path = NULL;
    if (status == STATUS_OK && best.count > 0) {
        advise_rank(&best);
        *path = best.places[0].path;
    }
    advise_close(&best);
    return status;
}

static void add_point(struct advice *advice, enum advise_axis axis, uint32_t value, const struct path *path,
                      uint64_t elements)
{
    struct advised_stretch *last = advice->stretch_count ? &advice->stretches[advice->stretch_count - 1] : NULL;

    if (last && last->axis == axis && last->path == path)
        last->last = value;
    else if (advice->stretch_count < ADVISE_STRETCHES_MAX)
        advice->stretches[advice->stretch_count++] =
            (struct advised_stretch){.axis = axis, .path = path, .first = value, .last = value, .elements = elements};
}

enum status advise_find_stretches(struct advice *advice, struct index_list *indices)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; !cell_reads_file(&advice->cell) && i < ADVISE_AXIS_COUNT; i++)
        for (size_t k = 0; status == STATUS_OK && k < POINTS_MAX && axes[i].values[k]; k++) {
            const uint32_t value = axes[i].values[k];
            struct cell cell = advice->cell;
            const struct path *path;

            if (!axes[i].prepare(&cell, value))
                continue;
            cell.parameters[axes[i].parameter] = parameter_kept(&parameters[axes[i].parameter], value);
            cell.elements = cell.elements < ADVISE_ELEMENTS ? cell.elements : ADVISE_ELEMENTS;
            status = find_best(advice, &cell, indices, &path);
            if (status == STATUS_OK && path)
                add_point(advice, (enum advise_axis)i, value, path, cell.elements);
        }
    return status;
}
