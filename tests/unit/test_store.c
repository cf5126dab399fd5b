/* SPDX-License-Identifier: MIT
 * The layer over SQLite: versions, transactions, values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture.h"
#include "clock.h"
#include "sql.h"

enum { APPLICATION = 42 };

static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/cbank-test-store-%ld.db", (long)getpid());
    unlink(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct sql *opened(enum sql_access access)
{
    struct sql *sql;

    assert_int_equal(sql_open(path, access, &sql), STATUS_OK);
    return sql;
}

static const char *const steps[] = {
    "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)",
    "ALTER TABLE t ADD COLUMN y INTEGER; UPDATE t SET y = 2 * x",
    "UPDATE t SET y = y + 1; CREATE INDEX i ON t (y)",
};

static void an_older_version_is_brought_up_in_place(void **state)
{
    struct sql *sql = opened(SQL_WRITE);

    (void)state;
    assert_int_equal(sql_migrate(sql, APPLICATION, steps, 1), STATUS_OK);
    sql_run(sql, "INSERT INTO t VALUES (10)");
    sql_close(sql);
    sql = opened(SQL_WRITE);
    assert_int_equal(sql_migrate(sql, APPLICATION, steps, 3), STATUS_OK);
    assert_int_equal(sql_integer_of(sql, "PRAGMA user_version"), 3);
    assert_int_equal(sql_integer_of(sql, "PRAGMA application_id"), APPLICATION);
    assert_int_equal(sql_integer_of(sql, "SELECT sum(y) FROM t"), 3 + 21);
    /* Again is nothing. */
    assert_int_equal(sql_migrate(sql, APPLICATION, steps, 3), STATUS_OK);
    assert_int_equal(sql_integer_of(sql, "SELECT sum(y) FROM t"), 3 + 21);
    sql_close(sql);
}

static void a_step_that_fails_leaves_the_version_before_it(void **state)
{
    static const char *const broken[] = {"CREATE TABLE t (x)",
                                         "INSERT INTO t VALUES (1); INSERT INTO nowhere VALUES (1)"};
    struct sql *sql = opened(SQL_WRITE);
    struct capture capture;

    (void)state;
    capture_begin(&capture, stderr);
    assert_int_equal(sql_migrate(sql, APPLICATION, broken, 2), STATUS_USAGE);
    assert_non_null(strstr(capture_end(&capture), "no such table: nowhere"));
    sql_close(sql);
    sql = opened(SQL_READ);
    assert_int_equal(sql_integer_of(sql, "PRAGMA user_version"), 1);
    assert_int_equal(sql_integer_of(sql, "SELECT count(*) FROM t"), 0);
    sql_close(sql);
}

static void values_come_back_as_they_were(void **state)
{
    struct sql *sql = opened(SQL_WRITE);
    struct sql_statement *add, *get;

    (void)state;
    sql_run(sql, "CREATE TABLE t (i INTEGER, x REAL, s TEXT)");
    add = sql_prepare(sql, "INSERT INTO t VALUES (?1, ?2, ?3)");
    for (int i = 0; i < 2; i++) {
        sql_set_integer(add, 1, INT64_MAX - i);
        sql_set_number(add, 2, i ? NAN : 0.1);
        sql_set_text(add, 3, i ? NULL : "it's");
        assert_true(sql_change(add));
        assert_int_equal(sql_added(sql), i + 1);
    }
    get = sql_prepare(sql, "SELECT i, x, s FROM t ORDER BY rowid");
    assert_true(sql_row(get));
    assert_int_equal(sql_integer(get, 0), INT64_MAX);
    assert_true(sql_number(get, 1) == 0.1);
    assert_string_equal(sql_text(get, 2), "it's");
    assert_true(sql_row(get));
    assert_true(isnan(sql_number(get, 1)));
    assert_string_equal(sql_text(get, 2), "");
    assert_false(sql_row(get));
    assert_int_equal(sql_status(sql), STATUS_OK);
    sql_finish(add);
    sql_finish(get);
    sql_close(sql);
}

static void after_an_error_nothing_is_done(void **state)
{
    struct sql *sql = opened(SQL_WRITE);
    struct capture capture;

    (void)state;
    sql_run(sql, "CREATE TABLE t (x)");
    sql_begin(sql);
    sql_run(sql, "INSERT INTO t VALUES (1)");
    capture_begin(&capture, stderr);
    sql_run(sql, "INSERT INTO nowhere VALUES (1)");
    sql_run(sql, "INSERT INTO nowhere VALUES (2)");
    assert_null(sql_prepare(sql, "SELECT 1"));
    assert_false(sql_row(NULL));
    assert_int_equal(sql_commit(sql), STATUS_USAGE);
    assert_string_equal(strstr(capture_end(&capture), "nowhere\n"), "nowhere\n"); /* said once */
    sql_rollback(sql);
    sql_close(sql);
    sql = opened(SQL_READ);
    assert_int_equal(sql_integer_of(sql, "SELECT count(*) FROM t"), 0);
    sql_close(sql);
}

static void times_are_read_to_the_second(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } right[] = {{"1970-01-01T00:00:00Z", 0},
                 {"2026-11-21T01:30:18Z", 1795224618},
                 {"2024-02-29T23:59:59Z", 1709251199}};
    static const char *const wrong[] = {"",
                                        "2026-11-21",
                                        "2026-02-29T00:00:00Z",
                                        "2026-11-21T01:30:18Z ",
                                        "2026-11-21T01:30:18.5Z",
                                        "2026-11-21T24:00:00Z",
                                        "2026-11-21T1:30:18Z"};
    int64_t seconds;

    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        char again[CLOCK_UTC_BYTES];

        assert_true(clock_read_utc(right[i].text, &seconds));
        assert_int_equal(seconds, right[i].seconds);
        clock_write_utc(seconds, again);
        assert_string_equal(again, right[i].text);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(clock_read_utc(wrong[i], &seconds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_come_back_as_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_an_error_nothing_is_done, set_up, tear_down),
        cmocka_unit_test(times_are_read_to_the_second),
        cmocka_unit_test_setup_teardown(an_older_version_is_brought_up_in_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_that_fails_leaves_the_version_before_it, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
