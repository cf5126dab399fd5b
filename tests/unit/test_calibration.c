/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "calibration.h"
#include "capture.h"
#include "cells.h"
#include "side.h"
#include "test.h"

static char directory[] = "/tmp/cbank-test-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/calibration.json", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

/* Cells in the tables' order, the third with parameters. */
static struct cell cell_at(size_t index)
{
    return index == 2 ? cell_distinct(0, 4, 64) : cell_of(0, index);
}

/* Sides of three processes: cell 0 failed; cell 1 has one process; cell 2 the times 100, 102 and 101. Not to be closed:
 * nothing in it is owned. */
static struct sides make_sides(struct side *side, struct side_cell cells[3])
{
    static struct process_time all[3];
    double a[] = {99, 101, 100}, b[] = {102}, c[] = {101.5, 100.5}, scratch[3];
    struct sides sides = {.gpus = side, .count = 1};

    all[0] = process_of(a, 3, 0, scratch);
    all[1] = process_of(b, 1, 0, scratch);
    all[2] = process_of(c, 2, 0, scratch);
    sides.total = (struct side){.label = "side",
                                .files = 3,
                                .identity = {.engine = "cuda",
                                             .device = {.name = "NVIDIA Test", .uuid = "GPU-1", .driver = "570"}}};
    *side = (struct side){.files = 3, .cells = cells, .cell_count = 3};
    for (size_t i = 0; i < 3; i++) {
        cells[i] = (struct side_cell){.cell = cell_at(i), .processes = all, .process_count = 3};
        cells[i].status = CELL_OK;
        memset(cells[i].sha256, 'c' - (int)i, SASS_HASH_HEX_BYTES - 1);
    }
    cells[1].process_count = 1;
    cells[0].status = CELL_FAILED;
    return sides;
}

static struct calibration make_calibration(void)
{
    struct side_cell cells[3];
    struct side side;
    const struct sides sides = make_sides(&side, cells);
    struct calibration calibration;

    assert_int_equal(calibration_of(&sides, &calibration), STATUS_OK);
    return calibration;
}

static void check(const struct calibration *calibration)
{
    /* The logarithms of 100, 102 and 101; so few samples say nothing of their medians, and nothing is pooled. */
    const double mean = (log(100) + log(102) + log(101)) / 3;
    const struct deviation pooled = {
        sqrt((pow(log(100) - mean, 2) + pow(log(102) - mean, 2) + pow(log(101) - mean, 2)) / 2), 2,
        DEVIATION_PROCESSES};

    assert_string_equal(calibration->device.uuid, "GPU-1");
    assert_string_equal(calibration->device.name, "NVIDIA Test");
    assert_string_equal(calibration->device.driver, "570");
    assert_string_equal(calibration->engine, "cuda");
    assert_false(calibration->modelled);
    assert_int_equal(calibration->processes, 3);
    assert_int_equal(calibration->cell_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct cell cell = cell_at(i);

        assert_int_equal(cell_order(&calibration->cells[i].cell, &cell), 0);
        assert_int_equal(calibration->cells[i].sha256[0], 'c' - (int)i);
    }
    assert_true(calibration->cells[2].noise == 102.0 / 100 - 1);
    assert_true(calibration->cells[2].median_ns == 101);
    assert_true(isnan(calibration->cells[0].noise) && isnan(calibration->cells[1].noise));
    assert_true(isnan(calibration->cells[0].median_ns));
    assert_false(calibration->cells[0].has_deviation || calibration->cells[1].has_deviation);
    assert_true(calibration->cells[2].has_deviation && calibration->cells[2].deviation.origin == DEVIATION_PROCESSES);
    assert_true(fabs(calibration->cells[2].deviation.value / pooled.value - 1) < 1e-12);
    assert_true(calibration->cells[2].deviation.degrees == pooled.degrees);
}

/* Where the samples say how sure the times are, a cell's own deviation is pooled with the default, which is scaled to
 * what the cells show. */
TEST(test_pooled)
{
    double samples[][7] = {{97, 98, 99, 100, 101, 102, 103}, {99, 100, 101, 102, 103, 104, 105}}, scratch[7];
    struct process_time processes[] = {process_of(samples[0], 7, 0, scratch), process_of(samples[1], 7, 0, scratch)};
    struct side_cell side_cell = {.cell = cell_at(2), .processes = processes, .process_count = 2};
    struct side_cell cells[3];
    struct side side;
    const struct sides sides = make_sides(&side, cells);
    struct calibration calibration;
    const double own = log(1.02) / sqrt(2);
    const double error = sqrt(18.0 / 6 * 7) / 5; /* winsorized 98 98 99 100 101 102 102 */
    const double within = error * sqrt((pow(0.01, 2) + pow(1 / 102.0, 2)) / 2);
    struct deviation_evidence evidence = {.before = deviation_default(CAUSE_process, false, false, 101),
                                          .own = {own, 1, DEVIATION_PROCESSES}};

    side_cell.status = CELL_OK;
    side.cells = &side_cell;
    side.cell_count = 1;
    assert_int_equal(calibration_of(&sides, &calibration), STATUS_OK);
    evidence.before.value = fmax(evidence.before.value, within);
    deviation_conclude(&evidence, 1);
    assert_true(fabs(calibration.cells[0].deviation.degrees / evidence.concluded.degrees - 1) < 1e-4);
    assert_true(fabs(calibration.cells[0].deviation.value / evidence.concluded.value - 1) < 1e-4);
    assert_int_equal(calibration.cells[0].deviation.origin, DEVIATION_PROCESSES);
    calibration_close(&calibration);
}

TEST(test_a_calibration_and_its_file_say_the_same)
{
    struct calibration calibration = make_calibration(), read;

    check(&calibration);
    assert_int_equal(document_write(&calibration_document, &calibration, path), STATUS_OK);
    assert_int_equal(calibration_read(path, &read), STATUS_OK);
    check(&read);
    for (size_t i = 0; i < 2; i++) {
        calibration_close(&read);
        calibration_close(&calibration);
    }
}

TEST(test_where_it_applies)
{
    struct calibration calibration = make_calibration();
    const char *hash = calibration.cells[2].sha256;
    const struct {
        struct cell cell;
        const char *uuid, *driver, *sha256, *why; /* why: NULL where it applies */
    } rows[] = {
        {cell_at(2), "GPU-1", "570", hash, NULL},
        {cell_at(2), "GPU-2", "570", hash, "another GPU"},
        {cell_at(2), "", "570", hash, "another GPU"},
        {cell_at(2), "GPU-1", "571", hash, "another driver"},
        {cell_at(2), "GPU-1", "570", "bb", "other code"},
        {cell_at(2), "GPU-1", "570", "", "other code"},
        {cell_at(2), "GPU-1", "570", "mixed", "other code"},
        {cell_at(1), "GPU-1", "570", calibration.cells[1].sha256, "no time of the cell"},
        {cell_at(3), "GPU-1", "570", hash, "no time of the cell"},
        {cell_distinct(0, 4, 4), "GPU-1", "570", hash, "no time of the cell"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct side_identity identity = {.device = {.name = "NVIDIA Test"}};
        struct deviation found = {0};
        const char *why;

        strcpy(identity.device.uuid, rows[i].uuid);
        strcpy(identity.device.driver, rows[i].driver);
        why = calibration_deviation(&calibration, &rows[i].cell, &identity, rows[i].sha256, &found);
        if (rows[i].why) {
            assert_non_null(why);
            assert_non_null(strstr(why, rows[i].why));
        } else {
            assert_null(why);
            assert_true(found.value == calibration.cells[2].deviation.value && found.origin == DEVIATION_CALIBRATED);
        }
    }
    calibration_close(&calibration);
}

/* Calibrates what cannot be; returns what was said. */
static void expect_refusal(const struct sides *sides)
{
    struct calibration calibration;
    struct capture capture;

    capture_begin(&capture, stderr);
    assert_int_equal(calibration_of(sides, &calibration), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "two or more processes of one GPU, driver and engine"));
    assert_null(calibration.cells);
}

TEST(test_sides_that_are_refused)
{
    struct side_cell cells[3];
    struct side side;
    struct sides sides = make_sides(&side, cells);

    sides.total.files = 1;
    expect_refusal(&sides);
    sides = make_sides(&side, cells);
    sides.count = 2;
    expect_refusal(&sides);
    sides = make_sides(&side, cells);
    strcpy(sides.total.identity.device.driver, "mixed");
    expect_refusal(&sides);
}

/* The text of a good file with `from` replaced by `to` must be refused with a line that has `said`. */
static void expect_bad(const char *good, const char *from, const char *to, const char *said)
{
    const char *at = strstr(good, from);
    struct calibration calibration;
    struct capture capture;
    char text[8192];
    int bytes;

    assert_non_null(at);
    bytes = snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    file_put(path, text, (size_t)bytes);
    capture_begin(&capture, stderr);
    assert_int_equal(calibration_read(path, &calibration), STATUS_USAGE);
    capture_end(&capture);
    if (!strstr(capture.text, said) || !strstr(capture.text, path))
        fail_msg("%s", capture.text);
    assert_ptr_equal(strchr(capture.text, '\n') + 1, capture.text + strlen(capture.text));
    assert_null(calibration.cells);
    calibration_close(&calibration);
}

TEST(test_bad_files)
{
    static const struct {
        const char *from, *to, *said;
    } rows[] = {
        {"cbank-calibration", "cbank-result", "no calibration"},
        {"\"1.0\"", "\"3.0\"", "3.0"},
        {"\"processes\":\t3", "\"processes\":\t1", "processes"},
        {"\"workload\":\t\"", "\"workload\":\t\"x", "cells[0].workload"},
        {"\"noise\":\tnull", "\"noise\":\t-1", "cells[0].noise"},
        {"\"origin\":\t\"processes\"", "\"origin\":\t\"guess\"", "process_deviation.origin"},
    };
    struct calibration calibration = make_calibration();
    char *good;

    assert_int_equal(document_write(&calibration_document, &calibration, path), STATUS_OK);
    good = file_text(path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_bad(good, rows[i].from, rows[i].to, rows[i].said);
    free(good);
    calibration_close(&calibration);
}

AROUND_ALL(make_directory, remove_directory)
