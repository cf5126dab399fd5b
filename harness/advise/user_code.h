/* SPDX-License-Identifier: MIT
 * The user's kernels and their loads. */
#pragma once

#include "cubin_facts.h"
#include "divergence.h"
#include "field.h"
#include "grid.h"
#include "kernel_loads.h"
#include "kernel_usage.h"
#include "load_cost.h"
#include "optional.h"
#include "texts.h"

/* Loads of one kind and width. */
struct user_load {
    char name[48]; /* "LDC.64 c[3][register]" */
    const char *means;
    uint32_t bytes, count;
    struct optional in_loops;
};

/* The condition of a load in a kernel that reads threadIdx.x alone. */
extern const char user_one_dimension[];

/* One load instruction. */
struct user_access {
    const char *instruction;
    /* a symbol; "parameter 0": behind a pointer; "offset 0x400": of shared memory; "": not known */
    const char *table;
    const char *readable; /* the same as C++ has it */
    const char *file; /* of the line; "": not known */
    enum variation variation;
    /* why it is not known, and under which condition it is; NULL: none */
    const char *reason, *condition;
    int64_t stride_bytes; /* of VARIATION_AFFINE; 0: not known */
    struct optional line, addresses;
    struct optional table_bytes; /* of a variable */
    struct warp_counts counts; /* NaN: not known */
    double sectors_least; /* that hold the bytes which a warp reads, of global memory; NaN */
    int64_t offset; /* bytes: the part of the address that is known in the code */
    uint32_t address, depth, width_bytes;
    uint32_t code_block; /* of the control flow: its loads are executed equally often */
    bool copied; /* the kernel stores what it loads in shared memory, as it is */
    bool passed_on; /* or passes it on by a shuffle, as it is */
    const char *memory; /* the path's name, or "local", "generic", "image" */
    /* "0x90:LDC 0x40:S2R": the load, then the chain that decided its address */
    const char *evidence;
};

/* A table of a kernel: how it is read, and whether it should live where it does: see
 * table_verdict.h. `load`: the first of the loads that count, with the greatest variation of them.
 */
struct user_table {
    struct user_access load; /* copied: all loads fill a copy in shared memory */
    /* of a warp, in the means of the loads that count; NaN: not known */
    struct warp_counts counts;
    double wavefronts_least, sectors_least; /* what the same loads take at best */
    double cycles[SPACES]; /* of a warp's load in each space; NaN: not known, or no room there */
    const char *verdict;
    const char *better; /* a path's name, or "registers"; NULL: none is known to be better */
    char close[48]; /* paths that may be as good as `better`: "shared global" */
    char why[640];
    double unit_time_ratio, low, high; /* see table_verdict.h; NaN: not known */
    double gain; /* unit_time_ratio, where `better` is known; NaN */
    uint32_t count; /* load instructions */
    uint32_t loads; /* those of them that count */
    bool indexed; /* one of these is an LDC, which takes an index from a register */
    bool assumed; /* the counts are those of --source, --pattern or --indices */
    bool once; /* each thread reads it once, outside of the loops in which the kernel works */
};

/* A small array that the compiler made compares and moves of: see user_compares.c. */
struct compared_array {
    const char *memory; /* "code": its numbers are in the instructions; "param": a parameter */
    const char *table; /* "parameter 2"; "": of the code, or not known */
    const char *file; /* of the line; "": not known */
    struct optional line;
    uint32_t address; /* of the first move */
    uint32_t entries; /* that the index is compared with */
    uint32_t width_bytes, stride_bytes; /* that are read of an entry; from one to the next */
    uint32_t depth;
};

/* What the kernel stores in its local memory at offsets that are known in the code. */
enum local_content {
    LOCAL_OWN, /* each thread its own, as far as is known */
    LOCAL_NUMBERS, /* numbers of the code alone */
    LOCAL_PARAMETER, /* parameters of the kernel alone */
};

struct cubin_kernel {
    char *name; /* owned: mangled */
    /* owned: as C++ has it; the same where it is no name of C++, or libstdc++ is not there */
    char *readable;
    char *doubt; /* owned: why nothing is proven of its code; NULL: nothing speaks against it */
    struct kernel_usage usage;
    bool calls_out, local_written; /* local_written: at an index that is known at run time alone */
    bool works_in_loops; /* it has loops that do more than copy tables */
    enum local_content local_content;
    struct texts texts; /* of the accesses, shared by those that have the same one */
    struct texts evidence;
    struct user_access *accesses; /* owned */
    size_t access_count;
    struct user_load *loads; /* owned: in the order of load_rows */
    size_t load_count;
    struct user_table *tables; /* owned: see user_tables_judge */
    size_t table_count;
    struct compared_array *compared; /* owned: in the order of their blocks */
    size_t compared_count;
};

struct user_code {
    const char *path;
    uint32_t architecture; /* 90 for sm_90 */
    char others[128]; /* what the file has in addition: "sm_75 sm_80" */
    size_t left_out; /* kernels that `name` of the choice does not match */
    struct cubin_kernel *kernels; /* owned */
    size_t count;
    void *library; /* owned: libstdc++, which knows the names of C++; NULL: it is not there */
    /* its function; NULL */
    char *(*demangle)(const char *name, char *room, size_t *bytes, int *status);
};

/* The choice of what to read from a file. */
struct code_choice {
    uint32_t architecture; /* 0: the newest, see cubin_images_open */
    uint32_t block[3]; /* the shape of a block where the code has none, as in dim3; 0: not known */
    const char *kernel_name; /* see kernel_name_matches; NULL: all kernels */
};

/* Reads the kernels of a file in memory, called `path`: see cubin_images_open, whose errors it has.
 * STATUS_USAGE, logged, also where no kernel has the name. STATUS_ENVIRONMENT also for an
 * architecture whose code cannot be read. On success the caller closes *out. */
enum status user_code_parse(const char *path, const void *data, size_t bytes,
                            const struct code_choice *choice, struct user_code *out);

/* Reads the loads of one kernel into its accesses, and counts them. STATUS_ENVIRONMENT, logged,
 * when out of memory. */
enum status user_accesses_read(const struct cubin_facts *file,
                               const struct cubin_function *function, const uint32_t block[3],
                               struct cubin_kernel *kernel, struct kernel_loads *loads);

/* Releases; accepts a zeroed struct. */
void user_code_close(struct user_code *code);

/* Words of the document for enum variation, and what they say. */
extern const struct names variation_names;
#define VARIATION_ABOUT                                                                      \
    "how the address differs among threads. thread: how far threads are apart follows from " \
    "thread, block and what the grid shares; no data decides it"

/* The fields of the document. */
extern const struct fields user_code_fields;
