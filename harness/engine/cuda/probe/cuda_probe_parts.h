/* SPDX-License-Identifier: MIT
 * A device that probes are asked of, and how its parts answer: what the files of cuda_probe.h share. Includes vendor
 * headers. */
#ifndef CBANK_CUDA_PROBE_PARTS_H
#define CBANK_CUDA_PROBE_PARTS_H

#include "cuda_probe.h"
#include "cuda_probe_count.h"
#include "cuda_relay.h"

enum {
    PROBE_LINK_WORDS = 1 << 20,   /* of the table in global memory */
    PROBE_SAMPLES_MAX = 1 << 17,  /* of one walk */
    PROBE_READINGS_MAX = 1 << 16, /* warps of one launch */
};

/* A kernel, and what its code says. */
struct cuda_probe_kernel {
    CUfunction function;
    struct probe_kernel found;
};

/* What the table of a home holds: a list, or what is not known; or links that lead to themselves, in bytes or
 * elements. */
enum links { LINKS_LIST, LINKS_BYTES, LINKS_ELEMENTS };

struct cuda_probe {
    struct device_info info;
    struct cuda_device device;
    struct cuda_module module;
    struct cuda_probe_kernel *kernels[PROBE_KIND_COUNT]; /* owned: [path_count], the first for what is one for all */
    uint32_t *links; /* pinned: PROBE_LINK_WORDS of the next list; the first CBANK_TABLE_LENGTH of them for others */
    uint32_t *table; /* device, PROBE_LINK_WORDS */
    enum links held[3]; /* by enum table_home */
    uint32_t *cycles; /* device, PROBE_SAMPLES_MAX */
    uint32_t *host_cycles; /* pinned */
    struct probe_reading *readings, *host_readings; /* device and pinned, PROBE_READINGS_MAX */
    uint32_t *turn; /* device */
    cudaTextureObject_t texture;
    struct cuda_relay relay; /* these two are open where their probe is usable */
    struct cuda_count count;
    uint64_t bank_address[PROBE_MEMBERS];
    bool asked_for[PROBE_KIND_COUNT]; /* what is opened when it is first asked for, has been tried */
};

/* Finds all kernels of the module, and looks at their loads. STATUS_ENVIRONMENT, logged, when it cannot. */
enum status cuda_probe_find_kernels(struct cuda_probe *probe);

/* Says that the GPU failed; returns STATUS_ENVIRONMENT. */
enum status cuda_probe_failed(struct cuda_probe *probe, const struct probe_request *request);

/* Arguments that every probe has. */
struct probe_args cuda_probe_args(const struct cuda_probe *probe);

/* Copies the first words of probe->links to where the path's table is. */
bool cuda_probe_copy_links(struct cuda_probe *probe, const struct path *path, size_t words);

/* Enqueues a launch of the request's kernel. */
bool cuda_probe_launch(struct cuda_probe *probe, const struct probe_request *request, struct probe_args *args,
                       uint32_t blocks, uint32_t threads);

/* Fetches the readings of `count` warps, and clears them on the device. Waits. */
bool cuda_probe_read(struct cuda_probe *probe, size_t count);

/* Answers, as struct probe_source has it: a list that is walked, by whichever kernel; loads by warps; loads of one SM
 * after another's; a launch that is counted. */
enum status cuda_probe_ask_list(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer);
enum status cuda_probe_ask_span(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer);
enum status cuda_probe_ask_sharing(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer);
enum status cuda_probe_ask_count(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer);

/* Writes the request's list of links; returns the words up to the last. And back to zero. */
size_t cuda_probe_link(struct cuda_probe *probe, const struct probe_request *request);
void cuda_probe_unlink(struct cuda_probe *probe, const struct probe_request *request);

/* The walk that brings the list, with its reading behind that of the walk that is timed or counted. Nothing else comes
 * between the two than what the request says: what is to be cleared or read is before or after. */
bool cuda_probe_walk_before(struct cuda_probe *probe, const struct probe_request *request, struct probe_args args,
                            size_t words);

/* What a request that walks is asked with. */
struct probe_args cuda_probe_walk_args(const struct cuda_probe *probe, const struct probe_request *request);

#endif
