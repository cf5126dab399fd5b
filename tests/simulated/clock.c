/* SPDX-License-Identifier: MIT
 * The clocks that the program reads, in place of the C library's.
 *
 *   CLOCK_MONOTONIC_RAW  what calls of the host take, and what the host waited for
 *   CLOCK_MONOTONIC      the system's; with pace=2 what was slept, waited and read: a busy machine
 *                        is then as fast as an idle one */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "stream.h"

enum { OWN_CLOCK = 2, READING_NS = 500 };

static _Atomic uint64_t gone_ns; /* by the simulation's clock */
static double passed_ns; /* in calls of the host */

/* A function of the C library. It is asked for by the library's name: what comes next may be the
 * simulation's own, by a preloaded dlsym. */
static void *of_library(const char *name)
{
    return dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name);
}

static struct timespec timespec_of(double ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1e9), .tv_nsec = (long)fmod(ns, 1e9)};
}

static double ns_of(const struct timespec *time)
{
    return 1e9 * (double)time->tv_sec + (double)time->tv_nsec;
}

/* The C library reads most clocks without a call of the system, which takes much longer. */
static int read_system(clockid_t clock, struct timespec *now)
{
    static int (*library)(clockid_t clock, struct timespec *now);

    if (!library)
        *(void **)&library = of_library("clock_gettime");
    return library(clock, now);
}

static double system_ns(void)
{
    struct timespec now;

    read_system(CLOCK_MONOTONIC, &now);
    return ns_of(&now);
}

/* The system's when it was first asked. */
static double start_ns(void)
{
    static double start;

    if (start == 0)
        start = system_ns();
    return start;
}

double wall_ns(void)
{
    const double start = start_ns();

    return settings.pace == OWN_CLOCK ? (double)gone_ns : system_ns() - start;
}

void launch_pass(const struct CUstream_st *stream, double us)
{
    passed_ns += stream && stream->capture ? 0 : 1e3 * us;
}

/* -- in place of the C library's --------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_MONOTONIC_RAW) {
        *now = timespec_of(1e9 + passed_ns + device_current()->now_ns);
        return 0;
    }
    if (clock == CLOCK_MONOTONIC && settings.pace == OWN_CLOCK) {
        *now = timespec_of(start_ns() + (double)atomic_fetch_add(&gone_ns, READING_NS));
        return 0;
    }
    return read_system(clock, now);
}

int usleep(useconds_t us)
{
    const struct timespec length = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

    if (settings.pace != OWN_CLOCK)
        return nanosleep(&length, NULL);
    atomic_fetch_add(&gone_ns, 1000ull * us);
    return 0;
}

/* Another thread really waits until then: its moment is one of the clock above. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until)
{
    static int (*library)(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                          const struct timespec *until);
    struct timespec moment = *until;

    if (!library)
        *(void **)&library = of_library("pthread_cond_clockwait");
    if (clock == CLOCK_MONOTONIC && settings.pace == OWN_CLOCK)
        moment = timespec_of(system_ns() + fmax(0, ns_of(until) - start_ns() - (double)gone_ns));
    return library(condition, mutex, clock, &moment);
}
