/* SPDX-License-Identifier: MIT
 * Tests of calibrations: deviations by hand from the times of three processes, the document written
 * and read again, and files that differ from a good one in one place. */
#include <unistd.h>

#include "calibration.h"
#include "capture.h"
#include "sides.h"
#include "test.h"

static char path[] = "/tmp/cbank-test-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    return close(mkstemp(path));
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* A calibration of three processes: cell 0 failed, cell 1 has one time, cell 2 takes 1000, 1020 and
 * 1010 ns. */
static struct calibration make_calibration(void)
{
    static const double ns[] = {1000, 1020, 1010};
    struct sides sides = {.count = 0};
    struct calibration calibration;

    for (unsigned i = 0; i < 3; i++) {
        struct result result;

        result_fill(&result, 3, i);
        result.cells[0].status = CELL_FAILED;
        if (i > 0)
            result.cells[1].time.summary.count = 0;
        result_time(&result.cells[2], ns[i]);
        for (size_t k = 0; k < RESULT_SAMPLES; k++)
            result.cells[2].time.samples_ns[k] *= k % 2 ? 1.02 : 0.98;
        sides_put(&sides, &result);
    }
    assert_int_equal(calibration_of(&sides, &calibration), STATUS_OK);
    sides_close(&sides);
    return calibration;
}

static void check(const struct calibration *calibration)
{
    const struct calibrated_cell *cells = calibration->cells;

    assert_string_equal(calibration->device.uuid, "GPU-11111111-2222");
    assert_string_equal(calibration->device.driver, "570");
    assert_string_equal(calibration->engine, "cuda");
    assert_true(!calibration->modelled && calibration->processes == 3 &&
                calibration->cell_count == 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cells[i].cell.elements, 1000 + i);
        assert_string_equal(cells[i].sha256, "aa");
        assert_int_equal(isnan(cells[i].noise) && isnan(cells[i].median_ns) &&
                             !cells[i].has_deviation,
                         i < 2);
    }
    assert_true(fabs(cells[2].noise - 0.02) < 1e-9 && fabs(cells[2].median_ns - 1010) < 1);
    /* The deviation of the logarithms is 0.0099 with 2 degrees, pooled with the scaled error of the
     * times, 0.006. */
    assert_true(cells[2].deviation.value > 0.006 && cells[2].deviation.value < 0.0085);
    assert_true(cells[2].deviation.degrees > 2.1 && cells[2].deviation.degrees < 15);
    assert_int_equal(cells[2].deviation.origin, DEVIATION_PROCESSES);
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
    static const struct {
        size_t cell;
        const char *uuid, *driver, *sha256, *why; /* why: NULL where it applies */
    } rows[] = {
        {2, "GPU-11111111-2222", "570", "aa", NULL},
        {2, "GPU-2", "570", "aa", "another GPU"},
        {2, "", "570", "aa", "another GPU"},
        {2, "GPU-11111111-2222", "571", "aa", "another driver"},
        {2, "GPU-11111111-2222", "570", "bb", "other code"},
        {2, "GPU-11111111-2222", "570", "", "other code"},
        {2, "GPU-11111111-2222", "570", "mixed", "other code"},
        {1, "GPU-11111111-2222", "570", "aa", "no time of the cell"},
        {3, "GPU-11111111-2222", "570", "aa", "no time of the cell"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct side_identity identity = {.engine = "cuda"};
        struct cell cell = calibration.cells[rows[i].cell % 3].cell;
        struct deviation found = {0};
        const char *why;

        cell.elements = 1000 + rows[i].cell;
        strcpy(identity.device.uuid, rows[i].uuid);
        strcpy(identity.device.driver, rows[i].driver);
        why = calibration_deviation(&calibration, &cell, &identity, rows[i].sha256, &found);
        assert_int_equal(!why, !rows[i].why);
        assert_non_null(strstr(why ? why : "", rows[i].why ? rows[i].why : ""));
        assert_int_equal(found.origin, why ? DEVIATION_UNKNOWN : DEVIATION_CALIBRATED);
    }
    calibration_close(&calibration);
}

/* One process; two of two GPUs, drivers or engines. */
TEST(test_sides_that_are_refused)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sides sides = {.count = 0};
        struct calibration calibration;
        struct capture capture;

        for (unsigned k = 0; k < 1 + (i > 0); k++) {
            struct result result;

            result_fill(&result, 1, k);
            strcpy(result.device.uuid, i == 1 && k ? "GPU-2" : "GPU-1");
            strcpy(result.device.driver, i == 2 && k ? "580" : "570");
            result.engine = i == 3 && k ? "model" : "cuda";
            sides_put(&sides, &result);
        }
        capture_begin(&capture, stderr);
        assert_int_equal(calibration_of(&sides, &calibration), STATUS_USAGE);
        capture_end(&capture);
        assert_non_null(
            strstr(capture.text, "two or more processes of one GPU, driver and engine"));
        assert_null(calibration.cells);
        sides_close(&sides);
    }
}

/* A good file with `from` replaced by `to` is refused in one line that has its name and `said`. */
TEST(test_bad_files)
{
    static const struct {
        const char *from, *to, *said;
    } rows[] = {
        {"cbank-calibration", "cbank-result", "no calibration"},
        {"\"1.1\"", "\"3.0\"", "3.0"},
        {"\"processes\":\t3", "\"processes\":\t1", "processes"},
        {"\"workload\":\t\"", "\"workload\":\t\"x", "cells[0].workload"},
        {"\"noise\":\tnull", "\"noise\":\t-1", "cells[0].noise"},
        {"\"origin\":\t\"processes\"", "\"origin\":\t\"guess\"", "process_deviation.origin"},
    };
    struct calibration calibration = make_calibration();
    char *good;

    assert_int_equal(document_write(&calibration_document, &calibration, path), STATUS_OK);
    calibration_close(&calibration);
    good = file_text(path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *place = strstr(good, rows[i].from);
        struct capture capture;
        char text[8192];
        int bytes;

        assert_non_null(place);
        bytes = snprintf(text, sizeof(text), "%.*s%s%s", (int)(place - good), good, rows[i].to,
                         place + strlen(rows[i].from));
        file_put(path, text, (size_t)bytes);
        capture_begin(&capture, stderr);
        assert_int_equal(calibration_read(path, &calibration), STATUS_USAGE);
        capture_end(&capture);
        if (!strstr(capture.text, rows[i].said) || !strstr(capture.text, path))
            fail_msg("%s", capture.text);
        assert_ptr_equal(strchr(capture.text, '\n') + 1, capture.text + strlen(capture.text));
        assert_null(calibration.cells);
    }
    free(good);
}

AROUND_ALL(make_file, remove_file)
