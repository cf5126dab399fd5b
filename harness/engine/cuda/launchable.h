/* SPDX-License-Identifier: MIT
 * A launch of any cell: all that preparing, verifying, timing, counting and the limits of memory
 * know of a kernel.
 *
 *     row of workloads.def --> launchable_workload.c --+
 *                                                      +--> struct launchable --> prepare, verify,
 *     launch path ----------> launchable_launch.c -----+                          time, count
 *     case of a kernel file -> launchable_case.c ------+
 *
 * What tells a user's kernel from one of this program is known to these files alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cbank_case.h"
#include "cuda_memory.h"
#include "image.h"
#include "result.h"

struct engine_session;

/* The number of a launch of a cell: launches of a chain take the modules in turn. */
struct cuda_turn {
    uint32_t number;
    /* buffer set of buffers, tables, arguments and module, modulo the number that each has */
    uint32_t buffer_set;
    /* table offset of the tables in their buffer set, modulo the number of table offsets */
    uint32_t table_offset;
};

/* A kernel in one copy of a module. */
struct launchable_code {
    CUfunction function;
    CUdeviceptr bank; /* the constant bank of the module; 0 where nothing writes it */
};

/* A buffer of a launch. */
struct launchable_buffer {
    struct cuda_buffer *memory; /* not owned */
    size_t bytes; /* that the launch reads or writes, from the start */
    uint32_t element_bytes;
    enum cbank_role role;
};

/* A table of a launch. */
struct launchable_table {
    struct cuda_table *table; /* not owned */
    size_t bytes;
    uint32_t width; /* bytes of an entry, for a texture */
    const char *name;
    /* launches read it at an address, which the buffer set and the table offset choose; else in a
     * constant bank or in the arguments */
    bool addressed;
};

/* What a launch writes into its arguments. */
enum launchable_place {
    PLACE_BUFFER, /* the address of a buffer */
    PLACE_TABLE, /* the address of a table */
    PLACE_TEXTURE, /* the texture of a table */
    PLACE_ENTRIES, /* a whole table: the argument is its entries */
};

struct launchable_address {
    enum launchable_place place;
    uint32_t argument; /* its number */
    size_t offset; /* in the argument */
    uint32_t number; /* of the buffer, or of the table of the turn's module */
};

/* What takes the place of launching the kernel, where a cell times something else. */
struct launchable_action {
    /* Does or enqueues one launch. True on success. */
    bool (*act)(struct cuda_device *device, const struct launchable *launchable,
                struct cuda_turn turn);

    /* The same for a check: what came of it is then in the output. */
    bool (*check)(struct cuda_device *device, const struct launchable *launchable,
                  struct cuda_turn turn);

    /* timed by the host's clock, from an idle stream to an idle stream, and never in a graph */
    bool by_host;
    const char *uncounted; /* why there is no kernel to count; NULL: there is one */
};

enum { LAUNCHABLE_ADDRESSES_MAX = CBANK_ARGUMENTS_MAX + 8, LAUNCHABLE_DATA_MAX = 2 };

struct launchable {
    const struct launchable_action *action; /* NULL: the kernel, after the work before it */
    struct launchable *next; /* owned: the session's list, in the order of verifying */
    const struct launchable_filler *filler;
    const struct cell *cell; /* the first that has it; outlives it */
    size_t number; /* of that cell in the result */

    /* the kernel: launches alternate between modules, and buffer sets between their copies */
    struct launchable_code code[CUDA_MODULES_MAX][CUDA_MODULE_COPIES];
    uint32_t modules;
    struct kernel_sass sass;
    const char *image; /* that the kernel is in; lives as long */
    const struct cuda_module *module; /* the first that it is loaded from; lives as long */

    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */

    /* Sets of arguments, which buffer sets take in turn; argument i is at offsets[i] of each. Then
     * what each launch writes into them. */
    unsigned char *arguments; /* owned */
    uint32_t argument_sets, argument_count;
    size_t argument_bytes; /* of a set */
    size_t offsets[CBANK_ARGUMENTS_MAX];
    struct launchable_address addresses[LAUNCHABLE_ADDRESSES_MAX];
    uint32_t address_count;

    /* memory; the buffers lie in `data`, which others may share */
    struct cuda_data *data[LAUNCHABLE_DATA_MAX]; /* not owned; those that it lacks are NULL */
    struct launchable_buffer buffers[CBANK_BUFFERS_MAX];
    uint32_t buffer_count;
    struct launchable_table tables[CBANK_TABLES_MAX]; /* table_count for each module */
    uint32_t table_count;
    uint32_t copied_bytes; /* of the first table, which the host writes before each launch */
    uint64_t bytes; /* that a launch reads and writes, without tables and constant banks */

    /* times: an upper bound for a launch, and for copying its buffers; and the seconds of sampling
     * that it gets at least */
    double launch_seconds, copy_seconds, sampling_seconds;

    /* Verifying: launches of a check, 1 or CHECK_LAUNCHES. `guarded`: a check also looks whether
     * guard zones, inputs and tables are as before. `leads`: it is verified before others of its
     * data, which are compared with it. */
    const struct launchable_reference *reference;
    uint32_t check_launches;
    bool guarded, leads;
    void *origin; /* the filler's own */
};

/* How the cells of one origin become launchables. All functions name the reason of a failure; a
 * call that failed is the device's. */
struct launchable_filler {
    /* Whether the code of a cell's kernel has that hash, or nothing is loaded for the cell. */
    bool (*has_code)(struct engine_session *session, const struct cell *cell, const char *sha256);

    /* Fills a launchable that has its cell and its number: everything but the grid, the contents of
     * memory, and arguments. It declares the data. False, with the reason, if the cell fails, or is
     * skipped where *end says so. *status is not STATUS_OK if the run ends, which is logged. */
    bool (*fill)(struct engine_session *session, struct launchable *launchable,
                 enum cell_status *end, enum status *status, char reason[CELL_REASON_BYTES]);

    /* Fits the launch to the GPU, of which an SM runs `room` blocks of the kernel at a time, for
     * one of its cells, and says there what it launches. CELL_PENDING, or what becomes of the cell,
     * with the reason. */
    enum cell_status (*fit)(struct engine_session *session, struct launchable *launchable,
                            struct cell_result *cell, uint32_t room,
                            char reason[CELL_REASON_BYTES]);

    /* Puts tables where they are read, once the first buffer set of all data is filled. */
    bool (*place)(struct engine_session *session, struct launchable *launchable,
                  char reason[CELL_REASON_BYTES]);

    /* Makes the sets of arguments, once all buffer sets are there. */
    bool (*make_arguments)(struct engine_session *session, struct launchable *launchable,
                           char reason[CELL_REASON_BYTES]);

    /* The toolkit's cubin with the same kernel. NULL: there is none. */
    const void *(*toolkit)(const struct engine_session *session,
                           const struct launchable *launchable, size_t *bytes, char image[64]);

    /* Releases `origin`. NULL: nothing to release. */
    void (*close)(struct cuda_device *device, struct launchable *launchable);
};

extern const struct launchable_filler workload_filler, launch_filler, case_filler;

/* Releases and frees a launchable, not its data. */
void launchable_close(struct cuda_device *device, struct launchable *launchable);

/* An address that each launch writes into an argument. */
void launchable_add_address(struct launchable *launchable, struct launchable_address address);

/* Seconds that some launches take at most, with copying the buffers. */
double launchable_seconds(const struct launchable *launchable, uint32_t launches);

/* Allows all copies of the kernel their shared memory. False, with the reason, if the GPU has
 * less. */
bool launchable_allow_shared(struct cuda_device *device, const struct launchable *launchable,
                             char reason[CELL_REASON_BYTES]);

/* Number of different buffer sets: the largest number among buffers and addressed tables. */
uint32_t launchable_buffer_sets(const struct launchable *launchable);

/* Number of table offsets in a buffer set: the largest among addressed tables; 1 without one. */
uint32_t launchable_table_offsets(const struct launchable *launchable);

/* The address of a buffer of a launch. */
void *launchable_buffer_at(const struct launchable *launchable, uint32_t number,
                           struct cuda_turn turn);

/* Table `number` that a launch reads. */
const struct launchable_table *launchable_table_of(const struct launchable *launchable,
                                                   uint32_t number, struct cuda_turn turn);

/* Whether launches are timed by the host's clock. */
bool launchable_by_host(const struct launchable *launchable);

/* Why the launches have no kernel that a counter counts; NULL: they have one. */
const char *launchable_uncounted(const struct launchable *launchable);

/* Enqueues the kernel itself; the work before it; or both, or what the action has in their place.
 * True on success. */
bool launchable_launch_kernel(struct cuda_device *device, const struct launchable *launchable,
                              struct cuda_turn turn);
bool launchable_launch_before(struct cuda_device *device, const struct launchable *launchable,
                              struct cuda_turn turn);
bool launchable_launch(struct cuda_device *device, const struct launchable *launchable,
                       struct cuda_turn turn);

/* Brings the caches to the cell's state during timing, flushed or as earlier launches leave them,
 * and enqueues the work before the launch. Returns when the device is idle. */
bool launchable_prepare(struct cuda_device *device, const struct launchable *launchable,
                        struct cell_result *cell, struct cuda_turn turn);

/* Where the host writes the table before every launch: clears the part that it writes, or restores
 * all of it for other cells. This shows whether the writing happens. */
bool launchable_clear_table(struct cuda_device *device, const struct launchable *launchable,
                            struct cuda_turn turn);
bool launchable_restore_table(struct cuda_device *device, const struct launchable *launchable,
                              struct cuda_turn turn);
