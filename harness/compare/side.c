/* SPDX-License-Identifier: MIT
 * Files are read on all processors; they are added one after another in their order, so that what comes out does not depend
 * on threads. */
#include "side.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "log.h"
#include "memory.h"
#include "parallel.h"

static const char mixed[] = "mixed";

static enum status out_of_memory(const char *what)
{
    return log_memory("%s", what);
}

static int compare_cells(const void *left, const void *right)
{
    return cell_order(&(*(const struct side_cell *const *)left)->cell,
                      &(*(const struct side_cell *const *)right)->cell);
}

struct side_cell **side_sorted(const struct side *side)
{
    struct side_cell **sorted = malloc((side->cell_count + 1) * sizeof(*sorted));

    for (size_t i = 0; sorted && i < side->cell_count; i++)
        sorted[i] = &side->cells[i];
    if (sorted)
        qsort(sorted, side->cell_count, sizeof(*sorted), compare_cells);
    return sorted;
}

/* -- what a cell owns ---------------------------------------------------------------------------------- */

/* Adds what a process read. The functions of this section return false when out of memory. */
static bool add_value(struct side_counter *counter, double value)
{
    size_t i = counter->read;

    if (i == 0) { /* as most are: a GPU of many has one process */
        counter->value = value;
        counter->read = 1;
        return true;
    }
    if (!memory_grow(&counter->values, i, sizeof(*counter->values)))
        return false;
    if (i == 1)
        *counter->values = counter->value;
    for (; i > 0 && counter->values[i - 1] > value; i--)
        counter->values[i] = counter->values[i - 1];
    counter->values[i] = value;
    counter->value = stats_median(counter->values, ++counter->read);
    return true;
}

size_t side_count_process(const struct side_cell *cell, const struct process_time *process)
{
    size_t count = 0;

    for (size_t i = 0; i < cell->process_count; i++)
        count += process_same(&cell->processes[i], process);
    return count;
}

/* Adds the time of a process, but for one that is there already, which *repeated counts; a prediction is one sample, and tells
 * no process from another. */
static bool add_process(struct side_cell *cell, const struct cell_time *time, bool modelled, const char *process,
                        size_t *repeated)
{
    const struct summary *summary = &time->summary;
    const double *samples = modelled ? &summary->value : time->samples_ns;
    const size_t count = modelled ? !isnan(*samples) : samples ? summary->count : 0;
    double *scratch = malloc((count + 1) * sizeof(*scratch));
    const bool good = scratch && memory_grow(&cell->processes, cell->process_count, sizeof(*cell->processes));
    struct process_time added = {0};

    if (good && count > 0)
        added = process_of(samples, count, time->series.placements, scratch);
    else if (!samples && summary->count > 0 && !isnan(summary->value))
        added = (struct process_time){.count = summary->count,
                                      .value = summary->value,
                                      .error = process_error(summary->ci_low, summary->ci_high),
                                      .least = summary->value};
    added.process = process;
    if (!modelled && side_count_process(cell, &added) > 0)
        ++*repeated;
    else if (good && added.count > 0)
        cell->processes[cell->process_count++] = added;
    free(scratch);
    return good;
}

struct side_counter *side_counter(const struct side_cell *cell, const char *name, size_t hint)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        struct side_counter *counter = &cell->counters[(hint + i) % cell->counter_count];

        if (strcmp(counter->name, name) == 0)
            return counter;
    }
    return NULL;
}

/* Adds what a process read, if it did, to a cell that has room for it. */
static bool add_counter(struct side *side, struct side_cell *cell, const struct counter_value *value)
{
    const char *name = texts_share(&side->texts, value->name);
    size_t i = 0;

    while (name && i < cell->counter_count && cell->counters[i].name != name)
        i++;
    if (name && i == cell->counter_count)
        cell->counters[cell->counter_count++] = (struct side_counter){.name = name, .kind = value->kind, .value = NAN};
    return name && (value->status != COUNTER_OK || add_value(&cell->counters[i], value->value));
}

static bool add_counters(struct side *side, struct side_cell *to, const struct cell_result *from)
{
    const size_t most = to->counter_count + from->counter_count;
    struct side_counter *larger = realloc(to->counters, (most + 1) * sizeof(*larger));
    bool good = larger;

    to->counters = larger ? larger : to->counters;
    for (size_t i = 0; good && i < from->counter_count; i++)
        good = add_counter(side, to, &from->counters[i]);
    return good;
}

static void cell_close(struct side_cell *cell)
{
    for (size_t i = 0; i < cell->counter_count; i++)
        free(cell->counters[i].values);
    free(cell->processes);
    free(cell->clock.values);
    free(cell->code);
    free(cell->reason);
    free(cell->counters);
}

/* -- adding what a result says ------------------------------------------------------------------------- */

/* Keeps text that is equal; what differs between files is mixed. */
static void merge_text(char *text, const char *other, size_t bytes)
{
    if (strcmp(text, other) != 0)
        snprintf(text, bytes, "%s", mixed);
}

/* Numbers are not known of devices with different names. */
static void merge_device(struct device_info *to, const struct device_info *from)
{
    const struct fields *fields = &device_object.fields;
    struct device_info merged = strcmp(to->name, from->name) == 0 ? *to : device_unknown;

    for (const struct field *field = fields->rows; field < fields->rows + fields->count; field++)
        if (field->kind == &field_text) {
            char *text = (char *)&merged + field->offset;

            memcpy(text, (const char *)to + field->offset, field->bytes);
            merge_text(text, (const char *)from + field->offset, field->bytes);
        }
    *to = merged;
}

static void merge_identity(struct side_identity *to, const struct side_identity *from)
{
    merge_text(to->engine, from->engine, sizeof(to->engine));
    to->modelled = to->modelled || from->modelled;
    merge_device(&to->device, &from->device);
    to->host = from->host;
    /* ISO 8601: the order of text is that of time. */
    if (strcmp(from->started_utc, to->started_utc) < 0)
        memcpy(to->started_utc, from->started_utc, sizeof(to->started_utc));
}

/* Adds what further results are of to what those are of that the side has. */
static void add_identity(struct side *side, const struct side_identity *identity, const char argv[RESULT_ARGV_BYTES])
{
    if (side->files > 0) {
        merge_identity(&side->identity, identity);
        return;
    }
    side->identity = *identity;
    memcpy(side->argv, argv, sizeof(side->argv));
}

/* What a result is of. */
static struct side_identity identity_of(const struct result *result)
{
    struct side_identity identity = {.modelled = result->modelled_time, .device = result->device, .host = result->host};

    snprintf(identity.engine, sizeof(identity.engine), "%s", result->engine);
    memcpy(identity.started_utc, result->started_utc, sizeof(identity.started_utc));
    return identity;
}

/* False when out of memory. */
static bool merge_status(struct side_cell *to, const struct cell_result *from)
{
    static const int gravity[] = {[CELL_OK] = 0, [CELL_PENDING] = 1, [CELL_SKIPPED] = 2, [CELL_FAILED] = 3};

    to->flags |= from->flags;
    /* A process that does not know the hash takes none away. */
    if (!to->sha256[0])
        memcpy(to->sha256, from->kernel.sha256, sizeof(to->sha256));
    else if (from->kernel.sha256[0])
        merge_text(to->sha256, from->kernel.sha256, sizeof(to->sha256));
    if (gravity[from->status] <= gravity[to->status])
        return true;
    to->status = from->status;
    free(to->reason);
    to->reason = strdup(from->reason);
    return to->reason;
}

static struct side_cell *find_cell(struct side_cell *const *sorted, size_t count, const struct cell *cell)
{
    const struct side_cell *key = &(const struct side_cell){.cell = *cell};
    struct side_cell *const *found = bsearch(&key, sorted, count, sizeof(*sorted), compare_cells);

    return found ? *found : NULL;
}

/* Makes room for the cells of a result, and for their process. */
static bool know_cells(struct side *side, const struct result *result)
{
    const size_t known = side->cell_count;
    struct side_cell *cells = realloc(side->cells, (known + result->cell_count + 1) * sizeof(*cells)), **sorted;

    side->cells = cells ? cells : side->cells;
    sorted = cells ? side_sorted(side) : NULL;
    if (!sorted)
        return false;
    for (size_t i = 0; i < result->cell_count; i++)
        if (!find_cell(sorted, known, &result->cells[i].cell))
            cells[side->cell_count++] =
                (struct side_cell){.cell = result->cells[i].cell, .status = CELL_OK, .clock.value = NAN};
    free(sorted);
    return true;
}

/* Adds what one process says of a cell, but for one that is there already, which *repeated counts. */
static bool add_cell(struct side *side, struct side_cell *to, const struct result *result,
                     const struct cell_result *from, size_t *repeated)
{
    const double mhz = from->time.sm_clock_mhz;
    const size_t before = *repeated;
    bool good = add_process(to, &from->time, result->modelled_time, side->process, repeated);

    if (*repeated > before)
        return good && merge_status(to, from);
    good = good && (isnan(mhz) || add_value(&to->clock, mhz)) && add_counters(side, to, from) && merge_status(to, from);
    to->modelled = to->modelled || result->modelled_time;
    to->sites = from->time.sites > to->sites ? from->time.sites : to->sites;
    to->code_copies = from->time.code_copies > to->code_copies ? from->time.code_copies : to->code_copies;
    if (good && from->kernel.code && !to->code) {
        to->code = strdup(from->kernel.code);
        good = to->code;
    }
    return good;
}

/* Adds the cells of a result, which the side knows. Refuses one that is twice in it: which of the two would it be? */
static enum status add_cells(struct side *side, const char *path, const struct result *result)
{
    struct side_cell **sorted = side_sorted(side);
    enum status status = sorted ? STATUS_OK : out_of_memory(path);
    size_t repeated = 0;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        struct side_cell *cell = find_cell(sorted, side->cell_count, &result->cells[i].cell);

        if (cell->files == side->files) {
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&cell->cell, identity);
            status = log_error(STATUS_USAGE, "%s: the cell %s is twice in one result; remove one of the two", path,
                               identity);
        } else if (!add_cell(side, cell, result, &result->cells[i], &repeated)) {
            status = out_of_memory(path);
        }
        cell->files = side->files;
    }
    if (status == STATUS_OK && repeated > 0)
        log_warning(
            "%s: the side has the same samples of the same process already, in %zu of %zu cells; they count once", path,
            repeated, result->cell_count);
    free(sorted);
    return status;
}

enum status side_take(struct side *side, const char *path, const struct result *result)
{
    const struct side_identity identity = identity_of(result);
    char process[sizeof(result->device.uuid) + sizeof(result->started_utc)];

    snprintf(process, sizeof(process), "%s %s", result->device.uuid, result->started_utc);
    side->process = texts_share(&side->texts, process);
    if (!side->process || !know_cells(side, result))
        return out_of_memory(path);
    add_identity(side, &identity, result->argv);
    side->files++;
    side->incomplete += !result->complete;
    return add_cells(side, path, result);
}

/* -- reading ------------------------------------------------------------------------------------------- */

/* Files that are in memory at a time. */
enum { FILES_AT_ONCE = 8 };

struct reading {
    char *const *paths;
    enum status (*take)(void *context, const char *path, const struct result *result);
    void *context;
    struct result results[FILES_AT_ONCE];
    enum status statuses[FILES_AT_ONCE];
    enum status status; /* of all that was taken */
};

static bool read_one(void *context, uint64_t index)
{
    struct reading *reading = context;
    const size_t i = index % FILES_AT_ONCE;

    reading->statuses[i] = result_read(reading->paths[index], &reading->results[i]);
    return reading->statuses[i] == STATUS_OK;
}

/* Of those behind one that failed nothing is said. */
static bool take_one(void *context, uint64_t index)
{
    struct reading *reading = context;
    const size_t i = index % FILES_AT_ONCE;

    if (reading->status == STATUS_OK)
        reading->status = reading->statuses[i];
    if (reading->status == STATUS_OK)
        reading->status = reading->take(reading->context, reading->paths[index], &reading->results[i]);
    result_close(&reading->results[i]);
    return reading->status == STATUS_OK;
}

enum status results_read(const char *path,
                         enum status (*take)(void *context, const char *path, const struct result *result),
                         void *context)
{
    struct reading reading = {.take = take, .context = context};
    struct file_list list = {0};

    reading.status = files_add(&list, path);
    reading.paths = list.paths;
    if (reading.status == STATUS_OK)
        parallel_in_order(list.count, &(const struct parallel_line){read_one, take_one, &reading, FILES_AT_ONCE});
    files_close(&list);
    return reading.status;
}

static enum status take_result(void *side, const char *path, const struct result *result)
{
    return side_take(side, path, result);
}

enum status side_add(struct side *side, const char *path)
{
    return results_read(path, take_result, side);
}

void side_sum(struct side *total, const struct side *side)
{
    add_identity(total, &side->identity, side->argv);
    total->files += side->files;
    total->incomplete += side->incomplete;
}

enum status side_read(const char *path, struct side *out)
{
    enum status status;

    *out = (struct side){0};
    snprintf(out->label, sizeof(out->label), "%s", path);
    status = side_add(out, path);
    if (status != STATUS_OK)
        side_close(out);
    return status;
}

bool side_is_mixed(const char *text)
{
    return strcmp(text, mixed) == 0;
}

void uuid_short(const char *uuid, char out[UUID_SHORT_BYTES])
{
    snprintf(out, UUID_SHORT_BYTES, "%.*s", uuid ? (int)strcspn(uuid, "-") + 9 : 0, uuid ? uuid : "");
}

void value_short_uuid(const char *uuid, struct grid_value *out)
{
    uuid_short(uuid, out->room);
    out->text = out->room[0] ? out->room : NULL;
}

void side_close(struct side *side)
{
    for (size_t i = 0; i < side->cell_count; i++)
        cell_close(&side->cells[i]);
    texts_close(&side->texts);
    free(side->cells);
    *side = (struct side){0};
}
