/* SPDX-License-Identifier: MIT
 * The memory of a device that cells read and write: inputs, outputs, indices, tables and constant
 * banks.
 *
 * The address of a buffer changes the time of a small cell a little, and a user's buffers have
 * other addresses. Everything is therefore allocated several times, and the samples of a cell take
 * these buffer sets in turn. Placements depend only on the buffer itself, not on the rest of the
 * plan.
 *
 * The address decides which slices of L2 hold the lines of a table, and this changes the speed of
 * loads that read few lines. So each buffer set of a table starts at another multiple of 512 bytes,
 * the same in every plan. */
#pragma once

#include "cbank_case.h"
#include "cuda_device.h"
#include "parameter.h"
#include "path.h"
#include "sass.h"

enum {
#define PARAMETER(name, option, summary, unit, min, max, multiple, plan_values, default_value, \
                  readers)                                                                     \
    CUDA_MAX_##name = max,
#include "parameters.def"
    /* of one workload: the greatest value of the parameter `modules` */
    CUDA_MODULES_MAX = CUDA_MAX_modules,
    /* copies of each module, at different addresses; buffer sets take them in turn */
    CUDA_MODULE_COPIES = 8,
    /* the table after those of modules, for cells with a larger table */
    CUDA_LARGE_TABLE = CUDA_MODULES_MAX,
    CUDA_TABLES_MAX,
    CUDA_BUFFER_SETS_MAX = TABLE_BUFFER_SETS,
    /* of a buffer set: with room to start anywhere in 64 KB, they fill 2 MB */
    CUDA_TABLE_OFFSETS_MAX = 30,
    CUDA_HOST_OUTPUTS = 2, /* one is compared while the other is fetched */
};

/* Memory of one purpose, in several buffer sets. */
struct cuda_buffer {
    /* of one; of the guard zones before and behind it, which users' buffers have */
    size_t bytes, guard_bytes;
    /* launches write it before anything reads it: its buffer sets are no copies */
    bool output;
    uint32_t count;            /* number of buffer sets */
    unsigned char *allocated[CUDA_BUFFER_SETS_MAX]; /* owned */
};

/* Each byte of a guard zone. */
enum { CUDA_GUARD_BYTE = 0xC5 };

/* A table; number k is also in the constant bank of module k of each workload. A buffer set has it
 * at several table offsets, which launches read one after the other. The location in L2 depends on
 * more bits of the physical address than a program can choose. Many table offsets fit into 2 MB,
 * which have one entry of a TLB; those of a buffer set fill at most an eighth of L2. A table of
 * more than CBANK_TABLE_BYTES has one table offset. */
struct cuda_table {
    size_t bytes; /* 0: there is none yet */
    struct cuda_buffer memory; /* with room around the table offsets */
    /* in each buffer set, CBANK_TABLE_BYTES apart; one until there are further buffer sets */
    uint32_t table_offsets;
    uint32_t *values; /* on the host, pinned; owned */
    /* of the textures that are needed, a bit each: the logarithm of an element's bytes */
    uint32_t texture_widths;
    cudaTextureObject_t textures[CUDA_BUFFER_SETS_MAX][CUDA_TABLE_OFFSETS_MAX]
                                [SASS_WIDTH_COUNT]; /* by the same logarithm; or 0 */
};

struct launchable;

/* Buffers and tables that launches share. They are allocated and filled together, and have equally
 * many buffer sets. */
struct cuda_data {
    struct cuda_data *next; /* owned: the device's list */
    const struct cuda_data_kind *kind;
    /* elements that the user asks for: data of fewer come first; 0: not asked for, and last */
    uint64_t elements;
    struct cuda_buffer buffers[CBANK_BUFFERS_MAX];
    uint32_t buffer_count;
    size_t limited_bytes; /* that the limits of buffer sets hold for: see cuda_data_multiply */
    struct cuda_table *tables; /* owned */
    uint32_t table_count;
};

struct cuda_data_kind {
    const char *what; /* and the remedy: "input and output; ask for fewer --elements" */

    /* Allocates the first buffer set and fills it, for a launchable that uses the data. False, with
     * the reason, when out of memory or if a call fails; *status is not STATUS_OK, logged, if the
     * run ends. */
    bool (*open)(struct cuda_device *device, struct cuda_data *data,
                 const struct launchable *launchable, enum status *status,
                 char reason[CELL_REASON_BYTES]);

    /* Releases what else it owns, and frees it. */
    void (*close)(struct cuda_data *data);
};

struct cuda_memory {
    uint64_t seed; /* of the tables */
    struct cuda_table tables[CUDA_TABLES_MAX];
    struct cuda_data *data; /* owned: a list */
    /* of the host: an input, of which smaller ones are a prefix, and outputs, pinned; owned */
    uint64_t host_elements;
    uint32_t *host_input, *host_output[CUDA_HOST_OUTPUTS];
    /* on the device: the description of a case; owned; NULL: not allocated */
    void *report;
    struct cuda_zeros polluter; /* data that lookups load beside the table */
    struct cuda_modules {
        struct cuda_module copies[CUDA_MODULES_MAX][CUDA_MODULE_COPIES];
    } *modules; /* owned: for each workload by the toolkit, and each by the driver, loaded at the
                 * first request */
};

/* Allocates the memory, with table 0 in it. STATUS_ENVIRONMENT, logged, on failure; the caller
 * closes it in any case, before the device. */
enum status cuda_memory_open(struct cuda_device *device, uint64_t seed);

/* Releases; accepts a device without memory. */
void cuda_memory_close(struct cuda_device *device);

/* The first byte of a buffer set, modulo their number. */
void *cuda_buffer_at(const struct cuda_buffer *buffer, uint32_t buffer_set);

/* Adds a buffer set to each of the buffers, with guard zones, and with the contents of the first
 * buffer set, if there is one. If a call fails, none has it: the result is false, and *failed is
 * the number of the buffer, unless it is NULL. */
bool cuda_buffers_extend(struct cuda_device *device, struct cuda_buffer *buffers, uint32_t count,
                         uint32_t *failed);

/* Fills the guard zones of a buffer set. */
bool cuda_buffer_guard(struct cuda_device *device, const struct cuda_buffer *buffer,
                       uint32_t buffer_set);

/* Releases all buffer sets; accepts a zeroed struct. */
void cuda_buffer_close(struct cuda_device *device, struct cuda_buffer *buffer);

/* A copy (below CUDA_MODULE_COPIES) of module number k (below CUDA_MODULES_MAX) of a cell's
 * workload, as its compiler made it, with table k in its constant bank. NULL, logged, if it cannot
 * be loaded. */
const struct cuda_module *cuda_memory_module(struct cuda_device *device, const struct cell *cell,
                                             uint32_t k, uint32_t copy);

/* Ensures that table k (below CUDA_TABLES_MAX) has at least `bytes` of random values, in one buffer
 * set. If it had fewer, its textures are released. False when out of memory: then there is none. */
bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes);

/* Makes a table of `bytes` bytes in one buffer set; the caller gives it its values. False when out
 * of memory: then it is closed. */
bool cuda_table_open(struct cuda_device *device, struct cuda_table *table, size_t bytes);

/* Releases; accepts a zeroed struct. */
void cuda_table_close(struct cuda_device *device, struct cuda_table *table);

/* Ensures that an open table has a texture of elements of `width` bytes at each table offset. */
bool cuda_table_need_texture(struct cuda_device *device, struct cuda_table *table, uint32_t width);

/* The address of the table at a table offset of a buffer set, both modulo their number; and its
 * texture of elements of that many bytes, 0 if there is none. */
uint32_t *cuda_table_at(const struct cuda_table *table, uint32_t buffer_set, uint32_t table_offset);
cudaTextureObject_t cuda_table_texture_at(const struct cuda_table *table, uint32_t buffer_set,
                                          uint32_t table_offset, uint32_t width);

/* Adds data to the device, which then owns them. */
void cuda_data_add(struct cuda_device *device, struct cuda_data *data);

/* Allocates and fills the first buffer set, by the kind of the data. If that fails, nothing stays
 * allocated. */
bool cuda_data_open(struct cuda_device *device, struct cuda_data *data,
                    const struct launchable *launchable, enum status *status,
                    char reason[CELL_REASON_BYTES]);

/* Ensures that the host has an input of random values and outputs of so many elements. False when
 * out of memory: then it has those that it had. */
bool cuda_host_need(struct cuda_device *device, uint64_t elements);

/* Adds buffer sets of data that are open, or of the program's own tables. There are up to
 * CUDA_BUFFER_SETS_MAX, and 512 MiB each of `limited_bytes`, within the device memory that nothing
 * else will need. False if a call failed: then there are fewer. */
bool cuda_data_multiply(struct cuda_device *device, struct cuda_data *data);
bool cuda_tables_multiply(struct cuda_device *device);
