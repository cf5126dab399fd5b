/* SPDX-License-Identifier: MIT
 * A thread that ends the program if a call does not come back, or does not come back soon after a
 * signal. A hung device blocks the thread that waits for it for ever, so another thread must save
 * the measurements. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How the thread ends the program. */
struct watchdog_end {
    /* Saves everything and ends the process: it does not return. The thread that called stays
     * inside the call, even if the call comes back, so its data may be read. `seconds` is the time
     * since the call. */
    void (*end)(void *context, const char *call, double seconds);
    /* Whether the user wants the program to end: calls then have half a second. NULL: nobody
     * asks. */
    bool (*asked)(void);
    void *context;
};

struct watchdog {
    struct watchdog_end then;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* for closing */
    pthread_cond_t wake;
    bool closing;
    /* Odd while a call is watched. The one that makes it even decides: the caller, which has come
     * back, or the thread. */
    atomic_uint_fast64_t turn;
    _Atomic(const char *) call;
    _Atomic(double) began, deadline; /* seconds */
};

/* Starts watching. If the system cannot start a thread, there is no watchdog, which is logged. The
 * struct must not move until watchdog_close. */
void watchdog_open(struct watchdog *watchdog, const struct watchdog_end *then);

/* Stops watching; accepts a zeroed struct. */
void watchdog_close(struct watchdog *watchdog);

/* Calls between these two are watched. `call` (static text) names them. They may take `seconds`;
 * with INFINITY, only a signal ends them. Use one thread, and do not nest. NULL: nothing is
 * watched. */
void watch_begin(struct watchdog *watchdog, const char *call, double seconds);
void watch_end(struct watchdog *watchdog);
