/* SPDX-License-Identifier: MIT */
#include "fleet_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"
#include "side.h"
#include "text.h"

enum { NAMED = 3 }; /* GPUs of a row that are named */

const struct fleet_kind_row fleet_kinds[] = {
    [FLEET_MISSING] = {"missing", true}, [FLEET_REPLACED] = {"replaced", true}, [FLEET_FAILED] = {"failed", true},
    [FLEET_COUNTER] = {"counter", true}, [FLEET_GEOMETRY] = {"geometry", true}, [FLEET_SLOWER] = {"slower", true},
    [FLEET_APART] = {"apart", true},     [FLEET_FASTER] = {"faster", false},    [FLEET_MOVED] = {"moved", false},
    [FLEET_ADDED] = {"added", false},
};

/* -- rows ---------------------------------------------------------------------------------------------- */

struct fleet_row *fleet_add_row(struct fleet_verdict *verdict, enum fleet_kind kind)
{
    struct fleet_row *row;

    if (!memory_grow(&verdict->rows, verdict->row_count, sizeof(*row))) {
        log_memory("findings of a fleet");
        return NULL;
    }
    row = &verdict->rows[verdict->row_count++];
    *row = (struct fleet_row){.kind = kind, .change = NAN, .multiple = NAN};
    return row;
}

enum status fleet_row_gpu(struct fleet_row *row, size_t gpu)
{
    if (!memory_grow(&row->gpus, row->gpu_count, sizeof(*row->gpus)))
        return log_memory("findings of a fleet");
    row->gpus[row->gpu_count++] = gpu;
    return STATUS_OK;
}

enum status fleet_add_gpu(struct fleet_verdict *verdict, enum fleet_kind kind, size_t gpu, const char *what)
{
    struct fleet_row *row = verdict->rows, *end = row + verdict->row_count;
    char clean[FLEET_TEXT_BYTES];

    snprintf(clean, sizeof(clean), "%s", what);
    text_clean(clean);
    while (row < end && (row->kind != kind || strcmp(row->what, clean) != 0))
        row++;
    if (row == end) {
        row = fleet_add_row(verdict, kind);
        if (!row)
            return STATUS_ENVIRONMENT;
        snprintf(row->what, sizeof(row->what), "%s", clean);
    }
    return fleet_row_gpu(row, gpu);
}

/* -- who ----------------------------------------------------------------------------------------------- */

/* A GPU by place and UUID: "n17:3 GPU-33a20bea". */
static void gpu_name(const struct fleet *fleet, size_t gpu, char out[FLEET_TEXT_BYTES])
{
    char place[FLEET_PLACE_BYTES], uuid[UUID_SHORT_BYTES];

    uuid_short(fleet->gpus[gpu].uuid, uuid);
    fleet_place(&fleet->runs[fleet->gpus[gpu].last], place);
    snprintf(out, FLEET_TEXT_BYTES, "%s%s%s", place, *place && *uuid ? " " : "", uuid);
    if (!*out)
        snprintf(out, FLEET_TEXT_BYTES, "%s", fleet->gpus[gpu].name);
}

/* Whether a GPU answered, and is of the group that another one is of, which did. */
static bool is_alike(const struct fleet *fleet, size_t gpu, size_t of, enum fleet_level level)
{
    return fleet->gpus[gpu].answered && fleet->gpus[gpu].model == fleet->gpus[of].model &&
           fleet_group(fleet, gpu, level) == fleet_group(fleet, of, level);
}

static size_t group_size(const struct fleet *fleet, size_t of, enum fleet_level level)
{
    size_t count = 0;

    for (size_t i = 0; i < fleet->gpu_count; i++)
        count += is_alike(fleet, i, of, level);
    return count;
}

/* "all 8 GPUs of n17", or "7 of 8". */
static void name_group(const struct fleet *fleet, const struct fleet_row *row, enum fleet_level level, char *out)
{
    static const char *const of[] = {
        [FLEET_DRIVER] = " with driver ", [FLEET_VBIOS] = " with VBIOS ", [FLEET_NODE] = " of "};
    const size_t size = group_size(fleet, row->gpus[0], level);
    const char *name = fleet->model_count > 1 ? fleet->gpus[row->gpus[0]].name : "GPUs";

    *out = '\0';
    if (row->gpu_count == size)
        text_join(out, FLEET_TEXT_BYTES, "", "all %zu %s", size, name);
    else
        text_join(out, FLEET_TEXT_BYTES, "", "%zu of %zu %s", row->gpu_count, size, name);
    if (level != FLEET_MODEL)
        text_join(out, FLEET_TEXT_BYTES, "", "%s%s", of[level], fleet_group(fleet, row->gpus[0], level));
}

/* Whether the row's GPUs are all of a group. */
static bool is_group(const struct fleet *fleet, const struct fleet_row *row, enum fleet_level level)
{
    for (size_t i = 0; i < row->gpu_count; i++)
        if (!is_alike(fleet, row->gpus[i], row->gpus[0], level))
            return false;
    return row->gpu_count > 1 && row->gpu_count == group_size(fleet, row->gpus[0], level);
}

static void set_who(const struct fleet *fleet, struct fleet_row *row)
{
    char name[FLEET_TEXT_BYTES];

    for (enum fleet_level level = FLEET_MODEL; row->gpu_count > 1 && level < FLEET_GPU; level++)
        if (is_group(fleet, row, level)) {
            name_group(fleet, row, level, row->who);
            return;
        }
    if (row->gpu_count > 1)
        snprintf(row->who, sizeof(row->who), "%zu GPUs: ", row->gpu_count);
    for (size_t i = 0; i < row->gpu_count && i < NAMED; i++) {
        gpu_name(fleet, row->gpus[i], name);
        text_join(row->who, sizeof(row->who), i ? ", " : "", "%s", name);
    }
    if (row->gpu_count > NAMED)
        text_join(row->who, sizeof(row->who), "", " and %zu more", row->gpu_count - NAMED);
}

/* -- changes of times ---------------------------------------------------------------------------------- */

/* Paths of the finding, and how many of its cells are all that there are. */
static void set_what(const struct fleet *fleet, const struct fleet_finding *finding, struct fleet_row *row)
{
    size_t paths = 0, all = 0, of_them = 0;

    for (size_t i = 0; i < fleet->cell_count; i++) {
        const bool first = fleet_is_first_of_path(fleet, i);
        bool found = false;

        for (size_t j = 0; !found && j < finding->count; j++)
            found = fleet->cells[finding->changes[j].cell].path == fleet->cells[i].path;
        all += first;
        paths += first && found;
        of_them += found;
        if (first && found)
            text_join(row->what, sizeof(row->what), ", ", "%s", fleet->cells[i].path);
    }
    if (paths == all)
        snprintf(row->what, sizeof(row->what), "every path");
    else
        text_join(row->what, sizeof(row->what), " ", "path%s", paths > 1 ? "s" : "");
    text_join(row->what, sizeof(row->what), ", ", "%zu of %zu cells", finding->count, of_them);
}

static void note_change(char *why, const char *what, const char *before, const char *after)
{
    if (before != after)
        text_join(why, FLEET_TEXT_BYTES, ", ", "%s %s -> %s", what, *before ? before : "?", *after ? after : "?");
}

/* What else changed of a GPU when its times did. */
static void set_why(const struct fleet *fleet, size_t gpu, size_t since, struct fleet_row *row)
{
    const struct fleet_run *before = NULL, *after = NULL;

    for (size_t i = 0; i < fleet->run_count && !after; i++) {
        const struct fleet_run *run = &fleet->runs[i];

        if (run->gpu == gpu && run->round < since)
            before = run;
        else if (run->gpu == gpu)
            after = run;
    }
    if (after)
        row->since_utc = after->started_utc;
    if (!before || !after)
        return;
    note_change(row->why, "driver", before->driver, after->driver);
    note_change(row->why, "VBIOS", before->vbios, after->vbios);
    note_change(row->why, "host", before->host, after->host);
    note_change(row->why, "commit", before->commit, after->commit);
}

static enum status add_finding(struct fleet_verdict *verdict, const struct fleet_model *model,
                               const struct fleet_finding *finding)
{
    const enum fleet_kind slower = finding->against == FLEET_PEERS ? FLEET_APART : FLEET_SLOWER;
    struct fleet_row *row = fleet_add_row(verdict, finding->slower ? slower : FLEET_FASTER);
    enum status status = row ? STATUS_OK : STATUS_ENVIRONMENT;

    for (size_t i = 0; status == STATUS_OK && i < model->gpu_count; i++)
        if (fleet_is_member(&model->times, finding->level, finding->group, i))
            status = fleet_row_gpu(row, model->gpus[i]);
    if (status != STATUS_OK)
        return status;
    row->finding = finding;
    row->change = expm1(finding->change);
    row->multiple = fabs(finding->surest->change / finding->surest->deviation);
    row->drift = finding->surest->drift;
    set_what(verdict->fleet, finding, row);
    if (finding->against == FLEET_PAST)
        set_why(verdict->fleet, row->gpus[0], finding->surest->since, row);
    if (finding->level != FLEET_GPU)
        name_group(verdict->fleet, row, finding->level, row->who);
    if (finding->covered < finding->members)
        text_join(row->who, sizeof(row->who), ", ", "%zu of %zu alike", finding->covered, finding->members);
    return STATUS_OK;
}

static enum status judge_times(struct fleet_verdict *verdict)
{
    const struct fleet *fleet = verdict->fleet;
    enum status status = STATUS_OK;

    verdict->changes = calloc(fleet->model_count + 1, sizeof(*verdict->changes));
    verdict->findings = calloc(fleet->model_count + 1, sizeof(*verdict->findings));
    if (!verdict->changes || !verdict->findings)
        return log_memory("the verdict on a fleet");
    for (size_t i = 0; status == STATUS_OK && i < fleet->model_count; i++) {
        const struct fleet_model *model = &fleet->models[i];
        struct fleet_limits limits = verdict->limits;

        limits.false_findings *= (double)model->gpu_count / (double)verdict->answered;
        status = fleet_judge(&model->times, &limits, &verdict->changes[i]);
        if (status == STATUS_OK)
            status = fleet_find(&model->times, &verdict->changes[i], &verdict->findings[i]);
        for (size_t j = 0; status == STATUS_OK && j < verdict->findings[i].count; j++)
            status = add_finding(verdict, model, &verdict->findings[i].items[j]);
    }
    return status;
}

/* -- all ----------------------------------------------------------------------------------------------- */

static int by_kind(const void *a, const void *b)
{
    const struct fleet_row *x = a, *y = b;
    const double left = isnan(x->change) ? 0 : fabs(x->change), right = isnan(y->change) ? 0 : fabs(y->change);

    if (x->kind != y->kind)
        return (x->kind > y->kind) - (x->kind < y->kind);
    if (x->gpu_count != y->gpu_count)
        return (x->gpu_count < y->gpu_count) - (x->gpu_count > y->gpu_count);
    return left != right ? (left < right) - (left > right) : strcmp(x->who, y->who);
}

enum status fleet_decide(struct store *store, const struct fleet *fleet, const char *inventory,
                         struct fleet_verdict *out)
{
    const struct fleet_limits limits = out->limits;
    const char *baseline = out->baseline;
    enum status status;

    *out = (struct fleet_verdict){.fleet = fleet, .limits = limits, .baseline = baseline};
    for (size_t i = 0; i < fleet->gpu_count; i++)
        out->answered += fleet->gpus[i].answered;
    status = fleet_census(inventory, out);
    if (status == STATUS_OK)
        status = fleet_differ(store, out);
    if (status == STATUS_OK)
        status = judge_times(out);
    for (size_t i = 0; i < out->row_count; i++)
        if (!*out->rows[i].who)
            set_who(fleet, &out->rows[i]);
    if (out->row_count)
        qsort(out->rows, out->row_count, sizeof(*out->rows), by_kind);
    return status;
}

enum status fleet_status(const struct fleet_verdict *verdict)
{
    for (size_t i = 0; i < verdict->row_count; i++)
        if (fleet_kinds[verdict->rows[i].kind].fails)
            return STATUS_FINDING;
    return STATUS_OK;
}

void fleet_verdict_close(struct fleet_verdict *verdict)
{
    for (size_t i = 0; i < verdict->row_count; i++)
        free(verdict->rows[i].gpus);
    for (size_t i = 0; verdict->fleet && i < verdict->fleet->model_count; i++) {
        if (verdict->changes)
            fleet_changes_close(&verdict->changes[i]);
        if (verdict->findings)
            fleet_findings_close(&verdict->findings[i]);
    }
    free(verdict->rows);
    free(verdict->changes);
    free(verdict->findings);
    *verdict = (struct fleet_verdict){0};
}
