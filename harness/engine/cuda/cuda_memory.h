/* SPDX-License-Identifier: MIT
 * The memory of a device that cells read and write: inputs, outputs, indices, tables and constant banks.
 *
 * Where memory lies moves the time of a small cell a little, and a user's memory lies elsewhere. So everything is
 * allocated several times, and the samples of a cell take these placements in turn. Placements follow from the thing
 * itself, and not from the rest of the plan.
 *
 * An address decides which slices of L2 the lines of a table are in, and loads of a few lines are faster or slower by it.
 * So each placement of a table begins at another multiple of 512 bytes, the same in every plan. */
#ifndef CBANK_CUDA_MEMORY_H
#define CBANK_CUDA_MEMORY_H

#include "cuda_device.h"
#include "indices.h"
#include "parameter.h"
#include "path.h"
#include "sass.h"

enum {
#define PARAMETER(name, option, summary, unit, min, max, multiple, fallback, left_out) CUDA_MAX_##name = max,
#include "parameters.def"
    CUDA_MODULES_MAX = CUDA_MAX_modules, /* of one workload: the greatest value of the parameter `modules` */
    CUDA_MODULE_COPIES = 4, /* each module is loaded so often, at other addresses; placements take them in turn */
    CUDA_LARGE_TABLE = CUDA_MODULES_MAX, /* the table behind those of modules, for cells whose table is larger */
    CUDA_TABLES_MAX,
    CUDA_PLACEMENTS_MAX = TABLE_PLACEMENTS,
    CUDA_SITES_MAX = 30,   /* of a placement: with room to begin anywhere in 64 KB, they fill 2 MB */
    CUDA_HOST_OUTPUTS = 2, /* one is compared while the other is fetched */
};

/* Input and output of cells of one size. */
struct cuda_buffers {
    uint64_t elements;
    uint32_t count; /* of placements */
    uint32_t *input[CUDA_PLACEMENTS_MAX], *output[CUDA_PLACEMENTS_MAX]; /* owned */
};

/* Indices that are data, as 32-bit integers whatever a file has. */
struct cuda_indices {
    const struct indices *of;                 /* not owned */
    uint32_t count;                           /* of placements */
    uint32_t *on_device[CUDA_PLACEMENTS_MAX]; /* owned */
    struct cuda_indices *next;                /* owned */
};

/* A table: number k is also in the constant bank of module k of each workload. A placement has it at several sites, which
 * launches read in turn: more bits of a site's physical address than a program can choose decide where it lies in L2. In
 * 2 MB, which have one entry of a TLB, there are many; those of a placement fill an eighth of L2 at most. A table of more
 * than CBANK_TABLE_BYTES has one site. */
struct cuda_table {
    size_t bytes; /* 0: there is none yet */
    uint32_t count; /* of placements */
    uint32_t sites; /* of each, CBANK_TABLE_BYTES apart: one, until there are further placements */
    uint32_t *values; /* on the host, pinned; owned */
    uint32_t *allocated[CUDA_PLACEMENTS_MAX]; /* owned */
    uint32_t *on_device[CUDA_PLACEMENTS_MAX]; /* in it: the first site */
    cudaTextureObject_t textures[CUDA_PLACEMENTS_MAX][CUDA_SITES_MAX]
                                [SASS_WIDTH_COUNT]; /* by the logarithm of an element's bytes; or 0 */
};

struct cuda_memory {
    uint64_t seed; /* of the tables */
    struct cuda_table tables[CUDA_TABLES_MAX];
    struct cuda_buffers *buffers; /* owned; ascending sizes */
    size_t buffer_count;
    uint32_t *host_input; /* of the largest size: the smaller ones begin like it; owned */
    uint32_t *host_output[CUDA_HOST_OUTPUTS]; /* pinned; owned */
    struct cuda_indices *indices; /* owned: a list */
    struct cuda_zeros other; /* data that lookups load beside the table */
    struct cuda_modules {
        struct cuda_module copies[CUDA_MODULES_MAX][CUDA_MODULE_COPIES];
    } *modules; /* owned: of each workload, loaded when they are first asked for */
};

/* Gives the device its memory, with table 0 in it. STATUS_ENVIRONMENT, logged, when it cannot; the caller closes in any
 * case, before the device. */
enum status cuda_memory_open(struct cuda_device *device, uint64_t seed);

/* Releases; accepts a device without memory. */
void cuda_memory_close(struct cuda_device *device);

/* A copy (below CUDA_MODULE_COPIES) of module number k (below CUDA_MODULES_MAX) of a workload, with table k in its
 * constant bank. NULL, logged, when it cannot be loaded. */
const struct cuda_module *cuda_memory_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             uint32_t copy);

/* Makes sure that table k (below CUDA_TABLES_MAX) has `bytes` or more of random values, on one placement; its textures
 * are gone where it had fewer. False when out of memory: then there is none. */
bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes);

/* Makes sure that table k, which is there, has a texture of elements of `width` bytes at each site. */
bool cuda_table_need_texture(struct cuda_device *device, uint32_t k, uint32_t width);

/* Where the table is at a site (modulo their number) of a placement (likewise); and its texture of elements of so many
 * bytes, 0 when there is none. */
uint32_t *cuda_table_site(const struct cuda_table *table, uint32_t placement, uint32_t site);
cudaTextureObject_t cuda_table_site_texture(const struct cuda_table *table, uint32_t placement, uint32_t site,
                                            uint32_t width);

/* Allocates the first input and output of a size; sizes come in ascending order. False when the device has not enough
 * memory: then nothing of this size is allocated. */
bool cuda_buffers_add(struct cuda_device *device, uint64_t elements);

/* Allocates the host's memory for the largest size and fills all inputs with random values. False when there is not
 * enough memory: cuda_buffers_drop then releases the largest size, to try again. */
bool cuda_buffers_fill(struct cuda_device *device, uint64_t seed);
void cuda_buffers_drop(struct cuda_device *device);

/* The buffers of a size that was added. */
const struct cuda_buffers *cuda_buffers_find(const struct cuda_device *device, uint64_t elements);

/* Copies an array of indices to the device, unless it is there. False when memory or a call failed. */
bool cuda_indices_add(struct cuda_device *device, const struct indices *indices);

/* An array that was added; NULL where it was not. */
const struct cuda_indices *cuda_indices_find(const struct cuda_device *device, const struct indices *indices);

/* Adds placements of buffers, indices and tables: up to CUDA_PLACEMENTS_MAX and 512 MiB each, as far as the device has
 * memory that nothing else will ask for. False when a call failed: there are fewer then. */
bool cuda_memory_multiply(struct cuda_device *device);

#endif
