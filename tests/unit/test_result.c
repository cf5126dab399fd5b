/* SPDX-License-Identifier: MIT
 * Tests of results: one with everything that cells can have is written and read again to the same
 * bytes, and each wrong file is refused in one line that says where. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "capture.h"
#include "cells.h"
#include "directory.h"
#include "image.h"
#include "json.h"
#include "operations.h"
#include "result.h"
#include "size.h"
#include "verdict.h"

static void fill_duration(struct cell_duration *duration)
{
    static const double samples[] = {2200.5, 2208.5, 2216.5};

    *duration = (struct cell_duration){.given = true,
                                       .value = 2208.5,
                                       .ci_low = 2200,
                                       .ci_high = 2217,
                                       .launches = 3,
                                       .samples = {malloc(sizeof(samples)), 3}};
    assert_non_null(duration->samples.values);
    memcpy(duration->samples.values, samples, sizeof(samples));
}

static const struct cell_energy all_energy = {.given = true,
                                              .launch = {2e-4, 1.5e-4, 2.5e-4},
                                              .empty = {5e-5, 4e-5, 6e-5},
                                              .lookup = {1e-11, 0.5e-11, 1.5e-11},
                                              .lookups = 12800000,
                                              .watts = 300,
                                              .watts_low = 299,
                                              .watts_high = 301,
                                              .launch_ns = 666,
                                              .seconds = 2.1,
                                              .steps = 21,
                                              .sm_clock_mhz = 1980,
                                              .celsius = 55,
                                              .limits = 1 << 2 | 1 << 5};

/* Cell 0 of the result: everything that a cell can have. */
static void fill_measured_cell(struct cell_result *cell)
{
    static const double samples[] = {1.0 / 3, 0.1, 25.25, DBL_MIN, 1e15, 1e-5};

    cell->status = CELL_OK;
    cell->verified = true;
    cell->time = (struct cell_time){
        .summary = {.count = 6,
                    .value = 0.1,
                    .median = 0.2,
                    .ci_low = DBL_MIN,
                    .ci_high = 1e300,
                    .min = DBL_MIN,
                    .mad = 0.25},
        .series = {.buffer_sets = 3,
                   .buffer_set_deviation = 0.0026,
                   .autocorrelation = -0.25,
                   .modes = {true, 2},
                   .outliers = {true, 1},
                   .effective = 4.5},
        .table_offsets = 30,
        .code_copies = 4,
        .launches_per_sample = 64,
        .stop_reason = STOP_CONVERGED,
        .samples_ns = malloc(sizeof(samples)),
        .cycles = 49.5,
        .sm_clock_mhz = 1980,
    };
    assert_non_null(cell->time.samples_ns);
    memcpy(cell->time.samples_ns, samples, sizeof(samples));
    fill_duration(&cell->duration);
    cell->flags = FLAG_THROTTLED | FLAG_COUNTER_DIFFERS;
    cell->counters = calloc(2, sizeof(*cell->counters));
    assert_non_null(cell->counters);
    cell->counter_count = 2;
    cell->counters[0] = (struct counter_value){.name = "idc_requests",
                                               .metric = "idc__requests.sum",
                                               .unit = "requests",
                                               .kind = COUNTER_EXACT,
                                               .status = COUNTER_OK,
                                               .value = 4001,
                                               .expected = {true, 4000}};
    cell->counters[1] = (struct counter_value){.name = "l2_sectors",
                                               .unit = "sectors",
                                               .kind = COUNTER_MEASURED,
                                               .status = COUNTER_NO_PERMISSION,
                                               .value = NAN,
                                               .reason = "the driver \"says\" no\n"};
    cell->kernel =
        (struct cell_kernel){.symbol = "_Z6kernel",
                             .image = "kernels.sm_90.cubin",
                             .sha256 =
                                 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                             .instruction = "LDC",
                             .registers = 10,
                             .code = "LDC 2 EXIT 1;AAB;x"};
    cell->operations = UINT64_MAX;
    cell->counts =
        (struct cell_counts){.given = true, .requests_per_load = 32, .footprint_bytes = 65536};
}

/* A result of four cells, one of each status. The caller closes it. */
static void fill(struct result *result)
{
    const struct cell cells[] = {cell_of(0, 0), cell_distinct(1, 8, 64), cell_of(2, 0),
                                 cell_of(0, 1)};

    assert_int_equal(result_open(result, cells, 4), STATUS_OK);
    result->engine = "cuda";
    strcpy(result->started_utc, "2026-01-02T03:04:05Z");
    result->seed = UINT64_MAX;
    result->max_noise = 0.005;
    strcpy(result->argv, "cbank run");
    strcpy(result->counters_asked, "default");
    strcpy(result->device.name, "NVIDIA H200 \xc3\xa4");
    strcpy(result->device.driver, "570.86.15");
    result->device.cc_major = 12;
    result->device.cc_minor = 1;
    result->device.sm_count = 132;
    result->device.l2_bytes = 52428800;
    result->device.throttle_known = true;
    result->device.throttle_after = (uint64_t)1 << 60;
    result->temperature = (struct temperature){true, 40, 47};
    result->health = (struct health){.known = true, .xids = {{79}}, .xid_count = 1};
    result->health.before.values[HEALTH_REMAPPED_ROWS_CORRECTABLE] = optional_of(2);
    result->health.before.values[HEALTH_REMAP_FAILED] = optional_of(0);
    result->health.reasons[HEALTH_RETIRED_PAGES_DOUBLE_BIT] = "Not Supported";
    result->health.after = result->health.before;
    result->health.after.values[HEALTH_REMAP_FAILED] = optional_of(1);
    health_settle(&result->health);
    result->phases[0] = (struct phase_time){"prepare", 0.125};
    result->phases[1] = (struct phase_time){"time", 12.1};
    result->phase_count = 2;
    fill_measured_cell(&result->cells[0]);
    result->duration_method = (struct duration_method){.given = true,
                                                       .empty_ns = 1120,
                                                       .resolution_ns = 96,
                                                       .tick_ns = 32};
    result->cells[1].duration = (struct cell_duration){.given = true,
                                                       .value = NAN,
                                                       .ci_low = NAN,
                                                       .ci_high = NAN,
                                                       .launches = 12,
                                                       .reason = "no longer than the empty kernel"};
    result->energy_method = (struct energy_method){.given = true,
                                                   .seconds = 2,
                                                   .period_ms = 100,
                                                   .unit_mj = 1,
                                                   .idle = {75, 74, 76}};
    result->cells[0].energy = result->cells[1].energy = all_energy;
    result->cells[1].energy.lookup.value = NAN;
    strcpy(result->cells[1].energy.lookup_reason, "the interval holds 0");
    result->cells[2].status = CELL_SKIPPED;
    strcpy(result->cells[2].reason, "no image for this chip");
    result->cells[3].status = CELL_FAILED;
    strcpy(result->cells[3].reason, "output[7] is 1, not 2");
}

/* Writes the result to the file at path. */
static void write_file(const struct result *result)
{
    assert_int_equal(result_write(result, path), STATUS_OK);
}

/* Writes the result that fill() makes. */
static void write_filled(void)
{
    struct result result;

    fill(&result);
    write_file(&result);
    result_close(&result);
}

/* Fails unless the file at path has that JSON at that place, "cells.1.seed": members, and elements
 * by their number. */
static void expect_keys(const char *const (*rows)[2], size_t count)
{
    cJSON *root;

    assert_int_equal(json_read_file(path, &root), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        char place[128], *rest = place, *key, *found;
        const cJSON *item = root;

        snprintf(place, sizeof(place), "%s", rows[i][0]);
        while ((key = strsep(&rest, ".")))
            item = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, atoi(key)) : json_get(item, key);
        found = item ? cJSON_PrintUnformatted(item) : strdup("missing");
        if (strcmp(found, rows[i][1]) != 0)
            fail_msg("%s is %s, not %s", rows[i][0], found, rows[i][1]);
        free(found);
    }
    json_free(root);
}

/* Says, in a line, what is wrong with the file at path. */
static void expect_refused(const char *message)
{
    struct capture capture;
    struct result back;
    enum status status;

    capture_begin(&capture, stderr);
    status = result_read(path, &back);
    capture_end(&capture);
    if (status != STATUS_USAGE || !strstr(capture.text, message))
        fail_msg("\"%s\" lacks \"%s\"", capture.text, message);
    assert_ptr_equal(strchr(capture.text, '\n'), capture.text + strlen(capture.text) - 1);
    result_close(&back); /* it is empty */
}

/* Writing, reading and writing again gives the same bytes; e2e.py says that they are all. */
TEST(what_is_written_is_read)
{
    struct result result, back;
    char *first, *second;

    fill(&result);
    write_file(&result);
    assert_int_equal(result_read(path, &back), STATUS_OK);
    assert_int_equal(result_write(&back, second_path), STATUS_OK);
    first = file_text(path);
    second = file_text(second_path);
    assert_string_equal(first, second);
    free(first);
    free(second);
    assert_int_equal(back.cell_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cell_order(&back.cells[i].cell, &result.cells[i].cell), 0);
    assert_memory_equal(back.cells[0].time.samples_ns, result.cells[0].time.samples_ns,
                        6 * sizeof(double));
    assert_true(isnan(back.cells[1].time.summary.value) && !back.cells[1].time.series.modes.known);
    assert_false(back.cells[1].kernel.symbol[0] || back.cells[1].counts.given ||
                 back.cells[1].kernel.code);
    result_close(&result);
    result_close(&back);
    result_close(&back); /* a zeroed struct */
}

TEST(keys_say_what_was_measured_and_what_follows)
{
    static const char *const rows[][2] = {
        {"schema.name", "\"cbank-result\""},
        {"device.compute_capability", "\"12.1\""},
        {"seed", "\"18446744073709551615\""},
        {"finished_utc", "null"},
        {"exact_counters", "{\"compared\":1,\"equal\":0,\"differing\":1,\"unknown\":0}"},
        {"flag_reasons.throttled", "\"the driver held the clocks down during the run\""},
        {"health.before.remapped_rows_correctable", "2"},
        {"health.after.retired_pages_double_bit", "null"},
        {"health.after.remap_failed", "true"},
        {"health.grew", "[\"remap_failed\"]"},
        {"health.xids", "[{\"number\":79}]"},
        {"health.reasons", "{\"retired_pages_double_bit\":\"Not Supported\"}"},
        {"cells.0.parameters", "{}"},
        {"cells.0.width_bytes", "4"},
        {"cells.0.table_bytes", "65536"},
        {"cells.0.operations", "\"18446744073709551615\""},
        {"cells.0.operations_per_byte.ideal", "null"},
        {"cells.0.time_ns.value", "0.1"},
        {"cells.0.time_ns.median", "0.2"},
        {"cells.0.flags", "[\"throttled\",\"counter_differs\"]"},
        {"cells.0.kernel.instruction", "\"LDC\""},
        {"cells.0.counters.idc_requests.value", "4001"},
        {"cells.0.counters.l2_sectors.status", "\"no_permission\""},
        {"cells.0.exact_counters", "{\"compared\":1,\"equal\":0,\"differing\":1,\"unknown\":0}"},
        {"cells.1.identity", "\"add/global/distinct/128000/256/hot/distinct=8/stride_bytes=64\""},
        {"cells.1.parameters", "{\"distinct\":8,\"stride_bytes\":64}"},
        {"cells.1.operations", "null"},
        {"cells.1.counts", "null"},
        {"cells.1.time_ns.median", "null"},
        {"cells.2.reason", "\"no image for this chip\""},
    };
    const cJSON *item;
    cJSON *root;

    write_filled();
    expect_keys(rows, sizeof(rows) / sizeof(rows[0]));
    assert_int_equal(json_read_file(path, &root), STATUS_OK);
    /* Keys that have a reason to be null are of cells, of the device, or of the result. */
    cJSON_ArrayForEach (item, json_get(root, "null_reasons"))
        assert_true(json_get(root, item->string) ||
                    json_get(json_get(root, "device"), item->string) ||
                    json_get(json_get(root, "cells")->child, item->string));
    assert_int_equal(cJSON_GetArraySize(json_get(root, "null_reasons")), 19);
    json_free(root);
}

/* Replaces the first `from` in the file at path by `to`. */
static void edit(const char *from, const char *to)
{
    char *text = file_text(path);
    const char *place = strstr(text, from);
    char *edited;

    assert_non_null(place);
    assert_true(asprintf(&edited, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from)) >
                0);
    file_put(path, edited, strlen(edited));
    free(edited);
    free(text);
}

/* Files that differ from a good one in one place, and what is said of them. */
static const struct {
    const char *from, *to, *message;
} refused_rows[] = {
    {"\"cbank-result\"", "\"cbank-card\"", "a.json: schema.name: 'cbank-card' is no result"},
    {"\"cuda\"", "\"cude\"", "a.json: engine: this build has no engine 'cude'"},
    {"\"per_warp\"", "\"per_wrap\"",
     "a.json: cells[3].pattern: this build has no pattern 'per_wrap'"},
    {"\"elements\":\t128000", "\"elements\":\t0",
     "cells[0].elements: expected an integer from 1 to 4294966272, it is this number"},
    {"\"block_size\":\t256", "\"block_size\":\t48",
     "cells[0].block_size: expected a multiple of 32"},
    {"\"block_size\":\t256", "\"block_size\":\t2048",
     "cells[0].block_size: expected an integer from 32 to 1024"},
    {"\"array_bytes\":\t65536", "\"array_bytes\":\t1024",
     "cells[0].array_bytes: expected an integer from 65536"},
    {"\"parameters\":\t{\n", "\"parameters\":\t{\"stride\\n\": 4\n",
     "cells[0].parameters.stride?: this build has no parameter 'stride?'; cbank list shows"},
    {"\"parameters\":\t{\n", "\"parameters\":\t{\"radius\": 3\n",
     "cells[0].parameters.radius: add with per_block does not take it"},
    {"\"distinct\":\t8", "\"distinct\":\t33",
     "cells[1].parameters.distinct: expected a multiple of 1 from 1 to 32, it is this number"},
    {"\"parameters\":\t{\n", "\"parameters\":\t{\"table_bytes\": 8\n",
     "cells[0].parameters.table_bytes: expected a multiple of 1 from 16 to 134217728, it is this "
     "number"},
    {"\"stride_bytes\":\t64", "\"stride_bytes\":\t66",
     "cells[1].parameters.stride_bytes: expected a multiple of 4 from 4 to 2048, it is this "
     "number"},
    {"\"stride_bytes\":\t64", "\"stride_bytes\":\t64, \"modules\": 1",
     "cells[1].parameters.modules: add with distinct does not take it"},
    {"\"pattern\":\t\"distinct\"", "\"pattern\":\t\"per_warp\"",
     "cells[1].parameters.distinct: add with per_warp does not take it"},
    {"\"parameters\":\t{\n", "\"parameters\":\t{\"width_bytes\": 3\n",
     "cells[0].parameters.width_bytes: expected a power of two, 12 or 24, from 1 to 32, it is this "
     "number"},
    {",25.25,", ",0,",
     "cells[0].time_ns.samples: number 2 is 0: a time is above 0, and at most 1e+15 ns"},
    {",25.25,", ",2e15,", "cells[0].time_ns.samples: number 2 is 2e+15: a time is above 0"},
    {"\"LDC 2 EXIT 1;AAB;x\"", "7",
     "code.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855: expected a string"},
    {"[\"throttled\"", "[\"hot\"", "cells[0].flags: expected an array of flags"},
    {"\"value\":4001", "\"value\":null",
     "cells[0].counters.idc_requests.value: expected a number, since"},
    {"\"compute_capability\":\t\"12.1\"", "\"compute_capability\":\t\"12\"",
     "device.compute_capability"},
    {"\"compute_capability\":\t\"12.1\"", "\"compute_capability\":\t\"-1.0\"",
     "device.compute_capability"},
    {"\"confidence\":\t0.95", "\"confidence\":\t0.99",
     "confidence: expected a number from 0.95 to 0.95"},
};

TEST(what_is_wrong_is_said_with_its_place)
{
    for (size_t i = 0; i < sizeof(refused_rows) / sizeof(refused_rows[0]); i++) {
        write_filled();
        edit(refused_rows[i].from, refused_rows[i].to);
        expect_refused(refused_rows[i].message);
    }
}

/* A sum of products has 2 operations for its 4 bytes of input, or for 8 where the filter is in
 * global memory too. */
TEST(operations_per_byte_are_those_of_textbooks)
{
    static const struct {
        const char *workload, *path;
        double ideal; /* 0: none */
    } rows[] = {
        {"add", "constant", 0},
        {"stencil_1d", "constant", 0.5},
        {"stencil_1d", "param", 0.5},
        {"conv_1d", "global", 0.25},
        {"conv_2d", "readonly", 0.25},
        {"conv_3d", "constant_operand", 0.5},
        {"conv_1d", "shared_fill_only", 0},
    };
    struct counter_value counters[] = {
        {.name = "l2_sectors", .status = COUNTER_OK, .value = 10},
        {.name = "dram_read_bytes", .status = COUNTER_OK, .value = 300},
        {.name = "dram_write_bytes", .status = COUNTER_OK, .value = 100},
    };
    struct cell_result cell = {.cell = cell_of(0, 0), .counters = counters, .counter_count = 3};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cell.cell.workload = workload_named(rows[i].workload);
        cell.cell.path = path_named(rows[i].path);
        cell.cell.parameters[PARAMETER_radius] = cell.cell.workload->variants ? 1 : 0;
        if (rows[i].ideal > 0)
            assert_true(cell_operations_per_byte(&cell).ideal == rows[i].ideal);
        else
            assert_true(isnan(cell_operations_per_byte(&cell).ideal));
    }
    assert_true(isnan(cell_operations_per_byte(&cell).dram) &&
                isnan(cell_operations_per_byte(&cell).l2));
    cell.operations = 640;
    assert_true(cell_operations_per_byte(&cell).dram == 1.6 &&
                cell_operations_per_byte(&cell).l2 == 2);
    counters[0].value = 0;
    counters[2].status = COUNTER_UNSUPPORTED;
    assert_true(isnan(cell_operations_per_byte(&cell).dram) &&
                isnan(cell_operations_per_byte(&cell).l2));
}

TEST(a_file_that_is_cut_is_refused)
{
    size_t bytes;
    char *text;

    write_filled();
    text = file_text(path);
    bytes = strlen(text);
    for (size_t cut = 0; cut < bytes - 2; cut += sanitized(71, 7)) {
        file_put(path, text, cut);
        expect_refused(path);
    }
    free(text);
}

/* More cells than there would be memory for are refused. Reading many counters takes no square of
 * their time. */
TEST(many_elements_are_limited_and_read_fast)
{
    enum { CELLS = 65537, COUNTERS = 20000 };
    char *text = malloc(COUNTERS * 120), *end = text + sprintf(text, "\"cells\":\t[0");
    struct result result, back;

    assert_int_equal(result_open(&result, NULL, 0), STATUS_OK);
    result.engine = "model";
    write_file(&result);
    result_close(&result);
    for (size_t i = 1; i < CELLS; i++)
        end += sprintf(end, ",0");
    strcpy(end, "]");
    edit("\"cells\":\t[]", text);
    expect_refused("a.json: cells: expected 0 to 65536 elements, there are 65537");

    write_filled();
    end = text + sprintf(text, "\"counters\":\t{");
    for (size_t i = 0; i < COUNTERS; i++)
        end += sprintf(end,
                       "\"c%zu\":{\"value\":1,\"expected\":null,\"kind\":\"measured\",\"status\":"
                       "\"ok\",\"metric\":null,"
                       "\"unit\":\"x\",\"reason\":null},",
                       i);
    edit("\"counters\":\t{", text);
    free(text);
    assert_int_equal(result_read(path, &back), STATUS_OK);
    assert_int_equal(back.cells[0].counter_count, COUNTERS + 2);
    assert_string_equal(back.cells[0].counters[COUNTERS - 1].name, "c19999");
    result_close(&back);
}

TEST(the_verdict_is_that_of_the_worst_cell)
{
    const struct cell cells[] = {cell_of(0, 0), cell_of(1, 0)};
    struct result result;

    assert_int_equal(result_open(&result, cells, 2), STATUS_OK);
    assert_int_equal(result_verdict(&result), STATUS_OK);
    result.cells[0].status = CELL_SKIPPED;
    assert_int_equal(result_verdict(&result), STATUS_OK);
    result.cells[1].status = CELL_SKIPPED;
    assert_int_equal(result_verdict(&result), STATUS_ENVIRONMENT); /* nothing was measured */
    result.cells[1].status = CELL_OK;
    result.cells[1].verified = true;
    result.cells[1].flags = FLAG_THROTTLED | FLAG_CLOCK_VARIED;
    assert_int_equal(result_verdict(&result), STATUS_OK);
    result.cells[1].flags = FLAG_UNSTABLE;
    assert_int_equal(result_verdict(&result), STATUS_INCONCLUSIVE);
    result.cells[0].status = CELL_FAILED;
    assert_int_equal(result_verdict(&result), STATUS_FINDING);
    result.cells[0].status = CELL_OK;
    assert_int_equal(result_verdict(&result), STATUS_FINDING); /* it is not verified */
    result.cells[0].verified = true;
    result.cells[0].counters = calloc(1, sizeof(*result.cells[0].counters));
    assert_non_null(result.cells[0].counters);
    result.cells[0].counter_count = 1;
    result.cells[0].counters[0] = (struct counter_value){.name = "idc_requests",
                                                         .kind = COUNTER_EXACT,
                                                         .status = COUNTER_OK,
                                                         .value = 2,
                                                         .expected = {true, 1}};
    assert_int_equal(result_verdict(&result), STATUS_FINDING);
    result.cells[0].counters[0].value = 1;
    assert_int_equal(result_verdict(&result), STATUS_INCONCLUSIVE);
    result.health.grew = 1u << HEALTH_ECC_CORRECTED;
    assert_int_equal(result_verdict(&result), STATUS_INCONCLUSIVE);
    result.health.grew |= 1u << HEALTH_REMAP_FAILED;
    assert_int_equal(result_verdict(&result), STATUS_FINDING);
    result_close(&result);
}
