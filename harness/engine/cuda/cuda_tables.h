/* SPDX-License-Identifier: MIT
 * Tables on the device, on several placements like the buffers of cuda_buffers.h.
 *
 * Lines of the table fall into other slices of L2 where its address is another one, which makes loads of a few lines faster or
 * slower. A user's table lies anywhere, so that each placement begins at another multiple of 512 bytes, the same in
 * every plan. */
#ifndef CBANK_CUDA_TABLES_H
#define CBANK_CUDA_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "cuda_buffers.h"
#include "parameter.h"
#include "sass.h"

struct cuda_device;

enum {
#define PARAMETER(name, option, summary, unit, min, max, multiple, fallback, left_out) CUDA_MAX_##name = max,
#include "parameters.def"
    CUDA_MODULES_MAX = CUDA_MAX_modules, /* of one workload: what the parameter `modules` goes up to */
    CUDA_LARGE_TABLE, /* the number of the table behind theirs, for cells whose table is larger */
    CUDA_TABLES_MAX,
    CUDA_SITES_MAX = 30, /* of a placement: with room to begin anywhere in 64 KB, they fill 2 MB */
};

/* A table: number k is also in the constant bank of module k of each workload. A placement has it at several sites, which launches
 * read in turn: where a site lies in L2 follows from more bits of its physical address than a program can choose. In 2 MB, which
 * have one entry of a TLB, there are many; those of a placement fill an eighth of L2 at most. A table of more than
 * CBANK_TABLE_BYTES has one site. */
struct cuda_table {
    size_t bytes; /* 0: there is none yet */
    uint32_t count; /* of placements */
    uint32_t sites; /* of each, CBANK_TABLE_BYTES apart: one, until there are further placements */
    uint32_t *values; /* on the host, pinned; owned */
    void *allocated[CUDA_PLACEMENTS_MAX]; /* owned */
    uint32_t *on_device[CUDA_PLACEMENTS_MAX]; /* in it: the first site */
    cudaTextureObject_t textures[CUDA_PLACEMENTS_MAX][CUDA_SITES_MAX]
                                [SASS_WIDTH_COUNT]; /* by the logarithm of an element's bytes; or 0 */
};

/* Where the table is at a site (modulo their number) of a placement (likewise), on the device; and its texture of elements of so
 * many bytes, 0 when there is none. */
uint32_t *cuda_table_site(const struct cuda_table *table, uint32_t placement, uint32_t site);
cudaTextureObject_t cuda_table_site_texture(const struct cuda_table *table, uint32_t placement, uint32_t site,
                                            uint32_t width);

/* Sees to it that table k (below CUDA_TABLES_MAX) has `bytes` or more of random values, on one placement; its textures are gone
 * where it had fewer. False when out of memory: then there is none. */
bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes);

/* Sees to it that table k, which is there, has a texture of elements of `width` bytes at each site. True on success. */
bool cuda_table_need_texture(struct cuda_device *device, uint32_t k, uint32_t width);

/* Makes a texture object over `bytes` bytes on the device, with elements of `width` bytes. True on success. */
bool cuda_table_texture(struct cuda_device *device, const uint32_t *on_device, size_t bytes, uint32_t width,
                        cudaTextureObject_t *texture);

/* Copies all tables and their textures to all sites, and to further placements as far as the device has memory to spare: see
 * cuda_buffers_spare.
 * False when a call failed: there are fewer then. */
bool cuda_tables_multiply(struct cuda_device *device);

/* Releases all; accepts what nothing was allocated in. */
void cuda_tables_close(struct cuda_device *device);

#endif
