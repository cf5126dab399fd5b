/* SPDX-License-Identifier: MIT
 * The timeline of a run on the host and on the device, for --trace. Its file is JSON of the Trace
 * Event Format, which Perfetto and chrome://tracing read: an event is a span with a beginning and a
 * length in us since the run began. Every function accepts NULL for the trace and does nothing. */
#pragma once

#include <stdint.h>

#include "result.h"
#include "status.h"

/* The rows of the timeline, from the top. A row holds spans one after the other. */
enum trace_row {
    TRACE_PHASES,    /* of the run */
    TRACE_STEPS,     /* of a phase */
    TRACE_TIMING,    /* what the host does while cells are timed */
    TRACE_SAMPLES,   /* on the device: from the first stamp of a sample to the last */
    TRACE_STRETCHES, /* on the device: the launches between two stamps */
};

struct trace;

/* `zero` is when the run began, by clock_seconds. NULL, logged, when out of memory. The caller
 * closes it. */
struct trace *trace_open(double zero);
void trace_close(struct trace *trace);

/* Adds a span of the host, from `begin` to `end` by clock_seconds. `name` outlives the trace. */
void trace_host(struct trace *trace, enum trace_row row, const char *name, double begin,
                double end);

/* Adds a span of the device by its own timer. `cell` outlives the trace. */
void trace_device(struct trace *trace, enum trace_row row, const char *name,
                  const struct cell_result *cell, uint64_t begin_ns, uint64_t end_ns);

/* Says that the host launched before the device's timer was at `first_ns`, and had waited after it
 * was at `last_ns`: the two clocks are laid over each other by that. */
void trace_between(struct trace *trace, double launched, uint64_t first_ns, uint64_t last_ns,
                   double waited);

/* Writes the file. STATUS_USAGE, logged, if it cannot be written; STATUS_ENVIRONMENT when memory
 * ran out, also while spans were added: then there is no file. */
enum status trace_write(const struct trace *trace, const struct result *result, const char *path);
