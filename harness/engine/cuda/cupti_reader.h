/* SPDX-License-Identifier: MIT
 * Reads hardware counters through CUPTI's Range Profiler and Profiler Host API.
 *
 * Both libraries (libcupti, libnvperf_host) are opened at run time. The host part, which knows chips and
 * metric names, works on a machine without a GPU. Ranges are the user's and so is the replay: the caller
 * prepares the state of the caches before every pass of every range. */
#ifndef CBANK_CUPTI_READER_H
#define CBANK_CUPTI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter.h"

enum { CUPTI_REASON_BYTES = 256 };

/* The two libraries, open. */
struct cupti;

/* Opens them: from CBANK_CUPTI_DIR and nowhere else where that is set, else from CUDA_HOME, CUDA_PATH, the
 * toolkit that the program was built with, /usr/local/cuda, then the loader's own path. COUNTER_OK, or the status that every counter gets, with the
 * reason and the remedy in reason. On success *out is the caller's, to close. */
enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES]);

/* Closes; accepts NULL. Sessions and chips are closed before. */
void cupti_close(struct cupti *cupti);

/* Version of the open library, as CUPTI_API_VERSION counts; folder it was found in ("" the loader's path). */
uint32_t cupti_version(const struct cupti *cupti);
const char *cupti_folder(const struct cupti *cupti);

/* Calls each for every chip that the library knows. False when it cannot say. */
bool cupti_each_chip(const struct cupti *cupti, void (*each)(void *context, const char *chip), void *context);

/* The metrics of one chip. */
struct cupti_chip;

/* Opens a chip by name ("GH100"); no GPU needed. availability is the device's counter availability image,
 * or NULL. NULL, with the reason, when it cannot. */
struct cupti_chip *cupti_chip_open(const struct cupti *cupti, const char *chip, const uint8_t *availability,
                                   char reason[CUPTI_REASON_BYTES]);
void cupti_chip_close(struct cupti_chip *chip);

/* Whether the chip has the metric: its base name is known and a rollup is given. *reason (static text) says
 * which is not. */
bool cupti_chip_has(const struct cupti_chip *chip, const char *metric, const char **reason);

/* Counting on one device: a chip, and a configuration for one set of counters. */
struct cupti_session;

/* What a session counts: the caller's launches. */
struct cupti_ranges {
    size_t count;
    /* Brings the caches to the state that range i is to be counted in; not counted itself. */
    bool (*prepare)(void *context, size_t i);
    /* The one launch that is counted; returns when it has ended. */
    bool (*launch)(void *context, size_t i);
    void *context;
};

/* Opens counting on CUDA device `device`, whose context `cuda_context` (a CUcontext) is current, for at
 * most ranges_max ranges at a time. Every kernel must have run once before. A counter that this chip lacks
 * does not lose the others: see cupti_session_counter. */
enum counter_status cupti_session_open(const struct cupti *cupti, uint32_t device, void *cuda_context,
                                       const struct counter_set *counters, size_t ranges_max,
                                       struct cupti_session **out, char reason[CUPTI_REASON_BYTES]);

/* Releases; accepts NULL. */
void cupti_session_close(struct cupti_session *session);

/* CUPTI's name of the device's chip. */
const char *cupti_session_chip(const struct cupti_session *session);

/* How many passes one collection takes: what the metrics ask for together. */
size_t cupti_session_passes(const struct cupti_session *session);

/* Runs every pass over all ranges. Values replace those of an earlier collection. */
enum counter_status cupti_session_collect(struct cupti_session *session, const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES]);

/* Status of counter i of the set (COUNTER_OK when it is collected), the metric chosen or tried for it (a
 * string of the set's row) and why it is not ok (static text, NULL when it is). */
enum counter_status cupti_session_counter(const struct cupti_session *session, size_t i, const char **metric,
                                          const char **reason);

/* values[i] of counter i of the set in one range of the last collection; NaN where the counter is not
 * collected or the hardware gave nothing. False when the range cannot be evaluated. */
bool cupti_session_values(struct cupti_session *session, size_t range, double *values);

#endif
