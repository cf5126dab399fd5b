/* SPDX-License-Identifier: MIT
 * The one place that every call passes: it is counted, logged, and fails where the script says
 * so. */
#ifndef SIMULATED_ENTRY_H
#define SIMULATED_ENTRY_H

enum api { API_RUNTIME, API_DRIVER, API_CUPTI, API_NVML, API_COUNT };

/* Special properties of a function. */
enum entry_flags {
    TEXT = 1,    /* it returns no error */
    CONTEXT = 2, /* it answers with the error that ended the context */
    UNSAFE = 4,  /* not while this thread captures */
};

enum entry {
#define ENTRY(api, name, flags) ENTRY_##name,
#include "entries.def"
    ENTRY_COUNT
};

/* Counts, logs, takes the lock. The error to answer with, or 0. */
int entry_enter(enum entry entry);

/* The answer of the function with this error: the runtime keeps it as the thread's last one. */
int entry_fails(enum entry entry, int code);

/* Gives the lock back; `entered` is there for the cleanup attribute. */
void entry_leave(const int *entered);

/* The first statement of every function: what the script says instead of what it does. The lock is
 * held to its end. */
#define ENTER(name)                                                                      \
    const int entered __attribute__((cleanup(entry_leave))) = entry_enter(ENTRY_##name); \
    if (entered)                                                                         \
    return entered

/* A stub that answers with the error `fails`; where that is 0, it does what follows. */
#define STUB(type, name, parameters, fails, ...)    \
    type name parameters                            \
    {                                               \
        ENTER(name);                                \
        const int code = (int)(fails);              \
        if (code)                                   \
            return entry_fails(ENTRY_##name, code); \
        __VA_ARGS__;                                \
        return 0;                                   \
    }

/* Most of what the simulated functions are given does not matter. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The same of a function that returns no error. */
#define ENTER_TEXT(name) \
    const int entered __attribute__((cleanup(entry_leave), unused)) = entry_enter(ENTRY_##name)

/* The same for a function that returns something. It returns it even if it should fail, so that
 * anything left at exit was left by the program; not while the thread captures. It ends with
 * `return entered`. */
#define ENTER_RELEASE(name)                                                              \
    const int entered __attribute__((cleanup(entry_leave))) = entry_enter(ENTRY_##name); \
    if (entered == cudaErrorStreamCaptureUnsupported)                                    \
    return entered

/* Gives the lock up and takes it again, to sleep between. */
void entry_unlock(void);
void entry_lock(void);

/* The code of an error by name or number in an API; its text. */
int error_code(enum api api, const char *name);
const char *error_text(enum api api, int code);

/* The runtime's last error of this thread: sets it; returns and resets it. */
int runtime_error(int code);
int runtime_last_error(void);

/* The number of threads' captures that are open. */
void entry_capturing(int difference);

#endif
