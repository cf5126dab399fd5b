/* SPDX-License-Identifier: MIT
 * The cells of a result as objects: a table of fields for each part of a cell. */
#include "result_cell_json.h"

#include <math.h>
#include <stdlib.h>

#include "cell_json.h"
#include "operations.h"
#include "result.h"
#include "user_cell.h"
#include "verdict.h"

/* Most cells that are read. A complete file with this many has more than JSON_VALUES_MAX values. */
enum { CELLS_MAX = 65536 };

/* -- counters ---------------------------------------------------------------------------------- */

static const struct names counter_kinds =
    NAMES(counter_kind_names, COUNTER_MEASURED + 1, "exact or measured");
static const struct names counter_statuses =
    NAMES(counter_status_names, COUNTER_NO_PERMISSION + 1,
          "ok, unsupported, unavailable, no_permission or not_collected");

static const struct field counter_rows[] = {
    {FIELD(field_number, struct counter_value, "value", value, NULLABLE)},
    {FIELD(field_number, struct counter_value, "expected", expected, NULLABLE)},
    {FIELD(field_name, struct counter_value, "kind", kind, REQUIRED), .of = &counter_kinds},
    {FIELD(field_name, struct counter_value, "status", status, REQUIRED), .of = &counter_statuses},
    {FIELD(field_reference, struct counter_value, "metric", metric, NULLABLE)},
    {FIELD(field_reference, struct counter_value, "unit", unit, REQUIRED)},
    {FIELD(field_reference, struct counter_value, "reason", reason, NULLABLE)},
};

static void check_counter(const struct node *node, void *element)
{
    const struct counter_value *value = element;

    if (value->status == COUNTER_OK && isnan(value->value))
        node_refuse(node, "value", "a number, since the status is ok");
}

static const struct objects counter_map = {OBJECTS(counter_rows, struct counter_value,
                                                   struct cell_result, counter_count),
                                           .max = JSON_VALUES_MAX, .line = true,
                                           .key = offsetof(struct counter_value, name),
                                           .check = check_counter};

static const struct field exact_rows[] = {
    {FIELD(field_uint64, struct exact_counts, "compared", compared, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "equal", equal, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "differing", differing, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "unknown", unknown, REQUIRED)},
};

/* Those of a cell or, with `of`, of all cells of a result. */
static void write_exact(cJSON *object, const struct field *field, const void *base)
{
    static const struct fields fields = FIELDS(exact_rows);
    const struct result *result = base;
    const struct exact_counts counts =
        field->of ? exact_counts(result->cells, result->cell_count) : exact_counts(base, 1);
    cJSON *made = cJSON_CreateObject();

    fields_write(made, &fields, &counts);
    json_add(object, field->key, json_line(made));
}

const struct field_kind kind_exact_counters = {write_exact, NULL};

/* -- time -------------------------------------------------------------------------------------- */

/* Times or clocks of the samples. Clocks (OMITTED) are kept while a cell is sampled, so that
 * another process can continue it. */
static void write_samples(cJSON *object, const struct field *field, const void *base)
{
    const struct cell_time *time = base;
    const double *values = *(double *const *)((const char *)base + field->offset);

    if (values || field->presence == REQUIRED)
        json_add(object, field->key, json_doubles(values, values ? time->summary.count : 0));
}

static void read_samples(const struct node *node, const struct field *field, void *base)
{
    const struct field alone = {.key = field->key,
                                .kind = &field_numbers,
                                .presence = field->presence};
    struct cell_time *time = base;
    struct numbers numbers = {0};

    field_read(node, &alone, &numbers);
    *(double **)((char *)base + field->offset) = numbers.values;
    if (field->presence == REQUIRED)
        time->summary.count = numbers.count;
    else if (numbers.values && numbers.count != time->summary.count)
        node_refuse(node, field->key, "as many numbers as there are samples");
    for (size_t i = 0; field->high > 0 && i < numbers.count && !node_failed(node); i++)
        if (!(numbers.values[i] > 0 && numbers.values[i] <= field->high))
            node_wrong_member(node, field->key,
                              "number %zu is %g: a time is above 0, and at most %g ns", i,
                              numbers.values[i], field->high);
}

static const struct field_kind kind_samples = {write_samples, read_samples};

/* Time of a launch, in ns, 11 days: sums of times within this limit are finite. */
#define LONGEST_NS 1e15

static const struct names stop_reasons =
    NAMES(stop_reason_names, STOP_MODELLED + 1, "converged, samples, time, modes, modelled");

static const struct field time_rows[] = {
    {FIELD(field_number, struct cell_time, "value", summary.value, NULLABLE)},
    {FIELD(field_number, struct cell_time, "median", summary.median, NULLABLE)},
    {FIELD(field_number, struct cell_time, "ci_low", summary.ci_low, NULLABLE)},
    {FIELD(field_number, struct cell_time, "ci_high", summary.ci_high, NULLABLE)},
    {FIELD(field_number, struct cell_time, "samples_half_width", summary.samples_half, LATER)},
    {FIELD(field_number, struct cell_time, "assumed_half_width", summary.assumed_half, LATER)},
    {FIELD(field_number, struct cell_time, "min", summary.min, NULLABLE)},
    {FIELD(field_number, struct cell_time, "mad", summary.mad, NULLABLE)},
    {FIELD(field_number, struct cell_time, "effective_samples", series.effective, NULLABLE)},
    {FIELD(field_uint32, struct cell_time, "launches_per_sample", launches_per_sample, REQUIRED)},
    {FIELD(field_name, struct cell_time, "stop_reason", stop_reason, NULLABLE),
     .of = &stop_reasons},
    {FIELD(kind_samples, struct cell_time, "samples", samples_ns, REQUIRED), .high = LONGEST_NS},
    {FIELD(kind_samples, struct cell_time, "clocks_mhz", clocks_mhz, OMITTED)},
};
static const struct object time_object = {.fields = FIELDS(time_rows), .given = SIZE_MAX};

static const struct field duration_rows[] = {
    {FIELD(field_number, struct cell_duration, "value", value, NULLABLE), .low = 0,
     .high = LONGEST_NS},
    {FIELD(field_number, struct cell_duration, "ci_low", ci_low, NULLABLE)},
    {FIELD(field_number, struct cell_duration, "ci_high", ci_high, NULLABLE)},
    {FIELD(field_uint32, struct cell_duration, "launches", launches, REQUIRED)},
    {FIELD(field_reference, struct cell_duration, "null_reason", reason, NULLABLE)},
};

static const struct object duration_object = {.fields = FIELDS(duration_rows),
                                              .given =
                                                  offsetof(struct cell_result, duration.given)};

/* -- the kernel, and what it does -------------------------------------------------------------- */

static const struct field kernel_rows[] = {
    {FIELD(field_text, struct cell_result, "name", kernel.symbol, NULLABLE)},
    {FIELD(field_text, struct cell_result, "image", kernel.image, NULLABLE)},
    {FIELD(field_text, struct cell_result, "sass_sha256", kernel.sha256, NULLABLE)},
    {FIELD(field_uint32, struct cell_result, "registers", kernel.registers, NULLABLE)},
    {FIELD(field_reference, struct cell_result, "instruction", kernel.instruction, NULLABLE)},
};

static const struct object kernel_object = {.fields = FIELDS(kernel_rows), .given = SIZE_MAX};

static const struct field per_byte_rows[] = {
    {FIELD(field_number, struct operations_per_byte, "ideal", ideal, NULLABLE)},
    {FIELD(field_number, struct operations_per_byte, "dram", dram, NULLABLE)},
    {FIELD(field_number, struct operations_per_byte, "l2", l2, NULLABLE)},
};

/* -- counts ------------------------------------------------------------------------------------ */

static const struct field counts_rows[] = {
    {FIELD(field_number, struct cell_counts, "requests_per_load", requests_per_load, NULLABLE)},
    {FIELD(field_uint64, struct cell_counts, "footprint_bytes", footprint_bytes, REQUIRED)},
};
static const struct object counts_object = {.fields = FIELDS(counts_rows),
                                            .given = offsetof(struct cell_result, counts.given)};

/* -- the case of a user's kernel --------------------------------------------------------------- */

/* Three numbers: x, y and z of a grid or block. */
static void write_extent(cJSON *object, const struct field *field, const void *base)
{
    const uint32_t *values = (const uint32_t *)((const char *)base + field->offset);
    cJSON *array = cJSON_CreateArray();

    for (size_t i = 0; i < 3; i++)
        json_append(array, cJSON_CreateNumber(values[i]));
    json_add(object, field->key, json_line(array));
}

static void read_extent(const struct node *node, const struct field *field, void *base)
{
    uint32_t *values = (uint32_t *)((char *)base + field->offset);
    const struct node array = node_array(node, field->key);
    const cJSON *item;
    uint64_t value;
    size_t count = 0;

    cJSON_ArrayForEach (item, array.json)
        if (json_integer(item, &value) && value >= 1 && value <= INT32_MAX && count < 3)
            values[count++] = (uint32_t)value;
        else
            count = 4;
    if (!node_failed(node) && count != 3)
        node_refuse(node, field->key, "three numbers from 1 on: x, y and z");
}

static const struct field_kind kind_extent = {write_extent, read_extent};
static const struct names case_references =
    NAMES(case_reference_names, REFERENCE_FILE + 1, "cpu, gpu or file");
static const struct names case_findings =
    NAMES(case_finding_names, CASE_FINDING_COUNT, "an array of findings that this build knows");

static const struct field case_rows[] = {
    {FIELD(field_bool, struct cell_case, "as_written", as_written, REQUIRED)},
    {FIELD(kind_extent, struct cell_case, "grid", grid, REQUIRED)},
    {FIELD(kind_extent, struct cell_case, "block", block, REQUIRED)},
    {FIELD(field_uint64, struct cell_case, "shared_bytes", shared_bytes, REQUIRED)},
    {FIELD(field_uint32, struct cell_case, "blocks_per_sm", blocks_per_sm, NULLABLE)},
    {FIELD(field_uint64, struct cell_case, "items", items, REQUIRED), .low = 1,
     .high = 9007199254740992},
    {FIELD(field_text, struct cell_case, "instructions", instructions, NULLABLE)},
    {FIELD(field_name, struct cell_case, "reference", reference, NULLABLE), .of = &case_references},
    {FIELD(field_bits, struct cell_case, "findings", findings, REQUIRED), .of = &case_findings},
};
static const struct object case_object = {.fields = FIELDS(case_rows),
                                          .given = offsetof(struct cell_result, of_case.given)};

/* -- cells ------------------------------------------------------------------------------------- */

/* Keys that follow from other members and are not read. */
static void write_derived(cJSON *object, const struct field *field, const void *base)
{
    static const struct fields per_byte_fields = FIELDS(per_byte_rows);
    const struct cell_result *cell = base;
    const struct operations_per_byte per_byte = cell_operations_per_byte(cell);

    (void)field;
    if (cell_is_user(&cell->cell)) { /* its tables are in its file */
        json_add_text(object, "width_bytes", NULL);
        json_add_text(object, "table_bytes", NULL);
    } else {
        json_add_integer(object, "width_bytes", table_width(cell->cell.parameters));
        json_add_integer(object, "table_bytes",
                         table_bytes(cell->cell.path, cell->cell.parameters));
    }
    json_add_text(object, "process_deviation", NULL);
    /* Whether another process was seen on the device: written for every cell whose samples were
     * described. */
    json_add(object, "contended",
             cell->time.series.buffer_sets > 0
                 ? cJSON_CreateBool((cell->flags & FLAG_CONTENDED) != 0)
                 : cJSON_CreateNull());
    fields_write(json_add(object, "operations_per_byte", cJSON_CreateObject()), &per_byte_fields,
                 &per_byte);
}

static const struct field_kind kind_derived = {write_derived, NULL};

static const struct names cell_statuses =
    NAMES(cell_status_names, CELL_FAILED + 1, "pending, ok, skipped or failed");
static const struct names cell_flags =
    NAMES(cell_flag_names, CELL_FLAG_COUNT, "an array of flags that this build knows");

static const struct field indices_rows[] = {
    {FIELD(field_reference, struct cell_indices, "source", source, REQUIRED)},
    {FIELD(field_reference, struct cell_indices, "file", file, NULLABLE)},
    {FIELD(field_text, struct cell_indices, "hash", sha256, REQUIRED)},
};
static const struct object indices_object = {.fields = FIELDS(indices_rows),
                                             .given = offsetof(struct cell_result, indices.given)};

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct cell_result, "identity", cell, REQUIRED)},
    {FIELD(field_name, struct cell_result, "status", status, REQUIRED), .of = &cell_statuses},
    {FIELD(field_text, struct cell_result, "reason", reason, NULLABLE)},
    {FIELD(field_bool, struct cell_result, "verified", verified, REQUIRED)},
    {FIELD(field_object, struct cell_result, "time_ns", time, REQUIRED), .of = &time_object},
    {FIELD(field_object, struct cell_result, "duration_ns", duration, OMITTED),
     .of = &duration_object},
    {FIELD(field_number, struct cell_result, "cycles", time.cycles, NULLABLE)},
    {FIELD(field_number, struct cell_result, "sm_clock_mhz", time.sm_clock_mhz, NULLABLE)},
    {FIELD(field_bits, struct cell_result, "flags", flags, REQUIRED), .of = &cell_flags},
    {FIELD(field_object, struct cell_result, "indices", indices, NULLABLE), .of = &indices_object},
    {FIELD(field_uint32, struct cell_result, "grid_blocks", cell.grid_blocks, NULLABLE)},
    {FIELD(field_uint32, struct cell_result, "buffer_sets", time.series.buffer_sets, NULLABLE)},
    {FIELD(field_uint32, struct cell_result, "table_offsets", time.table_offsets, NULLABLE)},
    {FIELD(field_uint32, struct cell_result, "code_copies", time.code_copies, NULLABLE)},
    {FIELD(field_number, struct cell_result, "buffer_set_deviation",
           time.series.buffer_set_deviation, NULLABLE)},
    {FIELD(field_number, struct cell_result, "autocorrelation", time.series.autocorrelation,
           NULLABLE)},
    {FIELD(field_number, struct cell_result, "modes", time.series.modes, NULLABLE)},
    {FIELD(field_number, struct cell_result, "outliers", time.series.outliers, NULLABLE)},
    {FIELD(field_map, struct cell_result, "counters", counters, REQUIRED), .of = &counter_map},
    {FIELD(field_uint64, struct cell_result, "operations", operations, NULLABLE)},
    {WITHIN("exact_counters", kind_exact_counters)},
    {.kind = &kind_derived},
    {WITHIN("kernel", field_object), .of = &kernel_object},
    {FIELD(field_object, struct cell_result, "counts", counts, LATER), .of = &counts_object},
    {FIELD(field_object, struct cell_result, "case", of_case, OMITTED), .of = &case_object},
};

/* -- code, once for all cells of a kernel ------------------------------------------------------ */

enum { KERNELS_MAX = 4096 };

static void write_code(cJSON *object, const struct field *field, const void *base)
{
    const struct result *result = base;
    cJSON *codes = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_kernel *kernel = &result->cells[i].kernel;

        if (kernel->code && *kernel->code && kernel->sha256[0] && !json_get(codes, kernel->sha256))
            json_add_text(codes, kernel->sha256, kernel->code);
    }
}

static void read_code(const struct node *node, const struct field *field, void *base)
{
    struct result *result = base;

    if (!node_get(node, field->key))
        return;

    const struct node codes = node_object(node, field->key);

    if (!node_failed(node) && cJSON_GetArraySize(codes.json) > KERNELS_MAX)
        node_wrong(&codes, "expected at most %d kernels", KERNELS_MAX);
    for (size_t i = 0; i < result->cell_count && !node_failed(node); i++)
        if (json_get(codes.json, result->cells[i].kernel.sha256))
            result->cells[i].kernel.code = node_text(&codes, result->cells[i].kernel.sha256, true);
}

const struct field_kind kind_code = {write_code, read_code};

const struct objects result_cells = {OBJECTS(cell_rows, struct cell_result, struct result,
                                             cell_count),
                                     .max = CELLS_MAX};
