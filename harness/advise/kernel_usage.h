/* SPDX-License-Identifier: MIT
 * What a kernel takes besides time: registers, local memory, bytes of constant banks. */
#pragma once

#include "cubin.h"
#include "optional.h"

struct kernel_usage {
    struct optional registers;      /* of a thread */
    struct optional stack_bytes;    /* of a thread, in local memory; without those of callees */
    struct optional constant_bytes; /* of the bank of __constant__ variables, of the whole cubin */
    /* of the bank of parameters, with what the driver keeps there */
    struct optional parameter_bytes;
    /* instructions that load from local memory, and that store there */
    uint32_t local_loads, local_stores;
};

/* Reads what the code of a function and the sections of its cubin say. */
void kernel_usage_read(const struct cubin *cubin, const struct cubin_function *function,
                       struct kernel_usage *out);
