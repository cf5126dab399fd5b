/* SPDX-License-Identifier: MIT
 * The times of a fleet: for each model an array of cells, GPUs and rounds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fleet.h"
#include "log.h"
#include "memory.h"
#include "noise.h"
#include "judge.h"
#include "table.h"
#include "text.h"

enum { DAY_SECONDS = 86400 };

/* -- models -------------------------------------------------------------------------------------------- */

static struct fleet_model *find_model(struct fleet *fleet, const struct fleet_gpu *gpu)
{
    for (size_t i = 0; i < fleet->model_count; i++)
        if (strcmp(fleet->models[i].name, gpu->name) == 0 && fleet->models[i].modelled == gpu->modelled)
            return &fleet->models[i];
    return NULL;
}

static enum status find_models(struct fleet *fleet)
{
    fleet->models = calloc(fleet->gpu_count + 1, sizeof(*fleet->models));
    if (!fleet->models)
        return log_memory("the models of a fleet");
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        struct fleet_gpu *gpu = &fleet->gpus[i];
        struct fleet_model *model = find_model(fleet, gpu);

        if (!gpu->answered)
            continue;
        if (!model) {
            model = &fleet->models[fleet->model_count++];
            *model = (struct fleet_model){.name = gpu->name,
                                          .modelled = gpu->modelled,
                                          .gpus = calloc(fleet->gpu_count, sizeof(*model->gpus))};
        }
        if (!model->gpus)
            return log_memory("the models of a fleet");
        gpu->model = (size_t)(model - fleet->models);
        gpu->member = model->gpu_count;
        model->gpus[model->gpu_count++] = i;
    }
    return STATUS_OK;
}

const char *fleet_group(const struct fleet *fleet, size_t gpu, enum fleet_level level)
{
    const struct fleet_run *run = &fleet->runs[fleet->gpus[gpu].last];

    return level == FLEET_MODEL    ? fleet->gpus[gpu].name
           : level == FLEET_DRIVER ? run->driver
           : level == FLEET_VBIOS  ? run->vbios
                                   : run->host;
}

bool fleet_is_first_of_path(const struct fleet *fleet, size_t cell)
{
    for (size_t i = 0; i < cell; i++)
        if (fleet->cells[i].path == fleet->cells[cell].path)
            return false;
    return true;
}

static enum status find_groups(const struct fleet *fleet, struct fleet_model *model)
{
    for (enum fleet_level level = FLEET_DRIVER; level < FLEET_GPU; level++) {
        size_t *groups = model->times.groups[level] = calloc(model->gpu_count + 1, sizeof(*groups));

        if (!groups)
            return log_memory("the groups of a fleet");
        for (size_t i = 0; i < model->gpu_count; i++) {
            const char *of = fleet_group(fleet, model->gpus[i], level);
            size_t first = 0;

            while (first < i && (!*of || of != fleet_group(fleet, model->gpus[first], level)))
                first++;
            groups[i] = first < i ? groups[first] : model->times.group_counts[level]++;
        }
    }
    model->times.gpus = model->gpu_count;
    model->times.rounds = fleet->round_count;
    return STATUS_OK;
}

/* -- the baseline -------------------------------------------------------------------------------------- */

/* The end of a day, or a time to the second. */
static bool read_date(const char *text, int64_t *until)
{
    char whole[CLOCK_UTC_BYTES];
    int64_t start;

    if (clock_read_utc(text, until))
        return true;
    snprintf(whole, sizeof(whole), "%.10sT00:00:00Z", text);
    if (strlen(text) != 10 || !clock_read_utc(whole, &start))
        return false;
    *until = start + DAY_SECONDS - 1;
    return true;
}

static bool is_base(const struct fleet_run *run, const char *baseline)
{
    int64_t until;

    return read_date(baseline, &until) ? run->started_utc <= until : strcmp(run->driver, baseline) == 0;
}

static enum status unknown_baseline(const struct fleet *fleet, const char *baseline)
{
    char drivers[200] = "";

    for (size_t i = 0; i < fleet->run_count; i++) {
        size_t first = 0;

        while (fleet->runs[first].driver != fleet->runs[i].driver)
            first++;
        if (first == i)
            text_join(drivers, sizeof(drivers), ", ", "%s", fleet->runs[i].driver);
    }
    return log_error(STATUS_USAGE, "--baseline %s: %s has no run of that driver or until that date; drivers: %s",
                     baseline, fleet->path, drivers);
}

/* -- reading ------------------------------------------------------------------------------------------- */

/* Where the value of a run goes. */
struct place {
    int64_t run_id;
    size_t model, gpu, round; /* of the model */
    bool last; /* it is of the last night */
};

/* The last value of a cell in the last night. */
struct latest {
    int64_t run_id;
    double ns, within; /* 0: there is none */
};

struct reading {
    struct fleet *fleet;
    struct place *places; /* owned; by run_id, without runs of GPUs that did not answer */
    size_t count;
    struct latest *latest; /* owned; [model] */
    struct noise noise;    /* calibrations of the store */
};

static int by_run(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->run_id > y->run_id) - (x->run_id < y->run_id);
}

static enum status find_places(struct reading *reading, const char *baseline)
{
    struct fleet *fleet = reading->fleet;
    bool based = !baseline;

    reading->places = calloc(fleet->run_count + 1, sizeof(*reading->places));
    for (size_t i = 0; reading->places && i < fleet->run_count; i++) {
        const struct fleet_run *run = &fleet->runs[i];
        const struct fleet_gpu *gpu = &fleet->gpus[run->gpu];

        if (!gpu->answered)
            continue;
        reading->places[reading->count++] =
            (struct place){run->id, gpu->model, gpu->member, run->round, run->night == fleet->night_count - 1};
        if (baseline && is_base(run, baseline))
            based = fleet->models[gpu->model].times.base[gpu->member * fleet->round_count + run->round] = true;
    }
    if (reading->count)
        qsort(reading->places, reading->count, sizeof(*reading->places), by_run);
    if (!reading->places || reading->count == 0)
        return log_memory("the times of a fleet");
    return based ? STATUS_OK : unknown_baseline(fleet, baseline);
}

/* Room for one cell more in every model. */
static enum status add_cell(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->model_count; i++) {
        struct fleet_times *times = &fleet->models[i].times;
        const size_t values = times->gpus * times->rounds, first = fleet->cell_count * values;

        if (!memory_grow(&times->log_ns, fleet->cell_count, values * sizeof(*times->log_ns)) ||
            !memory_grow(&times->process, fleet->cell_count, sizeof(*times->process)))
            return log_memory("the times of a fleet");
        for (size_t value = first; value < first + values; value++)
            times->log_ns[value] = NAN;
        times->process[fleet->cell_count] = (struct deviation){0};
    }
    return STATUS_OK;
}

/* What is known before of a value: how far processes differ, at least as far as the time is unsure within its own. Where a
 * model has several GPUs, none is the one that was calibrated. */
static struct deviation known_before(const struct reading *reading, size_t of_model, const struct cell *cell,
                                     const char *sha256)
{
    const struct fleet_model *model = &reading->fleet->models[of_model];
    const struct fleet_gpu *gpu = &reading->fleet->gpus[model->gpus[0]];
    const double within = isfinite(reading->latest[of_model].within) ? reading->latest[of_model].within : 0;
    struct deviation known =
        noise_find(&reading->noise, &(struct noise_of){.cell = cell,
                                                       .median_ns = reading->latest[of_model].ns,
                                                       .uuid = model->gpu_count == 1 ? gpu->uuid : "several",
                                                       .name = model->name,
                                                       .driver = reading->fleet->runs[gpu->last].driver,
                                                       .sha256 = sha256});

    return deviation_at_least(known, within);
}

/* Reads a cell's times; whether any is of the last night. */
static bool read_cell(struct reading *reading, struct sql_statement *rows)
{
    struct fleet *fleet = reading->fleet;
    const struct place *place = reading->places, *end = place + reading->count;
    bool judged = false;

    memset(reading->latest, 0, fleet->model_count * sizeof(*reading->latest));
    while (sql_row(rows)) {
        const int64_t run_id = sql_integer(rows, 0);
        const double ns = sql_number(rows, 1);
        struct fleet_times *times;

        while (place < end && place->run_id < run_id)
            place++;
        if (place == end || place->run_id != run_id || !(ns > 0))
            continue;
        times = &fleet->models[place->model].times;
        times->log_ns[(fleet->cell_count * times->gpus + place->gpu) * times->rounds + place->round] = log(ns);
        if (!place->last)
            continue;
        judged = true;
        reading->latest[place->model] =
            (struct latest){run_id, ns, process_error(sql_number(rows, 2), sql_number(rows, 3))};
    }
    return judged;
}

/* Sets what is known before of a cell, whose key and JSON the row has, in each model. */
static void set_known(struct reading *reading, struct store *store, struct sql_statement *row,
                      const struct regime *regime)
{
    struct fleet *fleet = reading->fleet;
    struct sql_statement *code = NULL;
    struct cell cell = {.regime = regime};

    if (reading->noise.count > 0) {
        store_read_cell(store, sql_text(row, 2), &cell);
        code = sql_prepare(store_sql(store), "SELECT sass_sha256 FROM times JOIN kernels USING (kernel_id)"
                                             " WHERE identity_id = ?1 AND run_id = ?2");
        sql_set_integer(code, 1, sql_integer(row, 0));
    }
    for (size_t i = 0; sql_status(store_sql(store)) == STATUS_OK && i < fleet->model_count; i++) {
        bool coded;

        if (!(reading->latest[i].ns > 0))
            continue;
        sql_set_integer(code, 2, reading->latest[i].run_id);
        coded = sql_row(code);
        fleet->models[i].times.process[fleet->cell_count] =
            known_before(reading, i, &cell, coded ? sql_text(code, 0) : "");
        sql_reset(code);
    }
    sql_finish(code);
}

/* Path and regime by their places in the identity; of a regime that this program does not know, NULL. */
static enum status take_identity(struct fleet *fleet, const char *identity, struct fleet_cell *cell)
{
    static const struct table regime_table = TABLE("regime", regimes, regime_count);
    char path[CELL_IDENTITY_BYTES], regime[CELL_IDENTITY_BYTES];

    if (sscanf(identity, "%*[^/]/%255[^/]/%*[^/]/%*[^/]/%*[^/]/%255[^/]", path, regime) != 2)
        return STATUS_OK;
    cell->regime = table_find(&regime_table, regime);
    cell->identity = fleet_text(fleet, identity);
    cell->path = fleet_text(fleet, path);
    return cell->identity && cell->path ? STATUS_OK : STATUS_ENVIRONMENT;
}

static enum status read_cells(struct reading *reading, struct store *store)
{
    struct fleet *fleet = reading->fleet;
    struct sql *sql = store_sql(store);
    struct sql_statement *identities =
        sql_prepare(sql, "SELECT identity_id, identity, cell FROM identities ORDER BY identity");
    struct sql_statement *rows = sql_prepare(sql, "SELECT run_id, time_ns, ci_low_ns, ci_high_ns FROM times"
                                                  " WHERE identity_id = ?1 AND run_id >= ?2 AND status = 'ok'"
                                                  " ORDER BY run_id");
    enum status status = STATUS_OK;

    sql_set_integer(rows, 2, reading->places->run_id);
    while (status == STATUS_OK && sql_row(identities)) {
        struct fleet_cell cell = {.id = sql_integer(identities, 0)};
        bool judged;

        status = take_identity(fleet, sql_text(identities, 1), &cell);
        if (status != STATUS_OK || !cell.regime)
            continue;
        status = add_cell(fleet);
        if (!memory_grow(&fleet->cells, fleet->cell_count, sizeof(cell)))
            status = log_memory("the cells of a fleet");
        if (status != STATUS_OK)
            break;
        sql_set_integer(rows, 1, cell.id);
        judged = read_cell(reading, rows);
        if (judged)
            set_known(reading, store, identities, cell.regime);
        fleet->cells[fleet->cell_count] = cell;
        fleet->cell_count += judged;
    }
    sql_finish(rows);
    sql_finish(identities);
    return status == STATUS_OK ? sql_status(sql) : status;
}

enum status fleet_read_times(struct store *store, const struct fleet_options *options, struct fleet *fleet)
{
    struct reading reading = {.fleet = fleet};
    enum status status = find_models(fleet);

    for (size_t i = 0; status == STATUS_OK && i < fleet->model_count; i++) {
        struct fleet_model *model = &fleet->models[i];

        status = find_groups(fleet, model);
        if (status == STATUS_OK && options->baseline) {
            model->times.base = calloc(model->gpu_count * fleet->round_count, sizeof(*model->times.base));
            status = model->times.base ? STATUS_OK : log_memory("the baseline of a fleet");
        }
    }
    if (status == STATUS_OK)
        status = find_places(&reading, options->baseline);
    reading.latest = calloc(fleet->model_count + 1, sizeof(*reading.latest));
    if (status == STATUS_OK && !reading.latest)
        status = log_memory("the times of a fleet");
    if (status == STATUS_OK)
        status = noise_read_store(&reading.noise, store);
    if (status == STATUS_OK)
        status = read_cells(&reading, store);
    for (size_t i = 0; i < fleet->model_count; i++)
        fleet->models[i].times.cells = fleet->cell_count;
    noise_close(&reading.noise);
    free(reading.latest);
    free(reading.places);
    return status;
}
