/* SPDX-License-Identifier: MIT
 * The runs of a store as nights and GPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet.h"
#include "log.h"
#include "memory.h"
#include "text.h"

enum { HOUR_SECONDS = 3600, CLOCK_SLACK_SECONDS = 600 };

const char *fleet_text(struct fleet *fleet, const char *text)
{
    char *clean = strdup(text);
    const char *shared = NULL;

    if (clean) {
        text_clean(clean);
        shared = texts_share(&fleet->texts, clean);
    }
    free(clean);
    if (!shared)
        log_memory("the names of a fleet");
    return shared;
}

void fleet_place(const struct fleet_run *run, char out[FLEET_PLACE_BYTES])
{
    static const char domain[] = "00000000:"; /* of nearly every slot */
    const char *slot = run->slot + (strncmp(run->slot, domain, sizeof(domain) - 1) == 0 ? sizeof(domain) - 1 : 0);

    snprintf(out, FLEET_PLACE_BYTES, "%s%s%s", run->host, *run->host && *slot ? ":" : "", slot);
}

/* -- runs ---------------------------------------------------------------------------------------------- */

static const char select_runs[] =
    "SELECT run_id, started_utc, gpu_id, uuid, gpus.name, modelled, geometry_id, host_name, host_slot, driver, vbios,"
    " git_commit, complete FROM runs JOIN gpus USING (gpu_id) ORDER BY started_utc, run_id";
enum { RUN_ID, STARTED, GPU_ID, UUID, NAME, MODELLED, GEOMETRY, HOST, SLOT, DRIVER, VBIOS, COMMIT, COMPLETE };

static bool is_gpu(const struct fleet *fleet, const struct fleet_gpu *gpu, struct sql_statement *rows)
{
    const struct fleet_run *last = &fleet->runs[gpu->last];

    return gpu->id == sql_integer(rows, GPU_ID) && gpu->modelled == (sql_integer(rows, MODELLED) != 0) &&
           (*gpu->uuid ||
            (strcmp(last->host, sql_text(rows, HOST)) == 0 && strcmp(last->slot, sql_text(rows, SLOT)) == 0));
}

/* The GPU of a row, which may be a new one. */
static enum status find_gpu(struct fleet *fleet, struct sql_statement *rows, size_t *found)
{
    struct fleet_gpu *gpu;

    for (*found = 0; *found < fleet->gpu_count; (*found)++)
        if (is_gpu(fleet, &fleet->gpus[*found], rows))
            return STATUS_OK;
    if (!memory_grow(&fleet->gpus, fleet->gpu_count, sizeof(*gpu)))
        return log_memory("the runs of a fleet");
    gpu = &fleet->gpus[fleet->gpu_count];
    *gpu = (struct fleet_gpu){.id = sql_integer(rows, GPU_ID),
                              .uuid = fleet_text(fleet, sql_text(rows, UUID)),
                              .name = fleet_text(fleet, sql_text(rows, NAME)),
                              .modelled = sql_integer(rows, MODELLED) != 0};
    fleet->gpu_count += gpu->uuid && gpu->name;
    return gpu->uuid && gpu->name ? STATUS_OK : STATUS_ENVIRONMENT;
}

static enum status add_run(struct fleet *fleet, struct sql_statement *rows)
{
    struct fleet_run run = {0};
    enum status status;

    if (!memory_grow(&fleet->runs, fleet->run_count, sizeof(run)))
        return log_memory("the runs of a fleet");
    status = find_gpu(fleet, rows, &run.gpu);
    if (status != STATUS_OK)
        return status;
    run.id = sql_integer(rows, RUN_ID);
    run.started_utc = sql_integer(rows, STARTED);
    run.geometry = sql_integer(rows, GEOMETRY);
    run.complete = sql_integer(rows, COMPLETE) != 0;
    run.host = fleet_text(fleet, sql_text(rows, HOST));
    run.slot = fleet_text(fleet, sql_text(rows, SLOT));
    run.driver = fleet_text(fleet, sql_text(rows, DRIVER));
    run.vbios = fleet_text(fleet, sql_text(rows, VBIOS));
    run.commit = fleet_text(fleet, sql_text(rows, COMMIT));
    fleet->gpus[run.gpu].last = fleet->run_count;
    fleet->runs[fleet->run_count++] = run;
    return run.host && run.slot && run.driver && run.vbios && run.commit ? STATUS_OK : STATUS_ENVIRONMENT;
}

/* -- nights -------------------------------------------------------------------------------------------- */

static enum status add_night(struct fleet *fleet, int64_t started_utc)
{
    if (!memory_grow(&fleet->nights, fleet->night_count, sizeof(*fleet->nights)))
        return log_memory("the runs of a fleet");
    fleet->nights[fleet->night_count++] = (struct fleet_night){.first_utc = started_utc, .last_utc = started_utc};
    return STATUS_OK;
}

static enum status find_nights(struct fleet *fleet, double gap_hours)
{
    const double gap = gap_hours * HOUR_SECONDS;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < fleet->run_count; i++) {
        struct fleet_run *run = &fleet->runs[i];

        if (i == 0 || (double)(run->started_utc - run[-1].started_utc) > gap)
            status = add_night(fleet, run->started_utc);
        if (status == STATUS_OK) {
            run->night = fleet->night_count - 1;
            fleet->nights[run->night].last_utc = run->started_utc;
        }
    }
    return status;
}

/* Forgets the nights before the last so many, which stay known as runs. */
static void drop_nights(struct fleet *fleet, size_t nights)
{
    const size_t dropped = fleet->night_count > nights ? fleet->night_count - nights : 0;
    size_t first = 0;

    while (first < fleet->run_count && fleet->runs[first].night < dropped)
        first++;
    fleet->night_count -= dropped;
    fleet->run_count -= first;
    memmove(fleet->nights, fleet->nights + dropped, fleet->night_count * sizeof(*fleet->nights));
    memmove(fleet->runs, fleet->runs + first, fleet->run_count * sizeof(*fleet->runs));
    for (size_t i = 0; i < fleet->run_count; i++)
        fleet->runs[i].night -= dropped;
}

/* GPUs that no run is left of go. */
static void drop_gpus(struct fleet *fleet, size_t *places)
{
    size_t kept = 0;

    for (size_t i = 0; i < fleet->run_count; i++)
        places[fleet->runs[i].gpu] = 1;
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const bool keeps = places[i] == 1;

        places[i] = kept;
        if (keeps)
            fleet->gpus[kept++] = fleet->gpus[i];
    }
    fleet->gpu_count = kept;
    for (size_t i = 0; i < fleet->run_count; i++) {
        struct fleet_run *run = &fleet->runs[i];

        run->gpu = places[run->gpu];
        fleet->gpus[run->gpu].last = i;
    }
}

/* The rounds of each night: as many as the GPU has runs that has most. `counts`: room for a number a GPU. */
static void find_rounds(struct fleet *fleet, size_t *counts)
{
    for (size_t i = 0, night = SIZE_MAX; i < fleet->run_count; i++) {
        struct fleet_run *run = &fleet->runs[i];
        struct fleet_night *of = &fleet->nights[run->night];

        if (run->night != night) {
            memset(counts, 0, fleet->gpu_count * sizeof(*counts));
            night = run->night;
            of->first_round = fleet->round_count;
        }
        run->round = of->first_round + counts[run->gpu]++;
        if (counts[run->gpu] > of->rounds)
            of->rounds = counts[run->gpu];
        fleet->round_count = of->first_round + of->rounds;
        fleet->gpus[run->gpu].answered = run->night == fleet->night_count - 1;
    }
}

static enum status arrange(struct fleet *fleet, const struct fleet_options *options)
{
    size_t *room = calloc(fleet->gpu_count + 1, sizeof(*room));
    enum status status = room ? find_nights(fleet, options->gap_hours) : log_memory("the GPUs of a fleet");

    if (status == STATUS_OK && !options->baseline)
        drop_nights(fleet, options->nights);
    if (status == STATUS_OK) {
        drop_gpus(fleet, room);
        find_rounds(fleet, room);
    }
    free(room);
    return status;
}

/* A run of the future would be the last night by itself. */
static enum status check_clocks(struct store *store)
{
    struct sql_statement *rows = sql_prepare(store_sql(store), "SELECT file FROM runs WHERE started_utc > ?1");

    sql_set_integer(rows, 1, time(NULL) + CLOCK_SLACK_SECONDS);
    while (sql_row(rows))
        log_warning("%s: it began in the future; set the clock of its host, and take it out: cbank forget",
                    sql_text(rows, 0));
    sql_finish(rows);
    return sql_status(store_sql(store));
}

enum status fleet_read(struct store *store, const struct fleet_options *options, struct fleet *fleet)
{
    struct sql *sql = store_sql(store);
    struct sql_statement *rows = sql_prepare(sql, select_runs);
    enum status status = STATUS_OK;

    *fleet = (struct fleet){.path = sql_path(sql)};
    while (status == STATUS_OK && sql_row(rows))
        status = add_run(fleet, rows);
    sql_finish(rows);
    if (status == STATUS_OK)
        status = sql_status(sql);
    if (status == STATUS_OK && fleet->run_count == 0)
        status = log_error(STATUS_USAGE, "%s has no runs; put results into it: cbank ingest %s PATH...", fleet->path,
                           fleet->path);
    if (status == STATUS_OK)
        status = arrange(fleet, options);
    return status == STATUS_OK ? check_clocks(store) : status;
}

void fleet_close(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->model_count; i++) {
        struct fleet_model *model = &fleet->models[i];

        free(model->gpus);
        free(model->times.log_ns);
        free(model->times.process);
        free(model->times.base);
        for (enum fleet_level level = 0; level < FLEET_LEVELS; level++)
            free(model->times.groups[level]);
    }
    texts_close(&fleet->texts);
    free(fleet->runs);
    free(fleet->gpus);
    free(fleet->nights);
    free(fleet->cells);
    free(fleet->models);
    *fleet = (struct fleet){0};
}
