/* SPDX-License-Identifier: MIT
 * Reads runs of a store as results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "clock.h"
#include "log.h"
#include "memory.h"
#include "store_parts.h"

/* Columns of a statement, taken one after the other. */
struct row {
    struct sql_statement *statement;
    int column;
};

static int64_t next_integer(struct row *row)
{
    return sql_integer(row->statement, row->column++);
}

static double next_number(struct row *row)
{
    return sql_number(row->statement, row->column++);
}

static const char *next_text(struct row *row)
{
    return sql_text(row->statement, row->column++);
}

#define TAKE_TEXT(array, row) snprintf(array, sizeof(array), "%s", next_text(row))

static void unknown(struct store *store, const char *what, const char *text)
{
    sql_fail(store->sql,
             log_error(STATUS_USAGE, "%s: this build has no %s '%s'; take the cbank that put it in, or a newer one",
                       sql_path(store->sql), what, text));
}

/* The number of a word; 0, and an error, where there is none. */
static size_t number_of(struct store *store, const char *what, const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] && strcmp(words[i], text) == 0)
            return i;
    unknown(store, what, text);
    return 0;
}

/* -- what cells share ---------------------------------------------------------------------------------- */

void store_read_cell(struct store *store, const char *text, struct cell *cell)
{
    static const struct field row = {.key = "", .kind = &field_cell, .presence = REQUIRED};
    struct reader reader = {.file = sql_path(store->sql)};
    cJSON *tree = NULL;

    *cell = (struct cell){0};
    reader.status = json_parse(reader.file, text, strlen(text), &tree);
    if (reader.status == STATUS_OK)
        fields_read(&(const struct node){.reader = &reader, .json = tree}, &(const struct fields){&row, 1}, cell);
    cJSON_Delete(tree);
    sql_fail(store->sql, reader.status);
}

/* Reads the names of all counters, once. */
static void know_counters(struct store *store)
{
    struct sql_statement *get;

    if (store->counter_count > 0)
        return;
    get = sql_prepare(store->sql, "SELECT counter_id, name, kind, unit FROM counter_names");
    while (sql_row(get)) {
        const size_t kind =
            number_of(store, "kind of counters", sql_text(get, 2), counter_kind_names, COUNTER_MEASURED + 1);

        store_know_counter(store,
                           &(const struct counter_value){.name = sql_text(get, 1),
                                                         .unit = sql_text(get, 3),
                                                         .kind = (enum counter_kind)kind},
                           sql_integer(get, 0));
    }
    sql_finish(get);
}

static const struct store_counter *counter_at(struct store *store, int64_t id)
{
    for (size_t i = 0; i < store->counter_count; i++)
        if (store->counters[i].id == id)
            return &store->counters[i];
    sql_fail(store->sql, log_error(STATUS_USAGE, "%s is damaged: a counter has no name", sql_path(store->sql)));
    return NULL;
}

static void add_counter(struct store *store, struct cell_result *cell, const struct counter_value *value, int64_t id)
{
    const struct store_counter *counter = counter_at(store, id);
    struct counter_value *added;

    if (!memory_grow(&cell->counters, cell->counter_count, sizeof(*added)))
        sql_no_memory(store->sql);
    else if (counter) {
        added = &cell->counters[cell->counter_count++];
        *added = *value;
        added->name = counter->name;
        added->unit = counter->unit;
        added->kind = counter->kind;
    }
}

static void read_counters(struct store *store, int64_t run_id, int64_t identity_id, int64_t set_id,
                          struct cell_result *cell)
{
    struct sql_statement *set = store->reading[READ_SET], *measured = store->reading[READ_MEASURED];

    sql_set_integer(set, 1, set_id);
    while (sql_row(set)) {
        const struct counter_value value = {
            .status = (enum counter_status)number_of(store, "status of counters", sql_text(set, 1),
                                                     counter_status_names, COUNTER_NO_PERMISSION + 1),
            .value = sql_number(set, 2),
            .expected = sql_number(set, 3),
        };

        add_counter(store, cell, &value, sql_integer(set, 0));
    }
    sql_set_integer(measured, 1, run_id);
    sql_set_integer(measured, 2, identity_id);
    while (sql_row(measured))
        add_counter(store, cell,
                    &(const struct counter_value){.status = COUNTER_OK,
                                                  .value = sql_number(measured, 1),
                                                  .expected = NAN},
                    sql_integer(measured, 0));
}

/* -- cells --------------------------------------------------------------------------------------------- */

static void take_cell(struct store *store, int64_t run_id, struct cell_result *cell)
{
    struct row row = {store->reading[READ_TIMES], 0};
    struct summary *summary = &cell->time.summary;
    const int64_t identity_id = next_integer(&row);
    const char *code;
    int64_t set_id;

    store_read_cell(store, next_text(&row), &cell->cell);
    set_id = next_integer(&row);
    cell->status = (enum cell_status)number_of(store, "status", next_text(&row), cell_status_names, CELL_FAILED + 1);
    TAKE_TEXT(cell->reason, &row);
    cell->verified = next_integer(&row);
    cell->flags = (uint32_t)next_integer(&row);
    *summary = (struct summary){.value = next_number(&row)};
    summary->ci_low = next_number(&row);
    summary->ci_high = next_number(&row);
    summary->min = next_number(&row);
    summary->mad = next_number(&row);
    summary->count = (size_t)next_integer(&row);
    cell->time.series = series_unknown;
    cell->time.series.effective = next_number(&row);
    cell->time.cycles = next_number(&row);
    cell->time.sm_clock_mhz = next_number(&row);
    TAKE_TEXT(cell->kernel.sha256, &row);
    code = next_text(&row);
    cell->kernel.code = cell->kernel.made = *code ? strdup(code) : NULL;
    if (*code && !cell->kernel.made)
        sql_no_memory(store->sql);
    read_counters(store, run_id, identity_id, set_id, cell);
}

static void read_cells(struct store *store, int64_t run_id, struct result *out)
{
    struct sql_statement *get = store->reading[READ_TIMES];

    sql_set_integer(get, 1, run_id);
    while (sql_row(get)) {
        struct cell_result *cell;

        if (!memory_grow(&out->cells, out->cell_count, sizeof(*cell))) {
            sql_no_memory(store->sql);
            break;
        }
        cell = &out->cells[out->cell_count++];
        *cell = (struct cell_result){0};
        take_cell(store, run_id, cell);
    }
    sql_reset(get);
}

/* -- runs ---------------------------------------------------------------------------------------------- */

static void take_device(struct row *row, struct device_info *device)
{
    uint32_t *const numbers[] = {&device->sm_count, &device->warps_per_sm, &device->blocks_per_sm,
                                 &device->shared_bytes_per_sm, &device->shared_bytes_reserved};

    *device = device_unknown;
    TAKE_TEXT(device->uuid, row);
    TAKE_TEXT(device->name, row);
    TAKE_TEXT(device->driver, row);
    TAKE_TEXT(device->vbios, row);
    TAKE_TEXT(device->ecc, row);
    TAKE_TEXT(device->mig, row);
    TAKE_TEXT(device->pci_bus_id, row);
    device->cuda_driver_api = (uint32_t)next_integer(row);
    device->sm_clock_max_mhz = next_number(row);
    device->memory_clock_max_mhz = next_number(row);
    device->launch_ns = next_number(row);
    TAKE_TEXT(device->chip, row);
    sscanf(next_text(row), "%u.%u", &device->cc_major, &device->cc_minor);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = (uint32_t)next_integer(row);
    device->l2_bytes = (uint64_t)next_integer(row);
    device->memory_bytes = (uint64_t)next_integer(row);
}

static void take_run(struct store *store, struct row *row, struct result *out)
{
    const char *engine;
    double finished;

    clock_write_utc(next_integer(row), out->started_utc);
    finished = next_number(row);
    if (!isnan(finished))
        clock_write_utc((int64_t)finished, out->finished_utc);
    TAKE_TEXT(out->host.name, row);
    TAKE_TEXT(out->host.slot, row);
    TAKE_TEXT(out->host.job, row);
    TAKE_TEXT(out->argv, row);
    out->complete = next_integer(row);
    engine = next_text(row);
    for (size_t i = 0; i < engine_kind_count; i++)
        if (strcmp(engine_kinds[i].name, engine) == 0)
            out->engine = engine_kinds[i].name;
    if (!out->engine)
        unknown(store, "engine", engine);
    out->modelled_time = next_integer(row);
    take_device(row, &out->device);
}

static void prepare(struct store *store)
{
    static const char *const texts[STORE_READING] = {
        [READ_RUN] =
            "SELECT started_utc, finished_utc, host_name, host_slot, host_job, argv, complete, engine, modelled,"
            " uuid, gpus.name, driver, vbios, ecc, mig, pci_bus_id, cuda_driver_api, sm_clock_max_mhz,"
            " memory_clock_max_mhz, launch_ns, chip, compute_capability, sm_count, warps_per_sm, blocks_per_sm,"
            " shared_bytes_per_sm, shared_bytes_reserved, l2_bytes, memory_bytes"
            " FROM runs JOIN gpus USING (gpu_id) JOIN geometries USING (geometry_id) WHERE run_id = ?1",
        [READ_TIMES] =
            "SELECT identity_id, cell, counter_set_id, status, reason, verified, flags, time_ns, ci_low_ns,"
            " ci_high_ns, min_ns, mad_ns, sample_count, effective_samples, cycles, sm_clock_mhz, sass_sha256,"
            " code FROM identities CROSS JOIN times USING (identity_id) LEFT JOIN kernels USING (kernel_id)"
            " WHERE run_id = ?1",
        [READ_SET] = "SELECT counter_id, status, value, expected FROM set_counters WHERE counter_set_id = ?1",
        [READ_MEASURED] = "SELECT counter_id, value FROM measured_counters WHERE run_id = ?1 AND identity_id = ?2",
    };

    for (size_t i = 0; !store->reading[STORE_READING - 1] && i < STORE_READING; i++)
        store->reading[i] = sql_prepare(store->sql, texts[i]);
    know_counters(store);
}

enum status store_read_run(struct store *store, int64_t run_id, struct result *out)
{
    struct row row;

    *out = (struct result){0};
    prepare(store);
    row = (struct row){store->reading[READ_RUN], 0};
    sql_set_integer(row.statement, 1, run_id);
    if (sql_row(row.statement)) {
        take_run(store, &row, out);
        sql_reset(row.statement);
        read_cells(store, run_id, out);
    }
    if (sql_status(store->sql) != STATUS_OK)
        result_close(out);
    return sql_status(store->sql);
}

enum status store_runs(struct store *store, int64_t **out, size_t *count)
{
    struct sql_statement *get = sql_prepare(store->sql, "SELECT run_id FROM runs ORDER BY started_utc, run_id");
    const int64_t most = sql_integer_of(store->sql, "SELECT count(*) FROM runs");

    *count = 0;
    *out = calloc((size_t)most + 1, sizeof(**out));
    if (!*out)
        sql_no_memory(store->sql);
    while (*count < (size_t)most && sql_row(get))
        (*out)[(*count)++] = sql_integer(get, 0);
    sql_finish(get);
    return sql_status(store->sql);
}
