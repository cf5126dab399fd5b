/* SPDX-License-Identifier: MIT
 * Calls of CUDA on a device, and what becomes of one that fails or does not come back. Includes vendor headers. */
#ifndef CBANK_CUDA_CALL_H
#define CBANK_CUDA_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "result.h"
#include "watchdog.h"

struct cuda_device;

/* A cell whose launches are under way. */
struct cuda_suspect {
    struct cell_result *cell;
    size_t reading; /* the clock probe behind its launches writes there; CUDA_NO_READING: there is none */
};

#define CUDA_NO_READING SIZE_MAX

/* What is known of the calls on a device. */
struct cuda_calls {
    struct watchdog *watchdog; /* not owned; NULL: none */
    double patience;           /* seconds, beside those expected, for a call to come back; 0: see cuda_expect */
    double expected;           /* seconds that the next calls may take */
    const char *failed, *error; /* the first call that failed since cuda_device_error, and what it said; NULL: none */
    char text[256];             /* both of them */
    bool lost;                  /* the device does not work any more: no call reaches it */
    struct result *result;      /* whose cells are measured; NULL: none */
    struct cuda_suspect *suspects; /* owned: room for every cell; in the order of their launches */
    size_t suspect_count;
};

/* Calls a function of the runtime, or of the driver; true when all went well. The call is watched, the device keeps its
 * name and error if it fails, and a device that is lost is not called. */
#define CUDA(device, function, ...) \
    (cuda_call_begin((device), #function) && cuda_call_end((device), #function, (function)(__VA_ARGS__)))
#define DRIVER(device, function, ...)        \
    (cuda_call_begin((device), #function) && \
     cuda_driver_call_end((device), #function, (device)->driver.function(__VA_ARGS__)))

/* The same where it does not matter whether it went well. */
#define CUDA_TRY(...)   ((void)CUDA(__VA_ARGS__))
#define DRIVER_TRY(...) ((void)DRIVER(__VA_ARGS__))

bool cuda_call_begin(struct cuda_device *device, const char *call);
bool cuda_call_end(struct cuda_device *device, const char *call, cudaError_t code);
bool cuda_driver_call_end(struct cuda_device *device, const char *call, CUresult code);

/* The call that failed and its error, which the device forgets: "cudaMalloc: out of memory". "" when none did. Good
 * until it is asked again. */
const char *cuda_device_error(struct cuda_device *device);

/* Says what is under way, and forgets errors of what was before: launches of one cell, or nothing of any cell, and the
 * seconds that a call may take for it. Patience is 20 times that, 10 seconds at least, unless the user says what. */
void cuda_expect_cell(struct cuda_device *device, struct cell_result *cell, uint32_t launches);
void cuda_expect(struct cuda_device *device, double seconds);

/* Seconds that a call has to come back. */
double cuda_patience(const struct cuda_device *device);

/* Whether the device is lost: after a call that failed this finds out, by launching the empty kernel and waiting. */
bool cuda_device_lost(struct cuda_device *device);

/* A call failed while `cell` was worked on. If the device works, the cell fails with `what` and the call: STATUS_OK. If
 * not, the run ends. */
enum status cuda_fail(struct cuda_device *device, struct cell_result *cell, const char *what);

/* Ends the run, with a reason and the cell that caused it, as far as that can be told. Calls no device. */
enum status cuda_end_run(struct cuda_device *device, const char *reason);

#endif
