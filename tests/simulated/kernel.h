/* SPDX-License-Identifier: MIT
 * Kernels of the program's images, launches of them, and what a launch does. */
#ifndef SIMULATED_KERNEL_H
#define SIMULATED_KERNEL_H

#include "access.h"
#include "cell.h"
#include "kernel_args.h"
#include "probe_args.h"
#include "probe_cache.h"
#include "sass.h"
#include "simulated.h"
#include "tool_args.h"

/* The time and the counts of a launch of a cell's kernel, once they are known. */
struct behaviour {
    struct cell cell;
    struct indices indices; /* that the cell reads, in the memory of the device */
    struct access_counts access;
    double time_ns[2]; /* with warm caches, and after a flush; 0: not known yet */
    struct behaviour *next;
};

struct CUmod_st {
    struct device *device;
    const void *image; /* not owned: a cubin */
    size_t image_bytes;
    struct block *bank; /* constant bank; NULL until it is asked for */
    struct block *received; /* the same of what kernels of launch paths write */
    struct user_module *user; /* owned; NULL of the program's own kernels */
    struct CUfunc_st *functions;
};

struct CUfunc_st {
    struct CUmod_st *module;
    const struct kernel_row *row; /* the kernels in it */
    char symbol[256];
    const struct workload *workload; /* of a cell; those that it lacks are NULL */
    const struct path *path;
    const struct pattern *pattern; /* of a workload that reads indices, any source's */
    uint32_t variant;       /* see workload_variant */
    uint32_t parameter_bytes; /* of a launch path */
    uint32_t width;         /* of an element; 0: the path's table as it is */
    int dynamic_shared;
    struct kernel_sass sass;
    struct behaviour *behaviours;
    struct CUfunc_st *next;
};

/* One launch, its parameters copied. */
struct launch {
    uint32_t references;
    struct CUfunc_st *function;
    uint32_t blocks, threads, shared_bytes;
    union {
        struct kernel_args cell;
        struct tool_flush_args flush;
        struct tool_stamp_args stamp;
        struct tool_clock_args clock;
        struct probe_args probe;
        struct probe_sharing_args sharing;
        struct probe_relay_args relay;
        struct probe_transfer_args transfer;
        uint32_t *output;
    } args;
    const uint32_t *restricted; /* the second parameter */
    /* the third: owned copy of the table where its home is there; of a launch path all of its
     * parameters; NULL else */
    uint32_t *values;
    bool wrong; /* it writes one wrong element */
    struct behaviour *behaviour;
    uint32_t misses; /* of a probe, in the first level of the constant path */
    struct block *reads[2];
    struct user_launch *user; /* owned; NULL of the program's own kernels */
};

/* Which kernels there are: how a name begins, what its parameters are, what it does. */
struct kernel_row {
    const char *prefix;
    size_t argument_bytes;
    bool of_path; /* a pointer and a table come behind the arguments */
    bool of_cell;
    bool of_launch_path; /* it has as many bytes of parameters as its name says */
    /* Runs it: what it writes, and how long it takes in ns at the full clock. 0, or the error that
     * it ends with. */
    int (*run)(struct device *device, struct launch *launch, double *work_ns);
};

extern const struct kernel_row kernel_rows[];
extern const size_t kernel_row_count;

/* Fills what the name of a function says; false where it is none of the program's kernels. */
bool kernel_name(struct CUfunc_st *function);

/* Takes a reference, or gives one back: the last frees. */
struct launch *launch_hold(struct launch *launch);
void launch_release(struct launch *launch);

/* Does a launch: passes time, defers what it writes, counts. *end_ns is when it ends. 0; the error
 * that ends the context; CODE_NEVER where it does not end. */
int launch_run(struct device *device, struct launch *launch, double *end_ns);

/* What it takes beyond an idle device, in mJ. */
double launch_mj(struct launch *launch);

/* The indices that a launch of a workload that has such reads. Without any where they are not in
 * the device's memory. */
struct indices cell_launch_indices(const struct launch *launch);

/* Computes what the launch of a cell writes: its output's elements. */
void cell_write(const struct launch *launch, uint32_t *output);

/* Where a launch finds the table: its constant bank, and what the parameters say. */
struct spaces {
    const struct block *bank;
    const uint32_t *table, *restricted;
    uint64_t texture;
};

/* The address on the device where the load of a path finds it: the access expressions of paths.def.
 * NULL where it came with the launch. */
const void *path_table(const struct path *path, const struct spaces *spaces);

/* Makes what a variable of a module holds in its image; NULL without memory. */
struct block *launch_bank(struct CUmod_st *module);
struct block *launch_received(struct CUmod_st *module);

/* Lets a call of the host take so many us, where nothing is captured. */
void launch_pass(const struct CUstream_st *stream, double us);

/* Runs of cells and probes, for the table. */
int run_launched(struct device *device, struct launch *launch, double *work_ns);
int run_held(struct device *device, struct launch *launch, double *work_ns);
int run_cell(struct device *device, struct launch *launch, double *work_ns);
int run_chase(struct device *device, struct launch *launch, double *work_ns);
int run_chain(struct device *device, struct launch *launch, double *work_ns);
int run_stream(struct device *device, struct launch *launch, double *work_ns);
int run_sharing(struct device *device, struct launch *launch, double *work_ns);
int run_transfer(struct device *device, struct launch *launch, double *work_ns);
int run_relay(struct device *device, struct launch *launch, double *work_ns);

/* -- counting (cupti.c) ------------------------------------------------------------------------ */

/* Whether launches are counted now. */
bool counting_open(const struct device *device);

/* A launch has run, in so many cycles. */
void counting_launched(struct device *device, const struct launch *launch, double cycles);

/* Records its start and end, where activity is recorded. */
void activity_launched(double start_ns, double end_ns);

#endif
