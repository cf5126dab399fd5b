/* SPDX-License-Identifier: MIT
 * Files are read on all processors, and added in their order, so that the outcome does not depend
 * on threads. */
#include "side.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "device_json.h"
#include "files.h"
#include "launch_path.h"
#include "log.h"
#include "memory.h"
#include "parallel.h"

static int compare_cells(const void *left, const void *right)
{
    return cell_order(&((const struct side_cell *)left)->cell,
                      &((const struct side_cell *)right)->cell);
}

/* -- processes of a cell ----------------------------------------------------------------------- */

/* Summarizes at least one sample (ns), taken on that many buffer sets in turn (0: not known), each
 * of so many launches. The error excludes differences between buffer sets (stats_strata_mean).
 * False out of memory. */
static bool process_of(const double *samples, size_t count, uint32_t buffer_sets, uint32_t launches,
                       struct process_time *out)
{
    const uint64_t odd = 0x9e3779b97f4a7c15;
    double *scratch = malloc((count + 1) * sizeof(*scratch));
    struct strata_mean mean;

    if (!scratch)
        return false;
    mean = stats_strata_mean(samples, count, buffer_sets, scratch);
    free(scratch);
    *out = (struct process_time){.value = mean.value,
                                 .error = mean.error / mean.value,
                                 .placed = mean.strata / mean.value,
                                 .shortest = INFINITY,
                                 .slice_ns = CONTENDED_SLICE_NS / (launches ? launches : 1)};
    for (size_t i = 0; i < count; i++)
        out->shortest = fmin(out->shortest, samples[i]);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;

        memcpy(&bits, &samples[i], sizeof(bits));
        bits *= odd;
        out->samples += (bits ^ bits >> 32) * odd;
    }
    return true;
}

/* How often the cell has this process. */
static size_t count_process(const struct side_cell *cell, const struct process_time *process)
{
    size_t count = 0;

    for (size_t i = 0; i < cell->process_count; i++)
        count += strcmp(cell->processes[i].process, process->process) == 0 &&
                 cell->processes[i].samples == process->samples;
    return count;
}

bool side_same_data(const struct side_cell *first, const struct side_cell *second)
{
    bool same = first->process_count == second->process_count;

    for (size_t i = 0; same && i < first->process_count; i++)
        same = count_process(first, &first->processes[i]) ==
               count_process(second, &first->processes[i]);
    return same;
}

static bool add_value(struct side_counter *counter, double value)
{
    size_t i = counter->read;

    if (!memory_grow(&counter->values, i, sizeof(*counter->values)))
        return false;
    for (; i > 0 && counter->values[i - 1] > value; i--)
        counter->values[i] = counter->values[i - 1];
    counter->values[i] = value;
    counter->value = stats_median(counter->values, ++counter->read);
    return true;
}

/* Keeps text that is equal; what differs between processes is mixed. */
static void merge_text(char *text, const char *added, size_t bytes)
{
    if (strcmp(text, added) != 0)
        snprintf(text, bytes, SIDE_MIXED);
}

/* A status that is worse than those before, with its reason. False out of memory. */
static bool add_status(struct side_cell *to, const struct cell_result *from)
{
    static const int severity[] =
        {[CELL_OK] = 0, [CELL_PENDING] = 1, [CELL_SKIPPED] = 2, [CELL_FAILED] = 3};

    if (severity[from->status] <= severity[to->status])
        return true;
    to->status = from->status;
    free(to->reason);
    to->reason = strdup(from->reason);
    return to->reason;
}

/* Adds the counters that one process read. False out of memory. */
static bool add_counters(struct side *side, struct side_cell *to, const struct cell_result *from)
{
    struct side_counter *counters =
        realloc(to->counters, (to->counter_count + from->counter_count + 1) * sizeof(*counters));

    if (!counters)
        return false;
    to->counters = counters;
    for (size_t i = 0; i < from->counter_count; i++) {
        const struct counter_value *value = &from->counters[i];
        const char *name = texts_share(&side->texts, value->name);
        size_t known = 0;

        if (!name)
            return false;
        while (known < to->counter_count && counters[known].name != name)
            known++;
        if (known == to->counter_count)
            counters[to->counter_count++] =
                (struct side_counter){.name = name, .kind = value->kind, .value = NAN};
        if (value->status == COUNTER_OK && !add_value(&counters[known], value->value))
            return false;
    }
    return true;
}

/* Adds the time of a process, unless the cell has it already: *repeated. A prediction is one
 * sample, and tells no process from another. False out of memory. */
static bool add_process(const struct side *side, struct side_cell *to, bool modelled,
                        const struct cell_time *time, bool *repeated)
{
    const double *samples = modelled ? &time->summary.value : time->samples_ns;
    const size_t count = modelled ? !isnan(*samples) : time->summary.count;
    struct process_time added = {0};

    *repeated = false;
    if (!memory_grow(&to->processes, to->process_count, sizeof(*to->processes)))
        return false;
    if (count == 0)
        return true;
    if (!process_of(samples, count, time->series.buffer_sets, time->launches_per_sample, &added))
        return false;
    added.process = side->process;
    *repeated = !modelled && count_process(to, &added) > 0;
    if (!*repeated)
        to->processes[to->process_count++] = added;
    return true;
}

/* Adds a cell of a result. A process that is there already counts once. False out of memory. */
static bool add_cell(struct side *side, struct side_cell *to, const struct result *result,
                     const struct cell_result *from)
{
    const struct cell_time *time = &from->time;
    bool repeated;

    if (!add_process(side, to, result->modelled_time, time, &repeated))
        return false;
    to->flags |= from->flags;
    to->invalid |= result_cell_invalid(result, from);
    /* A process that does not know the hash takes none away. */
    if (!to->sha256[0])
        memcpy(to->sha256, from->kernel.sha256, sizeof(to->sha256));
    else if (from->kernel.sha256[0])
        merge_text(to->sha256, from->kernel.sha256, sizeof(to->sha256));
    if (!add_status(to, from))
        return false;
    if (repeated)
        return true;
    if (!isnan(time->sm_clock_mhz) && !add_value(&to->clock, time->sm_clock_mhz))
        return false;
    if (!add_counters(side, to, from))
        return false;
    side_energy_add(&to->energy, &from->energy);
    to->modelled = to->modelled || result->modelled_time;
    to->table_offsets =
        time->table_offsets > to->table_offsets ? time->table_offsets : to->table_offsets;
    to->code_copies = time->code_copies > to->code_copies ? time->code_copies : to->code_copies;
    if (from->kernel.code && !to->code)
        to->code = strdup(from->kernel.code);
    return to->code || !from->kernel.code;
}

enum status judged_cell_of(const struct cell_result *base, const struct cell_result *new_cell,
                           struct judged_cell *out)
{
    const struct cell_result *const cells[SIDES] = {base, new_cell};
    enum status status = STATUS_OK;

    *out = judged_unknown;
    out->cold = base->cell.cache_state->flush;
    out->doubtful = (base->flags | new_cell->flags) & FLAGS_DOUBTFUL;
    for (size_t i = 0; status == STATUS_OK && i < SIDES; i++) {
        const struct cell_time *time = &cells[i]->time;
        struct process_time process;

        if (!process_of(time->samples_ns, time->summary.count, time->series.buffer_sets,
                        time->launches_per_sample, &process))
            return log_memory("the time of a cell");
        out->sides[i].processes = 1;
        out->sides[i].clock_mhz = time->sm_clock_mhz;
        status = estimate_of(&process, 1, false, &out->sides[i].estimate);
    }
    return status;
}

bool side_unmeasured(const struct side_identity *identity, const struct cell *cell)
{
    return cell->kernel.name[0] ||
           !deviation_measured(identity->device.name, cell->workload->name, cell->path->name,
                               cell->cache_state->flush, cell_waits_for_host(cell));
}

/* -- results ----------------------------------------------------------------------------------- */

/* Adds what a result is of. Numbers of a device stay known while its name does. False out of
 * memory. */
static bool add_identity(struct side *side, const struct result *result)
{
    struct side_identity *to = &side->identity;
    const struct side_identity known = *to;

    if (!memory_grow(&side->moments, side->files, sizeof(*side->moments)))
        return false;
    if (side->files == 0) {
        *to = (struct side_identity){.device = result->device};
        snprintf(to->engine, sizeof(to->engine), "%s", result->engine);
        memcpy(to->started_utc, result->started_utc, sizeof(to->started_utc));
    } else {
        const struct fields *fields = &device_object.fields;

        merge_text(to->engine, result->engine, sizeof(to->engine));
        if (strcmp(to->device.name, result->device.name) != 0)
            to->device = device_unknown;
        to->device.board = known.device.board;
        board_merge(&to->device.board, &result->device.board);
        for (const struct field *field = fields->rows; field < fields->rows + fields->count;
             field++)
            if (field->kind == &field_text) {
                char *text = (char *)&to->device + field->offset;

                memcpy(text, (const char *)&known.device + field->offset, field->bytes);
                merge_text(text, (const char *)&result->device + field->offset, field->bytes);
            }
    }
    to->modelled = to->modelled || result->modelled_time;
    to->host = result->host;
    side->moments[side->files++] = clock_read(result->started_utc);
    side->incomplete += !result->complete;
    return true;
}

struct side *sides_find(const struct sides *sides, const struct device_info *device)
{
    for (size_t i = 0; i < sides->count; i++) {
        const struct device_info *its = &sides->gpus[i].identity.device;

        if (strcmp(its->uuid, device->uuid) == 0 && strcmp(its->name, device->name) == 0)
            return &sides->gpus[i];
    }
    return NULL;
}

struct side_cell *side_find(const struct side *side, const struct cell *cell)
{
    const struct side_cell key = {.cell = *cell};

    return bsearch(&key, side->cells, side->cell_count, sizeof(key), compare_cells);
}

enum status sides_between(const struct sides *boards, const struct side_cell *cell,
                          const struct side *const without[SIDES], struct deviation *deviation)
{
    const struct side_identity *like = &without[BASE]->identity;
    const bool one_kind =
        board_kinds(&like->device.board, &without[NEW]->identity.device.board) == KINDS_ONE;
    double *values = malloc((boards->count + 1) * sizeof(*values));
    size_t count = 0;
    enum status status = values ? STATUS_OK : log_memory("GPUs of a model");

    for (size_t i = 0; status == STATUS_OK && i < boards->count; i++) {
        const struct side_identity *its = &boards->gpus[i].identity;
        const struct side_cell *found = side_find(&boards->gpus[i], &cell->cell);
        struct estimate estimate;

        if (!found || found->process_count == 0 || found->status != CELL_OK || found->invalid ||
            (found->flags & FLAGS_DOUBTFUL) || strcmp(found->sha256, cell->sha256) != 0 ||
            strcmp(its->engine, like->engine) != 0 ||
            strcmp(its->device.name, like->device.name) != 0 ||
            strcmp(its->device.uuid, like->device.uuid) == 0 ||
            strcmp(its->device.uuid, without[NEW]->identity.device.uuid) == 0 ||
            (one_kind && board_kinds(&like->device.board, &its->device.board) != KINDS_ONE))
            continue;
        status = estimate_of(found->processes, found->process_count, found->modelled, &estimate);
        values[count++] = estimate.ns;
    }
    *deviation = deviation_of(values, status == STATUS_OK ? count : 0);
    free(values);
    return status;
}

const struct side_kernel *sides_kernel(const struct sides *sides, const char *name)
{
    for (size_t i = 0; i < sides->kernel_count; i++)
        if (strcmp(sides->kernels[i].name, name) == 0)
            return &sides->kernels[i];
    return NULL;
}

/* The side of a result's GPU, a new one if needed. NULL out of memory. */
static struct side *side_for(struct sides *sides, const struct result *result)
{
    struct side *side = sides_find(sides, &result->device);
    char process[sizeof(result->device.uuid) + sizeof(result->started_utc)];

    if (!side) {
        if (!memory_grow(&sides->gpus, sides->count, sizeof(*sides->gpus)))
            return NULL;
        side = &sides->gpus[sides->count++];
        *side = (struct side){0};
    }
    snprintf(process, sizeof(process), "%s %s", result->device.uuid, result->started_utc);
    side->process = texts_share(&side->texts, process);
    return side->process ? side : NULL;
}

/* Adds the kernel file. One that changed between results is there as the last of them has it. False
 * out of memory. */
static bool add_kernel(struct sides *sides, const struct result_kernel *from)
{
    struct side_kernel *to = (struct side_kernel *)sides_kernel(sides, from->name);

    if (!to) {
        if (!memory_grow(&sides->kernels, sides->kernel_count, sizeof(*sides->kernels)))
            return false;
        to = &sides->kernels[sides->kernel_count++];
    }
    *to = (struct side_kernel){.file = texts_share(&sides->total.texts, from->file)};
    memcpy(to->name, from->name, sizeof(to->name));
    memcpy(to->sha256, from->sha256, sizeof(to->sha256));
    if (from->options)
        to->options = texts_share(&sides->total.texts, from->options);
    return to->file && (to->options || !from->options);
}

/* The cell that a cell of a result counts for. */
static struct cell counted_cell(const struct sides *sides, const struct cell *cell)
{
    struct cell counted = *cell;

    counted.jit = cell->jit && !sides->any_compiler;
    return counted;
}

/* Makes a cell of the side for each of the result's. False out of memory. */
static bool make_cells(const struct sides *sides, struct side *side, const struct result *result)
{
    const size_t known = side->cell_count;
    struct side_cell *cells =
        realloc(side->cells, (known + result->cell_count + 1) * sizeof(*cells));

    if (!cells)
        return false;
    side->cells = cells;
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct side_cell added = {.cell = counted_cell(sides, &result->cells[i].cell),
                                        .jit = result->cells[i].cell.jit,
                                        .status = CELL_OK,
                                        .clock.value = NAN,
                                        .table_offsets = 1,
                                        .code_copies = 1};

        if (!bsearch(&added, cells, known, sizeof(added), compare_cells))
            cells[side->cell_count++] = added;
    }
    if (side->cell_count > known)
        qsort(cells, side->cell_count, sizeof(*cells), compare_cells);
    return true;
}

enum status sides_take(struct sides *sides, const char *path, const struct result *result)
{
    struct side *side = side_for(sides, result);
    bool added = side && add_identity(side, result) && add_identity(&sides->total, result) &&
                 make_cells(sides, side, result);

    for (size_t i = 0; i < result->kernel_count && added; i++)
        added = add_kernel(sides, &result->kernels[i]);
    if (!added)
        return log_memory("%s", path);
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell counted = counted_cell(sides, &result->cells[i].cell);
        struct side_cell *cell = side_find(side, &counted);
        char identity[CELL_IDENTITY_BYTES];

        cell_identity(&cell->cell, identity);
        if (cell->jit != result->cells[i].cell.jit)
            return log_error(STATUS_USAGE,
                             "%s: the code of %s is the driver's in some results of this side and "
                             "the toolkit's in others; give each a side of its own",
                             path, identity);
        if (cell->files == side->files)
            return log_error(STATUS_USAGE,
                             "%s: the cell %s is twice in one result; remove one of the two", path,
                             identity);
        if (!add_cell(side, cell, result, &result->cells[i]))
            return log_memory("%s", path);
        cell->files = side->files;
    }
    return STATUS_OK;
}

/* -- reading ----------------------------------------------------------------------------------- */

enum { FILES_AT_ONCE = 8 }; /* in memory */

struct reading {
    char *const *paths;
    struct result results[FILES_AT_ONCE];
    enum status statuses[FILES_AT_ONCE];
};

static void read_some(void *context, uint64_t first, uint64_t count)
{
    struct reading *reading = context;

    for (uint64_t i = first; i < first + count; i++)
        reading->statuses[i] = result_read(reading->paths[i], &reading->results[i]);
}

/* STATUS_USAGE, logged, for a result that began later than now and a day. */
static enum status check_timely(const char *path, const struct result *result)
{
    static const double day = 24 * 3600;

    if (clock_read(result->started_utc) <= clock_now() + day)
        return STATUS_OK;
    return log_error(STATUS_USAGE,
                     "%s: it began at %s, which is later than now and a day: the clock of its host "
                     "is wrong, or that of this one; set it right and measure again, or take it by "
                     "--later",
                     path, result->started_utc);
}

/* Files behind the first error are dropped. */
enum status sides_add(struct sides *sides, const char *path)
{
    struct texts list = {0};
    enum status status = files_add(&list, path, ".json");

    parallel_keep_memory();
    for (size_t first = 0; status == STATUS_OK && first < list.count; first += FILES_AT_ONCE) {
        const size_t left = list.count - first, count = left < FILES_AT_ONCE ? left : FILES_AT_ONCE;
        struct reading reading = {.paths = list.items + first};

        parallel_ranges(count, 1, read_some, &reading);
        for (size_t i = 0; i < count; i++) {
            if (status == STATUS_OK)
                status = reading.statuses[i];
            if (status == STATUS_OK && sides->timely)
                status = check_timely(reading.paths[i], &reading.results[i]);
            if (status == STATUS_OK)
                status = sides_take(sides, reading.paths[i], &reading.results[i]);
            result_close(&reading.results[i]);
        }
    }
    texts_close(&list);
    return status;
}

enum status sides_add_list(struct sides *sides, const char *paths)
{
    char *copy = strdup(paths);
    enum status status = copy ? STATUS_OK : log_memory("the names of files");

    for (char *rest = copy, *path; status == STATUS_OK && (path = strsep(&rest, ","));)
        status = sides_add(sides, path);
    free(copy);
    snprintf(sides->total.label, sizeof(sides->total.label), "%s", paths);
    return status;
}

void sides_close(struct sides *sides)
{
    for (size_t i = 0; i < sides->count; i++) {
        struct side *side = &sides->gpus[i];

        for (size_t j = 0; j < side->cell_count; j++) {
            struct side_cell *cell = &side->cells[j];

            for (size_t k = 0; k < cell->counter_count; k++)
                free(cell->counters[k].values);
            free(cell->processes);
            free(cell->clock.values);
            free(cell->code);
            free(cell->reason);
            free(cell->counters);
        }
        texts_close(&side->texts);
        free(side->cells);
        free(side->moments);
    }
    free(sides->total.moments);
    texts_close(&sides->total.texts);
    free(sides->kernels);
    free(sides->gpus);
    *sides = (struct sides){0};
}
