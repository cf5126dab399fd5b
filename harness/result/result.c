/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "json_tree.h"
#include "log.h"
#include "sass_code.h"

const struct engine_kind engine_kinds[] = {
    {.name = "cuda"},
    {.name = "model", .modelled = true},
};

const size_t engine_kind_count = sizeof(engine_kinds) / sizeof(engine_kinds[0]);

const char *const cell_status_names[] = {
    [CELL_PENDING] = "pending",
    [CELL_OK] = "ok",
    [CELL_SKIPPED] = "skipped",
    [CELL_FAILED] = "failed",
};

const char *const stop_reason_names[] = {
    [STOP_NONE] = NULL,     [STOP_CONVERGED] = "converged", [STOP_SAMPLES] = "samples",   [STOP_TIME] = "time",
    [STOP_MODES] = "modes", [STOP_PLACES] = "places",       [STOP_MODELLED] = "modelled",
};

const char *const cell_flag_names[] = {"throttled", "unstable",    "clock_varied", "counter_differs",
                                       "resumed",   "errors_grew", "multimodal",   "shared"};
const char *const cell_flag_reasons[] = {
    "the driver held the clocks down during the run",
    "sampling stopped before the interval was narrow enough",
    "the SM clock changed by more than 1 % between samples",
    "an exact counter is not what was expected",
    "samples are of more than one process: the run was interrupted",
    "errors of the device grew during the run",
    "the samples fall into several modes, which one number does not tell",
    "something else had the GPU while the cell was timed",
};

/* Bytes of "add" in "add.sm_90.cubin". */
static size_t module_bytes(const struct image *image)
{
    size_t bytes = 0;

    while (bytes < image->name_bytes && image->name[bytes] != '.')
        bytes++;
    return bytes;
}

/* Appends what the image is of: "sm_90". */
static void append_architecture(const struct image *image, char list[RESULT_ARCHITECTURES_BYTES])
{
    const size_t used = strlen(list);
    char name[64], *rest = name;

    snprintf(name, sizeof(name), "%.*s", (int)image->name_bytes, image->name);
    strsep(&rest, ".");
    if (rest)
        snprintf(list + used, RESULT_ARCHITECTURES_BYTES - used, "%s%.*s", used ? " " : "", (int)strcspn(rest, "."),
                 rest);
}

void result_sign(struct result *result)
{
    struct image first, image;

    result->tool = tool;
    result->architectures[0] = '\0';
    if (!image_at(0, &first))
        return;
    /* Every module is built for the same. */
    for (size_t i = 0; image_at(i, &image); i++)
        if (module_bytes(&image) == module_bytes(&first) && memcmp(image.name, first.name, module_bytes(&first)) == 0)
            append_architecture(&image, result->architectures);
}

enum status result_open(struct result *result, const struct cell *cells, size_t count)
{
    *result = (struct result){.device = device_unknown};
    result_sign(result);
    /* At least one, for calloc(0) may give NULL. */
    result->cells = calloc(count ? count : 1, sizeof(*result->cells));
    if (!result->cells)
        return log_memory("%zu cells", count);
    result->cell_count = count;
    for (size_t i = 0; i < count; i++) {
        struct cell_time *time = &result->cells[i].time;

        result->cells[i].cell = cells[i];
        time->summary =
            (struct summary){.value = NAN, .median = NAN, .ci_low = NAN, .ci_high = NAN, .min = NAN, .mad = NAN};
        time->series = series_unknown;
        time->cycles = NAN;
        time->sm_clock_mhz = NAN;
    }
    return STATUS_OK;
}

enum status cell_kernel_set(struct cell_kernel *kernel, const struct kernel_sass *sass, const char *image,
                            size_t image_bytes)
{
    free(kernel->made);
    *kernel = (struct cell_kernel){.known = true, .made = sass->known ? sass_code_text(sass->code, sass->bytes) : NULL};
    if (sass->known && !kernel->made)
        return log_memory("the code of a kernel");
    kernel->code = kernel->made;
    snprintf(kernel->symbol, sizeof(kernel->symbol), "%s", sass->symbol);
    snprintf(kernel->image, sizeof(kernel->image), "%.*s", (int)image_bytes, image);
    memcpy(kernel->sha256, sass->sha256, sizeof(kernel->sha256));
    return STATUS_OK;
}

const struct cell *result_cell(const void *result, size_t i)
{
    return &((const struct result *)result)->cells[i].cell;
}

/* Where nobody said how large the table is, it is as large as the path has room for: a path whose home is smaller than that
 * of others may be too small for a file. */
static bool too_small(struct cell_result *cell, const struct index_array *array)
{
    const uint32_t length = cell_length(&cell->cell), *values = cell->cell.parameters;

    if (!array || array->highest < length || values[PARAMETER_table_bytes] ||
        array->highest >= CBANK_TABLE_BYTES / table_width(values))
        return false;
    cell->status = CELL_SKIPPED;
    snprintf(cell->reason, sizeof(cell->reason), "%s holds %" PRIu32 " entries; the indices go to %" PRIu64,
             cell->cell.path->name, length, array->highest);
    return true;
}

static enum status give_indices(struct cell_result *cell, struct index_list *list, const char *file)
{
    const char *path = cell->indices.file ? cell->indices.file : file;
    const struct index_array *array = NULL;
    char identity[CELL_IDENTITY_BYTES];
    enum status status = STATUS_OK;

    if (cell_reads_file(&cell->cell))
        status = index_list_map(list, path, &array);
    if (status == STATUS_OK && array && array->trace != cell->cell.trace)
        return log_error(STATUS_ENVIRONMENT,
                         "%s has changed since cells were measured with it; put the file back of SHA-256 %s", path,
                         cell->indices.sha256);
    if (status != STATUS_OK || too_small(cell, array))
        return status;
    status = index_list_give(list, &cell->cell, &array);
    if (status != STATUS_OK)
        return status;
    if (cell->indices.given && strcmp(cell->indices.sha256, array->sha256) != 0) {
        cell_identity(&cell->cell, identity);
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with other indices than this program makes; use the cbank that "
                         "began the run",
                         identity);
    }
    cell->indices = (struct cell_indices){.given = true, .source = cell->cell.pattern->name, .file = array->path};
    memcpy(cell->indices.sha256, array->sha256, sizeof(cell->indices.sha256));
    return STATUS_OK;
}

enum status result_give_indices(struct result *result, struct index_list *list, const char *file)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status != CELL_SKIPPED && result->cells[i].cell.workload->index == INDEX_LOADED)
            status = give_indices(&result->cells[i], list, file);
    return status;
}

void result_close(struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        free(result->cells[i].time.samples_ns);
        free(result->cells[i].time.clocks_mhz);
        free(result->cells[i].counters);
        free(result->cells[i].kernel.made);
    }
    free(result->cells);
    json_tree_close(result->storage);
    *result = (struct result){0};
}

static double counter_read(const struct cell_result *cell, const char *name)
{
    return counter_counted(cell->counters, cell->counter_count, name);
}

/* NaN where there are no bytes. */
static double per_byte(double operations, double bytes)
{
    return bytes > 0 ? operations / bytes : NAN;
}

struct operations_per_byte cell_operations_per_byte(const struct cell_result *cell)
{
    enum { PRODUCT_OPERATIONS = 2, ELEMENT_BYTES = 4, L2_SECTOR_BYTES = 32 };
    const double operations = cell->operations ? (double)cell->operations : NAN;
    const double global_bytes = cell->cell.path->home == TABLE_GLOBAL ? 2 * ELEMENT_BYTES : ELEMENT_BYTES;
    const bool products = cell->cell.path->loads && workload_multiplies(cell->cell.workload);

    return (struct operations_per_byte){
        .ideal = products ? PRODUCT_OPERATIONS / global_bytes : NAN,
        .dram = per_byte(operations, counter_read(cell, "dram_read_bytes") + counter_read(cell, "dram_write_bytes")),
        .l2 = per_byte(operations, L2_SECTOR_BYTES * counter_read(cell, "l2_sectors")),
    };
}

static void count_exact(const struct cell_result *cell, struct exact_counts *counts)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];
        const bool read = value->status == COUNTER_OK, compared = read && !isnan(value->expected);

        if (value->kind != COUNTER_EXACT)
            continue;
        counts->compared += compared;
        counts->equal += compared && !counter_differs(value);
        counts->differing += counter_differs(value);
        counts->unknown += !compared;
        if (!read && counts->unread++ == 0)
            counts->reason = value->reason ? value->reason : counter_status_names[value->status];
    }
}

struct exact_counts cell_exact_counts(const struct cell_result *cell)
{
    struct exact_counts counts = {0};

    count_exact(cell, &counts);
    return counts;
}

struct exact_counts result_exact_counts(const struct result *result)
{
    struct exact_counts counts = {0};

    for (size_t i = 0; i < result->cell_count; i++)
        count_exact(&result->cells[i], &counts);
    return counts;
}

static enum status cell_verdict(const struct cell_result *cell)
{
    if (cell->status == CELL_FAILED || cell->flags & FLAG_COUNTER_DIFFERS || cell_exact_counts(cell).differing > 0)
        return STATUS_FINDING;
    return cell->flags & FLAGS_DOUBTFUL ? STATUS_INCONCLUSIVE : STATUS_OK;
}

enum status result_verdict(const struct result *result)
{
    enum status verdict = result->end.given ? STATUS_FINDING : health_verdict(&result->health);

    for (size_t i = 0; i < result->cell_count; i++)
        verdict = status_worse(verdict, cell_verdict(&result->cells[i]));
    return verdict;
}
