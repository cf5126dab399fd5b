/* SPDX-License-Identifier: MIT
 * Golden files, run from the root of the repository: CBANK_UPDATE_GOLDEN=1 writes them anew. tests/end_to_end/formats.py
 * reads them as the other tools would. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cells.h"
#include "export.h"
#include "golden.h"
#include "table.h"

static const struct table format_table = TABLE("format", export_formats, export_format_count);

enum { CELLS = 4, SAMPLES = 3 };

static const char long_name[] = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed.and.more";

/* The third takes parameters. */
static struct cell plan_cell(size_t i)
{
    if (i == 2)
        return cell_distinct(i, 8, 64);
    return (struct cell){.workload = &workloads[0],
                         .path = &paths[i % 3],
                         .pattern = &patterns[i / 3],
                         .elements = 128000,
                         .block_size = 256,
                         .regime = &regimes[0]};
}

static void time_cell(struct cell_result *cell, double ns)
{
    cell->status = CELL_OK;
    cell->verified = true;
    cell->time.samples_ns = calloc(SAMPLES, sizeof(double));
    assert_non_null(cell->time.samples_ns);
    for (size_t i = 0; i < SAMPLES; i++)
        cell->time.samples_ns[i] = ns + 0.25 * (double)i;
    cell->time.summary = (struct summary){
        .count = SAMPLES, .value = ns + 0.25, .ci_low = ns, .ci_high = ns + 0.5, .min = ns, .mad = 0.25};
    cell->time.launches_per_sample = 330;
    cell->time.sm_clock_mhz = 1980.5;
}

static void count_cell(struct cell_result *cell, double requests)
{
    static const char *const names[] = {"idc_requests", "idc_misses", long_name};

    cell->counter_count = 3;
    cell->counters = calloc(cell->counter_count, sizeof(*cell->counters));
    assert_non_null(cell->counters);
    for (size_t i = 0; i < cell->counter_count; i++)
        cell->counters[i] = (struct counter_value){.name = names[i],
                                                   .status = COUNTER_OK,
                                                   .value = requests + (double)i,
                                                   .expected = NAN};
    cell->counters[1].status = COUNTER_UNSUPPORTED;
    cell->counters[1].value = NAN;
}

/* A result of `count` cells from the plan's cell `first`, of which the last one failed. */
static void fill(struct result *result, size_t first, size_t count, const char *started_utc)
{
    struct cell cells[CELLS];

    for (size_t i = 0; i < count; i++)
        cells[i] = plan_cell(first + i);
    assert_int_equal(result_open(result, cells, count), STATUS_OK);
    result->engine = "cuda";
    result->complete = true;
    strcpy(result->started_utc, started_utc);
    strcpy(result->device.name, "NVIDIA \"H200\", 141 GB");
    strcpy(result->device.uuid, "GPU-11111111-2222-3333-4444-555555555555");
    strcpy(result->device.driver, "570.86.15");
    for (size_t i = 0; i + 1 < count; i++) {
        time_cell(&result->cells[i], 1000 * (double)(first + i + 1));
        count_cell(&result->cells[i], 4000);
    }
    result->cells[0].flags = FLAG_THROTTLED | FLAG_CLOCK_VARIED;
    result->cells[0].kernel.known = true;
    strcpy(result->cells[0].kernel.sha256, "abcd");
    result->cells[count - 1].status = CELL_FAILED;
    strcpy(result->cells[count - 1].reason, "output[7] is 1,\nnot 2 \xff");
}

/* What a format writes of the results. Its warnings are not to be seen here. */
static char *written(const char *format, const struct result *const *results, size_t count)
{
    const struct export_format *row = table_find(&format_table, format);
    struct capture capture;
    char *text = NULL;
    enum status status;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(row);
    assert_non_null(stream);
    capture_begin(&capture, stderr);
    status = export_write(row, stream, results, count, false);
    capture_end(&capture);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static const struct {
    const char *format, *ending;
} endings[] = {{"csv", "csv"},   {"gbench", "json"},       {"bmf", "json"},
               {"otava", "csv"}, {"otava_config", "yaml"}, {"kernel_tuner", "json"}};

/* One result, and two that have only some cells in common, the later one first. */
static void test_golden(void **state)
{
    const struct result *pointers[2];
    struct result results[2];

    (void)state;
    fill(&results[0], 1, 3, "2026-01-03T03:04:05Z");
    fill(&results[1], 0, 4, "2026-01-02T03:04:05Z");
    pointers[0] = &results[0];
    pointers[1] = &results[1];
    /* The last is of cards. */
    assert_int_equal(export_format_count, sizeof(endings) / sizeof(endings[0]) + 1);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char path[128];

        snprintf(path, sizeof(path), "tests/golden/export_%s_one.%s", endings[i].format, endings[i].ending);
        check_golden(path, written(endings[i].format, pointers, 1));
        snprintf(path, sizeof(path), "tests/golden/export_%s_two.%s", endings[i].format, endings[i].ending);
        check_golden(path, written(endings[i].format, pointers, 2));
    }
    result_close(&results[0]);
    result_close(&results[1]);
}

/* A prediction has no samples: its time is the one. */
static void test_modelled(void **state)
{
    const struct result *pointer;
    struct result result;
    char *text;

    (void)state;
    fill(&result, 0, 1, "2026-01-02T03:04:05Z");
    pointer = &result;
    result.engine = "model";
    result.modelled_time = true;
    result.cells[0].status = CELL_OK;
    result.cells[0].time.summary =
        (struct summary){.value = 1234.5, .ci_low = 1234.5, .ci_high = 1234.5, .min = 1234.5};
    text = written("csv", &pointer, 1);
    assert_non_null(strstr(text, ",0,1234.5\r\n"));
    free(text);
    text = written("gbench", &pointer, 1);
    assert_non_null(strstr(text, "\"real_time\":\t1234.5"));
    assert_non_null(strstr(text, "\"label\":\t\"modelled\""));
    free(text);
    result_close(&result);
}

static void test_nothing(void **state)
{
    const struct result *pointer;
    struct result result;

    (void)state;
    assert_int_equal(result_open(&result, NULL, 0), STATUS_OK);
    result.engine = "cuda";
    pointer = &result;
    for (size_t i = 0; i < export_format_count && export_formats[i].write; i++) {
        free(written(export_formats[i].name, &pointer, 0));
        free(written(export_formats[i].name, &pointer, 1));
    }
    result_close(&result);
}

/* What another tool cannot take is said. */
static void test_warnings(void **state)
{
    const struct result *pointer;
    struct result result;
    struct capture capture;
    const char *said;

    (void)state;
    fill(&result, 0, 3, "2026-01-02T03:04:05Z");
    pointer = &result;
    for (size_t i = 0; i < 2; i++) {
        FILE *stream = fopen("/dev/null", "w");

        assert_non_null(stream);
        capture_begin(&capture, stderr);
        export_write(table_find(&format_table, i ? "otava" : "bmf"), stream, &pointer, 1, false);
        said = capture_end(&capture);
        assert_non_null(strstr(said, i ? "/hot/distinct=8/stride_bytes=64 has no time in 1 of 1" : long_name));
        fclose(stream);
    }
    result_close(&result);
}

/* A cell that every result skipped is no gap in a series. */
static void test_skipped(void **state)
{
    const struct result *pointers[2];
    struct result results[2];
    char *text;

    (void)state;
    for (size_t r = 0; r < 2; r++) {
        fill(&results[r], 0, 3, "2026-01-02T03:04:05Z");
        pointers[r] = &results[r];
        results[r].cells[2].status = CELL_SKIPPED;
        strcpy(results[r].cells[2].reason, "no room");
    }
    for (size_t i = 0; i < 2; i++) {
        text = written(i ? "otava" : "bmf", pointers, 2);
        assert_null(strstr(text, "distinct=8"));
        free(text);
    }
    text = written("gbench", pointers, 2);
    assert_non_null(strstr(text, "/distinct=8/stride_bytes=64\":\t\"no room\""));
    free(text);
    results[1].cells[2].status = CELL_FAILED;
    text = written("otava", pointers, 2);
    assert_non_null(strstr(text, "/distinct=8/stride_bytes=64\r\n"));
    assert_non_null(strstr(text, ",nan\r\n"));
    free(text);
    result_close(&results[0]);
    result_close(&results[1]);
}

/* More cells than the first room, in results that agree in none. */
static void test_many(void **state)
{
    enum { RESULTS = 3, MANY = 200 };
    const struct result *pointers[RESULTS];
    struct result results[RESULTS];
    size_t count = 0;
    char *text;

    (void)state;
    for (size_t r = 0; r < RESULTS; r++) {
        struct cell cells[MANY];

        for (size_t i = 0; i < MANY; i++) {
            cells[i] = plan_cell(i % 3);
            cells[i].elements = 1 + r * MANY + i;
        }
        assert_int_equal(result_open(&results[r], cells, MANY), STATUS_OK);
        results[r].engine = "cuda";
        for (size_t i = 0; i < MANY; i++)
            time_cell(&results[r].cells[i], 100);
        pointers[r] = &results[r];
    }
    text = written("gbench", pointers, RESULTS);
    for (const char *at = text; (at = strstr(at, "\"repetition_index\":\t2")); at++)
        count++;
    assert_int_equal(count, RESULTS * MANY);
    free(text);
    for (size_t r = 0; r < RESULTS; r++)
        result_close(&results[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),   cmocka_unit_test(test_modelled), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_warnings), cmocka_unit_test(test_many),     cmocka_unit_test(test_skipped),
    };

    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
