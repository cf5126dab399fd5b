/* SPDX-License-Identifier: MIT
 * Cells: their identity, their order, and why a cell cannot be. All obstacles are found here,
 * before anything is compiled or allocated, and each is a sentence. The last part derives the grid,
 * the shared memory and the indices of a cell. */
#include "cell.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch_path.h"
#include "log.h"
#include "parameter_index.h"
#include "source.h"
#include "table.h"
#include "text.h"
#include "user_cell.h"

const struct cache_state cache_states[] = {
    {.name = "hot", .summary = "launches back to back after warm-up", .flush = false},
    {.name = "cold", .summary = "caches flushed before every launch", .flush = true},
};

const size_t cache_state_count = sizeof(cache_states) / sizeof(cache_states[0]);

const struct table table_of_workloads = TABLE("workload", workloads, workload_count);
const struct table table_of_paths = TABLE("path", paths, path_count);

void cell_identity(const struct cell *cell, char text[CELL_IDENTITY_BYTES])
{
    snprintf(text, CELL_IDENTITY_BYTES, "%s/%s/%s/%" PRIu64 "/%" PRIu32 "/%s",
             cell_workload_name(cell), cell->path->name, cell->pattern->name, cell->elements,
             cell->block_size, cell->cache_state->name);
    cell_parameters_text(cell, CELL_PARAMETERS_ALL, "/", text, CELL_IDENTITY_BYTES);
}

void cell_parameters_text(const struct cell *cell, uint32_t set, const char *separator, char *out,
                          size_t room)
{
    char hash[CELL_HASH_TEXT_BYTES];

    for (size_t i = 0; i < parameter_count; i++)
        if (set >> i & 1 && cell->parameters[i])
            text_join(out, room, separator, "%s=%" PRIu32, parameters[i].name, cell->parameters[i]);
    if (set & CELL_FILES_BIT && cell->index_file_hash)
        text_join(out, room, separator, "indices=%s", cell_hash_text(cell->index_file_hash, hash));
    if (set & CELL_FILES_BIT && cell->kernel.hash)
        text_join(out, room, separator, "kernel=%s", cell_hash_text(cell->kernel.hash, hash));
    if (set & CELL_FILES_BIT && strchr(cell->kernel.spaces, '='))
        text_join(out, room, separator, "spaces=%s", cell->kernel.spaces);
    if (set & CELL_JIT_BIT && cell->jit)
        text_join(out, room, separator, "jit=driver");
}

const char *cell_hash_text(uint64_t hash, char text[CELL_HASH_TEXT_BYTES])
{
    snprintf(text, CELL_HASH_TEXT_BYTES, "%016" PRIx64, hash);
    return text;
}

bool cell_reads_file(const struct cell *cell)
{
    return cell->pattern == &sources[SOURCE_file];
}

bool cell_is_named(const struct cell *cell, const char *name)
{
    char identity[CELL_IDENTITY_BYTES];

    cell_identity(cell, identity);
    return fnmatch(name, identity, 0) == 0;
}

enum status cell_unknown(const char *name)
{
    return log_error(STATUS_USAGE,
                     "no cell is named '%s'; a name is an identity, as cbank show --csv has them, "
                     "or a glob: "
                     "'*/constant/*'",
                     name);
}

uint64_t cell_axis(const struct cell *cell, size_t axis)
{
    switch (axis) {
    case AXIS_WORKLOAD:
        return (uintptr_t)cell->workload;
    case AXIS_JIT:
        return cell->jit;
    case AXIS_ELEMENTS:
        return cell->elements;
    case AXIS_BLOCK_SIZE:
        return cell->block_size;
    case AXIS_CACHE_STATE:
        return (uintptr_t)cell->cache_state;
    case AXIS_PATTERN:
        return (uintptr_t)cell->pattern;
    case AXIS_INDEX_FILE:
        return cell->index_file_hash;
    case AXIS_PATH:
        return (uintptr_t)cell->path;
    default:
        axis -= AXIS_PARAMETERS;
        return axis < parameter_count ? parameter_value(cell->parameters, axis) : 0;
    }
}

static int axis_order(const struct cell *a, const struct cell *b, size_t axis)
{
    const uint64_t left = cell_axis(a, axis), right = cell_axis(b, axis);

    if (axis == AXIS_WORKLOAD)
        return workload_order(a, b);
    return axis == AXIS_PATH ? path_order(a, b) : (left > right) - (left < right);
}

int cell_order_before(const struct cell *a, const struct cell *b, size_t end)
{
    int order = 0;

    for (size_t axis = 0; order == 0 && axis < end; axis++)
        order = axis_order(a, b, axis);
    return order;
}

int cell_path_order(const struct cell *a, const struct cell *b)
{
    return axis_order(a, b, AXIS_PATH);
}

int cell_order(const struct cell *a, const struct cell *b)
{
    int order = axis_order(a, b, AXIS_WORKLOAD);

    order = order ? order : axis_order(a, b, AXIS_PATH);
    order = order ? order : axis_order(a, b, AXIS_PATTERN);
    return order ? order : cell_order_before(a, b, AXIS_COUNT);
}

uint32_t cell_parameter_mask(const struct workload *workload, const struct pattern *pattern)
{
    return workload->parameter_mask | pattern->parameter_mask;
}

const struct table *cell_pattern_table(const struct workload *workload)
{
    static const struct table formulas = TABLE("pattern", patterns, pattern_count);
    static const struct table data = TABLE("source", sources, source_count);

    return workload->index == INDEX_LOADED   ? &data
           : workload->index == INDEX_ABSENT ? &table_of_launch_paths
                                             : &formulas;
}

const struct table *cell_path_table(const struct workload *workload)
{
    static const size_t row_count = 1;
    static const struct table none = {"path", &no_load_path, sizeof(no_load_path), &row_count,
                                      NULL};

    return workload->index == INDEX_ABSENT ? &none : &table_of_paths;
}

bool cell_refuse(char text[CELL_REASON_BYTES], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, CELL_REASON_BYTES, format, arguments);
    va_end(arguments);
    return true;
}

/* Refuses values that would change the indices of a file. The loads are those of the file. */
static bool file_obstacle(const uint32_t value[PARAMETERS_MAX], char text[CELL_REASON_BYTES])
{
    for (size_t i = 0; i < parameter_count; i++)
        if (i != PARAMETER_loads && parameters[i].readers & READER_INDICES && value[i] != 0)
            return cell_refuse(text, "the indices of a file are read as they are, without --%s",
                               parameters[i].option);
    return false;
}

/* Refuses a lookup with a grid that cannot be, or with indices that its source cannot make. */
static bool lookup_obstacle(const struct cell *cell, char text[CELL_REASON_BYTES])
{
    const struct workload *workload = cell->workload;
    const uint32_t *value = cell->parameters;
    const uint32_t bytes = table_bytes(cell->path, value),
                   entries = table_entries(cell->path, value);

    if (bytes % table_width(value))
        return cell_refuse(text,
                           "a table of %" PRIu32
                           " bytes has no whole number of elements of %" PRIu32,
                           bytes, table_width(value));
    if (value[PARAMETER_loads] % value[PARAMETER_in_flight])
        return cell_refuse(text,
                           "--in-flight must divide --loads, and %" PRIu32
                           " does not divide %" PRIu32,
                           value[PARAMETER_in_flight], value[PARAMETER_loads]);
    if (value[PARAMETER_in_flight] > workload->variants)
        return cell_refuse(text, "%s has %" PRIu32 " lookups in flight at most", workload->name,
                           workload->variants);
    if (workload_variant(value) > workload->variants)
        return cell_refuse(text, "%s streams other data with one lookup in flight alone",
                           workload->name);
    if (value[PARAMETER_warps_per_sm] * CBANK_WARP_THREADS % cell->block_size)
        return cell_refuse(text,
                           "%" PRIu32 " warps are no whole number of blocks of %" PRIu32 " threads",
                           value[PARAMETER_warps_per_sm], cell->block_size);
    if (value[PARAMETER_warps_per_sm] && value[PARAMETER_thread_elements])
        return cell_refuse(text, "warps of an SM and elements of a thread both determine the grid; "
                                 "name one of them");
    if (cell->elements * value[PARAMETER_loads] > CELL_INDICES_MAX)
        return cell_refuse(text, "%s has %" PRIu64 " indices at most", workload->name,
                           CELL_INDICES_MAX);
    if (value[PARAMETER_distinct] > entries || value[PARAMETER_window_entries] > entries)
        return cell_refuse(text, "the table has %" PRIu32 " entries", entries);
    return cell->index_file_hash && file_obstacle(value, text);
}

/* Refuses a pattern that the workload's kernels do not have. */
static bool pattern_obstacle(const struct cell *cell, char text[CELL_REASON_BYTES])
{
    const struct workload *workload = cell->workload;
    const bool loaded = workload->index == INDEX_LOADED;

    if (!loaded && workload_steps(workload, cell->parameters) > 1 && !cell->pattern->index_is_step)
        return cell_refuse(text,
                           "%s reads another element at every step, which the pattern does not",
                           workload->name);
    return !loaded && workload->index != INDEX_COMPILED && !cell->pattern->core &&
           cell_refuse(text, "%s chooses between the patterns of the core matrix alone",
                       workload->name);
}

/* Refuses a path or a radius that the workload's kernels do not have. */
static bool kernel_obstacle(const struct cell *cell, char text[CELL_REASON_BYTES])
{
    static const char *const sees[] =
        {[INDEX_BLOCK] = "that the compiler sees to be the same in all threads of a block",
         [INDEX_IMMEDIATE] = "that is known when the kernel is compiled"};
    const struct workload *workload = cell->workload;
    const struct path *path = cell->path;

    if (path->scope > (workload->index == INDEX_COMPILED ? cell->pattern->scope : INDEX_THREAD))
        return cell_refuse(text, "%s needs an index %s", path->name, sees[path->scope]);
    if (cell->parameters[PARAMETER_radius] > workload->variants)
        return cell_refuse(text, "%s has a radius of %" PRIu32 " at most", workload->name,
                           workload->variants);
    return path->lookups && workload->index != INDEX_LOADED &&
           cell_refuse(text, "%s is for workloads whose indices are data", path->name);
}

/* Refuses a table that the path cannot hold, by its bytes or by its entries. */
static bool table_obstacle(const struct cell *cell, char text[CELL_REASON_BYTES])
{
    const struct path *path = cell->path;
    const uint32_t *value = cell->parameters;
    const bool loaded = cell->workload->index == INDEX_LOADED,
               larger = path_largest(path) > path->bytes && !loaded;
    const uint32_t width = table_width(value), bytes = table_bytes(path, value);
    const uint32_t largest = larger ? path->bytes : path_largest(path);

    if (bytes > largest)
        return cell_refuse(text, "%s holds %s of %" PRIu32 " bytes%s at most%s", path->name,
                           table_count(value) > 1 ? "tables" : "a table", largest,
                           table_count(value) > 1 ? " together" : "",
                           larger ? "; a larger one is for workloads whose indices are data"
                           : path->bytes == CBANK_PARAMETER_BYTES
                               ? ", which every toolkit compiles; lookups have more in param_large"
                               : "");
    if (!CBANK_WIDTH_IS_PLAIN(width) &&
        (!loaded || path_is_small(path) || path->unit == UNIT_TEXTURE))
        return cell_refuse(text, "%s has no entries of %" PRIu32 " bytes",
                           loaded ? path->name : cell->workload->name, width);
    if (cell_length(cell) > path_entries(path))
        return cell_refuse(text, "%s holds %" PRIu32 " entries at most", path->name,
                           path_entries(path));
    if (path->entry_bytes && width > path->entry_bytes)
        return cell_refuse(text,
                           "%s holds entries of %" PRIu32 " bytes at most, and not of %" PRIu32,
                           path->name, path->entry_bytes, width);
    return path->unit == UNIT_REGISTERS && cell->elements % cell->block_size &&
           cell_refuse(text,
                       "%s needs all threads of a warp: elements for whole blocks of %" PRIu32,
                       path->name, cell->block_size);
}

/* Refuses numbers that the pattern's formula cannot take: it masks with some of them. */
static bool formula_obstacle(const struct cell *cell, char text[CELL_REASON_BYTES])
{
    const uint32_t *value = cell->parameters;
    const uint32_t width = table_width(value), bytes = table_bytes(cell->path, value);
    const uint32_t reach = value[PARAMETER_distinct] * value[PARAMETER_stride_bytes];
    const bool loaded = cell->workload->index == INDEX_LOADED;

    if (!loaded && value[PARAMETER_distinct] & (value[PARAMETER_distinct] - 1))
        return cell_refuse(text, "the distinct addresses of a pattern are a power of two");
    if (!loaded && value[PARAMETER_table_bytes] & (value[PARAMETER_table_bytes] - 1))
        return cell_refuse(text, "the bytes of a pattern's table are a power of two; lookups by "
                                 "--source or --indices have tables of other sizes");
    if (reach > bytes || value[PARAMETER_refill_bytes] > bytes)
        return cell_refuse(text, "the table of %s has %" PRIu32 " bytes", cell->path->name, bytes);
    return value[PARAMETER_stride_bytes] % width &&
           cell_refuse(text,
                       "a stride of %" PRIu32 " bytes is no whole number of elements of %" PRIu32,
                       value[PARAMETER_stride_bytes], width);
}

/* Reasons leave out the pattern's name, so that cells that fail alike get the same reason. */
bool rows_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES])
{
    const struct path *path = cell->path;

    if (pattern_obstacle(cell, text) || kernel_obstacle(cell, text) || table_obstacle(cell, text))
        return true;
    if (cell->workload->index == INDEX_LOADED && lookup_obstacle(cell, text))
        return true;
    if (formula_obstacle(cell, text))
        return true;
    return architecture != 0 && architecture < path->architecture &&
           cell_refuse(text, "GPUs before compute capability %" PRIu32 ".%" PRIu32 " have no %s",
                       path->architecture / 10, path->architecture % 10, path->name);
}

bool cell_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES])
{
    const struct cell_origin *origin = cell_origin(cell);

    return origin->obstacle && origin->obstacle(cell, architecture, text);
}

struct problem cell_problem(const struct cell *cell)
{
    struct problem problem = {.workload = cell->workload,
                              .path = cell->path,
                              .pattern = cell->pattern,
                              .elements = cell->elements,
                              .block_size = cell->block_size,
                              .indices = cell->indices};

    memcpy(problem.parameters, cell->parameters, sizeof(problem.parameters));
    return problem;
}

uint32_t cell_copied_bytes(const struct cell *cell)
{
    const uint32_t refilled = cell->parameters[PARAMETER_refill_bytes];
    const uint32_t bytes = refilled ? refilled : cell->parameters[PARAMETER_symbol_bytes];

    return bytes > 0 && cell->path->home != TABLE_PARAMETER ? bytes : 0;
}

uint32_t cell_staged_bytes(const struct cell *cell)
{
    const struct problem problem = cell_problem(cell);

    if (cell->path->unit != UNIT_SHARED || cell_table_bytes(cell) == 0)
        return 0;

    /* A single copy is made word by word; several copies consist of whole words. */
    const uint32_t bytes =
        (workload_table_length(&problem) * table_width(cell->parameters) + 3) / 4 * 4;

    return bytes * table_copies(cell->path, cell->parameters);
}

uint32_t cell_shared_bytes(const struct cell *cell)
{
    return cell_staged_bytes(cell) + cell->parameters[PARAMETER_extra_shared_bytes];
}

void cell_indices(const struct cell *cell, uint32_t block, uint32_t threads, uint32_t step,
                  uint32_t *index)
{
    const struct problem problem = cell_problem(cell);

    problem_indices(&problem, (struct thread_range){block, 0, threads}, step, index);
}

uint32_t cell_blocks(const struct cell *cell)
{
    return cell_origin(cell)->tables
               ? (uint32_t)((cell->elements + cell->block_size - 1) / cell->block_size)
               : 0;
}

bool uses_grid_stride_loop(const struct cell *cell)
{
    return cell->workload->index == INDEX_LOADED;
}

uint32_t cell_grid_blocks(const struct cell *cell)
{
    return cell->grid_blocks ? cell->grid_blocks : cell_blocks(cell);
}

void cell_set_grid(struct cell *cell, uint64_t blocks_at_a_time)
{
    const uint32_t blocks = cell_blocks(cell), rounds = cell->parameters[PARAMETER_thread_elements];

    if (rounds)
        cell->grid_blocks = (blocks - 1) / rounds + 1;
    else if (uses_grid_stride_loop(cell))
        cell->grid_blocks = blocks_at_a_time < blocks ? (uint32_t)blocks_at_a_time : blocks;
}

uint32_t requested_blocks_per_sm(const struct cell *cell)
{
    const uint32_t warps = cell->parameters[PARAMETER_warps_per_sm];

    return warps ? warps * CBANK_WARP_THREADS / cell->block_size : 0;
}

bool requested_blocks_obstacle(const struct cell *cell, uint32_t sm_count, uint32_t room,
                               char text[CELL_REASON_BYTES])
{
    const uint32_t wanted = requested_blocks_per_sm(cell),
                   warps = cell->block_size / CBANK_WARP_THREADS;

    if (wanted > room)
        return cell_refuse(text, "an SM has room for %" PRIu32 " warps of this kernel at a time",
                           room * warps);
    return (uint64_t)wanted * sm_count > cell_blocks(cell) &&
           cell_refuse(text,
                       "%" PRIu64 " elements are too few for %" PRIu32 " warps on each of %" PRIu32
                       " SMs",
                       cell->elements, wanted * warps, sm_count);
}

uint32_t cell_length(const struct cell *cell)
{
    return table_length(cell->path, cell->parameters);
}

uint32_t cell_block_threads(const struct cell *cell, uint64_t block)
{
    const uint64_t left = cell->elements - block * cell->block_size;

    return left < cell->block_size ? (uint32_t)left : cell->block_size;
}
