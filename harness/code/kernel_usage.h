/* SPDX-License-Identifier: MIT
 * What a kernel takes besides time: registers, local memory, bytes of constant banks. */
#pragma once

#include "cubin.h"
#include "optional.h"
#include "status.h"

struct kernel_usage {
    struct optional registers;      /* of a thread */
    struct optional stack_bytes;    /* of a thread, in local memory; without those of callees */
    struct optional constant_bytes; /* of the bank of __constant__ variables, of the whole cubin */
    /* of the bank of parameters, with what the driver keeps there */
    struct optional parameter_bytes;
    /* instructions that load from local memory, and that store there */
    uint32_t local_loads, local_stores;
    uint64_t shared_bytes; /* of a block, without dynamic ones */
    /* instructions of shared memory; those that store or update elsewhere, but for local memory */
    uint32_t shared_loads, shared_stores, stores;
};

/* What .nv.info says of a symbol. */
struct symbol_usage {
    struct optional registers, stack_bytes;
};

/* The usage of all symbols of a cubin. */
struct kernel_usages {
    struct symbol_usage *symbols; /* owned: by number */
    size_t count;
};

/* STATUS_ENVIRONMENT, logged, when out of memory. On success the caller closes *out. */
enum status kernel_usages_open(const struct cubin *cubin, struct kernel_usages *out);

/* Releases; accepts a zeroed struct. */
void kernel_usages_close(struct kernel_usages *usages);

/* Reads what the code of a function and the sections of its cubin say. */
void kernel_usage_read(const struct cubin *cubin, const struct kernel_usages *usages,
                       const struct cubin_function *function, struct kernel_usage *out);
