/* SPDX-License-Identifier: MIT
 * Files are read on all processors, each into a part that holds only what a comparison needs; the parts are then
 * merged one after another in the order of the files, so that what comes out does not depend on threads. */
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

/* -- parts -------------------------------------------------------------------------------------------- */

struct part_counter {
    char name[sizeof(((struct side_counter *)0)->name)];
    enum counter_kind kind;
    double value; /* NaN where it was not read */
};

/* What one launch says of one cell. */
struct part_cell {
    struct cell cell;
    enum cell_status status;
    char reason[256];
    uint32_t flags;
    double *samples; /* owned; NULL for none */
    size_t sample_count;
    bool modelled;
    double sm_clock_mhz;
    char sha256[SASS_HASH_HEX_BYTES];
    struct part_counter *counters; /* owned */
    size_t counter_count;
};

/* What one file says. */
struct part {
    const char *path; /* not owned */
    struct side_identity identity;
    bool complete;
    struct part_cell *cells; /* owned */
    size_t cell_count;
};

static enum status out_of_memory(const char *path)
{
    return log_error(STATUS_ENVIRONMENT, "%s: out of memory; compare fewer launches at a time", path);
}

static void part_close(struct part *part)
{
    for (size_t i = 0; i < part->cell_count; i++) {
        free(part->cells[i].samples);
        free(part->cells[i].counters);
    }
    free(part->cells);
    *part = (struct part){0};
}

static void part_identity(const struct result *result, struct side_identity *out)
{
    const struct device_info *device = &result->device;

    snprintf(out->engine, sizeof(out->engine), "%s", result->engine);
    memcpy(out->device, device->name, sizeof(out->device));
    memcpy(out->uuid, device->uuid, sizeof(out->uuid));
    memcpy(out->driver, device->driver, sizeof(out->driver));
    memcpy(out->vbios, device->vbios, sizeof(out->vbios));
    memcpy(out->ecc, device->ecc, sizeof(out->ecc));
    memcpy(out->mig, device->mig, sizeof(out->mig));
    memcpy(out->started_utc, result->started_utc, sizeof(out->started_utc));
    if (device->cc_major > 0)
        snprintf(out->compute_capability, sizeof(out->compute_capability), "%u.%u", device->cc_major % 100000,
                 device->cc_minor % 100000);
}

/* Takes the samples from the result; a prediction is one sample. False when out of memory. */
static bool part_samples(struct part_cell *out, struct cell_result *cell)
{
    const double predicted = cell->time.summary.median;

    if (!out->modelled) {
        out->samples = cell->time.samples_ns;
        out->sample_count = out->samples ? cell->time.summary.count : 0;
        cell->time.samples_ns = NULL;
        return true;
    }
    if (isnan(predicted))
        return true;
    out->samples = malloc(sizeof(*out->samples));
    if (!out->samples)
        return false;
    out->samples[0] = predicted;
    out->sample_count = 1;
    return true;
}

static bool part_counters(struct part_cell *out, const struct cell_result *cell)
{
    if (cell->counter_count == 0)
        return true;
    out->counters = calloc(cell->counter_count, sizeof(*out->counters));
    if (!out->counters)
        return false;
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];
        struct part_counter *counter = &out->counters[out->counter_count++];

        snprintf(counter->name, sizeof(counter->name), "%s", value->name);
        counter->kind = value->kind;
        counter->value = value->status == COUNTER_OK ? value->value : NAN;
    }
    return true;
}

static bool part_cell(struct part_cell *out, const struct result *result, struct cell_result *cell)
{
    *out = (struct part_cell){
        .cell = cell->cell,
        .status = cell->status,
        .flags = cell->flags,
        .modelled = result->modelled_time,
        .sm_clock_mhz = cell->time.sm_clock_mhz,
    };
    memcpy(out->reason, cell->reason, sizeof(out->reason));
    if (cell->kernel.known)
        memcpy(out->sha256, cell->kernel.sha256, sizeof(out->sha256));
    return part_samples(out, cell) && part_counters(out, cell);
}

static int compare_cell_pointers(const void *left, const void *right)
{
    return cell_order(*(const struct cell *const *)left, *(const struct cell *const *)right);
}

/* Refuses a cell that is twice in one file: which of the two would it be? */
static enum status check_once(const struct part *part)
{
    const struct cell **cells = malloc((part->cell_count + 1) * sizeof(*cells));
    enum status status = STATUS_OK;

    if (!cells)
        return out_of_memory(part->path);
    for (size_t i = 0; i < part->cell_count; i++)
        cells[i] = &part->cells[i].cell;
    qsort(cells, part->cell_count, sizeof(*cells), compare_cell_pointers);
    for (size_t i = 1; i < part->cell_count && status == STATUS_OK; i++)
        if (cell_equal(cells[i - 1], cells[i])) {
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(cells[i], identity);
            status = log_error(STATUS_USAGE, "%s: the cell %s is twice in one result; remove one of the two",
                               part->path, identity);
        }
    free(cells);
    return status;
}

static enum status part_of(struct part *part, struct result *result)
{
    part_identity(result, &part->identity);
    part->complete = result->complete;
    part->cells = calloc(result->cell_count + 1, sizeof(*part->cells));
    if (!part->cells)
        return out_of_memory(part->path);
    while (part->cell_count < result->cell_count) {
        const size_t i = part->cell_count++;

        if (!part_cell(&part->cells[i], result, &result->cells[i]))
            return out_of_memory(part->path);
    }
    return check_once(part);
}

static enum status part_read(struct part *part, const char *path)
{
    struct result result;
    enum status status = result_read(path, &result);

    if (status != STATUS_OK)
        return status;
    part->path = path;
    status = part_of(part, &result);
    result_close(&result);
    return status;
}

/* -- reading on all processors ------------------------------------------------------------------------ */

struct reading {
    char *const *paths;
    struct part *parts;
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
        reading->statuses[i] = part_read(&reading->parts[i], reading->paths[i]);
        if (reading->statuses[i] != STATUS_OK)
            note_bad(reading, i);
    }
}

/* -- merging ------------------------------------------------------------------------------------------ */

/* Where the cells of a side are, by cell_order. */
struct index {
    size_t *at; /* owned: indices into the side's cells */
    size_t count;
};

static int compare_indexed(const void *left, const void *right, void *cells)
{
    const struct side_cell *all = cells;

    return cell_order(&all[*(const size_t *)left].cell, &all[*(const size_t *)right].cell);
}

/* Brings the index up to date. False when out of memory. */
static bool index_update(struct index *index, struct side *side)
{
    size_t *larger;

    if (index->at && index->count == side->cell_count)
        return true;
    larger = realloc(index->at, (side->cell_count + 1) * sizeof(*larger));
    if (!larger)
        return false;
    index->at = larger;
    index->count = side->cell_count;
    for (size_t i = 0; i < index->count; i++)
        index->at[i] = i;
    qsort_r(index->at, index->count, sizeof(*index->at), compare_indexed, side->cells);
    return true;
}

/* The cell's place in the side; SIZE_MAX where the index has none. */
static size_t index_find(const struct index *index, const struct side *side, const struct cell *cell)
{
    size_t low = 0, high = index->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = cell_order(&side->cells[index->at[middle]].cell, cell);

        if (order == 0)
            return index->at[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* Room for one more element in an array of count that grows by doubling; NULL when out of memory, and then the
 * array is as it was. */
static void *grow(void *array, size_t count, size_t bytes)
{
    const bool full = (count & (count - 1)) == 0; /* 0, 1, 2, 4, 8 ... */

    return full && array ? realloc(array, 2 * count * bytes) : array ? array : malloc(bytes);
}

/* Inserts value into ascending values. */
static bool insert(double **values, size_t *count, double value)
{
    double *larger = grow(*values, *count, sizeof(*larger));
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

static double median_of_sorted(const double *sorted, size_t count)
{
    const double low = sorted[(count - 1) / 2];

    return low + (sorted[count / 2] - low) / 2;
}

/* Keeps text that is equal; what differs between files is mixed. */
static void merge_text(char *text, const char *other, size_t bytes)
{
    if (strcmp(text, other) != 0)
        snprintf(text, bytes, "%s", mixed);
}

static void merge_identity(struct side *side, const struct side_identity *from)
{
    struct side_identity *to = &side->identity;

    if (side->files == 0) {
        *to = *from;
        return;
    }
    merge_text(to->engine, from->engine, sizeof(to->engine));
    merge_text(to->device, from->device, sizeof(to->device));
    merge_text(to->uuid, from->uuid, sizeof(to->uuid));
    merge_text(to->compute_capability, from->compute_capability, sizeof(to->compute_capability));
    merge_text(to->driver, from->driver, sizeof(to->driver));
    merge_text(to->vbios, from->vbios, sizeof(to->vbios));
    merge_text(to->ecc, from->ecc, sizeof(to->ecc));
    merge_text(to->mig, from->mig, sizeof(to->mig));
    /* ISO 8601: the order of text is that of time. */
    if (strcmp(from->started_utc, to->started_utc) < 0)
        memcpy(to->started_utc, from->started_utc, sizeof(to->started_utc));
}

static void merge_status(struct side_cell *cell, const struct part_cell *from)
{
    static const int gravity[] = {[CELL_OK] = 0, [CELL_PENDING] = 1, [CELL_SKIPPED] = 2, [CELL_FAILED] = 3};

    cell->flags |= from->flags;
    cell->modelled = cell->modelled || from->modelled;
    if (gravity[from->status] <= gravity[cell->status])
        return;
    cell->status = from->status;
    memcpy(cell->reason, from->reason, sizeof(cell->reason));
}

/* A launch that does not know the hash takes none away. */
static void merge_hash(struct side_cell *cell, const struct part_cell *from)
{
    if (!cell->sha256[0])
        memcpy(cell->sha256, from->sha256, sizeof(cell->sha256));
    else if (from->sha256[0])
        merge_text(cell->sha256, from->sha256, sizeof(cell->sha256));
}

static bool merge_clock(struct side_cell *cell, double mhz)
{
    if (isnan(mhz))
        return true;
    if (!insert(&cell->clocks_mhz, &cell->clock_count, mhz))
        return false;
    cell->sm_clock_mhz = median_of_sorted(cell->clocks_mhz, cell->clock_count);
    return true;
}

/* Takes the samples over. */
static bool merge_samples(struct side_cell *cell, struct part_cell *from)
{
    struct launch_samples *larger;

    if (from->sample_count == 0)
        return true;
    larger = grow(cell->launches, cell->launch_count, sizeof(*larger));
    if (!larger)
        return false;
    cell->launches = larger;
    cell->launches[cell->launch_count++] = (struct launch_samples){from->samples, from->sample_count};
    from->samples = NULL;
    return true;
}

/* The counter of that name, new where there is none. `hint`: where it is when all launches read the same. NULL when
 * out of memory. */
static struct side_counter *counter_of(struct side_cell *cell, const struct part_counter *from, size_t hint)
{
    struct side_counter *larger;

    if (hint < cell->counter_count && strcmp(cell->counters[hint].name, from->name) == 0)
        return &cell->counters[hint];
    for (size_t i = 0; i < cell->counter_count; i++)
        if (strcmp(cell->counters[i].name, from->name) == 0)
            return &cell->counters[i];
    larger = grow(cell->counters, cell->counter_count, sizeof(*larger));
    if (!larger)
        return NULL;
    cell->counters = larger;
    cell->counters[cell->counter_count] =
        (struct side_counter){.kind = from->kind, .value = NAN, .low = NAN, .high = NAN};
    memcpy(cell->counters[cell->counter_count].name, from->name, sizeof(from->name));
    return &cell->counters[cell->counter_count++];
}

static bool merge_counters(struct side_cell *cell, const struct part_cell *from)
{
    for (size_t i = 0; i < from->counter_count; i++) {
        struct side_counter *counter = counter_of(cell, &from->counters[i], i);

        if (!counter)
            return false;
        if (isnan(from->counters[i].value))
            continue;
        if (!insert(&counter->values, &counter->read, from->counters[i].value))
            return false;
        counter->value = median_of_sorted(counter->values, counter->read);
        counter->low = counter->values[0];
        counter->high = counter->values[counter->read - 1];
    }
    return true;
}

/* The side's cell that is `cell`, new where there is none. NULL when out of memory. */
static struct side_cell *cell_of(struct side *side, const struct index *index, const struct cell *cell)
{
    const size_t found = index_find(index, side, cell);
    struct side_cell *larger;

    if (found != SIZE_MAX)
        return &side->cells[found];
    larger = grow(side->cells, side->cell_count, sizeof(*larger));
    if (!larger)
        return NULL;
    side->cells = larger;
    side->cells[side->cell_count] = (struct side_cell){.cell = *cell, .status = CELL_OK, .sm_clock_mhz = NAN};
    return &side->cells[side->cell_count++];
}

/* Adds a part to the side. A file has each cell once, so that the index need not know those it adds. */
static enum status merge_part(struct side *side, struct index *index, struct part *part)
{
    bool good = index_update(index, side);

    for (size_t i = 0; i < part->cell_count && good; i++) {
        struct part_cell *from = &part->cells[i];
        struct side_cell *cell = cell_of(side, index, &from->cell);

        good = cell && merge_clock(cell, from->sm_clock_mhz) && merge_counters(cell, from) && merge_samples(cell, from);
        if (good) {
            merge_status(cell, from);
            merge_hash(cell, from);
        }
    }
    if (!good)
        return out_of_memory(part->path);
    merge_identity(side, &part->identity);
    side->files++;
    side->incomplete += !part->complete;
    return STATUS_OK;
}

/* -- sides -------------------------------------------------------------------------------------------- */

/* Reads all files, then merges them. */
static enum status add_files(struct side *side, const struct file_list *list)
{
    struct reading reading = {.paths = list->paths, .first_bad = list->count};
    struct index index = {0};
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
            status = merge_part(side, &index, &reading.parts[i]);
        part_close(&reading.parts[i]);
    }
out:
    free(index.at);
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

static void side_cell_close(struct side_cell *cell)
{
    for (size_t i = 0; i < cell->launch_count; i++)
        free((void *)cell->launches[i].samples);
    for (size_t i = 0; i < cell->counter_count; i++)
        free(cell->counters[i].values);
    free(cell->launches);
    free(cell->clocks_mhz);
    free(cell->counters);
}

void side_close(struct side *side)
{
    for (size_t i = 0; i < side->cell_count; i++)
        side_cell_close(&side->cells[i]);
    free(side->cells);
    *side = (struct side){0};
}
