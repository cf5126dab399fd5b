/* SPDX-License-Identifier: MIT
 * Golden files, run from the root of the repository: CBANK_UPDATE_GOLDEN=1 writes them anew. */
#include <math.h>

#include "cells.h"
#include "golden.h"
#include "show.h"
#include "table.h"
#include "test.h"

/* The output of show_result for a terminal of so many columns; the caller's, to free. */
static char *shown(const struct result *result, int width, bool color)
{
    char *text = NULL, columns[16];
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    snprintf(columns, sizeof(columns), "%d", width);
    setenv("COLUMNS", columns, 1);
    assert_int_equal(show_result(stream, result, color), STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static size_t columns(const char *line)
{
    size_t count = 0;

    for (; *line && *line != '\n'; line++)
        count += (*line & 0xc0) != 0x80;
    return count;
}

/* Compares with golden files what is printed on terminals of 80 and of 160 columns. No width is exceeded. */
static void check_shown(const struct result *result, const char *name)
{
    static const int widths[] = {80, 160};

    for (size_t i = 0; i < 2; i++) {
        char path[128], *text = shown(result, widths[i], false);

        snprintf(path, sizeof(path), "tests/golden/show_%s_%d.txt", name, widths[i]);
        for (const char *line = text; *line; line = strchr(line, '\n') + 1)
            if (columns(line) > (size_t)widths[i])
                fail_msg("%zu columns: %.*s", columns(line), (int)strcspn(line, "\n"), line);
        check_golden(path, text);
    }
}

static void time_cell(struct cell_result *cell, double ns, double half_width)
{
    cell->status = CELL_OK;
    cell->verified = true;
    cell->counts = (struct cell_counts){.given = true, .requests_per_load = cell->cell.path->unit == UNIT_IDC ? 32 : 4};
    cell->time.summary = (struct summary){.count = 20,
                                          .value = ns,
                                          .ci_low = ns * (1 - half_width),
                                          .ci_high = ns * (1 + half_width),
                                          .min = ns,
                                          .mad = 0};
    cell->time.sm_clock_mhz = 1980;
}

/* A result of every path and pattern, at two sizes, all ok. */
static void fill(struct result *result)
{
    struct cell cells[2 * 64];
    size_t count = 0;

    for (size_t size = 0; size < 2; size++)
        for (size_t pattern = 0; pattern < 4; pattern++)
            for (size_t path = 0; path < 3; path++)
                cells[count++] = (struct cell){.workload = &workloads[0],
                                               .path = &paths[path],
                                               .pattern = &patterns[pattern],
                                               .elements = size ? 1000 : 128000,
                                               .block_size = 256,
                                               .regime = &regimes[size]};
    assert_int_equal(result_open(result, cells, count), STATUS_OK);
    for (size_t i = 0; i < count; i++)
        time_cell(&result->cells[i], 25310 * pow(1.7, (double)(i % 12)), 0.0012 * (double)(1 + i % 12));
    result->engine = "cuda";
    result->complete = true;
    strcpy(result->device.name, "NVIDIA H200");
    strcpy(result->device.driver, "570.86.15");
    result->device.cc_major = 9;
    result->device.sm_count = 132;
    result->phases[0] = (struct phase_time){"prepare", 0.0314};
    result->phases[1] = (struct phase_time){"time", 61.5};
    result->phase_count = 2;
}

/* Exact counters for every cell, as expected. */
static void fill_counters(struct result *result, struct counter_value *values)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        values[i] = (struct counter_value){.name = "idc_requests",
                                           .unit = "requests",
                                           .kind = COUNTER_EXACT,
                                           .status = COUNTER_OK,
                                           .value = 4000,
                                           .expected = 4000};
        result->cells[i].counters = &values[i];
        result->cells[i].counter_count = 1;
    }
}

/* The counters above are not the result's to free. */
static void close_result(struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++)
        result->cells[i].counters = NULL;
    result_close(result);
}

TEST(a_measured_result_is_shown)
{
    struct counter_value values[24];
    struct result result;

    fill(&result);
    fill_counters(&result, values);
    check_shown(&result, "measured");
    close_result(&result);
}

/* Everything that can be wrong with a run. */
TEST(what_went_wrong_is_said)
{
    struct counter_value values[24];
    struct result result;

    fill(&result);
    fill_counters(&result, values);
    result.complete = false;
    result.cells[0].status = CELL_FAILED;
    result.cells[0].verified = false;
    strcpy(result.cells[0].reason, "output[7] is 1, not 2");
    for (size_t i = 2; i < 12; i += 3) {
        result.cells[i].status = CELL_SKIPPED;
        strcpy(result.cells[i].reason, "this build has no image for the chip");
    }
    result.cells[3].flags = FLAG_THROTTLED;
    result.cells[4].flags = FLAG_UNSTABLE | FLAG_CLOCK_VARIED;
    result.cells[4].time.sm_clock_mhz = 1755;
    result.cells[6].flags = FLAG_COUNTER_DIFFERS;
    values[6].value = 4001;
    values[7].status = COUNTER_UNSUPPORTED;
    values[7].value = NAN;
    values[7].reason = "GH100 has no such metric";
    result.cells[9].verified = false;
    result.cells[10].status = CELL_PENDING;
    result.cells[10].time.summary.value = NAN;
    result.cells[13].time.summary.ci_low = NAN;
    result.cells[14].time.summary = (struct summary){.value = NAN, .ci_low = NAN, .ci_high = NAN};
    result.cells[15].counts.given = false;
    check_shown(&result, "troubled");
    close_result(&result);
}

/* Adds a cell for each path. */
static size_t add_paths(struct cell *cells, size_t count, const char *workload, const char *pattern, uint32_t distinct,
                        uint32_t stride_bytes, uint32_t radius)
{
    for (size_t i = 0; i < path_count; i++) {
        cells[count] = (struct cell){.workload = workload_named(workload),
                                     .path = &paths[i],
                                     .pattern = pattern_named(pattern),
                                     .elements = 4096,
                                     .block_size = 256,
                                     .regime = &regimes[0]};
        cells[count].parameters[PARAMETER_distinct] = distinct;
        cells[count].parameters[PARAMETER_stride_bytes] = stride_bytes;
        cells[count++].parameters[PARAMETER_radius] = radius;
    }
    return count;
}

/* Operations of a cell, and the counters of their bytes. */
static void add_operations(struct cell_result *cell)
{
    static const char *const names[] = {"dram_read_bytes", "dram_write_bytes", "l2_sectors"};
    static const double counts[] = {16384, 16384, 5000};

    cell->operations = 1600000;
    if (cell->cell.path->home != TABLE_CONSTANT)
        return;
    cell->counters = calloc(3, sizeof(*cell->counters));
    cell->counter_count = 3;
    for (size_t i = 0; i < 3; i++)
        cell->counters[i] = (struct counter_value){
            .name = names[i], .kind = COUNTER_MEASURED, .status = COUNTER_OK, .value = counts[i], .expected = NAN};
}

/* Every path: as columns where patterns are many, as rows where they are few; cells that cannot be. */
TEST(paths_are_columns_or_rows)
{
    struct cell cells[512];
    struct result result;
    size_t count = 0;

    for (uint32_t distinct = 1; distinct <= 32; distinct *= 2) {
        count = add_paths(cells, count, "add", "distinct", distinct, 64, 0);
        count = add_paths(cells, count, "add", "distinct", distinct, 2048, 0);
    }
    count = add_paths(cells, count, "add", "per_block", 0, 0, 0);
    count = add_paths(cells, count, "conv_3d", "lockstep", 0, 0, 1);
    count = add_paths(cells, count, "conv_3d", "lockstep", 0, 0, 3);
    count = add_paths(cells, count, "conv_3d", "lockstep", 0, 0, 7);
    count = add_paths(cells, count, "conv_3d", "per_warp", 0, 0, 3);
    count = add_paths(cells, count, "conv_2d", "lockstep", 0, 0, 3);
    count = add_paths(cells, count, "add_switch", "distinct", 1, 4, 0);
    count = add_paths(cells, count, "add_switch", "distinct", 2, 4, 0);
    count = add_paths(cells, count, "add_switch", "broadcast", 0, 0, 0);
    assert_true(count <= sizeof(cells) / sizeof(cells[0]));
    assert_int_equal(result_open(&result, cells, count), STATUS_OK);
    result.engine = "cuda";
    result.complete = true;
    for (size_t i = 0; i < count; i++) {
        struct cell_result *cell = &result.cells[i];

        /* Not in the order of the plan. */
        cell->cell = cells[i * 101 % count];
        if (cell_obstacle(&cell->cell, 90, cell->reason)) {
            cell->status = CELL_SKIPPED;
            cell->counts = (struct cell_counts){.given = true, .requests_per_load = NAN};
            continue;
        }
        time_cell(cell,
                  1000 + 100 * (double)(cell->cell.path - paths) + cell->cell.parameters[PARAMETER_distinct] +
                      10.0 * cell->cell.parameters[PARAMETER_radius],
                  0.001);
        add_operations(cell);
        if (!cell->cell.path->loads) {
            cell->time.summary.value = 500;
            cell->counts.requests_per_load = NAN;
        }
    }
    check_shown(&result, "paths");
    result_close(&result);
}

TEST(a_modelled_result_says_so)
{
    struct counter_value values[24];
    struct result result;

    fill(&result);
    fill_counters(&result, values);
    result.engine = "model";
    result.modelled_time = true;
    result.device.driver[0] = '\0';
    values[3].status = COUNTER_UNAVAILABLE;
    values[3].reason = "the model cannot say it";
    check_shown(&result, "modelled");
    close_result(&result);
}

/* The fastest path of each row stands out, and nothing does without color. */
TEST(the_fastest_path_stands_out)
{
    struct result result;
    size_t count = 0;
    char *text;

    fill(&result);
    text = shown(&result, 160, true);
    for (const char *at = text; (at = strstr(at, "\033[1m")); at++)
        count++;
    assert_int_equal(count, 8);
    assert_non_null(strstr(text, "per_block     | \033[1m25.31 us\033[m  ±0.12%  1.00x  32.0 "));
    free(text);
    text = shown(&result, 160, false);
    assert_null(strchr(text, '\033'));
    free(text);
    close_result(&result);
}

/* Cells in any order give the same tables. */
TEST(the_order_of_cells_is_no_matter)
{
    struct result result;
    char *forward, *backward;

    fill(&result);
    forward = shown(&result, 160, false);
    for (size_t i = 0, k = result.cell_count - 1; i < k; i++, k--) {
        const struct cell_result cell = result.cells[i];

        result.cells[i] = result.cells[k];
        result.cells[k] = cell;
    }
    backward = shown(&result, 160, false);
    assert_string_equal(forward, backward);
    free(forward);
    free(backward);
    close_result(&result);
}

TEST(times_have_four_digits)
{
    static const struct {
        double ns;
        const char *text;
    } rows[] = {
        {0.5, "0.500 ns"},    {9.9994, "9.999 ns"}, {9.9996, "10.00 ns"}, {99.996, "100.0 ns"},
        {999.94, "999.9 ns"}, {999.96, "1.000 us"}, {25310, "25.31 us"},  {999960, "1.000 ms"},
        {1.5e6, "1.500 ms"},  {2.5e9, "2.500 s"},   {123.4e9, "123.4 s"}, {-25310, "-25.31 us"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(text_of(text_time, rows[i].ns).text, rows[i].text);
}

TEST(a_result_without_cells_is_shown)
{
    struct result result;
    char *text;

    assert_int_equal(result_open(&result, NULL, 0), STATUS_OK);
    result.engine = "cuda";
    strcpy(result.counters_reason, "no libcupti");
    text = shown(&result, 160, false);
    assert_non_null(strstr(text, "cells: 0 of 0 ok"));
    assert_non_null(strstr(text, "counters were not read: no libcupti"));
    assert_non_null(strstr(text, "incomplete"));
    free(text);
    result_close(&result);
}
