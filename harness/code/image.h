/* SPDX-License-Identifier: MIT
 * The kernel images built into the program: an ar archive.
 *
 * The build puts one cubin for each architecture and module, and PTX of the oldest and the
 * newest, into an ar archive. The archive goes into the program's section .cbank_images. The
 * harness reads SASS from the same bytes that it loads. Their hash is the identity of the kernel,
 * and the instructions tell how many parameter loads a counter includes. This needs no CUDA
 * toolkit. */
#pragma once

#include "sass.h"

/* A member of the archive, in place. */
struct image {
    const char *name; /* "kernels.sm_90.cubin", "tools.sm_90.cubin", "kernels.compute_121.ptx" */
    size_t name_bytes;
    const void *data;
    size_t bytes;
};

/* Steps through the images: index 0, 1, ... until it returns false. A build without CUDA has
 * none. */
bool image_at(size_t index, struct image *out);

/* Finds the image of module ("kernels" or "tools") that runs on compute capability major.minor: the
 * exact sm_, else the highest sm_ of the same major not above minor. False when there is none. */
bool image_for_chip(const char *module, uint32_t major, uint32_t minor, struct image *out);

/* Finds the PTX of a module that the driver can compile for major.minor. False when there is
 * none. */
bool image_ptx(const char *module, uint32_t major, uint32_t minor, struct image *out);

/* Reads the code of a cell's kernel in a cubin in memory. False when it is not there or the image
 * is not a cubin. */
bool image_kernel(const void *cubin, size_t bytes, const struct cell *cell,
                  struct kernel_sass *out);

/* Reads the code of the first function whose mangled name begins with `prefix`; otherwise like
 * image_kernel. */
bool image_function(const void *cubin, size_t bytes, const char *prefix, struct kernel_sass *out);
