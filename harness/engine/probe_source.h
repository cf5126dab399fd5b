/* SPDX-License-Identifier: MIT
 * Who answers what the experiments of `cbank characterize` ask: a GPU (cuda_probe.h), or a file in which the answers of
 * one are recorded (probe_record.h). */
#ifndef CBANK_PROBE_SOURCE_H
#define CBANK_PROBE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"
#include "probe_args.h"
#include "status.h"

/* The kernels of kernels/probes.cu. */
enum probe_kind {
    PROBE_WALK,
    PROBE_CHAIN,
    PROBE_STREAM,
    PROBE_SHARING,
    PROBE_RELAY,
    PROBE_CODE,
    PROBE_COUNT, /* the kernel of another, counted */
    PROBE_KIND_COUNT
};

extern const char *const probe_kind_names[PROBE_KIND_COUNT];

/* Whether it is one for all paths. */
bool probe_is_single(enum probe_kind kind);

/* The step between the launch that brings the list and the launch that is timed. */
enum probe_before {
    PROBE_BEFORE_NOTHING, /* there is no such walk: the caches are as the launch finds them, or the warm-up leaves them
                           */
    PROBE_BEFORE_LAUNCH, /* nothing: the next launch of the same kernel, on the same SM */
    PROBE_BEFORE_COPY, /* the table is copied again from the host, as it is */
    PROBE_BEFORE_MODULE, /* the launch of an empty kernel of another module */
    PROBE_BEFORE_FLUSH, /* another module reads all of its constant bank on every SM, and L2 is replaced */
    PROBE_BEFORE_COUNT
};

extern const char *const probe_before_names[PROBE_BEFORE_COUNT];

struct probe_request {
    enum probe_kind kind;
    const struct path *path; /* PROBE_SHARING: that of the constant bank */

    /* PROBE_WALK: see struct probe_walk. Answer: count x timed cycles.
     * PROBE_RELAY: the same over the constant banks of PROBE_MEMBERS modules, one behind the other.
     * PROBE_CODE: the same, of the constant bank, with `chunks` pieces of straight code (probe_args.h) between the
     * warm-up and what is timed.
     * PROBE_COUNT: a launch of `counted`, PROBE_WALK or PROBE_STREAM, counted, `before` a walk as well. Answer: each of
     * probe_counters. */
    enum probe_kind counted;
    const uint32_t *address;
    size_t count;
    uint32_t warm_up, timed;
    enum probe_before before;
    uint32_t chunks;

    /* PROBE_CHAIN, PROBE_STREAM: lane i of every warp loads from byte i % distinct x stride. Answer: `repeats` times
     * cycles from the first warp's begin to the last one's end, of PROBE_LOADS x (iterations - 1) loads of each warp.
     * Up to 32 warps are one block. More, an even number, are two blocks of half as many on every SM. The answer is then
     * the median over the SMs on which all of them loaded at one moment; PROBE_NOT_AT_ONCE where there is none. */
    uint32_t distinct, stride, warps, iterations, repeats;

    /* PROBE_SHARING: see struct probe_sharing_args; `blocks`, one on each SM. Answer: the SM of each block and its
     * cycles, 2 x blocks numbers. */
    uint32_t blocks, first, bytes, step, grain;
};

/* Counts of PROBE_COUNT, over all SMs. */
enum {
    PROBE_COUNTED_REQUESTS, /* of the indexed constant caches */
    PROBE_COUNTED_LINES, /* that they brought */
    PROBE_COUNTED_GCC_REQUESTS, /* of the caches behind them, for constants */
    PROBE_COUNTED_GCC_MISSES,
    PROBE_COUNTED_ACTIVE_CYCLES, /* of the indexed constant caches */
    PROBE_COUNTED_SM_CYCLES, /* with a warp resident */
    PROBE_COUNTED_COUNT
};

/* No SM loaded by so many warps at once. */
#define PROBE_NOT_AT_ONCE UINT32_MAX

/* A number that the chip does not count. */
#define PROBE_NOT_COUNTED UINT32_MAX

extern const char *const probe_counters[PROBE_COUNTED_COUNT]; /* names of harness/counter.h, or metrics of CUPTI */

/* Numbers in the answer. */
size_t probe_answer_count(const struct probe_request *request);

enum { PROBE_TEXT_BYTES = 256 };

/* A probe's kernel for a path. */
struct probe_kernel {
    bool usable;
    char reason[PROBE_TEXT_BYTES]; /* why not */
    char name[PROBE_TEXT_BYTES]; /* mangled; "" where there is none */
    char sha256[65]; /* of its code */
    char loads[PROBE_TEXT_BYTES]; /* "16 LDC", by class; "" where the code is not known here */
};

struct probe_source {
    void *context;
    size_t samples_max; /* of one walk */
    uint32_t sm_count;
    uint32_t chunk_bytes; /* of a piece of straight code; 0: not known */
    const uint64_t *bank_address; /* PROBE_MEMBERS, owned by the source: where on the device the banks of PROBE_RELAY
                                     are; 0 until its kernel was asked for */
    char shared_carve_out[PROBE_TEXT_BYTES]; /* what walks of the L1 data cache ask of shared memory */
    /* STATUS_ENVIRONMENT: the GPU failed; STATUS_USAGE: the file has no such answer. */
    enum status (*ask)(void *context, const struct probe_request *request, uint32_t *answer);
    /* The kernel that answers; never NULL. Owned by the source. */
    const struct probe_kernel *(*kernel)(void *context, enum probe_kind kind, const struct path *path);
};

#endif
