/* SPDX-License-Identifier: MIT
 * Reads hardware counters through CUPTI's Range Profiler and Profiler Host API.
 *
 * Both libraries (libcupti, libnvperf_host) are opened at run time. The host part, which knows
 * chips and metric names, works on a machine without a GPU. This uses user ranges and user replay:
 * the caller prepares the state of the caches before every pass of every range. Includes no vendor
 * header. */
#pragma once

#include "engine.h"
#include "watchdog.h"

enum { CUPTI_REASON_BYTES = ENGINE_REASON_BYTES };

/* The two libraries, open. */
struct cupti;

/* Opens the libraries: if CBANK_CUPTI_DIR is set, only from there. Else it tries CUDA_HOME,
 * CUDA_PATH, the toolkit that the program was built with, /usr/local/cuda, and the loader's own
 * path. Returns COUNTER_OK, or the status that every counter gets, with the reason and the remedy
 * in `reason`. On success the caller closes *out. */
enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES]);

/* Closes the libraries; accepts NULL. Close the sessions first. */
void cupti_close(struct cupti *cupti);

/* Writes the version of the open library, as in CUPTI_API_VERSION, and its folder. */
void cupti_describe(const struct cupti *cupti, char *text, size_t bytes);

/* Visits every chip that the library knows. False on failure. */
bool cupti_each_chip(const struct cupti *cupti, const struct chip_visitor *visitor);

/* Counting on one device: a chip, and a configuration for one set of counters. */
struct cupti_session;

/* The parameters of a session. */
struct cupti_request {
    uint32_t device; /* CUDA's number */
    void *cuda_context; /* its CUcontext, which is current; NULL means the current one */
    const struct counter_set *counters; /* outlives the session */
    size_t ranges_max; /* largest number of ranges at a time */
    struct watchdog *watchdog; /* guards every call; NULL: none */
    double watchdog_slack; /* seconds that it allows for a call */
};

/* The launches that a session counts, as hooks of the caller. */
struct cupti_ranges {
    size_t count;
    /* Brings the caches to the state for counting range i. This is not counted. */
    bool (*prepare)(void *context, size_t i);
    /* Makes the one launch that is counted; returns when it has ended. */
    bool (*launch)(void *context, size_t i);
    void *context;
};

/* Opens counting on a device. Every kernel must have run once before. If this chip lacks a counter,
 * the others still work: see cupti_session_values. On success the caller closes *out. */
enum counter_status cupti_session_open(const struct cupti *cupti,
                                       const struct cupti_request *request,
                                       struct cupti_session **out, char reason[CUPTI_REASON_BYTES]);

/* Marks the device as lost: closing then calls nothing. */
void cupti_session_lose(struct cupti_session *session);

/* Releases; accepts NULL. */
void cupti_session_close(struct cupti_session *session);

/* CUPTI's name of the device's chip. */
const char *cupti_session_chip(const struct cupti_session *session);

/* Runs every pass over all ranges. The values replace those of an earlier collection. */
enum counter_status cupti_session_collect(struct cupti_session *session,
                                          const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES]);

/* Sets status, reason, metric (the one chosen or tried) and value of values[i], for counter i of
 * the set, in one range of the last collection. The value is NaN if the counter is not collected or
 * the hardware gave nothing. False if the range cannot be evaluated. */
bool cupti_session_values(struct cupti_session *session, size_t range,
                          struct counter_value *values);
