/* SPDX-License-Identifier: MIT
 * Cells of users' kernels. Their workload and pattern are rows of their own, `kernel` and `own`.
 * Their path is the memory space of all tables, or `mixed`: a path of paths.def, or one of
 * own_paths[]. */
#include "user_cell.h"

#include <stdio.h>
#include <string.h>

#include "launch_path.h"
#include "table.h"

const struct workload user_workload = {.name = "kernel",
                                       .summary = "a user's kernel, see --kernel"};
const struct pattern user_pattern = {.name = "own",
                                     .summary = "as the user's kernel reads its tables"};

/* Memory spaces that no path of paths.def has, and what stands for several. They have no
 * instruction of their own. */
enum { MIXED, OWN_PATHS = 5 };

static const struct path own_paths[OWN_PATHS] = {
    [MIXED] = {.name = "mixed",
               .summary = "tables in several memory spaces",
               .home = TABLE_GLOBAL,
               .loads = 1},
    {.name = "shared_async",
     .summary = "shared memory, filled by asynchronous copies of 16 bytes",
     .home = TABLE_GLOBAL,
     .unit = UNIT_SHARED,
     .loads = 1},
    {.name = "shared_bulk",
     .summary = "shared memory, filled by one bulk copy",
     .home = TABLE_GLOBAL,
     .unit = UNIT_SHARED,
     .loads = 1},
    {.name = "select",
     .summary = "instructions that select among registers",
     .home = TABLE_GLOBAL,
     .loads = 1},
    {.name = "none", .summary = "a kernel without a table", .home = TABLE_GLOBAL, .loads = 1},
};

static const struct cell_origin origins[CELL_ORIGIN_COUNT] = {
    {.number = CELL_OF_WORKLOAD,
     .tables = true,
     .table_end = AXIS_PATTERN,
     .checked_by = " against the CPU",
     .look = "at nvidia-smi and the system's log for the GPU",
     .again = " and tries failed cells again",
     .obstacle = rows_obstacle},
    {.number = CELL_OF_LAUNCH,
     .unmodelled = "what a launch costs",
     .table_end = AXIS_PATTERN,
     .checked_by = " against what was sent",
     .look = "at nvidia-smi and the system's log for the GPU",
     .again = " and tries failed cells again",
     .obstacle = launch_obstacle},
    {.number = CELL_OF_FILE,
     .compiled = true,
     .unmodelled = "a user's kernel",
     .table_end = AXIS_ELEMENTS,
     .checked_by = "",
     .look = "in the kernel file for an access out of bounds or a loop without end",
     .again = "; --retry-failed also tries failed cells"},
};

const struct cell_origin *cell_origin(const struct cell *cell)
{
    return &origins[cell->kernel.name[0]     ? CELL_OF_FILE
                    : cell_launch_path(cell) ? CELL_OF_LAUNCH
                                             : CELL_OF_WORKLOAD];
}

const char *cell_workload_name(const struct cell *cell)
{
    return cell->kernel.name[0] ? cell->kernel.name : cell->workload->name;
}

uint32_t cell_table_bytes(const struct cell *cell)
{
    return cell_origin(cell)->tables ? table_bytes(cell->path, cell->parameters) : 0;
}

uint32_t cell_table_width(const struct cell *cell)
{
    return cell_origin(cell)->tables ? table_width(cell->parameters) : 0;
}

static const struct path *path_named(const char *name)
{
    static const size_t own_count = OWN_PATHS;
    static const struct table own_table = TABLE("path", own_paths, own_count);
    const struct path *path = table_find(&table_of_paths, name);

    return path ? path : table_find(&own_table, name);
}

/* TABLE=SPACE of TABLE=SPACE+TABLE=SPACE: its space, and how many characters it takes. */
static const char part_format[] = "%*[^=+]=%63[^+]%n";

const struct path *user_path(const char *spaces)
{
    char space[USER_KERNEL_NAME_BYTES];
    const struct path *path = path_named(spaces);

    if (!strchr(spaces, '='))
        return path == &own_paths[MIXED] ? NULL : path;
    for (int used; *spaces; spaces += used + (spaces[used] == '+'))
        if (sscanf(spaces, part_format, space, &used) != 1 || !path_named(space))
            return NULL;
    return &own_paths[MIXED];
}

bool user_table_space(const struct user_kernel *kernel, const char *name,
                      char out[USER_KERNEL_NAME_BYTES])
{
    const char *part = kernel->spaces;
    const size_t length = strlen(name);

    if (!strchr(part, '=')) /* of all tables */
        return snprintf(out, USER_KERNEL_NAME_BYTES, "%.*s", USER_KERNEL_NAME_BYTES - 1, part) > 0;
    for (int used; sscanf(part, part_format, out, &used) == 1; part += used + (part[used] == '+'))
        if (strncmp(part, name, length) == 0 && part[length] == '=')
            return true;
    *out = '\0';
    return false;
}

struct cell user_cell(const struct user_kernel *kernel, uint64_t size,
                      const struct cache_state *cache_state)
{
    return (struct cell){.workload = &user_workload,
                         .path = user_path(kernel->spaces),
                         .pattern = &user_pattern,
                         .elements = size,
                         .cache_state = cache_state,
                         .kernel = *kernel};
}

/* The place of a path among all: those of paths.def come first. */
static size_t place_of(const struct path *path)
{
    for (size_t i = 0; i < OWN_PATHS; i++)
        if (path == &own_paths[i])
            return path_count + (i == MIXED ? (size_t)OWN_PATHS : i);
    if (path == &no_load_path)
        return 0; /* no cell with it has another */
    return (size_t)(path - paths);
}

static int order_of(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

int workload_order(const struct cell *a, const struct cell *b)
{
    int order = order_of(cell_origin(a)->number, cell_origin(b)->number);

    order = order ? order : strcmp(a->kernel.name, b->kernel.name);
    order = order ? order : order_of(a->kernel.hash, b->kernel.hash);
    return order ? order : order_of((uintptr_t)a->workload, (uintptr_t)b->workload);
}

int path_order(const struct cell *a, const struct cell *b)
{
    const size_t left = place_of(a->path), right = place_of(b->path);

    return left != right ? (left > right) - (left < right)
                         : strcmp(a->kernel.spaces, b->kernel.spaces);
}
