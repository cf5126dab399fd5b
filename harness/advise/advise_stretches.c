/* SPDX-License-Identifier: MIT
 * Crossovers: the best place along an axis, all else being as it is. */
#include <math.h>
#include <stdlib.h>

#include "log.h"
#include "parallel.h"
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
    [ADVISE_LOADS] = {{1, 4, 16}, PARAMETER_loads, prepare_loads},
};

/* A value that is asked for. */
struct point {
    enum advise_axis axis;
    uint32_t value;
    struct cell cell;
    const struct path *path; /* the best; NULL: none can be */
    bool close;
    enum status status;
};

struct asking {
    const struct card *card;
    struct point points[ADVISE_AXIS_COUNT * POINTS_MAX];
    size_t count;
};

static void find_best(struct point *point, const struct card *card)
{
    struct index_list indices = {.unhashed = true};
    struct places places = {.rows = calloc(path_count + 1, sizeof(*places.rows))};
    struct advice best = {.card = card, .modelled = true, .places = places.rows};

    point->status =
        places.rows ? places_predict(&point->cell, card, &indices, &places) : log_memory("%zu places", path_count);
    best.count = places.count;
    if (point->status == STATUS_OK && best.count > 0) {
        advise_rank(&best);
        point->path = isnan(best.places[0].time_ns) ? NULL : best.places[0].path;
        point->close = advise_is_close(&best);
    }
    advise_close(&best);
    index_list_close(&indices);
}

static void find_range(void *context, uint64_t first, uint64_t count)
{
    struct asking *asking = context;

    for (uint64_t i = first; i < first + count; i++)
        find_best(&asking->points[i], asking->card);
}

/* The values of an axis that the configuration can have. */
static void list_points(const struct cell *cell, enum advise_axis axis, struct asking *asking)
{
    const struct axis *row = &axes[axis];

    for (size_t i = 0; i < POINTS_MAX && row->values[i]; i++) {
        struct point *point = &asking->points[asking->count];

        *point = (struct point){.axis = axis, .value = row->values[i], .cell = *cell};
        if (!row->prepare(&point->cell, point->value))
            continue;
        point->cell.parameters[row->parameter] = parameter_kept(&parameters[row->parameter], point->value);
        point->cell.elements = cell->elements < ADVISE_ELEMENTS ? cell->elements : ADVISE_ELEMENTS;
        asking->count++;
    }
}

static void add_point(struct advice *advice, const struct point *point)
{
    struct advised_stretch *last = advice->stretch_count ? &advice->stretches[advice->stretch_count - 1] : NULL;

    if (last && last->axis == point->axis && last->path == point->path) {
        last->last = point->value;
        last->close |= point->close;
    } else if (point->path && advice->stretch_count < ADVISE_STRETCHES_MAX) {
        advice->stretches[advice->stretch_count++] = (struct advised_stretch){
            .axis = point->axis,
            .path = point->path,
            .first = point->value,
            .last = point->value,
            .close = point->close,
            .elements = point->cell.elements,
        };
    }
}

enum status advise_find_stretches(struct advice *advice)
{
    struct asking asking = {.card = advice->card};
    enum status status = STATUS_OK;

    for (size_t i = 0; !cell_reads_file(&advice->cell) && i < ADVISE_AXIS_COUNT; i++)
        list_points(&advice->cell, (enum advise_axis)i, &asking);
    parallel_ranges(asking.count, 1, find_range, &asking);
    for (size_t i = 0; i < asking.count; i++) {
        status = status_worse(status, asking.points[i].status);
        add_point(advice, &asking.points[i]);
    }
    return status;
}
