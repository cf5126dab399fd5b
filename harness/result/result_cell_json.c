/* SPDX-License-Identifier: MIT
 * The cells of a result as objects: a table of fields for each part of a cell. */
#include "result_cell_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cell_json.h"
#include "cell_row.h"
#include "operations.h"
#include "result.h"
#include "result_energy_json.h"
#include "schema.h"
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
    {FIELD(field_number, struct counter_value, "value", value, NULLABLE),
     .about = "of one launch of the whole grid"},
    {FIELD(field_optional, struct counter_value, "expected", expected, NULLABLE),
     .about = "what an exact counter must be; null of measured ones and where it cannot be said",
     .rules = AT_LEAST(0)},
    {FIELD(field_name, struct counter_value, "kind", kind, REQUIRED), .names = &counter_kinds},
    {FIELD(field_name, struct counter_value, "status", status, REQUIRED),
     .names = &counter_statuses},
    {FIELD(field_reference, struct counter_value, "metric", metric, NULLABLE),
     .about = "the CUPTI name that was read"},
    {FIELD(field_reference, struct counter_value, "unit", unit, REQUIRED)},
    {FIELD(field_reference, struct counter_value, "reason", reason, NULLABLE),
     .about = "why the status is not ok"},
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
    {FIELD(field_uint64, struct exact_counts, "compared", compared, REQUIRED),
     .about = "that were read and have an expected value"},
    {FIELD(field_uint64, struct exact_counts, "equal", equal, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "differing", differing, REQUIRED),
     .about = "of those compared"},
    {FIELD(field_uint64, struct exact_counts, "unknown", unknown, REQUIRED),
     .about = "that were not read, or whose value cannot be expected"},
};

static const struct fields exact_fields = FIELDS(exact_rows);

static void put_exact(cJSON *object, const struct field *field, const struct exact_counts *counts)
{
    cJSON *made = cJSON_CreateObject();

    fields_write(made, &exact_fields, counts);
    json_add(object, field->key, json_line(made));
}

static void write_cell_exact(cJSON *object, const struct field *field, const void *base)
{
    const struct exact_counts counts = exact_counts(base, 1);

    put_exact(object, field, &counts);
}

static void write_result_exact(cJSON *object, const struct field *field, const void *base)
{
    const struct result *result = base;
    const struct exact_counts counts = exact_counts(result->cells, result->cell_count);

    put_exact(object, field, &counts);
}

static void schema_exact(struct schema_object *object, const struct field *field)
{
    schema_fill(schema_property(object, field, "object"), &exact_fields);
}

static const struct field_kind kind_cell_exact_counters = {.write = write_cell_exact,
                                                           .schema = schema_exact};
const struct field_kind kind_result_exact_counters = {.write = write_result_exact,
                                                      .schema = schema_exact};

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

static void schema_samples(struct schema_object *object, const struct field *field)
{
    cJSON *items = json_add(schema_property(object, field, "array"), "items", cJSON_CreateObject());

    json_add_text(items, "type", "number");
    json_add_double(items, field->high > 0 ? "exclusiveMinimum" : "minimum", 0);
    if (field->high > 0)
        json_add_double(items, "maximum", field->high);
}

static const struct field_kind kind_samples = {.write = write_samples,
                                               .read = read_samples,
                                               .schema = schema_samples};

/* Time of a launch, in ns, 11 days: sums of times within this limit are finite. */
#define LONGEST_NS 1e15

static const struct names stop_reasons =
    NAMES(stop_reason_names, STOP_MODELLED + 1, "converged, samples, time, modes, modelled");

static const struct field time_rows[] = {
    {FIELD(field_number, struct cell_time, "value", summary.value, NULLABLE),
     .about = "the time: mean over the buffer sets of a robust mean of each. Samples are of the "
              "buffer sets in turn; with three of a set or more, those beyond three deviations "
              "from its median are moved there",
     .column = COLUMN(.heading = "time", .key = "time_ns", .format = text_time,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 240)},
    {FIELD(field_number, struct cell_time, "median", summary.median, NULLABLE),
     .about = "of the samples"},
    {FIELD(field_number, struct cell_time, "ci_low", summary.ci_low, NULLABLE),
     .about =
         "95 % confidence interval of value, by Student's t of the samples within buffer sets, and "
         "of what processes are assumed to differ by at least. Null for fewer than 6 samples. Of a "
         "prediction: an interval that held 85 % of such cells of other plans; null where no "
         "interval was shown to hold, and then the value is no time to rely on",
     .column = COLUMN(.heading = "low", .key = "ci_low_ns", .frame = "time_ns_low",
                      .format = text_time, .views = VIEW_CELLS | VIEW_TIME, .place = 260)},
    {FIELD(field_number, struct cell_time, "ci_high", summary.ci_high, NULLABLE),
     .column = COLUMN(.heading = "high", .key = "ci_high_ns", .frame = "time_ns_high",
                      .format = text_time, .views = VIEW_CELLS | VIEW_TIME, .place = 270)},
    {FIELD(field_number, struct cell_time, "samples_half_width", summary.samples_half, LATER),
     .about = "half of that interval by the samples alone"},
    {FIELD(field_number, struct cell_time, "assumed_half_width", summary.assumed_half, LATER),
     .about = "half of it by what processes are assumed to differ by; the two add as squares"},
    {FIELD(field_number, struct cell_time, "min", summary.min, NULLABLE),
     .column = COLUMN(.heading = "minimum", .key = "min_ns", .format = text_time,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 280)},
    {FIELD(field_number, struct cell_time, "mad", summary.mad, NULLABLE),
     .about = "median absolute deviation from the median, not scaled",
     .column = COLUMN(.heading = "MAD", .key = "mad_ns", .format = text_time,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 290)},
    {FIELD(field_number, struct cell_time, "effective_samples", series.effective, NULLABLE),
     .about = "independent samples that tell as much: the interval is theirs",
     .column = COLUMN(.heading = "effective samples", .format = text_tenths,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 580)},
    {FIELD(field_uint32, struct cell_time, "launches_per_sample", launches_per_sample, REQUIRED),
     .column = COLUMN(.heading = "launches a sample", .format = text_count,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 570)},
    {FIELD(field_name, struct cell_time, "stop_reason", stop_reason, NULLABLE),
     .names = &stop_reasons,
     .about = "why sampling stopped (samples: at samples_max, or where those would not have been "
              "enough); null where the cell was not timed",
     .column = COLUMN(.heading = "stopped by", .views = VIEW_CELLS | VIEW_TIME, .place = 310)},
    {FIELD(kind_samples, struct cell_time, "samples", samples_ns, REQUIRED), .high = LONGEST_NS,
     .about = "ns of one launch each, in the order taken; none of a modelled time; of a pending "
              "cell, what was taken before the run was interrupted",
     .column = COLUMN(.frame = "samples_ns")},
    {FIELD(kind_samples, struct cell_time, "clocks_mhz", clocks_mhz, OMITTED),
     .about = "of a pending cell that has samples: the SM clock of each, 0 where it was not known, "
              "so that another process can go on"},
};
static const struct object time_object = {.fields = FIELDS(time_rows), .given = SIZE_MAX};

static const struct field duration_rows[] = {
    {FIELD(field_number, struct cell_duration, "value", value, NULLABLE), .low = 0,
     .high = LONGEST_NS, .rules = AT_LEAST(0),
     .column = COLUMN(.heading = "launch alone", .key = "duration_ns", .format = text_time,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 670)},
    {FIELD(field_number, struct cell_duration, "ci_low", ci_low, NULLABLE),
     .about = "95 % interval of value: Student's t of the samples within buffer sets, and tick_ns "
              "more, since each start and end is of a whole tick",
     .column = COLUMN(.heading = "its low", .key = "duration_ci_low_ns", .format = text_time,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 680)},
    {FIELD(field_number, struct cell_duration, "ci_high", ci_high, NULLABLE),
     .column = COLUMN(.heading = "its high", .key = "duration_ci_high_ns", .format = text_time,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 690)},
    {FIELD(field_uint32, struct cell_duration, "launches", launches, REQUIRED),
     .about = "0 of a cell that launches no kernel", .rules = AT_LEAST(0)},
    {FIELD(field_numbers, struct cell_duration, "samples", samples, LATER),
     .about = "ns of each launch, in the order taken: of the buffer sets in turn"},
    {FIELD(field_reference, struct cell_duration, "null_reason", reason, NULLABLE),
     .about = "why the value is null",
     .column = COLUMN(.heading = "no duration", .key = "duration_null_reason",
                      .views = VIEW_CELLS | VIEW_TIME, .place = 700)},
};

static const struct object duration_object = {.fields = FIELDS(duration_rows),
                                              .given =
                                                  offsetof(struct cell_result, duration.given)};

/* -- what the kernel does -------------------------------------------------------------- */

static const struct field per_byte_rows[] = {
    {FIELD(field_number, struct operations_per_byte, "ideal", ideal, NULLABLE),
     .about = "as textbooks count a sum of products without caches: 0.25 with the filter in global "
              "memory, 0.5 with it in constant memory or kernel parameters; null where nothing is "
              "multiplied",
     .rules = ABOVE(0)},
    {FIELD(field_number, struct operations_per_byte, "dram", dram, NULLABLE),
     .about = "by dram_read_bytes + dram_write_bytes"},
    {FIELD(field_number, struct operations_per_byte, "l2", l2, NULLABLE),
     .about = "by 32 x l2_sectors"},
};

/* -- counts ------------------------------------------------------------------------------------ */

static const struct field counts_rows[] = {
    {FIELD(field_number, struct cell_counts, "requests_per_load", requests_per_load, NULLABLE),
     .about = "per payload load of a warp: distinct addresses on constant and param, 32-byte "
              "sectors on global memory and texture, turns of shared memory on shared, 1 on "
              "constant_uniform and constant_operand; null where the path loads nothing",
     .rules = AT_LEAST(0),
     .column = COLUMN(.heading = "req", .format = text_tenths,
                      .views = VIEW_MATRICES | VIEW_CELLS | VIEW_COUNTS, .place = 350, .rank = 2,
                      .legend = "requests of a warp's load: addresses of constant memory or "
                                "parameters, sectors of "
                                "global memory, wavefronts of shared memory")},
    {FIELD(field_uint64, struct cell_counts, "footprint_bytes", footprint_bytes, REQUIRED),
     .about = "distinct bytes of the table that the grid reads",
     .column = COLUMN(.heading = "footprint, bytes", .format = text_count,
                      .views = VIEW_CELLS | VIEW_COUNTS, .place = 660)},
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

static void schema_extent(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "array");
    cJSON *items = json_add(property, "items", cJSON_CreateObject());

    schema_limit(property, "minItems", 3);
    schema_limit(property, "maxItems", 3);
    json_add_text(items, "type", "integer");
    schema_limit(items, "minimum", 1);
    schema_limit(items, "maximum", INT32_MAX);
}

/* "512x2x1" */
static void value_extent(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const uint32_t *extent = grid_member_at(column, row);

    if (!extent)
        return;
    snprintf(out->room, sizeof(out->room), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, extent[0], extent[1],
             extent[2]);
    out->text = out->room;
}

static const struct field_kind kind_extent = {.write = write_extent,
                                              .read = read_extent,
                                              .schema = schema_extent,
                                              .value = value_extent};
static const struct names case_references =
    NAMES(case_reference_names, REFERENCE_FILE + 1, "cpu, gpu or file");
static const struct names case_findings =
    NAMES(case_finding_names, CASE_FINDING_COUNT, "an array of findings that this build knows");

static const struct field case_rows[] = {
    {FIELD(field_bool, struct cell_case, "as_written", as_written, REQUIRED),
     .about = "its tables are where the kernel file has them",
     .column = COLUMN(.heading = "as written", .views = VIEW_CELLS | VIEW_CODE, .place = 510)},
    {FIELD(kind_extent, struct cell_case, "grid", grid, REQUIRED), .about = "blocks",
     .column = COLUMN(.heading = "grid", .views = VIEW_CELLS | VIEW_CODE, .place = 480)},
    {FIELD(kind_extent, struct cell_case, "block", block, REQUIRED), .about = "threads",
     .column = COLUMN(.heading = "block", .views = VIEW_CELLS | VIEW_CODE, .place = 490)},
    {FIELD(field_uint64, struct cell_case, "shared_bytes", shared_bytes, REQUIRED),
     .about = "of a block, static and dynamic",
     .column = COLUMN(.heading = "shared memory, bytes", .format = text_count,
                      .views = VIEW_CELLS | VIEW_CODE, .place = 500)},
    {FIELD(field_uint32, struct cell_case, "blocks_per_sm", blocks_per_sm, NULLABLE),
     .about = "that fit at a time; null where the driver does not say",
     .column = COLUMN(.heading = "blocks an SM", .format = text_count,
                      .views = VIEW_KERNEL | VIEW_CELLS | VIEW_CODE, .place = 470, .rank = 4,
                      .legend = "that fit at a time")},
    {FIELD(field_uint64, struct cell_case, "items", items, REQUIRED), .low = 1,
     .high = 9007199254740992,
     .about = "that a launch works on: the size, unless the case says otherwise"},
    {FIELD(field_text, struct cell_case, "instructions", instructions, NULLABLE),
     .about =
         "loads of the kernel by class, such as 32 LDC, 1 LDG; null where its code cannot be read",
     .column = COLUMN(.heading = "loads of the kernel", .frame = "loads_by_class",
                      .views = VIEW_CELLS | VIEW_CODE, .place = 450)},
    {FIELD(field_name, struct cell_case, "reference", reference, NULLABLE),
     .names = &case_references,
     .about = "what computed the expected output; null where the case has none",
     .column = COLUMN(.heading = "reference", .views = VIEW_CELLS | VIEW_TIME, .place = 520)},
    {FIELD(field_bits, struct cell_case, "findings", findings, REQUIRED), .names = &case_findings,
     .about = "what the kernel did wrong",
     .column = COLUMN(.heading = "findings", .views = VIEW_CELLS, .place = 530)},
};
static const struct object case_object = {.fields = FIELDS(case_rows),
                                          .given = offsetof(struct cell_result, of_case.given)};

/* -- cells ------------------------------------------------------------------------------------- */

/* Keys that follow from other members and are not read. Bytes of 0 are not known. */
static void write_bytes(cJSON *object, const struct field *field, uint32_t bytes)
{
    json_add_double(object, field->key, bytes ? (double)bytes : (double)NAN);
}

static void write_width(cJSON *object, const struct field *field, const void *base)
{
    write_bytes(object, field, cell_table_width(&((const struct cell_result *)base)->cell));
}

static void write_table(cJSON *object, const struct field *field, const void *base)
{
    write_bytes(object, field, cell_table_bytes(&((const struct cell_result *)base)->cell));
}

/* One process cannot say it: null. */
static void write_null(cJSON *object, const struct field *field, const void *base)
{
    (void)base;
    json_add_text(object, field->key, NULL);
}

/* Whether another process was seen on the device: written for every cell whose samples were
 * described. */
static void write_contended(cJSON *object, const struct field *field, const void *base)
{
    const struct cell_result *cell = base;

    json_add(object, field->key,
             cell->time.series.buffer_sets > 0
                 ? cJSON_CreateBool((cell->flags & FLAG_CONTENDED) != 0)
                 : cJSON_CreateNull());
}

static const struct fields per_byte_fields = FIELDS(per_byte_rows);

static void write_per_byte(cJSON *object, const struct field *field, const void *base)
{
    const struct operations_per_byte per_byte = cell_operations_per_byte(base);

    fields_write(json_add(object, field->key, cJSON_CreateObject()), &per_byte_fields, &per_byte);
}

static void schema_per_byte(struct schema_object *object, const struct field *field)
{
    schema_fill(schema_property(object, field, "object"), &per_byte_fields);
}

static const struct field_kind kind_width = {.write = write_width},
                               kind_table = {.write = write_table},
                               kind_null = {.write = write_null},
                               kind_contended = {.write = write_contended, .schema = schema_bool},
                               kind_per_byte = {.write = write_per_byte, .schema = schema_per_byte};

static const struct names cell_statuses =
    NAMES(cell_status_names, CELL_FAILED + 1, "pending, ok, skipped or failed");
static const struct names cell_flags =
    NAMES(cell_flag_names, CELL_FLAG_COUNT, "an array of flags that this build knows");

static const struct field indices_rows[] = {
    {FIELD(field_reference, struct cell_indices, "source", source, REQUIRED),
     .rules = PATTERN_NAME},
    {FIELD(field_reference, struct cell_indices, "file", file, NULLABLE),
     .about = "as the command line named it; null where a source made them"},
    {FIELD(field_text, struct cell_indices, "hash", sha256, REQUIRED),
     .about = "SHA-256 of the indices as little-endian 32-bit integers, [step][element]; of a "
              "file, of the file",
     .rules = PATTERN_HASH},
};
static const struct object indices_object = {.fields = FIELDS(indices_rows),
                                             .given = offsetof(struct cell_result, indices.given)};

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct cell_result, "identity", cell, REQUIRED),
     .about = "workload/path/pattern/elements/block_size/cache state, and /name=value for each of "
              "its parameters: no two cells of a file have the same"},
    {FIELD(field_name, struct cell_result, "status", status, REQUIRED), .names = &cell_statuses,
     .about = "pending: something is missing. skipped: this chip or build cannot. failed: wrong "
              "output, no memory, a launch failed",
     .column = COLUMN(.heading = "status", .views = VIEW_CELLS | VIEW_TIME, .place = 170)},
    {FIELD(field_text, struct cell_result, "reason", reason, NULLABLE),
     .about = "why it was skipped or failed",
     .column = COLUMN(.heading = "reason", .views = VIEW_CELLS, .place = 180)},
    {FIELD(field_bool, struct cell_result, "verified", verified, REQUIRED),
     .about = "every output element equalled the CPU's; of a user's kernel, what its case expects, "
              "or what it wrote from other memory spaces",
     .column = COLUMN(.heading = "verified", .views = VIEW_CELLS | VIEW_TIME, .place = 190)},
    {FIELD(field_object, struct cell_result, "time_ns", time, REQUIRED), .object = &time_object,
     .about = "ns of one launch: what one more launch adds to a chain of them. All null where the "
              "cell was not timed"},
    {FIELD(field_object, struct cell_result, "duration_ns", duration, OMITTED),
     .object = &duration_object,
     .about = "one launch alone, from its start to its end: the mean over buffer sets; only where "
              "run --duration asked for it"},
    {FIELD(field_object, struct cell_result, "energy", energy, OMITTED),
     .object = &cell_energy_object,
     .about = "joules of its launches, by NVML's counter of energy; only where run --energy asked "
              "for it"},
    {FIELD(field_number, struct cell_result, "cycles", time.cycles, NULLABLE),
     .about = "the time in SM cycles",
     .column = COLUMN(.heading = "SM cycles", .format = text_count, .views = VIEW_CELLS | VIEW_TIME,
                      .place = 410)},
    {FIELD(field_number, struct cell_result, "sm_clock_mhz", time.sm_clock_mhz, NULLABLE),
     .about = "median over the samples", .rules = ABOVE(0),
     .column = COLUMN(.heading = "SM clock, MHz", .format = text_count,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 550)},
    {FIELD(field_bits, struct cell_result, "flags", flags, REQUIRED), .names = &cell_flags,
     .about = "what makes the time doubtful",
     .column = COLUMN(.heading = "flags", .views = VIEW_CELLS, .place = 200)},
    {FIELD(field_object, struct cell_result, "indices", indices, NULLABLE),
     .object = &indices_object,
     .about = "where indices that are data come from; null where a formula gives them"},
    {FIELD(field_uint32, struct cell_result, "grid_blocks", cell.grid_blocks, NULLABLE),
     .about = "thread blocks of a grid that strides over the elements: as many as the device runs "
              "at a time, or as thread_elements asks for. Null where a thread has one element",
     .rules = AT_LEAST(1)},
    {FIELD(field_uint32, struct cell_result, "buffer_sets", time.series.buffer_sets, NULLABLE),
     .about = "buffer sets that samples took in turn", .rules = AT_LEAST(1),
     .column = COLUMN(.heading = "buffer sets", .format = text_count,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 610)},
    {FIELD(field_uint32, struct cell_result, "table_offsets", time.table_offsets, NULLABLE),
     .about = "of the table in each buffer set, which launches read in turn", .rules = AT_LEAST(1),
     .column = COLUMN(.heading = "offsets of the table", .format = text_count,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 590)},
    {FIELD(field_uint32, struct cell_result, "code_copies", time.code_copies, NULLABLE),
     .about = "of code and constant bank, which buffer sets take in turn", .rules = AT_LEAST(1),
     .column = COLUMN(.heading = "copies of the code", .format = text_count,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 600)},
    {FIELD(field_number, struct cell_result, "buffer_set_deviation",
           time.series.buffer_set_deviation, NULLABLE),
     .about = "standard deviation of the buffer sets' medians, as a share of the median",
     .rules = AT_LEAST(0),
     .column = COLUMN(.heading = "their deviation", .format = text_half_width,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 620)},
    {FIELD(field_number, struct cell_result, "autocorrelation", time.series.autocorrelation,
           NULLABLE),
     .about = "of a sample and the next one", .rules = AT_LEAST(-1) ", " AT_MOST(1),
     .column = COLUMN(.heading = "autocorrelation", .format = text_hundredths,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 630)},
    {FIELD(field_optional, struct cell_result, "modes", time.series.modes, NULLABLE),
     .about = "into how many the samples fall: Hartigan's dip test", .rules = AT_LEAST(1),
     .column = COLUMN(.heading = "modes", .format = text_count, .views = VIEW_CELLS | VIEW_TIME,
                      .place = 640)},
    {FIELD(field_optional, struct cell_result, "outliers", time.series.outliers, NULLABLE),
     .about = "samples beyond Tukey's fences", .rules = AT_LEAST(0),
     .column = COLUMN(.heading = "outliers", .format = text_count, .views = VIEW_CELLS | VIEW_TIME,
                      .place = 650)},
    {FIELD(field_map, struct cell_result, "counters", counters, REQUIRED),
     .elements = &counter_map},
    {FIELD(field_uint64, struct cell_result, "operations", operations, NULLABLE),
     .about = "arithmetic operations on elements in one launch; null where they were not counted",
     .column = COLUMN(.heading = "operations", .format = text_count,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 400)},
    {WITHIN("exact_counters", kind_cell_exact_counters)},
    {.key = "width_bytes",
     .kind = &kind_width,
     .presence = NULLABLE,
     .about = "of one element of the table",
     .rules = "\"enum\": [1, 2, 4, 8, 12, 16, 24, 32, null]"},
    {.key = "table_bytes",
     .kind = &kind_table,
     .presence = NULLABLE,
     .about = "of the table, as far as the cell can read of it",
     .rules = "\"type\": [\"integer\", \"null\"], " AT_LEAST(1)},
    {.key = "process_deviation",
     .kind = &kind_null,
     .presence = NULLABLE,
     .about = "relative deviation between processes, which one process cannot say; older files may "
              "have an object",
     .rules = "\"type\": [\"object\", \"null\"]"},
    {.key = "contended",
     .kind = &kind_contended,
     .presence = NULLABLE,
     .about = "whether others used the device meanwhile"},
    {.key = "operations_per_byte",
     .kind = &kind_per_byte,
     .about = "operations for each byte of memory traffic; null where that is not known. Follows "
              "from the rest of the cell"},
    {WITHIN("kernel", field_object), .object = &result_kernel_object,
     .about = "the code that ran, or would run; null where no image is known"},
    {FIELD(field_object, struct cell_result, "counts", counts, LATER), .object = &counts_object,
     .about = "exact counts of the cell's loads, which follow from its pattern"},
    {FIELD(field_object, struct cell_result, "case", of_case, OMITTED), .object = &case_object,
     .about = "how a user's kernel was launched, and what was found; other cells lack it"},
};

const struct objects result_cells = {OBJECTS(cell_rows, struct cell_result, struct result,
                                             cell_count),
                                     .max = CELLS_MAX};
