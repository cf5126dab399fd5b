/* SPDX-License-Identifier: MIT
 * Launch paths: how a kernel, its parameters, the contents of a symbol or a module come to the
 * device. A workload without an index (INDEX_ABSENT) has them in place of patterns, and its cells
 * read no table. */
#pragma once

#include "cell.h"

/* What one more launch of such a cell is. */
enum launch_work {
    WORK_KERNEL, /* a kernel with parameters of the cell's bytes */
    WORK_COPY,   /* a copy to a symbol, from pinned memory */
    WORK_LOAD,   /* a module is loaded, its kernel is found, and it is unloaded */
};

/* One row. */
struct launch_path {
    struct pattern pattern; /* first: a row of cells. It has no index */
    enum launch_work work;
    /* Each launch is a call of the host, timed by the host's clock from an idle stream to an idle
     * stream. false: launches are nodes of a graph, timed by the device. */
    bool by_host;
};

extern const struct launch_path launch_paths[];
extern const size_t launch_path_count;
extern const struct table table_of_launch_paths;

/* The path of all their cells, which loads nothing. */
extern const struct path no_load_path;

/* The launch path of a cell; NULL: it has a pattern. */
const struct launch_path *cell_launch_path(const struct cell *cell);

/* Refuses a launch that there is no kernel for, or that an architecture lacks: see
 * cell_obstacle. */
bool launch_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES]);

/* Whether the parameters need CUDA 12.1, of toolkit and driver. */
bool launch_needs_more_parameters(const struct cell *cell);

/* Whether the host takes part in each launch: it copies memory to the device, or calls the driver.
 * Times then vary as those of the host do. */
bool cell_waits_for_host(const struct cell *cell);
