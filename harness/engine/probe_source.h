/* SPDX-License-Identifier: MIT
 * Answers the requests of the experiments of `cbank characterize`: a GPU (cuda_probe.h), or a file
 * with recorded answers (probe_record.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"
#include "probe_args.h"
#include "status.h"

/* The kernels of kernels/probes.cu and kernels/sharing.cu. */
enum probe_kind {
    PROBE_CHASE,
    PROBE_CHAIN,
    PROBE_STREAM,
    PROBE_SHARING,
    PROBE_RELAY,
    PROBE_TRANSFER,
    PROBE_KIND_COUNT,
    PROBE_CELL = PROBE_KIND_COUNT /* not one of them: a cell, as `cbank run` measures it */
};

extern const char *const probe_kind_names[PROBE_KIND_COUNT + 1];

/* Whether one kernel serves all paths. */
bool probe_is_single(enum probe_kind kind);

/* The step between the launch that brings in the list and the timed launch. */
enum probe_before {
    PROBE_BEFORE_NOTHING, /* no first launch: the caches are as the launch finds them, or as the
                           * warm-up leaves them
                           */
    PROBE_BEFORE_LAUNCH, /* nothing: the next launch of the same kernel, on the same SM */
    PROBE_BEFORE_COPY, /* the table is copied again from the host, as it is */
    PROBE_BEFORE_MODULE, /* an empty kernel of another module is launched */
    /* another module reads all of its constant bank on every SM, and L2 is replaced */
    PROBE_BEFORE_FLUSH,
    PROBE_BEFORE_COUNT
};

extern const char *const probe_before_names[PROBE_BEFORE_COUNT];

struct cell;

struct probe_request {
    enum probe_kind kind;
    const struct path *path; /* for PROBE_SHARING, the path of the constant bank */

    /* PROBE_CHASE: see struct probe_chase. Answer: count x timed cycles. PROBE_RELAY: the same over
     * the constant banks of PROBE_MEMBERS modules, one after the other. With `sm`, PROBE_CHASE runs
     * on the SM of that number, from 1; the answer is PROBE_NOT_AT_ONCE throughout if no block came
     * there. */
    const uint32_t *address;
    size_t count;
    uint32_t warm_up, timed, sm;
    enum probe_before before;

    /* PROBE_CHAIN, PROBE_STREAM: lane i of every warp loads from byte i % distinct x stride.
     * Answer, `repeats` times: cycles from the start of the first warp to the end of the last one,
     * for PROBE_LOADS x (iterations - 1) loads of each warp. Up to 32 warps are one block. A
     * larger, even number is two blocks of half as many on every SM. The answer is then the median
     * over the SMs on which all of them loaded at the same time; PROBE_NOT_AT_ONCE if there was
     * none. */
    uint32_t distinct, stride, warps, iterations, repeats;

    /* PROBE_SHARING: see struct probe_sharing_args; `blocks`, one on each SM. Answer: the SM of
     * each block and its cycles, 2 x blocks numbers; PROBE_NOT_AT_ONCE throughout if a block had no
     * turn. */
    uint32_t blocks, first, bytes, step, grain;

    /* PROBE_TRANSFER: see struct probe_transfer_args. With a width, `warps` are those of an SM, and
     * `bytes` is 0. Answer, `repeats` times: cycles of the median SM with a width, else ns from the
     * first start to the last end, for iterations - 1; PROBE_NOT_AT_ONCE throughout if the GPU has
     * no memory for it. */
    uint32_t width;
    bool writes;

    /* PROBE_CELL: the cell, not owned. Answer: PROBE_CELL_VALUES, see experiment_cells.c;
     * PROBE_NOT_COUNTED for each that is not known. */
    const struct cell *cell;
};

enum { PROBE_CELL_VALUES = 8 };

/* No SM ran that many warps at the same time. */
#define PROBE_NOT_AT_ONCE UINT32_MAX

/* The chip cannot count this. */
#define PROBE_NOT_COUNTED UINT32_MAX

/* Number of values in the answer. */
size_t probe_answer_count(const struct probe_request *request);

enum { PROBE_TEXT_BYTES = 256 };

/* The kernel of a probe for a path. */
struct probe_kernel {
    bool usable;
    char reason[PROBE_TEXT_BYTES]; /* why there is none */
    char name[PROBE_TEXT_BYTES]; /* mangled; "" if there is none */
    char sha256[65]; /* of its code */
    char loads[PROBE_TEXT_BYTES]; /* "16 LDC", by class; "" if the code cannot be read */
};

struct probe_source {
    void *context;
    size_t samples_max; /* of one pointer chase */
    uint32_t sm_count;
    /* shared memory that pointer chases of the L1 data cache request */
    char shared_carve_out[PROBE_TEXT_BYTES];
    /* STATUS_ENVIRONMENT: the GPU failed; STATUS_USAGE: the file lacks the answer. */
    enum status (*ask)(void *context, const struct probe_request *request, uint32_t *answer);
    /* The kernel that answers; never NULL. The source owns it. */
    const struct probe_kernel *(*kernel)(void *context, enum probe_kind kind,
                                         const struct path *path);
};
