/* SPDX-License-Identifier: MIT
 * Who ends a call that hangs. A counter decides without a lock: its caller makes it odd at the
 * start and even at the end, and the thread tries to make it even when the deadline is over.
 *
 *   caller    begin: turn 6 -> 7 .................. end: 7 -> 8 succeeds, or the thread was first
 *   watchdog           polls every 20 ms ....... deadline: 7 -> 8 succeeds, and ends the program
 *
 * Time in which the whole process was stopped does not count: the thread sees it as a poll that
 * came late. */
#include "watchdog.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

enum { POLL_NS = 20000000 };

static const double grace_seconds = 0.8; /* for a call, after a signal */
static const double stopped_seconds = 0.25; /* between two polls: the process itself did not run */

void watch_begin(struct watchdog *watchdog, const char *call, double seconds)
{
    if (!watchdog)
        return;

    const double now = clock_seconds();

    atomic_store_explicit(&watchdog->call, call, memory_order_relaxed);
    atomic_store_explicit(&watchdog->began, now, memory_order_relaxed);
    atomic_store_explicit(&watchdog->deadline, now + seconds, memory_order_relaxed);
    atomic_fetch_add(&watchdog->turn, 1);
}

void watch_end(struct watchdog *watchdog)
{
    if (!watchdog)
        return;

    uint_fast64_t turn = atomic_load_explicit(&watchdog->turn, memory_order_relaxed) | 1;

    /* Too late: the process is ending, and this thread's data belong to the other thread. */
    if (!atomic_compare_exchange_strong(&watchdog->turn, &turn, turn + 1))
        for (;;)
            pause();
}

static void *watch(void *argument)
{
    struct watchdog *watchdog = argument;
    double asked_since = INFINITY, polled = clock_seconds(), stopped = 0;
    uint_fast64_t watched = 0;

    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->closing) {
        struct timespec until;
        uint_fast64_t turn;
        const char *call;
        double began, deadline, now;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_clockwait(&watchdog->wake, &watchdog->lock, CLOCK_MONOTONIC, &until);
        turn = atomic_load(&watchdog->turn);
        call = atomic_load_explicit(&watchdog->call, memory_order_relaxed);
        began = atomic_load_explicit(&watchdog->began, memory_order_relaxed);
        deadline = atomic_load_explicit(&watchdog->deadline, memory_order_relaxed);
        now = clock_seconds();
        /* A job that is suspended (SIGSTOP, Ctrl-Z, a scheduler) stops the call, too: that time is
         * not the call's. */
        stopped = turn == watched ? stopped : 0;
        if (now - polled > stopped_seconds) {
            stopped += now - fmax(polled, began);
            asked_since += now - polled;
        }
        polled = now;
        watched = turn;
        if (isinf(asked_since) && watchdog->then.asked && watchdog->then.asked())
            asked_since = now;
        if (turn % 2 == 0 ||
            (now - stopped < deadline && now < fmax(asked_since, began) + grace_seconds))
            continue;
        /* If the turn is unchanged, this deadline is that of the current call, which has not come
         * back. */
        if (atomic_compare_exchange_strong(&watchdog->turn, &turn, turn + 1))
            watchdog->then.end(watchdog->then.context, call, now - stopped - began);
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

void watchdog_open(struct watchdog *watchdog, const struct watchdog_end *then)
{
    *watchdog = (struct watchdog){.then = *then};
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->wake, NULL);
    watchdog->running = pthread_create(&watchdog->thread, NULL, watch, watchdog) == 0;
    if (!watchdog->running)
        log_warning("no thread can be started: a device that hangs will not be noticed");
}

void watchdog_close(struct watchdog *watchdog)
{
    if (!watchdog->running)
        return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->closing = true;
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->wake);
    pthread_mutex_destroy(&watchdog->lock);
    *watchdog = (struct watchdog){0};
}
