/* SPDX-License-Identifier: MIT
 * What L1, L2 and device memory give at most: streams of loads that wait for nothing else. */
#include <math.h>
#include <stdio.h>

#include "experiment.h"

enum {
    REPEATS = 21,
    MEMORY_BYTES = 1 << 30, /* of a stream past L2 */
    MEMORY_SHARE = 4,       /* of the GPU's memory that a stream takes at most */
    PAST_L2 = 8,            /* least ratio of a stream past L2 to the size of L2 */
    IN_L2 = 4,              /* share of L2 that a stream within it takes */
    SM_WARPS = 2 * PROBE_TRANSFER_THREADS / CBANK_WARP_THREADS,
};

/* A stream: more iterations less few take what the iterations between take, without fixed costs. */
struct stream {
    const char *name, *unit, *method;
    uint32_t bytes, width, few, many;
    bool writes;
    double moved; /* bytes in one iteration of what is timed */
};

/* Adds bytes moved over the time between: ns of the chip, or cycles of an SM. Returns it. */
static struct number measure(struct experiment_run *run, const struct stream *stream)
{
    struct probe_request request = {.kind = PROBE_TRANSFER,
                                    .bytes = stream->bytes,
                                    .width = stream->width,
                                    .writes = stream->writes,
                                    .warps = SM_WARPS,
                                    .repeats = REPEATS};
    struct number number = {.name = stream->name,
                            .unit = stream->unit,
                            .method = stream->method,
                            .distinct = stream->width ? CBANK_WARP_THREADS : 0,
                            .stride = stream->width,
                            .warps = stream->width ? SM_WARPS : 0};
    uint32_t few[REPEATS] = {0}, many[REPEATS] = {0};
    double rates[REPEATS];

    request.iterations = stream->few;
    experiment_ask(run, &request, few);
    request.iterations = stream->many;
    experiment_ask(run, &request, many);
    for (size_t i = 0; i < REPEATS; i++) {
        if (few[i] == PROBE_NOT_AT_ONCE || many[i] == PROBE_NOT_AT_ONCE || many[i] <= few[i]) {
            number = experiment_unknown(number, stream->width ? "no SM ran all warps at once"
                                                              : "no memory was free for it");
            experiment_number(run, number);
            return number;
        }
        rates[i] = stream->moved * (stream->many - stream->few) / (many[i] - few[i]);
    }
    experiment_median(&number, rates, REPEATS);
    experiment_number(run, number);
    return number;
}

/* Whole tiles. */
static uint32_t tiles(double bytes)
{
    return (uint32_t)(bytes / PROBE_TRANSFER_TILE_BYTES) * PROBE_TRANSFER_TILE_BYTES;
}

void experiment_bandwidth_memory(struct experiment_run *run)
{
    static const char read[] = "bytes of 16-byte loads past L1 over the ns of all SMs, 9 "
                               "iterations less 3, median of 21 launches of each, "
                               "distribution-free interval",
                      copy[] = "the same of loads and stores, both counted",
                      most[] = "the higher of the two rates; low: of the lower one";
    const struct device_info *device = &run->out->device;
    const uint32_t bytes = tiles(fmin(MEMORY_BYTES, (double)device->memory_bytes / MEMORY_SHARE));
    struct stream stream = {"read_bytes_per_ns", "bytes/ns",    read, .bytes = bytes, .few = 3,
                            .many = 9,           .moved = bytes};
    struct number reading, copying, limit;

    if (!(bytes >= PAST_L2 * (double)device->l2_bytes)) {
        experiment_skip(run, "a quarter of the memory, or 1 GiB, is not eight times L2");
        return;
    }
    reading = measure(run, &stream);
    stream.name = "copy_bytes_per_ns";
    stream.method = copy;
    stream.writes = true;
    stream.moved = 2.0 * bytes;
    copying = measure(run, &stream);
    limit = reading.value < copying.value ? copying : reading;
    limit.name = "bytes_per_ns";
    limit.method = most;
    limit.low = fmin(reading.low, copying.low);
    experiment_number(run, limit);
}

void experiment_bandwidth_l2(struct experiment_run *run)
{
    static const char method[] = "bytes of 16-byte loads past L1, of a quarter of L2, over the ns "
                                 "of all SMs, 320 iterations less 64, median of 21 launches of "
                                 "each, distribution-free interval";
    const uint32_t bytes = tiles((double)run->out->device.l2_bytes / IN_L2);
    const struct stream stream = {"read_bytes_per_ns", "bytes/ns",  method,        .bytes = bytes,
                                  .few = 64,           .many = 320, .moved = bytes};

    if (bytes == 0)
        experiment_skip(run, "L2 is smaller than what all blocks read at a time");
    else
        measure(run, &stream);
}

void experiment_bandwidth_l1(struct experiment_run *run)
{
    static const char method[] = "bytes of hits of 32 warps over the cycles of the median SM, 96 "
                                 "iterations of 8 loads less 32, median of 21 launches of each, "
                                 "distribution-free interval";
    enum { LINE_BYTES = 4 * CBANK_WARP_THREADS /* of a warp's load of 4 bytes a thread */ };

    for (uint32_t width = 4; width <= 16; width *= 2) {
        const struct stream stream = {"read_bytes_per_cycle",
                                      "bytes per cycle and SM",
                                      method,
                                      .width = width,
                                      .few = 32,
                                      .many = 96,
                                      .moved = (double)SM_WARPS * PROBE_TRANSFER_LOADS *
                                               CBANK_WARP_THREADS * width};
        struct number rate = measure(run, &stream);

        if (width > 4)
            continue;
        rate.name = "loads_per_cycle";
        rate.unit = "warp loads per cycle and SM";
        rate.value /= LINE_BYTES;
        rate.low /= LINE_BYTES;
        rate.high /= LINE_BYTES;
        experiment_number(run, rate);
    }
}
