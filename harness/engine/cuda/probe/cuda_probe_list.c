/* SPDX-License-Identifier: MIT
 * Lists that one thread walks, a load after the other. */
#include <string.h>

#include "cuda_probe_parts.h"
#include "log.h"

enum { SM_TRIES = 8 }; /* until two launches ran on the same SM */

/* What came of a walk: where it ended, on which SM, and on which the walk before it. */
struct walked {
    uint32_t end, sm, before_sm;
};

/* Walks once, the cycles into probe->host_cycles. False when the GPU failed. */
typedef bool walk(struct cuda_probe *probe, const struct probe_request *request, struct probe_args args, size_t words,
                  struct walked *out);

/* -- lists --------------------------------------------------------------------------------------------- */

/* The list, and back to its beginning. */
size_t cuda_probe_link(struct cuda_probe *probe, const struct probe_request *request)
{
    const uint32_t unit = request->path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
    size_t words = 0;

    for (size_t i = 0; i < request->count; i++) {
        const size_t word = request->address[i] / sizeof(uint32_t);

        probe->links[word] = request->address[(i + 1) % request->count] / unit;
        words = word + 1 > words ? word + 1 : words;
    }
    probe->held[request->path->home] = LINKS_LIST;
    return words;
}

void cuda_probe_unlink(struct cuda_probe *probe, const struct probe_request *request)
{
    for (size_t i = 0; i < request->count; i++)
        probe->links[request->address[i] / sizeof(uint32_t)] = 0;
}

struct probe_args cuda_probe_walk_args(const struct cuda_probe *probe, const struct probe_request *request)
{
    struct probe_args args = cuda_probe_args(probe);

    args.start = probe->links[request->address[request->count - 1] / sizeof(uint32_t)];
    args.warm_up = (uint32_t)(request->count * request->warm_up);
    args.timed = (uint32_t)(request->count * request->timed);
    return args;
}

/* -- a walk -------------------------------------------------------------------------------------------- */

static bool clear_cycles(struct cuda_probe *probe, const struct probe_args *args)
{
    return cuda_device_set(&probe->device, probe->cycles, 0, args->timed * sizeof(uint32_t));
}

static bool fetch_cycles(struct cuda_probe *probe, const struct probe_args *args)
{
    return cuda_device_read(&probe->device, probe->host_cycles, probe->cycles, args->timed * sizeof(uint32_t));
}

static bool launch_before(struct cuda_probe *probe, const struct probe_request *request, size_t words)
{
    switch (request->before) {
    case PROBE_BEFORE_COPY:
        return cuda_probe_copy_links(probe, request->path, words);
    case PROBE_BEFORE_MODULE:
        return cuda_launch_empty(&probe->device);
    case PROBE_BEFORE_FLUSH:
        return cuda_flush_prepare(&probe->device, probe->info.l2_bytes) && cuda_launch_flush(&probe->device);
    default:
        return true;
    }
}

bool cuda_probe_walk_before(struct cuda_probe *probe, const struct probe_request *request, struct probe_args args,
                            size_t words)
{
    struct probe_request walk = *request;

    walk.kind = PROBE_WALK;
    args.warm_up = (uint32_t)request->count;
    args.timed = 0;
    args.readings = probe->readings + 1;
    return cuda_probe_launch(probe, &walk, &args, 1, 1) && launch_before(probe, request, words);
}

static bool walk_path(struct cuda_probe *probe, const struct probe_request *request, struct probe_args args,
                      size_t words, struct walked *out)
{
    if (!clear_cycles(probe, &args) ||
        (request->before != PROBE_BEFORE_NOTHING && !cuda_probe_walk_before(probe, request, args, words)) ||
        !cuda_probe_launch(probe, request, &args, 1, 1) || !fetch_cycles(probe, &args) || !cuda_probe_read(probe, 2))
        return false;
    *out = (struct walked){probe->host_readings[0].end, probe->host_readings[0].sm, probe->host_readings[1].sm};
    return true;
}

/* -- over the banks of several modules ------------------------------------------------------------------ */

static bool walk_relay(struct cuda_probe *probe, const struct probe_request *request, struct probe_args args,
                       size_t words, struct walked *out)
{
    struct probe_args before = args;

    (void)words;
    before.warm_up = (uint32_t)request->count;
    before.timed = 0;
    return (request->before == PROBE_BEFORE_NOTHING ||
            cuda_relay_walk(&probe->relay, &before, &out->end, &out->before_sm)) &&
           clear_cycles(probe, &args) && cuda_relay_walk(&probe->relay, &args, &out->end, &out->sm) &&
           fetch_cycles(probe, &args) && cuda_device_wait(&probe->device);
}

/* -- with straight code between ------------------------------------------------------------------------ */

static bool walk_code(struct cuda_probe *probe, const struct probe_request *request, struct probe_args args,
                      size_t words, struct walked *out)
{
    struct probe_code_args code = {.start = args.start,
                                   .warm_up = args.warm_up,
                                   .timed = args.timed,
                                   .chunks = request->chunks,
                                   .one = 1,
                                   .cycles = probe->cycles,
                                   .readings = probe->readings};
    void *parameters[] = {&code};

    (void)words;
    if (!clear_cycles(probe, &args) ||
        !cuda_device_launch(&probe->device, probe->kernels[PROBE_CODE][0].function, 1, 1, 0, parameters) ||
        !fetch_cycles(probe, &args) || !cuda_probe_read(probe, 1))
        return false;
    *out = (struct walked){.end = probe->host_readings[0].end};
    return true;
}

/* -- asking -------------------------------------------------------------------------------------------- */

enum status cuda_probe_ask_list(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    static walk *const walks[PROBE_KIND_COUNT] = {
        [PROBE_WALK] = walk_path, [PROBE_RELAY] = walk_relay, [PROBE_CODE] = walk_code};
    const size_t words = cuda_probe_link(probe, request);
    const struct probe_args args = cuda_probe_walk_args(probe, request);
    struct walked walked = {0};
    uint32_t tries = 0;

    if (!(request->kind == PROBE_RELAY ? cuda_relay_copy(&probe->relay, probe->links, words)
                                       : cuda_probe_copy_links(probe, request->path, words)))
        return cuda_probe_failed(probe, request);
    do {
        if (!walks[request->kind](probe, request, args, words, &walked))
            return cuda_probe_failed(probe, request);
    } while (request->before != PROBE_BEFORE_NOTHING && walked.sm != walked.before_sm && ++tries < SM_TRIES);
    if (tries == SM_TRIES)
        return log_error(STATUS_ENVIRONMENT, "launches of one block after another do not run on the same SM; try it on "
                                             "a GPU that nothing else uses");
    if (walked.end != args.start)
        return log_error(STATUS_ENVIRONMENT,
                         "a walk on %s did not end where its links lead: the GPU, or this program, is wrong",
                         request->path->name);
    memcpy(answer, probe->host_cycles, args.timed * sizeof(uint32_t));
    cuda_probe_unlink(probe, request);
    return STATUS_OK;
}
