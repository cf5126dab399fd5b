/* SPDX-License-Identifier: MIT
 * The driver's compiler: it makes a cubin of PTX by its linker, and what it made is described
 * beside the toolkit's code of the same kernel. Includes vendor headers. */
#pragma once

#include "cuda_device.h"
#include "image.h"
#include "result.h"

/* PTX of a module; not owned. */
struct cuda_ptx {
    const char *text; /* need not end in a NUL */
    size_t bytes;
    const char *name; /* for messages */
};

/* Whether the driver can compile what the pending cells of a result need. STATUS_ENVIRONMENT,
 * logged, if it lacks a function, or this program the PTX. */
enum status cuda_jit_check(const struct cuda_device *device, const struct result *result);

/* Compiles a module, which then has its cubin, its size and the time that it took. The cubin lives
 * until cuda_module_unload. STATUS_ENVIRONMENT, logged with what the driver says, on failure. */
enum status cuda_jit_compile(struct cuda_device *device, const struct cuda_ptx *ptx,
                             struct cuda_module *module);

/* Says of a cell's kernel what the driver compiled: `module` was made by it, and kernel has the
 * members that follow from its code. The toolkit's cubin, called `image`, has the same kernel, by
 * its symbol; NULL: there is none. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status cuda_jit_describe(const struct cuda_module *module, const void *cubin, size_t bytes,
                              const char *image, struct cell_kernel *kernel);
