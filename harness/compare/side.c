/* SPDX-License-Identifier: MIT
 * Files are read on all processors, each into a side of its own; these are then merged one after another in the order
 * of the files, so that what comes out does not depend on threads. */
#include "side.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "log.h"
#include "parallel.h"

static const char mixed[] = "mixed";

static enum status out_of_memory(const char *what)
{
    return log_error(STATUS_ENVIRONMENT, "%s: out of memory; compare fewer processes at a time", what);
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

/* Inserts value into ascending values. The functions of this section return false when out of memory. */
static bool insert(double **values, size_t *count, double value)
{
    double *larger = realloc(*values, (*count + 1) * sizeof(*larger));
    size_t i = *count;

    if (!larger)
        return false;
    for (; i > 0 && larger[i - 1] > value; i--)
        larger[i] = larger[i - 1];
    larger[i] = value;
    *values = larger;
    *count += 1;
    return true;
}

static bool add_clock(struct side_cell *cell, double mhz)
{
    if (isnan(mhz))
        return true;
    if (!insert(&cell->clocks_mhz, &cell->clock_count, mhz))
        return false;
    cell->sm_clock_mhz = stats_median(cell->clocks_mhz, cell->clock_count);
    return true;
}

/* The samples are the cell's from then on. */
static bool add_process(struct side_cell *cell, const struct process_samples *process)
{
    struct process_samples *larger = realloc(cell->processes, (cell->process_count + 1) * sizeof(*larger));

    if (!larger)
        return false;
    cell->processes = larger;
    larger[cell->process_count++] = *process;
    return true;
}

/* The counter of that name, new where there is none. `hint`: where it is when all processes read the same. */
static struct side_counter *counter_of(struct side_cell *cell, const char *name, enum counter_kind kind, size_t hint)
{
    struct side_counter *larger;

    for (size_t i = 0; i < cell->counter_count; i++) {
        struct side_counter *counter = &cell->counters[(hint + i) % cell->counter_count];

        if (strcmp(counter->name, name) == 0)
            return counter;
    }
    larger = realloc(cell->counters, (cell->counter_count + 1) * sizeof(*larger));
    if (!larger)
        return NULL;
    cell->counters = larger;
    larger += cell->counter_count++;
    *larger = (struct side_counter){.kind = kind, .value = NAN, .low = NAN, .high = NAN};
    snprintf(larger->name, sizeof(larger->name), "%s", name);
    return larger;
}

/* Adds what a process read; a counter may be NULL for want of memory. */
static bool add_value(struct side_counter *counter, double value)
{
    if (!counter || !insert(&counter->values, &counter->read, value))
        return false;
    counter->value = stats_median(counter->values, counter->read);
    counter->low = counter->values[0];
    counter->high = counter->values[counter->read - 1];
    return true;
}

static void cell_close(struct side_cell *cell)
{
    for (size_t i = 0; i < cell->process_count; i++)
        free((void *)cell->processes[i].samples);
    for (size_t i = 0; i < cell->counter_count; i++)
        free(cell->counters[i].values);
    free(cell->processes);
    free(cell->clocks_mhz);
    free(cell->counters);
}

/* -- a side of one file -------------------------------------------------------------------------------- */

/* Takes the samples from the result; a prediction is one sample. */
static bool take_samples(struct side_cell *out, struct cell_result *cell, const char *process)
{
    const double predicted = cell->time.summary.median;
    double *samples = NULL;
    size_t count;

    if (out->modelled) {
        count = isnan(predicted) ? 0 : 1;
        samples = malloc(sizeof(*samples));
        if (samples)
            *samples = predicted;
    } else {
        samples = cell->time.samples_ns;
        count = samples ? cell->time.summary.count : 0;
        cell->time.samples_ns = NULL;
    }
    if (samples && count > 0) {
        stats_sort(samples, count);
        if (add_process(out, &(struct process_samples){samples, count, process}))
            return true;
    }
    free(samples);
    return count == 0;
}

static bool take_counters(struct side_cell *out, const struct cell_result *cell)
{
    bool good = true;

    for (size_t i = 0; good && i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];
        struct side_counter *counter = counter_of(out, value->name, value->kind, i);

        good = value->status == COUNTER_OK ? add_value(counter, value->value) : counter != NULL;
    }
    return good;
}

static bool take_cell(struct side_cell *out, const struct result *result, struct cell_result *cell, const char *process)
{
    *out = (struct side_cell){
        .cell = cell->cell,
        .status = cell->status,
        .flags = cell->flags,
        .modelled = result->modelled_time,
        .sm_clock_mhz = NAN,
    };
    memcpy(out->reason, cell->reason, sizeof(out->reason));
    if (cell->kernel.known)
        memcpy(out->sha256, cell->kernel.sha256, sizeof(out->sha256));
    return add_clock(out, cell->time.sm_clock_mhz) && take_samples(out, cell, process) && take_counters(out, cell);
}

/* Refuses a cell that is twice in one file: which of the two would it be? */
static enum status check_once(const struct side *side)
{
    struct side_cell **cells = side_sorted(side);
    enum status status = cells ? STATUS_OK : out_of_memory(side->label);

    for (size_t i = 1; status == STATUS_OK && i < side->cell_count; i++)
        if (compare_cells(&cells[i - 1], &cells[i]) == 0) {
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&cells[i]->cell, identity);
            status = log_error(STATUS_USAGE, "%s: the cell %s is twice in one result; remove one of the two",
                               side->label, identity);
        }
    free(cells);
    return status;
}

/* The text that tells a process from others; the caller's. NULL when out of memory. */
static char *process_text(const struct result *result)
{
    char *text;

    return asprintf(&text, "%s %s", result->device.uuid, result->started_utc) < 0 ? NULL : text;
}

static enum status side_of(const char *path, struct result *result, struct side *out)
{
    bool good;

    *out = (struct side){.files = 1, .incomplete = !result->complete};
    snprintf(out->label, sizeof(out->label), "%s", path);
    snprintf(out->identity.engine, sizeof(out->identity.engine), "%s", result->engine);
    out->identity.modelled = result->modelled_time;
    out->identity.device = result->device;
    memcpy(out->identity.started_utc, result->started_utc, sizeof(out->identity.started_utc));
    out->processes = calloc(1, sizeof(*out->processes));
    out->cells = calloc(result->cell_count + 1, sizeof(*out->cells));
    good = out->processes && out->cells && (out->processes[0] = process_text(result));
    while (good && out->cell_count < result->cell_count) {
        const size_t i = out->cell_count++;

        good = take_cell(&out->cells[i], result, &result->cells[i], out->processes[0]);
    }
    return good ? check_once(out) : out_of_memory(path);
}

/* -- reading on all processors ------------------------------------------------------------------------ */

struct reading {
    char *const *paths;
    struct side *parts; /* one a file */
    enum status *statuses;
    atomic_size_t first_bad; /* lowest index that has failed so far */
};

static void note_bad(struct reading *reading, size_t index)
{
    size_t known = atomic_load(&reading->first_bad);

    while (index < known && !atomic_compare_exchange_weak(&reading->first_bad, &known, index))
        ;
}

/* Reads a range of files. Those behind one that failed need no reading; those before it do, since the first that
 * cannot be read is to be named. */
static void read_range(void *context, uint64_t first, uint64_t count)
{
    struct reading *reading = context;

    for (size_t i = first; i < first + count && i < atomic_load(&reading->first_bad); i++) {
        struct result result;

        reading->statuses[i] = result_read(reading->paths[i], &result);
        if (reading->statuses[i] == STATUS_OK) {
            reading->statuses[i] = side_of(reading->paths[i], &result, &reading->parts[i]);
            result_close(&result);
        }
        if (reading->statuses[i] != STATUS_OK)
            note_bad(reading, i);
    }
}

/* -- merging ------------------------------------------------------------------------------------------ */

/* Keeps text that is equal; what differs between files is mixed. */
static void merge_text(char *text, const char *other, size_t bytes)
{
    if (strcmp(text, other) != 0)
        snprintf(text, bytes, "%s", mixed);
}

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
    /* ISO 8601: the order of text is that of time. */
    if (strcmp(from->started_utc, to->started_utc) < 0)
        memcpy(to->started_utc, from->started_utc, sizeof(to->started_utc));
}

static void merge_status(struct side_cell *to, const struct side_cell *from)
{
    static const int gravity[] = {[CELL_OK] = 0, [CELL_PENDING] = 1, [CELL_SKIPPED] = 2, [CELL_FAILED] = 3};

    to->flags |= from->flags;
    to->modelled = to->modelled || from->modelled;
    /* A process that does not know the hash takes none away. */
    if (!to->sha256[0])
        memcpy(to->sha256, from->sha256, sizeof(to->sha256));
    else if (from->sha256[0])
        merge_text(to->sha256, from->sha256, sizeof(to->sha256));
    if (gravity[from->status] <= gravity[to->status])
        return;
    to->status = from->status;
    memcpy(to->reason, from->reason, sizeof(to->reason));
}

/* Adds what one process says of a cell. */
static bool merge_cell(struct side_cell *to, struct side_cell *from)
{
    bool good = add_clock(to, from->sm_clock_mhz);

    for (size_t i = 0; good && i < from->counter_count; i++) {
        const struct side_counter *read = &from->counters[i];
        struct side_counter *counter = counter_of(to, read->name, read->kind, i);

        good = read->read > 0 ? add_value(counter, read->value) : counter != NULL;
    }
    if (good && from->process_count > 0) {
        good = add_process(to, &from->processes[0]);
        from->process_count = good ? 0 : 1;
    }
    merge_status(to, from);
    return good;
}

static bool merge_cells(struct side *side, struct side *part)
{
    const size_t known = side->cell_count;
    struct side_cell *larger = realloc(side->cells, (known + part->cell_count + 1) * sizeof(*larger)), **sorted;
    bool good = larger != NULL;

    if (!good)
        return false;
    side->cells = larger;
    sorted = side_sorted(side);
    good = sorted != NULL;
    for (size_t i = 0; good && i < part->cell_count; i++) {
        struct side_cell *from = &part->cells[i], **found;

        found = bsearch(&from, sorted, known, sizeof(*sorted), compare_cells);
        if (found) {
            good = merge_cell(*found, from);
        } else {
            larger[side->cell_count++] = *from;
            *from = (struct side_cell){0};
        }
    }
    free(sorted);
    return good;
}

/* Adds a side of one process. */
static enum status merge(struct side *side, struct side *part)
{
    char **larger = realloc(side->processes, (side->files + 1) * sizeof(*larger));

    if (larger)
        side->processes = larger;
    if (!larger || !merge_cells(side, part))
        return out_of_memory(part->label);
    if (side->files == 0)
        side->identity = part->identity;
    else
        merge_identity(&side->identity, &part->identity);
    side->processes[side->files++] = part->processes[0];
    part->processes[0] = NULL;
    side->incomplete += part->incomplete;
    return STATUS_OK;
}

/* Reads all files, then merges them. */
static enum status add_files(struct side *side, const struct file_list *list)
{
    struct reading reading = {.paths = list->paths, .first_bad = list->count};
    enum status status = STATUS_OK;

    reading.parts = calloc(list->count, sizeof(*reading.parts));
    reading.statuses = calloc(list->count, sizeof(*reading.statuses));
    if (!reading.parts || !reading.statuses) {
        status = out_of_memory(list->paths[0]);
        goto out;
    }
    parallel_ranges(list->count, 1, read_range, &reading);
    if (reading.first_bad < list->count)
        status = reading.statuses[reading.first_bad];
    for (size_t i = 0; i < list->count; i++) {
        if (status == STATUS_OK)
            status = merge(side, &reading.parts[i]);
        side_close(&reading.parts[i]);
    }
out:
    free(reading.statuses);
    free(reading.parts);
    return status;
}

enum status side_add(struct side *side, const char *path)
{
    struct file_list list = {0};
    enum status status = files_add(&list, path);

    if (status == STATUS_OK)
        status = add_files(side, &list);
    files_close(&list);
    return status;
}

enum status side_read(const char *path, struct side *out)
{
    enum status status;

    *out = (struct side){0};
    status = side_add(out, path);
    if (status == STATUS_OK)
        snprintf(out->label, sizeof(out->label), "%s", path);
    else
        side_close(out);
    return status;
}

void side_close(struct side *side)
{
    for (size_t i = 0; i < side->cell_count; i++)
        cell_close(&side->cells[i]);
    for (size_t i = 0; side->processes && i < side->files; i++)
        free(side->processes[i]);
    free(side->processes);
    free(side->cells);
    *side = (struct side){0};
}
