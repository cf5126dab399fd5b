/* SPDX-License-Identifier: MIT
 * A thread that ends the program when a call does not come back, or does not come back soon after a signal. A device
 * that hangs keeps the thread that waits for it for ever, so that another has to save what was measured. */
#ifndef CBANK_WATCHDOG_H
#define CBANK_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The end of the program by the thread. */
struct watchdog_end {
    /* Saves what there is and ends the process: does not return. The thread that called is inside the call and stays
     * there, even if it comes back, so that all that it owns may be read. `seconds`: since it called. */
    void (*end)(void *context, const char *call, double seconds);
    /* Whether the user wants the program to end: calls then have half a second. NULL: nobody asks. */
    bool (*asked)(void);
    void *context;
};

struct watchdog {
    struct watchdog_end then;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* of closing */
    pthread_cond_t wake;
    bool closing;
    /* Odd while a call is watched. Whoever makes it even has the say: the caller, who has come back, or the thread. */
    atomic_uint_fast64_t turn;
    _Atomic(const char *) call;
    _Atomic(double) began, deadline; /* seconds */
};

/* Starts watching. A system that gives no thread has no watchdog, which is logged. The struct stays where it is until
 * watchdog_close. */
void watchdog_open(struct watchdog *watchdog, const struct watchdog_end *then);

/* Stops it; accepts a zeroed struct. */
void watchdog_close(struct watchdog *watchdog);

/* The calls between these two are watched: `call` (static text) names them, and they take at most `seconds`, or
 * INFINITY: then a signal alone ends them. By one thread, and not one within another. NULL: nothing is watched. */
void watch_begin(struct watchdog *watchdog, const char *call, double seconds);
void watch_end(struct watchdog *watchdog);

#endif
