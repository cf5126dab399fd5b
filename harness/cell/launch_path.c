/* SPDX-License-Identifier: MIT
 * The table of launch paths, and why a launch cannot be. */
#include "launch_path.h"

#include <inttypes.h>
#include <string.h>

#include "launches.h"
#include "parameter_index.h"
#include "table.h"
#include "text.h"

const struct launch_path launch_paths[] = {
    {.pattern = {.name = "stream",
                 .summary = "launches of a kernel, one call each, until the stream is idle",
                 .formula = "",
                 .parameter_mask = PARAMETER_BIT(parameter_bytes)},
     .work = WORK_KERNEL,
     .by_host = true},
    {.pattern = {.name = "graph",
                 .summary = "the same as nodes of a graph that runs on the device",
                 .formula = "",
                 .parameter_mask = PARAMETER_BIT(parameter_bytes)},
     .work = WORK_KERNEL},
    {.pattern = {.name = "symbol_copy",
                 .summary = "copies from pinned memory to a symbol in the constant bank, until the "
                            "stream is idle",
                 .formula = "",
                 .parameter_mask = PARAMETER_BIT(symbol_bytes)},
     .work = WORK_COPY,
     .by_host = true},
    {.pattern = {.name = "module_load",
                 .summary = "a module with 64 KB of constants is loaded, a kernel in it is found, "
                            "and it is unloaded",
                 .formula = ""},
     .work = WORK_LOAD,
     .by_host = true},
};

const size_t launch_path_count = COUNT(launch_paths);

const struct table table_of_launch_paths = TABLE("launch path", launch_paths, launch_path_count);

const struct path no_load_path = {.name = "none",
                                  .summary = "no table is read: the launch itself is measured"};

const struct launch_path *cell_launch_path(const struct cell *cell)
{
    /* The pattern is the first member of the row. */
    return cell->workload && cell->workload->index == INDEX_ABSENT ? (const void *)cell->pattern
                                                                   : NULL;
}

/* Whether there is a kernel with so many bytes of parameters. */
static bool has_kernel(uint32_t bytes)
{
#define SIZE(size) || bytes == (size)
    return false CBANK_LAUNCH_SIZES(SIZE);
#undef SIZE
}

/* Writes the bytes that there are kernels for. */
static void sizes_text(char *out, size_t room)
{
    out[0] = '\0';
#define SIZE(size) text_join(out, room, ", ", "%d", (size));
    CBANK_LAUNCH_SIZES(SIZE)
#undef SIZE
}

bool launch_needs_more_parameters(const struct cell *cell)
{
    return cell->parameters[PARAMETER_parameter_bytes] > CBANK_EVERY_PARAMETER_BYTES;
}

bool launch_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES])
{
    const uint32_t bytes = cell->parameters[PARAMETER_parameter_bytes];
    char sizes[128];

    if (cell->elements != CBANK_WARP_THREADS || cell->block_size != CBANK_WARP_THREADS)
        return cell_refuse(text, "%s launches one warp: %u elements in a block of %u",
                           cell->workload->name, CBANK_WARP_THREADS, CBANK_WARP_THREADS);
    if (cell->cache_state->flush)
        return cell_refuse(text, "%s does not depend on what the caches of the GPU hold",
                           cell->workload->name);
    if (bytes && !has_kernel(bytes)) {
        sizes_text(sizes, sizeof(sizes));
        return cell_refuse(text, "%s has kernels with parameters of %s bytes", cell->workload->name,
                           sizes);
    }
    return launch_needs_more_parameters(cell) && architecture != 0 && architecture < 70 &&
           cell_refuse(text, "GPUs before compute capability 7.0 have %u bytes of parameters",
                       CBANK_EVERY_PARAMETER_BYTES);
}

bool cell_waits_for_host(const struct cell *cell)
{
    const struct launch_path *launch = cell_launch_path(cell);

    return launch ? launch->by_host : cell_copied_bytes(cell) > 0;
}
