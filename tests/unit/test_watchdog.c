/* SPDX-License-Identifier: MIT
 * A call that does not come back ends the process; one that does, however late, does not go on once that has begun. */
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "test.h"
#include "watchdog.h"

enum { ENDED = 41, WENT_ON = 42 };

static void wait_seconds(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * fmod(seconds, 1))};

    nanosleep(&time, NULL);
}

static void end_at_once(void *context, const char *call, double seconds)
{
    _exit(strcmp(call, context) == 0 && seconds < 5 ? ENDED : EXIT_FAILURE);
}

/* The call comes back while this goes on. */
static void end_slowly(void *context, const char *call, double seconds)
{
    wait_seconds(0.4);
    end_at_once(context, call, seconds);
}

static bool is_asked(void)
{
    return true;
}

/* The exit code of a process that makes one call of `takes` seconds and may take `allowed`, then goes on. */
static int code_of(const struct watchdog_end *then, double takes, double allowed)
{
    struct watchdog watchdog;
    int status = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        watchdog_open(&watchdog, then);
        watch_begin(&watchdog, "the call", allowed);
        wait_seconds(takes);
        watch_end(&watchdog);
        watchdog_close(&watchdog);
        _exit(WENT_ON);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(test_in_time)
{
    const struct watchdog_end then = {.end = end_at_once, .context = "the call"};

    assert_int_equal(code_of(&then, 0.05, 20), WENT_ON);
    assert_int_equal(code_of(&then, 0.05, INFINITY), WENT_ON);
}

TEST(test_too_late)
{
    const struct watchdog_end then = {.end = end_at_once, .context = "the call"};

    assert_int_equal(code_of(&then, 20, 0.05), ENDED);
}

TEST(test_comes_back_while_it_is_ended)
{
    const struct watchdog_end then = {.end = end_slowly, .context = "the call"};

    assert_int_equal(code_of(&then, 0.2, 0.05), ENDED);
}

TEST(test_signal)
{
    const struct watchdog_end then = {.end = end_at_once, .asked = is_asked, .context = "the call"};
    const double begin = clock_seconds();

    assert_int_equal(code_of(&then, 20, INFINITY), ENDED);
    assert_true(clock_seconds() - begin < 5);
    assert_int_equal(code_of(&then, 0.01, INFINITY), WENT_ON);
}

/* A deadline is of one call: another that begins just then has its own. */
TEST(test_many_calls)
{
    const struct watchdog_end then = {.end = end_at_once, .context = ""};
    struct watchdog watchdog;
    const double begin = clock_seconds();

    watchdog_open(&watchdog, &then);
    while (clock_seconds() - begin < 0.3) {
        watch_begin(&watchdog, "a call", 10);
        watch_end(&watchdog);
    }
    watchdog_close(&watchdog);
}

TEST(test_none)
{
    struct watchdog watchdog = {0};

    watch_begin(NULL, "a call", 0);
    watch_end(NULL);
    watchdog_close(&watchdog);
}
