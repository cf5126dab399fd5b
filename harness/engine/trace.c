/* SPDX-License-Identifier: MIT
 * The timeline of a run. Host and device have clocks of their own. Between a launch and the end of
 * the wait for it the host knows that the device's timer passed two stamps:
 *
 *     host     launched                              waited
 *     device            first stamp ... last stamp
 *
 * Each such pair bounds the moment of the host at which the device's timer was at zero, from below
 * by (launched - first) and from above by (waited - last). The middle of the narrowest bounds is
 * taken, and the file says how far it may be off. */
#include "trace.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cell.h"
#include "files.h"
#include "json.h"
#include "log.h"
#include "memory.h"
#include "version.h"

struct span {
    enum trace_row row;
    const char *name;
    const struct cell_result *cell; /* NULL: of none */
    double begin, end;              /* seconds, by the clock of the row */
};

struct trace {
    struct span *spans; /* owned */
    size_t count;
    double zero;             /* of the run, by the host */
    uint64_t device_zero_ns; /* the device's first stamp; 0: none yet */
    double least, most;      /* bounds of it by the host */
    bool lost;               /* memory ran out */
};

static const struct {
    const char *name;
    bool device;
} rows[] = {
    [TRACE_PHASES] = {"phases", false},
    [TRACE_STEPS] = {"steps", false},
    [TRACE_TIMING] = {"timing", false},
    [TRACE_SAMPLES] = {"samples", true},
    [TRACE_STRETCHES] = {"stretches of launches", true},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), HOST = 1, DEVICE = 2 /* processes of the file */ };

struct trace *trace_open(double zero)
{
    struct trace *trace = calloc(1, sizeof(*trace));

    if (!trace) {
        log_memory("the timeline");
        return NULL;
    }
    *trace = (struct trace){.zero = zero, .least = -INFINITY, .most = INFINITY};
    return trace;
}

void trace_close(struct trace *trace)
{
    if (trace)
        free(trace->spans);
    free(trace);
}

static void add(struct trace *trace, struct span span)
{
    if (!trace->lost && memory_grow(&trace->spans, trace->count, sizeof(*trace->spans)))
        trace->spans[trace->count++] = span;
    else
        trace->lost = true;
}

void trace_host(struct trace *trace, enum trace_row row, const char *name, double begin, double end)
{
    if (trace)
        add(trace, (struct span){.row = row, .name = name, .begin = begin, .end = end});
}

/* Seconds of the device since its first stamp. */
static double device_seconds(struct trace *trace, uint64_t ns)
{
    if (trace->device_zero_ns == 0)
        trace->device_zero_ns = ns;
    return 1e-9 * (double)(int64_t)(ns - trace->device_zero_ns);
}

void trace_device(struct trace *trace, enum trace_row row, const char *name,
                  const struct cell_result *cell, uint64_t begin_ns, uint64_t end_ns)
{
    if (trace)
        add(trace, (struct span){.row = row,
                                 .name = name,
                                 .cell = cell,
                                 .begin = device_seconds(trace, begin_ns),
                                 .end = device_seconds(trace, end_ns)});
}

void trace_between(struct trace *trace, double launched, uint64_t first_ns, uint64_t last_ns,
                   double waited)
{
    if (!trace)
        return;
    trace->least = fmax(trace->least, launched - device_seconds(trace, first_ns));
    trace->most = fmin(trace->most, waited - device_seconds(trace, last_ns));
}

/* -- the file ---------------------------------------------------------------------------------- */

/* The name of a process, or of a row (`row` at least 0) of it. */
static cJSON *name_event(const char *what, int process, int row, const char *name)
{
    cJSON *event = cJSON_CreateObject();
    cJSON *arguments = cJSON_CreateObject();

    json_add_text(event, "ph", "M");
    json_add_text(event, "name", what);
    json_add_integer(event, "pid", (uint64_t)process);
    if (row >= 0)
        json_add_integer(event, "tid", (uint64_t)row);
    json_add_text(arguments, "name", name);
    json_add(event, "args", arguments);
    return json_line(event);
}

/* us since the run began, to a ns. */
static double microseconds(double seconds)
{
    return round(1e9 * seconds) / 1e3;
}

static cJSON *span_event(const struct trace *trace, const struct span *span)
{
    const bool device = rows[span->row].device;
    const double zero = device ? trace->zero - (trace->least + trace->most) / 2 : trace->zero;
    const double begin = microseconds(span->begin - zero);
    cJSON *event = cJSON_CreateObject();

    json_add_text(event, "ph", "X");
    json_add_text(event, "name", span->name);
    json_add_integer(event, "pid", device ? DEVICE : HOST);
    json_add_integer(event, "tid", span->row);
    json_add_double(event, "ts", begin);
    json_add_double(event, "dur", microseconds(span->end - span->begin));
    if (span->cell) {
        cJSON *arguments = cJSON_CreateObject();
        char identity[CELL_IDENTITY_BYTES];

        cell_identity(&span->cell->cell, identity);
        json_add_text(arguments, "cell", identity);
        json_add(event, "args", arguments);
    }
    return json_line(event);
}

struct written {
    const struct trace *trace;
    const struct result *result;
};

static enum status put(FILE *stream, const void *context)
{
    const struct written *written = context;
    const struct trace *trace = written->trace;
    const bool device = trace->device_zero_ns > 0;
    cJSON *document = cJSON_CreateObject(), *about = cJSON_CreateObject(),
          *events = cJSON_CreateArray();

    json_add_text(about, "cbank", tool.version);
    json_add_text(about, "device", written->result->device.name);
    json_add_text(about, "device_uuid", written->result->device.uuid);
    json_add_text(about, "started_utc", written->result->started_utc);
    json_add_double(about, "device_shift_us_max",
                    device ? 1e6 * fabs(trace->most - trace->least) / 2 : NAN);
    json_add_text(document, "displayTimeUnit", "ns");
    json_add(document, "otherData", about);
    json_append(events, name_event("process_name", HOST, -1, "host"));
    if (device)
        json_append(events, name_event("process_name", DEVICE, -1, written->result->device.name));
    for (int row = 0; row < ROWS; row++)
        if (device || !rows[row].device)
            json_append(events, name_event("thread_name", rows[row].device ? DEVICE : HOST, row,
                                           rows[row].name));
    for (size_t i = 0; i < trace->count; i++)
        json_append(events, span_event(trace, &trace->spans[i]));
    json_add(document, "traceEvents", events);
    return json_put_owned(stream, document);
}

enum status trace_write(const struct trace *trace, const struct result *result, const char *path)
{
    if (!trace)
        return STATUS_OK;
    if (trace->lost)
        return log_memory("the timeline");
    return file_write(path, put, &(struct written){trace, result});
}
