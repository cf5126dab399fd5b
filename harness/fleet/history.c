/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "side.h"
#include "store.h"

static enum status out_of_memory(void)
{
    return log_memory("a history");
}

/* -- what runs share ----------------------------------------------------------------------------------- */

/* A text that others have, too. "" becomes NULL. Clears *good when out of memory. */
static const char *share(struct history *history, const char *text, bool *good)
{
    const char *shared = *text && *good ? texts_share(&history->texts, text) : NULL;

    *good = *good && (shared || !*text);
    return shared;
}

/* The cell, which is most often the one at `hint`. NULL out of memory. */
static const struct cell *share_cell(struct history *history, const struct cell *cell, size_t hint)
{
    struct cell *copy;

    for (size_t i = 0; i < history->cell_count; i++) {
        const struct cell *known = history->cells[(hint + i) % history->cell_count];

        if (cell_equal(known, cell))
            return known;
    }
    copy = memory_grow(&history->cells, history->cell_count, sizeof(*history->cells))
               ? pool_take(&history->pool, sizeof(*copy))
               : NULL;
    if (copy)
        *copy = *cell;
    if (copy)
        history->cells[history->cell_count++] = copy;
    return copy;
}

/* The GPU and engine of a run, which is most often the one at `hint`: nights have them in the same order. NULL out of
 * memory. */
static const struct history_gpu *share_gpu(struct history *history, const struct history_run *run, size_t hint)
{
    struct history_gpu *gpu;

    for (size_t i = 0; i < history->gpu_count; i++) {
        gpu = history->gpus[(hint + i) % history->gpu_count];
        /* Texts are there once. */
        if (gpu->uuid == run->uuid && gpu->name == run->name && gpu->engine == run->engine)
            return gpu;
    }
    gpu = memory_grow(&history->gpus, history->gpu_count, sizeof(*history->gpus))
              ? pool_take(&history->pool, sizeof(*gpu))
              : NULL;
    if (!gpu)
        return NULL;
    *gpu = (struct history_gpu){run->uuid, run->name, run->engine, history->gpu_count};
    return history->gpus[history->gpu_count++] = gpu;
}

/* Sets the GPU of the last run, whose texts are known. False when out of memory. */
static bool set_gpu(struct history *history)
{
    const size_t last = history->run_count - 1;
    struct history_run *run = history->runs[last];

    run->gpu = share_gpu(history, run, last > 0 ? history->runs[last - 1]->gpu->rank + 1 : 0);
    return run->gpu;
}

/* A new run, the history's; NULL out of memory. */
static struct history_run *add_run(struct history *history)
{
    struct history_run *run = memory_grow(&history->runs, history->run_count, sizeof(*history->runs))
                                  ? pool_take(&history->pool, sizeof(*run))
                                  : NULL;

    if (!run)
        return NULL;
    *run = (struct history_run){0};
    return history->runs[history->run_count++] = run;
}

static struct history_point *add_point(struct history *history, const struct history_run *run, const struct cell *cell)
{
    struct history_point *point;

    if (!cell || !memory_grow(&history->points, history->point_count, sizeof(*history->points)))
        return NULL;
    point = &history->points[history->point_count++];
    *point = (struct history_point){.run = run, .cell = cell, .change = NAN};
    return point;
}

/* -- files --------------------------------------------------------------------------------------------- */

/* Results on their way in. */
struct reading {
    struct history *history;
    const char *name; /* of the cells; NULL: all */
};

static bool add_cells(const struct reading *reading, struct history_run *run, const struct result *result)
{
    bool good = true;

    for (size_t i = 0; good && i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];
        struct history_point *point;

        run->cells++;
        run->failed += cell->status == CELL_FAILED;
        if (reading->name && !cell_is_named(&cell->cell, reading->name))
            continue;
        point = add_point(reading->history, run, share_cell(reading->history, &cell->cell, i));
        good = point;
        if (!point)
            break;
        point->time_ns = cell->status == CELL_OK ? cell->time.summary.value : NAN;
        point->half_width = stats_relative_half_width(&cell->time.summary);
        point->flags = cell->flags;
        point->sha256 = share(reading->history, cell->kernel.sha256, &good);
    }
    return good;
}

static enum status take(void *context, const char *path, const struct result *result)
{
    const struct reading *reading = context;
    struct history *history = reading->history;
    const struct device_info *device = &result->device;
    struct history_run *run = add_run(history);
    bool good = run;

    if (!run)
        return out_of_memory();
    memcpy(run->started_utc, result->started_utc, sizeof(run->started_utc));
    run->modelled = result->modelled_time;
    run->name = share(history, device->name, &good);
    run->uuid = share(history, device->uuid, &good);
    run->host = share(history, result->host.name, &good);
    run->slot = share(history, result->host.slot, &good);
    run->driver = share(history, device->driver, &good);
    run->vbios = share(history, device->vbios, &good);
    run->engine = share(history, result->engine, &good);
    run->file = pool_text(&history->pool, path);
    return good && run->file && set_gpu(history) && add_cells(reading, run, result) ? STATUS_OK : out_of_memory();
}

/* -- stores -------------------------------------------------------------------------------------------- */

/* Runs of a store, by their keys: those are added in that order. */
struct stored {
    const struct reading *reading;
    struct store *store;
    struct sql *sql;
    size_t first;   /* of the history's runs */
    int64_t *keys;  /* owned */
    size_t count;
};

static void add_runs(struct stored *stored)
{
    struct history *history = stored->reading->history;
    struct sql_statement *get =
        sql_prepare(stored->sql, "SELECT run_id, started_utc, modelled, gpus.name, uuid, host_name, host_slot, driver,"
                                 " vbios, engine, file, hash FROM runs JOIN gpus USING (gpu_id) ORDER BY run_id");
    bool good = true;

    while (good && sql_row(get)) {
        struct history_run *run = add_run(history);
        const char **const texts[] = {&run->name,   &run->uuid,  &run->host,  &run->slot,
                                      &run->driver, &run->vbios, &run->engine};

        good = run && memory_grow(&stored->keys, stored->count, sizeof(*stored->keys));
        if (!good)
            break;
        stored->keys[stored->count++] = sql_integer(get, 0);
        clock_write_utc(sql_integer(get, 1), run->started_utc);
        run->modelled = sql_integer(get, 2);
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            *texts[i] = share(history, sql_text(get, 3 + (int)i), &good);
        run->file = pool_text(&history->pool, sql_text(get, 10));
        run->hash = pool_text(&history->pool, sql_text(get, 11));
        run->failed = stored->reading->name ? NAN : 0; /* counted where all cells are read */
        good = good && run->file && run->hash && set_gpu(history);
    }
    sql_finish(get);
    if (!good)
        sql_fail(stored->sql, out_of_memory());
}

/* The run of that key, NULL where there is none. Keys are asked for in their order: *at is where the one before was. */
static struct history_run *run_at(const struct stored *stored, int64_t key, size_t *at)
{
    while (*at < stored->count && stored->keys[*at] < key)
        *at += 1;
    return *at < stored->count && stored->keys[*at] == key ? stored->reading->history->runs[stored->first + *at] : NULL;
}

/* Adds what the store says of a cell. */
static bool add_series(struct stored *stored, struct sql_statement *get, const struct cell *cell)
{
    struct history *history = stored->reading->history;
    bool good = cell;
    size_t at = 0;

    while (good && sql_row(get)) {
        struct history_run *run = run_at(stored, sql_integer(get, 0), &at);
        struct summary summary = {.value = sql_number(get, 1),
                                  .ci_low = sql_number(get, 2),
                                  .ci_high = sql_number(get, 3)};
        const char *status = sql_text(get, 5);
        struct history_point *point = run ? add_point(history, run, cell) : NULL;

        if (!run)
            continue; /* put in since the runs were read */
        run->cells++;
        run->failed += strcmp(status, cell_status_names[CELL_FAILED]) == 0;
        good = point;
        if (!point)
            break;
        point->time_ns = strcmp(status, cell_status_names[CELL_OK]) == 0 ? summary.value : NAN;
        point->half_width = stats_relative_half_width(&summary);
        point->flags = (uint32_t)sql_integer(get, 4);
        point->sha256 = share(history, sql_text(get, 6), &good);
    }
    sql_reset(get);
    return good;
}

static void add_all_series(struct stored *stored)
{
    struct sql_statement *list = sql_prepare(stored->sql, "SELECT identity_id, identity, cell FROM identities");
    struct sql_statement *get =
        sql_prepare(stored->sql, "SELECT run_id, time_ns, ci_low_ns, ci_high_ns, flags, status, sass_sha256 FROM times"
                                 " LEFT JOIN kernels USING (kernel_id) WHERE identity_id = ?1 ORDER BY run_id");
    const char *name = stored->reading->name;
    bool good = true;

    while (good && sql_row(list)) {
        struct cell cell;

        store_read_cell(stored->store, sql_text(list, 2), &cell);
        if (sql_status(stored->sql) != STATUS_OK || (name && !cell_is_named(&cell, name)))
            continue;
        sql_set_integer(get, 1, sql_integer(list, 0));
        good = add_series(stored, get, share_cell(stored->reading->history, &cell, 0));
    }
    if (!good)
        sql_fail(stored->sql, out_of_memory());
    sql_finish(list);
    sql_finish(get);
}

static void add_forgotten(struct stored *stored)
{
    struct history *history = stored->reading->history;
    struct sql_statement *get =
        sql_prepare(stored->sql, "SELECT started_utc, forgotten_utc, file, uuid, hash, why"
                                 " FROM forgotten JOIN gpus USING (gpu_id) ORDER BY started_utc");
    bool good = true;

    while (good && sql_row(get)) {
        struct history_forgotten *run;
        const char **texts[4];

        good = memory_grow(&history->forgotten, history->forgotten_count, sizeof(*history->forgotten));
        if (!good)
            break;
        run = &history->forgotten[history->forgotten_count++];
        *run = (struct history_forgotten){0};
        clock_write_utc(sql_integer(get, 0), run->started_utc);
        clock_write_utc(sql_integer(get, 1), run->forgotten_utc);
        texts[0] = &run->file, texts[1] = &run->uuid, texts[2] = &run->hash, texts[3] = &run->why;
        for (size_t i = 0; i < 4; i++)
            *texts[i] = share(history, sql_text(get, 2 + (int)i), &good);
    }
    sql_finish(get);
    if (!good)
        sql_fail(stored->sql, out_of_memory());
}

static enum status add_store(const struct reading *reading, const char *path)
{
    struct stored stored = {.reading = reading, .first = reading->history->run_count};
    enum status status = store_open(path, SQL_READ, &stored.store);

    if (status != STATUS_OK)
        return status;
    stored.sql = store_sql(stored.store);
    add_runs(&stored);
    add_all_series(&stored);
    add_forgotten(&stored);
    status = noise_read_store(&reading->history->noise, stored.store);
    if (status == STATUS_OK && stored.count == 0)
        status = log_error(STATUS_USAGE, "%s has no run; cbank ingest puts results in", path);
    free(stored.keys);
    store_close(stored.store);
    return status;
}

enum status history_add(struct history *history, const char *path, const char *name)
{
    struct reading reading = {history, name};

    return store_is(path) ? add_store(&reading, path) : results_read(path, take, &reading);
}

/* -- order --------------------------------------------------------------------------------------------- */

static int by_text(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a ? a : "", b ? b : "");
}

static int by_start(const void *a, const void *b)
{
    const struct history_run *x = *(struct history_run *const *)a, *y = *(struct history_run *const *)b;
    const int order = strcmp(x->started_utc, y->started_utc);

    return order ? order : strcmp(x->file, y->file);
}

static int by_gpu(const void *a, const void *b)
{
    const struct history_gpu *x = *(struct history_gpu *const *)a, *y = *(struct history_gpu *const *)b;
    const int uuid = by_text(x->uuid, y->uuid), name = uuid ? uuid : by_text(x->name, y->name);

    return name ? name : by_text(x->engine, y->engine);
}

static int by_series(const void *a, const void *b)
{
    const struct history_point *x = a, *y = b;
    const int cell = x->cell == y->cell ? 0 : cell_order(x->cell, y->cell);

    return cell ? cell : (x->order > y->order) - (x->order < y->order);
}

bool history_same_series(const struct history_point *a, const struct history_point *b)
{
    return a->cell == b->cell && a->run->gpu == b->run->gpu;
}

/* A file that was given twice, or is in a store, too. Predictions tell no run from another. */
static bool is_same_run(const struct history_point *a, const struct history_point *b)
{
    return history_same_series(a, b) && a->time_ns == b->time_ns && !a->run->modelled &&
           a->run->started_utc[0] != '\0' && strcmp(a->run->started_utc, b->run->started_utc) == 0;
}

/* What sorted points say of a run that was read before counts once. */
static void drop_repeated(struct history *history)
{
    const size_t count = history->point_count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !is_same_run(&history->points[kept - 1], &history->points[i]))
            history->points[kept++] = history->points[i];
    history->point_count = kept;
    if (kept < count)
        log_warning("%zu of %zu times are of runs that were read already; they count once", count - kept, count);
}

void history_sort(struct history *history)
{
    if (history->run_count > 0)
        qsort(history->runs, history->run_count, sizeof(struct history_run *), by_start);
    for (size_t i = 0; i < history->run_count; i++)
        history->runs[i]->place = i;
    if (history->gpu_count > 0)
        qsort(history->gpus, history->gpu_count, sizeof(struct history_gpu *), by_gpu);
    for (size_t i = 0; i < history->gpu_count; i++)
        history->gpus[i]->rank = i;
    for (size_t i = 0; i < history->point_count; i++) {
        const struct history_run *run = history->points[i].run;

        history->points[i].order = run->gpu->rank * history->run_count + run->place;
    }
    if (history->point_count > 0)
        qsort(history->points, history->point_count, sizeof(*history->points), by_series);
    drop_repeated(history);
    for (size_t i = 1; i < history->point_count; i++) {
        struct history_point *point = &history->points[i];

        if (history_same_series(point - 1, point))
            point->change = point->time_ns / (point - 1)->time_ns - 1;
    }
}

void history_close(struct history *history)
{
    pool_close(&history->pool);
    texts_close(&history->texts);
    free(history->runs);
    free(history->cells);
    free(history->gpus);
    free(history->points);
    free(history->changes);
    free(history->forgotten);
    noise_close(&history->noise);
    *history = (struct history){0};
}
