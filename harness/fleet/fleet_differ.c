/* SPDX-License-Identifier: MIT
 * What the last night's runs say beside times: cells that failed, exact counters, what devices are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_verdict.h"
#include "log.h"
#include "text.h"

/* A cell of a run of the last night. */
struct seen {
    size_t gpu, model;
    int64_t set, kernel;
};

struct differing {
    struct fleet_verdict *verdict;
    struct sql *sql;
    struct sql_statement *expected; /* counters of a set that are not what is expected */
    struct sql_statement *between;  /* counters that differ between two sets */
    struct seen *seen;              /* owned; room for each run of the last night */
    size_t seen_count;
    size_t first; /* run of the last night */
    struct seen usual; /* of model and kernel, the set that most have; of no GPU: not known */
};

/* Where the runs of the last night begin. */
static size_t last_night(const struct fleet *fleet)
{
    size_t first = fleet->run_count;

    while (first > 0 && fleet->runs[first - 1].night + 1 == fleet->night_count)
        first--;
    return first;
}

static const struct fleet_run *last_run(const struct differing *of, int64_t id)
{
    const struct fleet *fleet = of->verdict->fleet;

    for (size_t i = of->first; i < fleet->run_count; i++)
        if (fleet->runs[i].id == id)
            return &fleet->runs[i];
    return NULL;
}

/* -- counters ------------------------------------------------------------------------------------------ */

/* The set that most GPUs of a model with that code have. */
static int64_t usual_set(struct differing *of, const struct seen *one)
{
    size_t most = 0;
    int64_t set = one->set;

    if (of->usual.gpu != SIZE_MAX && of->usual.model == one->model && of->usual.kernel == one->kernel)
        return of->usual.set;

    for (size_t i = 0; i < of->seen_count; i++) {
        size_t count = 0;

        if (of->seen[i].model != one->model || of->seen[i].kernel != one->kernel)
            continue;
        for (size_t j = 0; j < of->seen_count; j++)
            count += of->seen[j].model == one->model && of->seen[j].kernel == one->kernel &&
                     of->seen[j].set == of->seen[i].set;
        if (count > most) {
            most = count;
            set = of->seen[i].set;
        }
        if (2 * count > of->seen_count)
            break;
    }
    of->usual = (struct seen){0, one->model, set, one->kernel};
    return set;
}

/* Adds what a statement says of a GPU's counters: name, what it read, what it should have. */
static enum status add_counters(struct differing *of, struct sql_statement *rows, const char *identity, size_t gpu,
                                const char *against)
{
    enum status status = STATUS_OK;

    while (status == STATUS_OK && sql_row(rows)) {
        char what[FLEET_TEXT_BYTES];

        snprintf(what, sizeof(what), "%.200s: %.64s is %.0f, %s %.0f", identity, sql_text(rows, 0), sql_number(rows, 1),
                 against, sql_number(rows, 2));
        status = fleet_add_gpu(of->verdict, FLEET_COUNTER, gpu, what);
    }
    sql_reset(rows);
    return status;
}

static enum status compare_counters(struct differing *of, const char *identity)
{
    enum status status = STATUS_OK;
    int64_t right = INT64_MIN; /* a set that is as expected, and usual */

    for (size_t i = 0; status == STATUS_OK && i < of->seen_count; i++) {
        const struct seen *seen = &of->seen[i];
        const size_t rows = of->verdict->row_count;
        int64_t usual;

        if (seen->set == right)
            continue;
        sql_set_integer(of->expected, 1, seen->set);
        status = add_counters(of, of->expected, identity, seen->gpu, "expected");
        if (status != STATUS_OK || of->verdict->row_count > rows)
            continue;
        usual = usual_set(of, seen);
        if (usual == seen->set) {
            right = seen->set;
            continue;
        }
        sql_set_integer(of->between, 1, seen->set);
        sql_set_integer(of->between, 2, usual);
        status = add_counters(of, of->between, identity, seen->gpu, "on most GPUs");
    }
    return status;
}

/* -- cells --------------------------------------------------------------------------------------------- */

static enum status read_cell(struct differing *of, struct sql_statement *rows, const char *identity)
{
    const struct fleet *fleet = of->verdict->fleet;
    enum status status = STATUS_OK;

    of->seen_count = 0;
    of->usual.gpu = SIZE_MAX;
    while (status == STATUS_OK && sql_row(rows)) {
        const struct fleet_run *run = last_run(of, sql_integer(rows, 0));
        char what[FLEET_TEXT_BYTES];

        if (!run)
            continue;
        if (strcmp(sql_text(rows, 1), "failed") == 0) {
            snprintf(what, sizeof(what), "%.200s: %.256s", identity, sql_text(rows, 2));
            status = fleet_add_gpu(of->verdict, FLEET_FAILED, run->gpu, what);
        } else {
            of->seen[of->seen_count++] =
                (struct seen){run->gpu, fleet->gpus[run->gpu].model, sql_integer(rows, 3), sql_integer(rows, 4)};
        }
    }
    sql_reset(rows);
    return status == STATUS_OK ? compare_counters(of, identity) : status;
}

static enum status read_cells(struct differing *of)
{
    const struct fleet *fleet = of->verdict->fleet;
    struct sql_statement *identities = sql_prepare(of->sql, "SELECT identity_id, identity FROM identities");
    struct sql_statement *rows =
        sql_prepare(of->sql, "SELECT run_id, status, reason, counter_set_id, kernel_id FROM times"
                             " WHERE identity_id = ?1 AND run_id BETWEEN ?2 AND ?3");
    int64_t first = INT64_MAX, last = INT64_MIN;
    enum status status = STATUS_OK;

    for (size_t i = of->first; i < fleet->run_count; i++) {
        first = fleet->runs[i].id < first ? fleet->runs[i].id : first;
        last = fleet->runs[i].id > last ? fleet->runs[i].id : last;
    }
    sql_set_integer(rows, 2, first);
    sql_set_integer(rows, 3, last);
    while (status == STATUS_OK && sql_row(identities)) {
        sql_set_integer(rows, 1, sql_integer(identities, 0));
        status = read_cell(of, rows, sql_text(identities, 1));
    }
    sql_finish(rows);
    sql_finish(identities);
    return status;
}

/* -- devices ------------------------------------------------------------------------------------------- */

/* Geometry that most GPUs of the model have. */
static int64_t usual_geometry(const struct fleet *fleet, const struct fleet_model *model)
{
    int64_t usual = 0;
    size_t most = 0;

    for (size_t i = 0; i < model->gpu_count && 2 * most <= model->gpu_count; i++) {
        const int64_t geometry = fleet->runs[fleet->gpus[model->gpus[i]].last].geometry;
        size_t count = 0;

        for (size_t j = 0; j < model->gpu_count; j++)
            count += fleet->runs[fleet->gpus[model->gpus[j]].last].geometry == geometry;
        if (count > most) {
            most = count;
            usual = geometry;
        }
    }
    return usual;
}

static const char select_device[] =
    "WITH device (id, name, value) AS (SELECT geometry_id, 'chip', chip FROM geometries"
    " UNION ALL SELECT geometry_id, 'compute_capability', compute_capability FROM geometries"
    " UNION ALL SELECT geometry_id, 'sm_count', sm_count FROM geometries"
    " UNION ALL SELECT geometry_id, 'warps_per_sm', warps_per_sm FROM geometries"
    " UNION ALL SELECT geometry_id, 'blocks_per_sm', blocks_per_sm FROM geometries"
    " UNION ALL SELECT geometry_id, 'shared_bytes_per_sm', shared_bytes_per_sm FROM geometries"
    " UNION ALL SELECT geometry_id, 'shared_bytes_reserved', shared_bytes_reserved FROM geometries"
    " UNION ALL SELECT geometry_id, 'l2_bytes', l2_bytes FROM geometries"
    " UNION ALL SELECT geometry_id, 'memory_bytes', memory_bytes FROM geometries)"
    " SELECT a.name, a.value, b.value FROM device AS a JOIN device AS b USING (name)"
    " WHERE a.id = ?1 AND b.id = ?2 AND a.value IS NOT b.value";

/* Adds in what a GPU's geometry is not the usual one. */
static enum status compare_device(struct differing *of, struct sql_statement *rows, size_t gpu, int64_t usual)
{
    char what[FLEET_TEXT_BYTES] = "";

    sql_set_integer(rows, 1, of->verdict->fleet->runs[of->verdict->fleet->gpus[gpu].last].geometry);
    sql_set_integer(rows, 2, usual);
    while (sql_row(rows)) {
        text_join(what, sizeof(what), "; ", "%s is %s", sql_text(rows, 0), sql_text(rows, 1));
        text_join(what, sizeof(what), "", ", on most GPUs %s", sql_text(rows, 2));
    }
    return *what ? fleet_add_gpu(of->verdict, FLEET_GEOMETRY, gpu, what) : STATUS_OK;
}

static enum status compare_devices(struct differing *of)
{
    const struct fleet *fleet = of->verdict->fleet;
    struct sql_statement *rows = sql_prepare(of->sql, select_device);
    enum status status = STATUS_OK;

    for (size_t i = 0; i < fleet->model_count; i++) {
        const struct fleet_model *model = &fleet->models[i];
        const int64_t usual = usual_geometry(fleet, model);

        for (size_t j = 0; status == STATUS_OK && j < model->gpu_count; j++)
            if (fleet->runs[fleet->gpus[model->gpus[j]].last].geometry != usual)
                status = compare_device(of, rows, model->gpus[j], usual);
    }
    sql_finish(rows);
    return status;
}

enum status fleet_differ(struct store *store, struct fleet_verdict *verdict)
{
    struct differing of = {.verdict = verdict, .sql = store_sql(store), .first = last_night(verdict->fleet)};
    enum status status;

    of.seen = calloc(verdict->fleet->run_count + 1, sizeof(*of.seen));
    if (!of.seen)
        return log_memory("what GPUs of a fleet differ in");
    of.expected =
        sql_prepare(of.sql, "SELECT name, value, expected FROM set_counters JOIN counter_names USING (counter_id)"
                            " WHERE counter_set_id = ?1 AND kind = 'exact' AND status = 'ok'"
                            " AND expected IS NOT NULL AND value IS NOT expected");
    of.between = sql_prepare(of.sql, "SELECT name, a.value, b.value FROM set_counters AS a JOIN set_counters AS b"
                                     " USING (counter_id) JOIN counter_names USING (counter_id)"
                                     " WHERE a.counter_set_id = ?1 AND b.counter_set_id = ?2 AND kind = 'exact'"
                                     " AND a.status = 'ok' AND b.status = 'ok' AND a.value IS NOT b.value");
    status = read_cells(&of);
    if (status == STATUS_OK)
        status = compare_devices(&of);
    sql_finish(of.expected);
    sql_finish(of.between);
    free(of.seen);
    return status == STATUS_OK ? sql_status(of.sql) : status;
}
