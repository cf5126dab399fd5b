/* SPDX-License-Identifier: MIT
 * The verdict as JSON: results/fleet.schema.json. */
#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "fleet_report.h"
#include "json.h"
#include "stats.h"

static void add_time(cJSON *object, const char *key, int64_t seconds)
{
    char text[CLOCK_UTC_BYTES];

    clock_write_utc(seconds, text);
    json_add_text(object, key, seconds ? text : NULL);
}

static void add_known(cJSON *object, const char *key, const char *text)
{
    json_add_text(object, key, text && *text ? text : NULL);
}

static cJSON *gpu_json(const struct fleet *fleet, size_t index)
{
    const struct fleet_gpu *gpu = &fleet->gpus[index];
    const struct fleet_run *run = &fleet->runs[gpu->last];
    cJSON *out = cJSON_CreateObject();

    add_known(out, "uuid", gpu->uuid);
    json_add_text(out, "name", gpu->name);
    add_known(out, "host", run->host);
    add_known(out, "slot", run->slot);
    return out;
}

/* -- what a GPU's times do, found or not ---------------------------------------------------------------- */

enum { LAST_VALUES = 3 };

/* The median of a cell's last three values over that of those before, or of the baseline; NaN where there are none. */
static double cell_change(const struct fleet_times *times, size_t cell, size_t gpu, double *room)
{
    const double *log_ns = times->log_ns + (cell * times->gpus + gpu) * times->rounds;
    size_t last = 0, before = 0;
    double now;

    for (size_t i = times->rounds; i-- > 0;)
        if (!isnan(log_ns[i]) && last < LAST_VALUES && !(times->base && times->base[gpu * times->rounds + i]))
            room[last++] = log_ns[i];
        else if (!isnan(log_ns[i]) && (!times->base || times->base[gpu * times->rounds + i]))
            room[last + before++] = log_ns[i];
    if (last == 0 || before == 0)
        return NAN;
    now = stats_median_unsorted(room, last);
    return now - stats_median_unsorted(room + last, before);
}

/* Of a path: the median over its cells. */
static double path_change(const struct fleet *fleet, const struct fleet_gpu *gpu, const char *path, double *room)
{
    const struct fleet_times *times = &fleet->models[gpu->model].times;
    size_t count = 0;

    for (size_t cell = 0; cell < fleet->cell_count; cell++)
        if (fleet->cells[cell].path == path) {
            const double change = cell_change(times, cell, gpu->member, room + fleet->cell_count);

            if (!isnan(change))
                room[count++] = change;
        }
    return count ? expm1(stats_median_unsorted(room, count)) : NAN;
}

/* An array of paths and changes; of a GPU that did not answer an empty one. */
static void add_changes(cJSON *object, const struct fleet *fleet, const struct fleet_gpu *gpu, double *room)
{
    cJSON *changes = json_add(object, "changes", cJSON_CreateArray());

    for (size_t cell = 0; gpu->answered && cell < fleet->cell_count; cell++)
        if (fleet_is_first_of_path(fleet, cell)) {
            cJSON *change = json_append(changes, cJSON_CreateObject());

            json_add_text(change, "path", fleet->cells[cell].path);
            json_add_double(change, "change", path_change(fleet, gpu, fleet->cells[cell].path, room));
        }
}

static const char *verdict_on(const struct fleet_verdict *verdict, size_t gpu)
{
    for (size_t i = 0; i < verdict->row_count; i++)
        for (size_t j = 0; j < verdict->rows[i].gpu_count; j++)
            if (verdict->rows[i].gpus[j] == gpu)
                return fleet_kinds[verdict->rows[i].kind].name;
    return "quiet";
}

static void add_gpus(cJSON *root, const struct fleet_verdict *verdict)
{
    const struct fleet *fleet = verdict->fleet;
    cJSON *gpus = json_add(root, "gpus", cJSON_CreateArray());
    double *room = calloc(fleet->cell_count + fleet->round_count + 1, sizeof(*room));

    if (!room)
        json_add(root, "gpus", NULL); /* so that it is not printed */
    for (size_t i = 0; room && i < fleet->gpu_count; i++) {
        const struct fleet_run *run = &fleet->runs[fleet->gpus[i].last];
        cJSON *gpu = json_append(gpus, gpu_json(fleet, i));

        add_known(gpu, "driver", run->driver);
        add_known(gpu, "vbios", run->vbios);
        add_time(gpu, "last_utc", run->started_utc);
        json_add(gpu, "answered", cJSON_CreateBool(fleet->gpus[i].answered));
        json_add(gpu, "modelled", cJSON_CreateBool(fleet->gpus[i].modelled));
        json_add(gpu, "complete", cJSON_CreateBool(run->complete));
        json_add_text(gpu, "verdict", verdict_on(verdict, i));
        add_changes(gpu, fleet, &fleet->gpus[i], room);
    }
    free(room);
}

/* The night that a round is of. */
static int64_t round_utc(const struct fleet *fleet, size_t round)
{
    size_t night = 0;

    while (round >= fleet->nights[night].first_round + fleet->nights[night].rounds)
        night++;
    return fleet->nights[night].first_utc;
}

static void add_cells(cJSON *object, const struct fleet *fleet, const struct fleet_finding *finding)
{
    cJSON *cells = json_add(object, "cells", cJSON_CreateArray());

    for (size_t i = 0; finding && i < finding->count; i++) {
        const struct fleet_change *change = &finding->changes[i];
        cJSON *cell = json_append(cells, cJSON_CreateObject());

        json_add_text(cell, "identity", fleet->cells[change->cell].identity);
        json_add_double(cell, "change", expm1(change->change));
        json_add_double(cell, "deviation", change->deviation);
        json_add_double(cell, "p", change->p);
        json_add_integer(cell, "values", change->last);
        add_time(cell, "since_utc", change->against == FLEET_PAST ? round_utc(fleet, change->since) : 0);
    }
}

static void add_findings(cJSON *root, const struct fleet_verdict *verdict)
{
    cJSON *findings = json_add(root, "findings", cJSON_CreateArray());

    for (size_t i = 0; i < verdict->row_count; i++) {
        const struct fleet_row *row = &verdict->rows[i];
        cJSON *finding = json_append(findings, cJSON_CreateObject()), *gpus;

        json_add_text(finding, "kind", fleet_kinds[row->kind].name);
        json_add(finding, "fails", cJSON_CreateBool(fleet_kinds[row->kind].fails));
        json_add_text(finding, "who", row->who);
        json_add_text(finding, "what", row->what);
        json_add_text(finding, "level", row->finding ? fleet_level_names[row->finding->level] : NULL);
        json_add_text(finding, "against", row->finding ? fleet_against_names[row->finding->against] : NULL);
        json_add_double(finding, "change", row->change);
        json_add_double(finding, "multiple", row->multiple);
        add_time(finding, "since_utc", row->since_utc);
        json_add(finding, "drift", cJSON_CreateBool(row->drift));
        add_known(finding, "why", row->why);
        gpus = json_add(finding, "gpus", cJSON_CreateArray());
        for (size_t j = 0; j < row->gpu_count; j++)
            json_append(gpus, gpu_json(verdict->fleet, row->gpus[j]));
        add_cells(finding, verdict->fleet, row->finding);
    }
}

enum status fleet_json(FILE *stream, const void *of)
{
    const struct fleet_verdict *verdict = of;
    const struct fleet *fleet = verdict->fleet;
    const struct fleet_night *last = &fleet->nights[fleet->night_count - 1];
    cJSON *root = cJSON_CreateObject(), *object = json_add(root, "schema", cJSON_CreateObject());

    json_add_text(object, "name", "cbank-fleet");
    json_add_text(object, "version", "1.0");
    json_add_text(root, "store", fleet->path);
    json_add_text(root, "verdict", fleet_status(verdict) == STATUS_OK ? "quiet" : "finding");
    object = json_add(root, "night", cJSON_CreateObject());
    add_time(object, "first_utc", last->first_utc);
    add_time(object, "last_utc", last->last_utc);
    json_add_integer(root, "nights", fleet->night_count);
    json_add_text(root, "baseline", verdict->baseline);
    json_add_integer(root, "answered", verdict->answered);
    json_add_integer(root, "expected", verdict->expected);
    json_add_text(root, "expected_from", verdict->from_inventory ? "inventory" : "night before");
    object = json_add(root, "limits", cJSON_CreateObject());
    json_add_double(object, "threshold", verdict->limits.threshold);
    json_add_double(object, "peer_threshold", verdict->limits.peer_threshold);
    json_add_double(object, "false_findings", verdict->limits.false_findings);
    add_findings(root, verdict);
    add_gpus(root, verdict);
    return json_put_owned(stream, root);
}
