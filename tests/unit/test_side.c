/* SPDX-License-Identifier: MIT
 * Results of files merged into sides. */
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "parameter_index.h"
#include "sides.h"
#include "test.h"

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

static void put(struct result *result, int file)
{
    assert_int_equal(result_write(result, paths_of[file]), STATUS_OK);
    result_close(result);
}

/* A file of process `file`, whose cells take 100 * (file + 1) ns. */
static void put_plain(int file, size_t count)
{
    struct result result;

    result_fill(&result, count, (unsigned)file);
    for (size_t i = 0; i < count; i++) {
        result_time(&result.cells[i], 100 * (file + 1));
        result.cells[i].time.sm_clock_mhz = 1000 + 10 * file;
    }
    put(&result, file);
}

static struct sides read_sides(const char *path)
{
    struct sides sides = {.count = 0};

    assert_int_equal(sides_add_list(&sides, path), STATUS_OK);
    return sides;
}

/* The path is refused in one line that has the word. */
static void expect_refused(const char *path, const char *word)
{
    struct sides sides = {.count = 0};
    struct capture capture;

    capture_begin(&capture, stderr);
    assert_int_equal(sides_add_list(&sides, path), STATUS_USAGE);
    capture_end(&capture);
    if (!strstr(capture.text, word) ||
        strchr(capture.text, '\n') != capture.text + strlen(capture.text) - 1)
        fail_msg("%s", capture.text);
    sides_close(&sides);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Processes come in the order of names, on however many processors they are read. A list is as good
 * as a folder. */
TEST_WITH(test_a_folder_is_read_in_the_order_of_names, NULL, empty_directory)
{
    char list[FILES_MAX * 1100] = "";

    for (int i = FILES_MAX - 1; i >= 0; i--)
        put_plain(i, (size_t)i % 3 + 2);
    for (int i = 0; i < FILES_MAX; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "," : "",
                 paths_of[i]);
    for (size_t way = 0; way < 2; way++) {
        struct sides sides = read_sides(way ? list : directory);
        const struct side *side = sides.gpus;

        assert_true(strncmp(sides.total.label, way ? list : directory, 200) == 0);
        assert_int_equal(sides.count, 1);
        assert_int_equal(sides.total.files, FILES_MAX);
        assert_int_equal(side->files, FILES_MAX);
        assert_int_equal(side->cell_count, 4);
        assert_string_equal(side->identity.device.uuid, "GPU-11111111-2222");
        assert_string_equal(side->identity.started_utc, "2026-01-02T03:00:05Z");
        assert_int_equal(side->cells[0].process_count, FILES_MAX);
        assert_int_equal(side->cells[1].cell.elements, 1003); /* by cell_order */
        assert_int_equal(side->cells[1].process_count, FILES_MAX / 3);
        for (int k = 0; k < FILES_MAX; k++)
            assert_true(fabs(side->cells[0].processes[k].value - 100 * (k + 1)) < 0.5);
        assert_true(side->cells[0].clock.value == 1075); /* between the 8th and 9th */
        assert_true(side->cells[0].clock.values[FILES_MAX - 1] == 1150);
        sides_close(&sides);
        sides_close(&sides);
    }
}

TEST_WITH(test_what_cannot_be_read_is_refused_in_a_line, NULL, empty_directory)
{
    static const char *const texts[] =
        {"", "{", "[]", "null", "{\"schema\": {\"name\": \"cbank-calibration\"}}", "\xff"};
    struct result result;
    char path[80], identity[CELL_IDENTITY_BYTES];

    expect_refused(directory, directory); /* no file in it */
    snprintf(path, sizeof(path), "%s/absent.json", directory);
    expect_refused(path, "absent.json");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        file_put(paths_of[0], texts[i], strlen(texts[i]));
        expect_refused(paths_of[0], paths_of[0]);
    }
    /* The first bad file is named. */
    for (int i = 0; i < FILES_MAX; i++)
        put_plain(i, 2);
    file_put(paths_of[3], "{", 1);
    file_put(paths_of[FILES_MAX - 1], "{", 1);
    expect_refused(directory, paths_of[3]);
    result_fill(&result, 4, 0);
    result.cells[3].cell = result.cells[1].cell;
    cell_identity(&result.cells[1].cell, identity);
    put(&result, 0);
    expect_refused(paths_of[0], identity);
}

/* -- merging ----------------------------------------------------------------------------------- */

TEST(test_what_differs_is_mixed_and_each_gpu_has_a_side)
{
    struct sides sides = {.count = 0};

    for (unsigned i = 0; i < 4; i++) {
        struct result result;

        result_fill(&result, 2, 4 - i);
        if (i == 1) {
            strcpy(result.device.driver, "580");
            strcpy(result.cells[0].kernel.sha256, "bb");
            result.cells[1].kernel = (struct cell_kernel){0};
            result.complete = false;
        }
        if (i == 3)
            strcpy(result.device.uuid, strcpy(result.device.name, "GPU-2"));
        sides_put(&sides, &result);
    }
    assert_int_equal(sides.count, 2);
    assert_int_equal(sides.gpus[0].files, 3);
    assert_true(sides.gpus[0].incomplete == 1 && sides.total.incomplete == 1 &&
                sides.total.files == 4);
    assert_string_equal(sides.total.identity.device.uuid, "mixed");
    assert_string_equal(sides.total.identity.device.name, "mixed");
    assert_true(sides.total.identity.device.cc_major == 0 &&
                sides.gpus[0].identity.device.cc_major == 9);
    assert_string_equal(sides.gpus[0].identity.device.uuid, "GPU-11111111-2222");
    assert_string_equal(sides.gpus[0].identity.device.driver, "mixed");
    assert_string_equal(sides.gpus[0].identity.device.ecc, "on");
    assert_string_equal(sides.gpus[0].identity.started_utc, "2026-01-02T03:04:05Z");
    assert_string_equal(sides.gpus[0].cells[0].sha256, "mixed");
    assert_string_equal(sides.gpus[0].cells[1].sha256, "aa");
    sides_close(&sides);
}

/* A cell of the driver's compiler is another one, unless any compiler counts. */
TEST(cells_of_two_compilers)
{
    for (size_t any = 0; any < 2; any++) {
        struct sides sides = {.any_compiler = any};
        struct result results[2];
        char identity[CELL_IDENTITY_BYTES];
        struct capture capture;

        for (unsigned i = 0; i < 2; i++) {
            result_fill(&results[i], 2, i);
            for (size_t k = 0; k < 2; k++)
                results[i].cells[k].cell.jit = true;
        }
        cell_identity(&results[0].cells[0].cell, identity);
        assert_string_equal(identity + strlen(identity) - strlen("/jit=driver"), "/jit=driver");
        sides_put(&sides, &results[0]);
        sides_put(&sides, &results[1]);
        assert_int_equal(sides.gpus[0].cell_count, 2);
        assert_true(sides.gpus[0].cells[0].jit && sides.gpus[0].cells[0].cell.jit == !any);
        result_fill(&results[0], 2, 2);
        capture_begin(&capture, stderr);
        assert_int_equal(sides_take(&sides, "made here", &results[0]),
                         any ? STATUS_USAGE : STATUS_OK);
        capture_end(&capture);
        assert_int_equal(sides.gpus[0].cell_count, any ? 2 : 4);
        result_close(&results[0]);
        sides_close(&sides);
    }
}

TEST(test_cells_keep_the_worst_status_all_flags_and_their_parameters)
{
    static const enum cell_status statuses[] = {CELL_OK, CELL_FAILED, CELL_SKIPPED, CELL_PENDING,
                                                CELL_FAILED};
    struct sides sides = {.count = 0};
    const struct side_cell *cells;

    for (unsigned i = 0; i < 5; i++) {
        struct result result;

        result_fill(&result, 4, i);
        result.cells[0].status = statuses[i];
        snprintf(result.cells[0].reason, sizeof(result.cells[0].reason), "reason %u", i);
        result.cells[1].status = i == 2 ? CELL_PENDING : CELL_OK;
        result.cells[1].flags = i == 1 ? FLAG_UNSTABLE : i == 3 ? FLAG_THROTTLED : 0;
        if (i == 4)
            result.cells[1].time.summary.count = 0;
        result.cells[2].cell = cell_distinct(0, 4, 64);
        result.cells[3].cell = cell_distinct(0, 8, 64);
        sides_put(&sides, &result);
    }
    cells = sides.gpus->cells;
    assert_int_equal(sides.gpus->cell_count, 4);
    assert_int_equal(cells[0].status, CELL_FAILED);
    assert_string_equal(cells[0].reason, "reason 1");
    assert_int_equal(cells[3].status, CELL_PENDING);
    assert_int_equal(cells[3].flags, FLAG_UNSTABLE | FLAG_THROTTLED);
    assert_int_equal(cells[3].process_count, 4);
    assert_int_equal(cells[1].status, CELL_OK);
    assert_int_equal(cells[1].cell.parameters[PARAMETER_distinct], 4);
    assert_int_equal(cells[2].process_count, 5);
    sides_close(&sides);
}

TEST(test_a_counter_is_the_median_over_processes)
{
    static const double values[] = {7, 3, NAN, 5, 1};
    struct sides sides = {.count = 0};
    const struct side_counter *counter;

    for (unsigned i = 0; i < 5; i++) {
        struct result result;

        result_fill(&result, 2, i);
        result_counter(&result.cells[0], "idc_requests", COUNTER_EXACT, values[i]);
        result_counter(&result.cells[1], "idc_requests", COUNTER_EXACT, NAN);
        sides_put(&sides, &result);
    }
    counter = sides.gpus->cells[0].counters;
    assert_string_equal(counter->name, "idc_requests");
    assert_true(counter->kind == COUNTER_EXACT && counter->read == 4);
    assert_true(counter->value == 4 && counter->values[0] == 1 && counter->values[3] == 7);
    counter = sides.gpus->cells[1].counters;
    assert_true(counter->read == 0 && isnan(counter->value) && !counter->values);
    sides_close(&sides);
}

AROUND_ALL(make_directory, remove_directory)
