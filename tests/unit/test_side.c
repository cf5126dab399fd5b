/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "capture.h"
#include "cells.h"
#include "result.h"
#include "side.h"

enum { FILES_MAX = 16 };

static char directory[] = "/tmp/cbank-test-XXXXXX";
static char paths_of[FILES_MAX][64]; /* directory/00.json ... */

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    for (int i = 0; i < FILES_MAX; i++)
        snprintf(paths_of[i], sizeof(paths_of[i]), "%s/%02d.json", directory, i);
    return 0;
}

static int empty_directory(void **state)
{
    (void)state;
    for (int i = 0; i < FILES_MAX; i++)
        unlink(paths_of[i]);
    return 0;
}

static int remove_directory(void **state)
{
    empty_directory(state);
    return rmdir(directory);
}

/* A result of a process: `count` cells, three samples each: base, base + 1, base + 2. The caller closes it. */
static void fill(struct result *result, size_t count, double base)
{
    struct cell cells[4];

    for (size_t i = 0; i < count; i++)
        cells[i] = cell_of(i % path_count, i / path_count);
    assert_int_equal(result_open(result, cells, count), STATUS_OK);
    result->engine = "cuda";
    result->complete = true;
    strcpy(result->started_utc, "2026-01-02T03:04:05Z");
    strcpy(result->finished_utc, "2026-01-02T03:04:06Z");
    result->max_noise = 0.005;
    strcpy(result->argv, "cbank run");
    strcpy(result->counters_asked, "default");
    strcpy(result->device.name, "NVIDIA Test");
    strcpy(result->device.uuid, "GPU-1");
    strcpy(result->device.driver, "570.86.15");
    strcpy(result->device.ecc, "on");
    result->device.cc_major = 9;
    for (size_t i = 0; i < count; i++) {
        struct cell_result *cell = &result->cells[i];

        cell->status = CELL_OK;
        cell->verified = true;
        cell->time.samples_ns = malloc(3 * sizeof(double));
        assert_non_null(cell->time.samples_ns);
        for (int k = 0; k < 3; k++)
            cell->time.samples_ns[k] = base + k;
        cell->time.summary.count = 3;
        cell->time.summary.value = base + 1;
        cell->time.launches_per_sample = 10;
        cell->time.stop_reason = STOP_CONVERGED;
        cell->time.sm_clock_mhz = 1900 + base;
        cell->kernel = (struct cell_kernel){.known = true, .symbol = "k", .sha256 = "aa"};
    }
}

static void set_counter(struct cell_result *cell, double value, enum counter_status status)
{
    cell->counters = calloc(1, sizeof(*cell->counters));
    assert_non_null(cell->counters);
    cell->counter_count = 1;
    cell->counters[0] = (struct counter_value){.name = "idc_requests",
                                               .unit = "requests",
                                               .kind = COUNTER_EXACT,
                                               .status = status,
                                               .value = status == COUNTER_OK ? value : NAN,
                                               .expected = NAN};
}

static void put(struct result *result, int file)
{
    assert_int_equal(result_write(result, paths_of[file]), STATUS_OK);
    result_close(result);
}

static void put_plain(int file, size_t count, double base)
{
    struct result result;

    fill(&result, count, base);
    put(&result, file);
}

/* Reads what must not be read; returns what was said. */
static const char *refusal(const char *path, struct capture *capture)
{
    struct side side;

    capture_begin(capture, stderr);
    assert_int_equal(side_read(path, &side), STATUS_USAGE);
    capture_end(capture);
    assert_null(side.cells);
    side_close(&side);
    return capture->text;
}

static size_t lines_of(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* -- reading ------------------------------------------------------------------------------------------ */

static void test_one_file(void **state)
{
    struct side side;

    (void)state;
    put_plain(0, 3, 100);
    assert_int_equal(side_read(paths_of[0], &side), STATUS_OK);
    assert_string_equal(side.label, paths_of[0]);
    assert_int_equal(side.files, 1);
    assert_int_equal(side.incomplete, 0);
    assert_int_equal(side.cell_count, 3);
    assert_string_equal(side.identity.engine, "cuda");
    assert_string_equal(side.identity.device.name, "NVIDIA Test");
    assert_string_equal(side.identity.device.uuid, "GPU-1");
    assert_int_equal(side.identity.device.cc_major, 9);
    assert_false(side.identity.modelled);
    assert_string_equal(side.identity.device.vbios, "");
    assert_string_equal(side.identity.started_utc, "2026-01-02T03:04:05Z");
    for (size_t i = 0; i < 3; i++) {
        const struct side_cell *cell = &side.cells[i];
        const struct cell expected = cell_of(i, 0);

        assert_true(cell_equal(&cell->cell, &expected));
        assert_int_equal(cell->status, CELL_OK);
        assert_int_equal(cell->process_count, 1);
        assert_int_equal(cell->processes[0].count, 3);
        assert_true(cell->processes[0].value == 101 && cell->processes[0].least == 100);
        assert_true(cell->clock.value == 2000 && !cell->modelled);
        assert_string_equal(cell->sha256, "aa");
    }
    side_close(&side);
    side_close(&side);
}

/* Processes come in the order of names, on however many processors they are read. */
static void test_folder_in_order(void **state)
{
    struct side side;

    (void)state;
    for (int i = FILES_MAX - 1; i >= 0; i--)
        put_plain(i, 4, 100 * i + 1);
    assert_int_equal(side_read(directory, &side), STATUS_OK);
    assert_int_equal(side.files, FILES_MAX);
    assert_int_equal(side.cell_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(side.cells[i].process_count, FILES_MAX);
        for (int k = 0; k < FILES_MAX; k++)
            assert_true(side.cells[i].processes[k].least == 100 * k + 1);
        assert_true(side.cells[i].clock.value == 1900 + 751); /* between the 8th and 9th */
    }
    side_close(&side);
}

static void test_added_files(void **state)
{
    struct side side, folder;

    (void)state;
    for (int i = 0; i < 5; i++)
        put_plain(i, (size_t)i % 3 + 1, 100 + i);
    assert_int_equal(side_read(directory, &folder), STATUS_OK);
    assert_int_equal(side_read(paths_of[0], &side), STATUS_OK);
    for (int i = 1; i < 5; i++)
        assert_int_equal(side_add(&side, paths_of[i]), STATUS_OK);
    assert_string_equal(side.label, paths_of[0]);
    assert_int_equal(side.files, folder.files);
    assert_int_equal(side.cell_count, folder.cell_count);
    for (size_t i = 0; i < side.cell_count; i++) {
        assert_true(cell_equal(&side.cells[i].cell, &folder.cells[i].cell));
        assert_int_equal(side.cells[i].process_count, folder.cells[i].process_count);
        assert_true(side.cells[i].clock.value == folder.cells[i].clock.value);
    }
    assert_int_equal(side.cells[0].process_count, 5);
    assert_int_equal(side.cells[2].process_count, 1);
    side_close(&folder);
    side_close(&side);
}

static void test_model(void **state)
{
    struct result result;
    struct side side;

    (void)state;
    fill(&result, 2, 100);
    result.engine = "model";
    for (size_t i = 0; i < 2; i++) {
        free(result.cells[i].time.samples_ns);
        result.cells[i].time.samples_ns = NULL;
        result.cells[i].time.summary.count = 0;
        result.cells[i].time.stop_reason = STOP_MODELLED;
    }
    result.cells[1].time.summary.value = NAN;
    put(&result, 0);
    assert_int_equal(side_read(paths_of[0], &side), STATUS_OK);
    assert_string_equal(side.identity.engine, "model");
    assert_true(side.cells[0].modelled);
    assert_int_equal(side.cells[0].process_count, 1);
    assert_int_equal(side.cells[0].processes[0].count, 1);
    assert_true(side.cells[0].processes[0].least == 101);
    assert_int_equal(side.cells[1].process_count, 0);
    side_close(&side);
}

/* -- merging ------------------------------------------------------------------------------------------ */

static void test_what_differs_is_mixed(void **state)
{
    struct result result;
    struct side side;

    (void)state;
    put_plain(0, 2, 100);
    fill(&result, 2, 100);
    strcpy(result.device.uuid, "GPU-2");
    strcpy(result.device.driver, "580.1");
    strcpy(result.started_utc, "2025-01-02T03:04:05Z");
    strcpy(result.cells[0].kernel.sha256, "bb");
    result.cells[1].kernel = (struct cell_kernel){0};
    result.complete = false;
    put(&result, 1);
    put_plain(2, 2, 100);
    assert_int_equal(side_read(directory, &side), STATUS_OK);
    assert_string_equal(side.identity.device.uuid, "mixed");
    assert_string_equal(side.identity.device.driver, "mixed");
    assert_string_equal(side.identity.device.ecc, "on");
    assert_string_equal(side.identity.started_utc, "2025-01-02T03:04:05Z");
    assert_string_equal(side.cells[0].sha256, "mixed");
    assert_string_equal(side.cells[1].sha256, "aa");
    assert_int_equal(side.incomplete, 1);
    side_close(&side);
}

/* Cells of one file that differ in a parameter are not the same cell; those of two files that do not are. */
static void test_parameters(void **state)
{
    struct result result;
    struct side side;

    (void)state;
    for (int file = 0; file < 2; file++) {
        fill(&result, 2, 100 + file);
        for (size_t i = 0; i < 2; i++)
            result.cells[i].cell = cell_distinct(0, 4u << i, 64);
        put(&result, file);
    }
    assert_int_equal(side_read(directory, &side), STATUS_OK);
    assert_int_equal(side.cell_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(side.cells[i].cell.parameters[PARAMETER_distinct], 4u << i);
        assert_int_equal(side.cells[i].process_count, 2);
    }
    side_close(&side);
}

static void test_gravest_status(void **state)
{
    static const enum cell_status statuses[] = {CELL_OK, CELL_FAILED, CELL_SKIPPED, CELL_PENDING, CELL_FAILED};
    struct result result;
    struct side side;

    (void)state;
    for (int i = 0; i < 5; i++) {
        fill(&result, 3, 100 + i);
        result.cells[0].status = statuses[i];
        snprintf(result.cells[0].reason, sizeof(result.cells[0].reason), "reason %d", i);
        result.cells[1].status = i == 2 ? CELL_PENDING : CELL_OK;
        result.cells[1].flags = i == 1 ? FLAG_UNSTABLE : i == 3 ? FLAG_THROTTLED : 0;
        if (i == 4) {
            free(result.cells[1].time.samples_ns);
            result.cells[1].time.samples_ns = NULL;
            result.cells[1].time.summary.count = 0;
        }
        put(&result, i);
    }
    assert_int_equal(side_read(directory, &side), STATUS_OK);
    assert_int_equal(side.cells[0].status, CELL_FAILED);
    assert_string_equal(side.cells[0].reason, "reason 1");
    assert_int_equal(side.cells[1].status, CELL_PENDING);
    assert_int_equal(side.cells[1].flags, FLAG_UNSTABLE | FLAG_THROTTLED);
    assert_int_equal(side.cells[1].process_count, 4);
    assert_int_equal(side.cells[2].status, CELL_OK);
    side_close(&side);
}

static void test_counters(void **state)
{
    static const double values[] = {7, 3, 5, 1};
    struct result result;
    struct side side;
    const struct side_counter *counter;

    (void)state;
    for (int i = 0; i < 5; i++) {
        fill(&result, 2, 100 + i);
        set_counter(&result.cells[0], i < 4 ? values[i] : NAN, i < 4 ? COUNTER_OK : COUNTER_UNAVAILABLE);
        set_counter(&result.cells[1], NAN, COUNTER_NO_PERMISSION);
        put(&result, i);
    }
    assert_int_equal(side_read(directory, &side), STATUS_OK);
    assert_int_equal(side.cells[0].counter_count, 1);
    counter = &side.cells[0].counters[0];
    assert_string_equal(counter->name, "idc_requests");
    assert_int_equal(counter->kind, COUNTER_EXACT);
    assert_int_equal(counter->read, 4);
    assert_true(counter->value == 4 && counter->values[0] == 1 && counter->values[3] == 7);
    counter = &side.cells[1].counters[0];
    assert_int_equal(counter->read, 0);
    assert_true(isnan(counter->value) && !counter->values);
    side_close(&side);
}

/* -- what is refused ---------------------------------------------------------------------------------- */

static void test_cell_twice(void **state)
{
    struct result result;
    struct capture capture;
    char identity[CELL_IDENTITY_BYTES];

    (void)state;
    fill(&result, 4, 100);
    result.cells[3].cell = result.cells[1].cell;
    cell_identity(&result.cells[1].cell, identity);
    put(&result, 0);
    refusal(directory, &capture);
    assert_non_null(strstr(capture.text, identity));
    assert_non_null(strstr(capture.text, paths_of[0]));
    assert_int_equal(lines_of(capture.text), 1);
}

/* A result that is given again, or goes on where another one was interrupted, makes no second process of the first: its
 * counters and clock count once, too. */
static void test_result_twice(void **state)
{
    struct result result;
    struct side side;
    struct capture capture;

    (void)state;
    put_plain(0, 4, 100);
    put_plain(1, 4, 200);
    fill(&result, 4, 100);
    for (int k = 0; k < 3; k++)
        result.cells[3].time.samples_ns[k] = 150 + k; /* other samples of that process */
    put(&result, 2);
    capture_begin(&capture, stderr);
    assert_int_equal(side_read(directory, &side), STATUS_OK);
    assert_int_equal(side_add(&side, paths_of[0]), STATUS_OK);
    capture_end(&capture);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(side.cells[i].process_count, i < 3 ? 2 : 3);
    assert_true(side.cells[0].clock.value == 2050 && side.cells[0].clock.read == 2);
    assert_int_equal(lines_of(capture.text), 2);
    assert_non_null(strstr(capture.text, "in 3 of 4 cells; they count once"));
    assert_non_null(strstr(capture.text, "in 4 of 4 cells"));
    side_close(&side);
}

static void test_bad_files(void **state)
{
    static const char *const texts[] = {"",    "{", "[]", "null", "{\"schema\": {\"name\": \"cbank-calibration\"}}",
                                        "\xff"};
    struct capture capture;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        file_put(paths_of[0], texts[i], strlen(texts[i]));
        refusal(paths_of[0], &capture);
        assert_non_null(strstr(capture.text, paths_of[0]));
        assert_int_equal(lines_of(capture.text), 1);
    }
}

/* The first bad file is named; a good folder before it does not leak. */
static void test_first_bad_file(void **state)
{
    struct capture capture;

    (void)state;
    for (int i = 0; i < FILES_MAX; i++)
        put_plain(i, 2, 100);
    file_put(paths_of[3], "{", 1);
    file_put(paths_of[FILES_MAX - 1], "{", 1);
    refusal(directory, &capture);
    assert_non_null(strstr(capture.text, paths_of[3]));
}

static void test_nothing_there(void **state)
{
    struct capture capture;
    char path[80];

    (void)state;
    refusal(directory, &capture);
    assert_non_null(strstr(capture.text, directory));
    snprintf(path, sizeof(path), "%s/absent.json", directory);
    refusal(path, &capture);
    assert_non_null(strstr(capture.text, "absent.json"));
}

/* A side that a bad file was to be added to is still a side. */
static void test_bad_addition(void **state)
{
    struct capture capture;
    struct side side;

    (void)state;
    put_plain(0, 2, 100);
    file_put(paths_of[1], "{", 1);
    assert_int_equal(side_read(paths_of[0], &side), STATUS_OK);
    capture_begin(&capture, stderr);
    assert_int_equal(side_add(&side, paths_of[1]), STATUS_USAGE);
    capture_end(&capture);
    assert_int_equal(side.files, 1);
    assert_int_equal(side.cell_count, 2);
    side_close(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_file, empty_directory),
        cmocka_unit_test_teardown(test_folder_in_order, empty_directory),
        cmocka_unit_test_teardown(test_added_files, empty_directory),
        cmocka_unit_test_teardown(test_model, empty_directory),
        cmocka_unit_test_teardown(test_what_differs_is_mixed, empty_directory),
        cmocka_unit_test_teardown(test_parameters, empty_directory),
        cmocka_unit_test_teardown(test_gravest_status, empty_directory),
        cmocka_unit_test_teardown(test_counters, empty_directory),
        cmocka_unit_test_teardown(test_cell_twice, empty_directory),
        cmocka_unit_test_teardown(test_result_twice, empty_directory),
        cmocka_unit_test_teardown(test_bad_files, empty_directory),
        cmocka_unit_test_teardown(test_first_bad_file, empty_directory),
        cmocka_unit_test_teardown(test_nothing_there, empty_directory),
        cmocka_unit_test_teardown(test_bad_addition, empty_directory),
    };

    return cmocka_run_group_tests_name("side", tests, make_directory, remove_directory);
}
