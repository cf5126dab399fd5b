/* SPDX-License-Identifier: MIT
 * Lookups, whose indices are data: their requests by brute force, their output with planted faults,
 * their identities, forbidden cells, and the origin of their indices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "access.h"
#include "card.h"
#include "cells.h"
#include "counter.h"
#include "index_list.h"
#include "plan.h"
#include "random.h"
#include "size.h"
#include "source.h"
#include "table.h"
#include "test.h"

/* A cell of `random`, with one load at a time. */
static struct cell make_cell(const char *path, uint64_t elements, uint32_t loads)
{
    return (struct cell){.workload = workload_named("lookup"),
                         .path = path_named(path),
                         .pattern = &sources[SOURCE_random],
                         .elements = elements,
                         .block_size = 64,
                         .cache_state = &cache_states[0],
                         .parameters = {[PARAMETER_loads] = loads, [PARAMETER_in_flight] = 1}};
}

/* -- counts ------------------------------------------------------------------------------------ */

/* The kernel once more: every thread of the grid strides over the elements. Loads of 12 bytes are
 * three of 4, of 24 three of 8, of 32 two of 16. */
static struct access_counts brute_count(const struct cell *cell, const uint32_t *index)
{
    const uint32_t grid = cell->grid_blocks, warps = grid * cell->block_size / 32;
    const uint32_t width = table_width(cell->parameters),
                   size = table_bytes(cell->path, cell->parameters);
    const uint32_t piece = width == 12 ? 4 : width == 24 ? 8 : width == 32 ? 16 : width;
    struct access_counts counts = {.blocks = grid, .warps_launched = warps};
    char *used = calloc(size, 1);

    assert_non_null(used);
    for (uint32_t warp = 0; warp < warps; warp++)
        for (uint64_t first = warp * 32ull; first < cell->elements;
             first += (uint64_t)grid * cell->block_size) {
            const uint32_t active =
                cell->elements - first < 32 ? (uint32_t)(cell->elements - first) : 32;

            counts.warps_active++;
            for (uint32_t step = 0; step < cell->parameters[PARAMETER_loads]; step++) {
                uint64_t stream[32], bytes[32];

                for (uint32_t i = 0; i < active; i++) {
                    stream[i] = (step * cell->elements + first + i) * 4;
                    bytes[i] = index[step * cell->elements + first + i] * (uint64_t)width;
                    assert_true(bytes[i] + width <= size);
                    memset(used + bytes[i], 1, width);
                }
                counts.stream_loads++;
                counts.stream_sectors += distinct_units(stream, active, 32);
                counts.operations += active;
                for (uint32_t read = 0; read < width; read += piece) {
                    counts.payload_loads++;
                    counts.addresses += distinct_units(bytes, active, piece);
                    counts.lines += distinct_units(bytes, active, 64);
                    counts.sectors += distinct_units(bytes, active, 32);
                    for (uint32_t i = 0; i < active; i++)
                        bytes[i] += piece;
                }
            }
        }
    for (size_t i = 0; i < size; i++)
        counts.footprint_bytes += (uint64_t)used[i];
    free(used);
    return counts;
}

static void assert_counts(const struct cell *cell, const uint32_t *index)
{
    const struct access_counts brute = brute_count(cell, index);
    struct access_counts counts;

    assert_int_equal(access_count(cell, &counts), STATUS_OK);
    /* brute has none */
    counts.block_lines = counts.footprint_lines = counts.wavefronts = counts.tag_wavefronts = 0;
    counts.staging_loads = counts.staging_sectors = 0;
    assert_memory_equal(&counts, &brute, sizeof(brute));
}

/* Tables as patterns have them, and larger ones: neighbours, elements anywhere, and the last one of
 * all. */
TEST(counts_are_those_of_every_warp)
{
    enum { LOADS = 3, ELEMENTS_MAX = 5003 };
    static const uint64_t elements[] = {1, 31, 64, 65, 1000, 1024, ELEMENTS_MAX};
    static const uint32_t widths[] = {1, 2, 4, 8, 16, 12, 24, 32},
                          sizes[] = {CBANK_TABLE_BYTES, CBANK_TABLE_BYTES + 16, 1000000,
                                     CBANK_LARGE_BYTES};
    static uint32_t index[LOADS * ELEMENTS_MAX];
    uint64_t random = 7;

    for (size_t e = 0; e < sizeof(elements) / sizeof(elements[0]); e++)
        for (uint32_t blocks = 1; blocks <= 16; blocks *= 4) {
            const uint32_t width = widths[(3 * e + blocks / 4) % 8], length = sizes[e % 4] / width,
                           bytes = length * width;
            const uint64_t count = LOADS * elements[e];
            const struct indices indices = {index, sizeof(*index), 0, count};
            struct cell cell =
                make_cell(bytes > CBANK_TABLE_BYTES ? "global" : "shared", elements[e], LOADS);

            cell.parameters[PARAMETER_width_bytes] =
                parameter_kept(&parameters[PARAMETER_width_bytes], width);
            cell.parameters[PARAMETER_table_bytes] = bytes;
            for (uint64_t i = 0; i < count; i++)
                index[i] = (uint32_t)(i % 4 ? random_next(&random) % (i % 3 ? length : 40)
                                            : length - 1 - i % length);
            cell.indices = &indices;
            cell_set_grid(&cell, blocks);
            assert_counts(&cell, index);
        }
}

/* -- what cannot be ---------------------------------------------------------------------------- */

/* Cells of blocks of 64 threads with these parameters, 0 for none, and a part of what stands in
 * their way: NULL for nothing. */
static const struct {
    const char *path;
    uint64_t elements;
    uint32_t loads, in_flight, width_bytes, table_bytes, table_count, architecture;
    const char *reason;
} obstacles[] = {
    {"shuffle", 128000, 1, 1, 0, 0, 0, 0, NULL},
    {"shuffle", 128000, 1, 1, 2, 64, 0, 0, NULL},
    {"shuffle", 128000, 1, 1, 2, 128, 0, 0, "shuffle holds 32 entries at most"},
    {"shuffle", 128001, 1, 1, 2, 64, 0, 0,
     "shuffle needs all threads of a warp: elements for whole blocks of 64"},
    {"select_4", 128001, 1, 1, 0, 0, 0, 0, NULL}, /* not all threads of a warp need to be there */
    {"select_4", 128001, 1, 1, 16, 0, 0, 0,
     "select_4 holds entries of 8 bytes at most, and not of 16"},
    {"select_4", 128001, 1, 1, 8, 0, 0, 0, NULL},
    {"select_4", 128001, 1, 1, 8, 24, 0, 0, "select_4 holds a table of 16 bytes at most"},
    {"prmt", 128001, 1, 1, 1, 0, 0, 50, NULL},
    {"prmt", 128000, 1, 1, 1, 17, 0, 0, "prmt holds a table of 16 bytes at most"},
    {"prmt", 128000, 1, 1, 0, 16, 0, 0, "prmt holds entries of 1 bytes at most, and not of 4"},
    {"select_16", 128000, 1, 1, 1, 0, 0, 35,
     "GPUs before compute capability 5.0 have no select_16"},
    {"shared_copies", 128000, 1, 1, 0, 32768, 0, 0,
     "shared_copies holds a table of 16384 bytes at most"},
    {"constant", 1000, 4, 1, 0, CBANK_TABLE_BYTES + 4, 0, 0,
     "constant holds a table of 65536 bytes at most"},
    {"texture", 1000, 4, 1, 0, CBANK_LARGE_BYTES + 4, 0, 0,
     "texture holds a table of 134217728 bytes at most"},
    {"texture", 1000, 4, 1, 0, CBANK_LARGE_BYTES / 2, 2, 0, NULL},
    {"texture", 1000, 4, 1, 0, CBANK_LARGE_BYTES / 2, 3, 0,
     "texture holds tables of 134217728 bytes together at most"},
    {"param", 1000, 4, 1, 0, 1024, 2, 0, NULL},
    {"param", 1000, 4, 1, 0, 1024, 3, 0, "param holds tables of 2048 bytes together at most"},
    {"param", 1000, 4, 1, 0, 2052, 0, 0,
     "param holds a table of 2048 bytes at most, which every toolkit compiles; lookups have more "
     "in param_large"},
    {"param_large", 1000, 4, 1, 16, 32640, 0, 70, NULL},
    {"param_large", 1000, 4, 1, 0, 32644, 0, 70,
     "param_large holds a table of 32640 bytes at most"},
    {"param_large", 1000, 4, 1, 0, 4096, 0, 62,
     "GPUs before compute capability 7.0 have no param_large"},
    {"global", 1000, 4, 1, 12, 1200, 0, 0, NULL},
    {"global", 1000, 4, 1, 24, 1204, 0, 0,
     "a table of 1204 bytes has no whole number of elements of 24"},
    {"texture", 1000, 4, 1, 12, 1200, 0, 0, "texture has no entries of 12 bytes"},
    {"shuffle", 128000, 1, 1, 32, 96, 0, 0, "shuffle has no entries of 32 bytes"},
    {"param", 1000, 4, 1, 0, 1002, 0, 0, "no whole number of elements of 4"},
    {"constant_uniform", 1000, 4, 1, 0, 0, 0, 0, "needs an index that the compiler sees"},
    {"constant", 1000, 6, 1, 0, 0, 0, 0, NULL},
    {"constant", 1000, 6, 4, 0, 0, 0, 0,
     "--in-flight must divide --loads, and 4 does not divide 6"},
    {"constant", UINT64_C(1) << 30, 1, 1, 0, 0, 0, 0, NULL},
    {"constant", (UINT64_C(1) << 30) + 1, 1, 1, 0, 0, 0, 0, ""},
};

static void assert_obstacle(const struct cell *cell, uint32_t architecture, const char *expected)
{
    char reason[CELL_REASON_BYTES] = "";

    if (cell_obstacle(cell, architecture, reason) != (expected != NULL) ||
        !strstr(reason, expected ? expected : ""))
        fail_msg("%s: \"%s\", not \"%s\"", cell->path->name, reason,
                 expected ? expected : "nothing");
}

TEST(what_cannot_be_says_why)
{
    struct cell cell;

    for (size_t i = 0; i < sizeof(obstacles) / sizeof(obstacles[0]); i++) {
        cell = make_cell(obstacles[i].path, obstacles[i].elements, obstacles[i].loads);
        cell.parameters[PARAMETER_in_flight] = obstacles[i].in_flight;
        cell.parameters[PARAMETER_width_bytes] = obstacles[i].width_bytes;
        cell.parameters[PARAMETER_table_bytes] = obstacles[i].table_bytes;
        cell.parameters[PARAMETER_table_count] = obstacles[i].table_count;
        assert_obstacle(&cell, obstacles[i].architecture, obstacles[i].reason);
    }
    cell = make_cell("param", 1000, 4);
    cell.parameters[PARAMETER_table_count] = 2;
    cell.index_file_hash = 1;
    assert_obstacle(&cell, 0, "the indices of a file are read as they are, without --table-count");
    cell = make_cell("constant", 1000, 4);
    cell.pattern = &sources[SOURCE_distinct];
    cell.parameters[PARAMETER_distinct] = 5;
    assert_obstacle(&cell, 0, NULL);
    cell.parameters[PARAMETER_table_bytes] = 16;
    assert_obstacle(&cell, 0, "the table has 4 entries");
    cell.parameters[PARAMETER_window_entries] = 5;
    cell.parameters[PARAMETER_distinct] = 4;
    assert_obstacle(&cell, 0, "the table has 4 entries");
    cell.path = path_named("shuffle");
    cell.workload = workload_named("refill");
    assert_obstacle(&cell, 0, "shuffle is for workloads whose indices are data");
    cell.path = path_named("readonly");
    cell.workload = workload_named("add");
    cell.pattern = &patterns[0];
    cell.parameters[PARAMETER_in_flight] = cell.parameters[PARAMETER_loads] = 0;
    cell.parameters[PARAMETER_table_bytes] = 2 * CBANK_TABLE_BYTES;
    assert_obstacle(&cell, 0,
                    "65536 bytes at most; a larger one is for workloads whose indices are data");
}

/* The whole table of a path that exchanges entries has one for each thread of a warp, if they
 * fit. */
TEST(tables_have_a_size)
{
    static const struct {
        const char *path;
        uint32_t width_bytes, table_bytes, bytes, length, copies;
    } rows[] = {
        {"shuffle", 0, 0, 128, 32, 1},
        {"shuffle", 1, 0, 32, 32, 1},
        {"shuffle", 16, 0, 128, 8, 1},
        {"select_4", 0, 0, 16, 4, 1},
        {"select_16", 1, 0, 64, 64, 1},
        {"prmt", 1, 0, 16, 16, 1},
        {"shared_copies", 0, 0, 16384, 4096, 2},
        {"shared_copies", 0, 256, 256, 64, 32},
        {"shared_copies", 0, 8192, 8192, 2048, 4},
        {"shared", 0, 1024, 1024, 256, 1},
        {"param", 0, 0, 2048, 512, 1},
        {"param", 16, 64, 64, 4, 1},
        {"param_large", 16, 0, 32640, 2040, 1},
        {"constant", 24, 0, 65520, 2730, 1},
        {"constant", 0, 0, 65536, 16384, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cell cell = make_cell(rows[i].path, 1000, 1);

        cell.parameters[PARAMETER_width_bytes] = rows[i].width_bytes;
        cell.parameters[PARAMETER_table_bytes] = rows[i].table_bytes;
        assert_int_equal(table_bytes(cell.path, cell.parameters), rows[i].bytes);
        assert_int_equal(table_length(cell.path, cell.parameters), rows[i].length);
        assert_int_equal(table_copies(cell.path, cell.parameters), rows[i].copies);
    }
}

/* Three blocks, of 64 threads, copy a table of 100 bytes: of 25 words, by one warp each, from 4
 * sectors. */
TEST(a_grid_that_strides_copies_the_table_once_a_block)
{
    static const uint8_t index[3000];
    const struct indices indices = {index, 1, 0, 3000};
    struct cell cell = make_cell("shared", 1500, 2);
    struct access_counts counts;

    cell.parameters[PARAMETER_table_bytes] = 100;
    cell.indices = &indices;
    cell_set_grid(&cell, 3);
    assert_int_equal(cell_staged_bytes(&cell), 100);
    assert_int_equal(access_count(&cell, &counts), STATUS_OK);
    assert_int_equal(counts.staging_loads, 3);
    assert_int_equal(counts.staging_sectors, 3 * 4);
    cell.parameters[PARAMETER_width_bytes] = 2;
    cell.parameters[PARAMETER_table_bytes] = 102;
    assert_int_equal(cell_staged_bytes(&cell), 104); /* whole words */
}

/* So many warps on each SM: whole blocks, for which there is room and work. */
TEST(a_cell_says_how_many_warps_an_sm_runs)
{
    struct cell cell = make_cell("constant", 100000, 4);
    char reason[CELL_REASON_BYTES];
    struct card card;

    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    cell.block_size = 64;
    assert_int_equal(requested_blocks_per_sm(&cell), 0);
    cell.parameters[PARAMETER_warps_per_sm] = 6;
    assert_false(cell_obstacle(&cell, 0, reason));
    assert_int_equal(requested_blocks_per_sm(&cell), 3);
    assert_false(requested_blocks_obstacle(&cell, 132, 3, reason));
    assert_true(requested_blocks_obstacle(&cell, 132, 2, reason));
    assert_string_equal(reason, "an SM has room for 4 warps of this kernel at a time");
    cell.elements = 64 * 3 * 132 - 64;
    assert_true(requested_blocks_obstacle(&cell, 132, 3, reason));
    assert_string_equal(reason, "25280 elements are too few for 6 warps on each of 132 SMs");
    cell.elements++;
    assert_false(requested_blocks_obstacle(&cell, 132, 3, reason));
    assert_int_equal(card_blocks_resident(&card, &cell, 0), 3);
    card_set_grid(&card, &cell);
    assert_int_equal(cell.grid_blocks, 3 * 132);
    cell.parameters[PARAMETER_warps_per_sm] = 7;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "7 warps are no whole number of blocks of 64 threads");
}

/* 157 blocks of 64 threads: a thread takes one element, or three; the grid of a device does not
 * matter. */
TEST(a_cell_says_how_many_elements_a_thread_takes)
{
    static const uint8_t index[2 * 10000];
    const struct indices indices = {index, 1, 0, 2 * 10000};
    struct cell cell = make_cell("shared", 10000, 2);
    struct access_counts counts;

    cell.indices = &indices;
    cell.parameters[PARAMETER_table_bytes] = 64;
    for (uint32_t rounds = 1; rounds <= 3; rounds += 2) {
        cell.parameters[PARAMETER_thread_elements] = rounds;
        cell_set_grid(&cell, 7);
        assert_int_equal(cell_grid_blocks(&cell), rounds == 1 ? 157 : 53);
        assert_int_equal(access_count(&cell, &counts), STATUS_OK);
        assert_int_equal(counts.staging_loads, cell_grid_blocks(&cell));
        assert_int_equal(counts.payload_loads, 2 * 313);
    }
    assert_obstacle(&cell, 0, NULL);
    cell.parameters[PARAMETER_warps_per_sm] = 2;
    assert_obstacle(&cell, 0,
                    "warps of an SM and elements of a thread both determine the grid; name one of "
                    "them");
}

/* Two of the 8 loads are in flight, with 4 loads of other data; of the 20 warps, 19 are whole and
 * one has 6 threads. */
TEST(other_data_is_counted)
{
    struct cell cell = make_cell("constant", 614, 8);
    static const uint8_t index[8 * 614];
    const struct indices indices = {index, 1, 0, 8 * 614};
    struct access_counts alone, pressed;

    cell.indices = &indices;
    cell.parameters[PARAMETER_in_flight] = 2;
    assert_int_equal(workload_variant(cell.parameters), 2);
    assert_int_equal(access_count(&cell, &alone), STATUS_OK);
    cell.parameters[PARAMETER_polluter_bytes] = 65536;
    assert_int_equal(workload_variant(cell.parameters), 6);
    assert_int_equal(workload_input_loads(cell.workload, cell.parameters), 8 + 4);
    assert_int_equal(access_count(&cell, &pressed), STATUS_OK);
    assert_int_equal(pressed.stream_loads, alone.stream_loads + 4 * 20);
    assert_int_equal(pressed.stream_sectors, alone.stream_sectors + 4 * (19 * 4 + 1));
    assert_int_equal(pressed.payload_loads, alone.payload_loads);
    assert_int_equal(pressed.operations, alone.operations);
    assert_obstacle(&cell, 0, "lookup streams other data with one lookup in flight alone");
    cell.parameters[PARAMETER_in_flight] = 1;
    assert_obstacle(&cell, 0, NULL);
}

static const struct cell *cell_at(const void *list, size_t i)
{
    return &((const struct cell *)list)[i];
}

/* Counts copied from an earlier cell equal those of counting; for lookups, the instruction does not
 * matter. */
TEST(cells_share_counts_of_the_same_lookups)
{
    static const char *const names[] = {"constant", "shared", "shared_fill_only"};
    static const uint32_t in_flight[] = {1, 2}, widths[] = {2, 4, 16};
    static uint32_t index[4 * 1500];
    const struct indices indices = {index, sizeof(index[0]), false, 4 * 1500};
    struct cell cells[27];
    struct access_counts counts[27] = {0}, alone;

    for (uint32_t i = 0; i < 4 * 1500; i++)
        index[i] = i * i % 251;
    for (size_t i = 0; i < 27; i++) {
        cells[i] = make_cell(names[i % 3], 1500, i < 18 ? 4 : 2);
        cells[i].indices = &indices;
        cells[i].parameters[PARAMETER_width_bytes] = widths[i / 3 % 3];
        cells[i].parameters[PARAMETER_table_bytes] = 4096;
        cells[i].parameters[PARAMETER_in_flight] = in_flight[i / 9 % 2];
        assert_int_equal(access_count(&cells[i], &alone), STATUS_OK);
        assert_int_equal(access_count_next(cell_at, cells, i, counts), STATUS_OK);
        assert_memory_equal(&counts[i], &alone, sizeof(alone));
    }
}

/* Three tables of 100 entries: each step reads entries of the next. */
TEST(lookups_go_round_the_tables)
{
    enum { ELEMENTS = 1000, LOADS = 5 };
    struct cell cell = make_cell("shared", ELEMENTS, LOADS);
    struct index_list list = {0};
    const struct index_array *array;

    cell.parameters[PARAMETER_table_bytes] = 400;
    cell.parameters[PARAMETER_table_count] = 3;
    assert_int_equal(table_entries(cell.path, cell.parameters), 100);
    assert_int_equal(cell_length(&cell), 300);
    assert_int_equal(cell_staged_bytes(&cell), 1200);
    assert_int_equal(index_list_give(&list, &cell, &array), STATUS_OK);
    for (uint32_t i = 0; i < ELEMENTS * LOADS; i++)
        assert_int_equal(array->made[i] / 100, i / ELEMENTS % 3);
    index_list_close(&list);
}

/* A warp executes what is before the guard once; the loop once an element; the loop in it once for
 * two of its loads. */
TEST(expected_counters_follow_the_loops)
{
    struct cell cell = make_cell("constant", 640, 8);
    const struct access_counts access = {.warps_launched = 4,
                                         .warps_active = 20,
                                         .payload_loads = 160,
                                         .addresses = 500};
    const struct sass_counts code = {.architecture = 90,
                                     .prologue = {.instructions = 10, .ldc_parameter = 1},
                                     .body = {.instructions = 5, .ldc_parameter = 2},
                                     .round = {.instructions = 7},
                                     .group = {.instructions = 9,
                                               .ldc_user = 2,
                                               .ldc_parameter = 1}};
    struct expectation expectation = {.cell = &cell, .access = &access, .sass = &code};
    const struct table table = TABLE("counter", counters, counter_count);
    const struct counter *instructions = table_find(&table, "instructions"),
                         *ldc = table_find(&table, "ldc_instructions");
    const struct counter *requests = table_find(&table, "idc_requests");

    cell.parameters[PARAMETER_in_flight] = 2;
    assert_int_equal(counter_expected(instructions, &expectation).value,
                     4 * 10 + 4 * 5 + 20 * 7 + 20 * 4 * 9);
    assert_int_equal(counter_expected(ldc, &expectation).value, 4 * 1 + 4 * 2 + 20 * 4 * 3);
    assert_int_equal(counter_expected(requests, &expectation).value,
                     4 * 1 + 4 * 2 + 20 * 4 * 1 + 500);
    cell.elements = 630; /* the last round of a warp is of some threads alone */
    assert_false(counter_expected(instructions, &expectation).known);
    assert_true(counter_expected(ldc, &expectation).known);
}

/* -- what is written --------------------------------------------------------------------------- */

/* Two loads of a table whose entry k is 10 k: of elements of 2 bytes, and a fault planted in every
 * element. */
TEST(the_reference_adds_what_is_looked_up)
{
    enum { ELEMENTS = 150 };
    int16_t index[2 * ELEMENTS];
    const struct indices indices = {index, sizeof(*index), 1, 2 * ELEMENTS};
    struct cell cell = make_cell("global", ELEMENTS, 2);
    uint32_t input[ELEMENTS] = {0}, output[ELEMENTS];
    static uint32_t values[CBANK_TABLE_LENGTH];
    uint16_t *entries = (uint16_t *)values;

    cell.indices = &indices;
    cell.parameters[PARAMETER_width_bytes] = 2;
    cell.parameters[PARAMETER_table_bytes] = 1000;
    for (uint32_t i = 0; i < 500; i++)
        entries[i] = (uint16_t)(10 * i);
    for (int i = 0; i < 2 * ELEMENTS; i++)
        index[i] = (int16_t)(i * 7 % 500);
    for (int i = 0; i < ELEMENTS; i++)
        output[i] = 10u * (uint32_t)(i * 7 % 500) + 10u * (uint32_t)((ELEMENTS + i) * 7 % 500);

    const struct problem problem = cell_problem(&cell);
    const struct workload_data data = {input, values, output};
    struct mismatch mismatch;

    assert_int_equal(workload_check(&problem, &data, 0, ELEMENTS, &mismatch), 1);
    for (int i = 0; i < ELEMENTS; i++) {
        output[i] ^= 1;
        assert_int_equal(workload_check(&problem, &data, 0, ELEMENTS, &mismatch), 0);
        assert_int_equal(mismatch.element, i);
        output[i] ^= 1;
    }
}

/* -- where indices come from ------------------------------------------------------------------- */

static struct cell make_source_cell(const char *path, size_t source)
{
    struct cell cell = make_cell(path, 1000, 4);

    cell.pattern = &sources[source];
    cell.parameters[PARAMETER_distinct] = 9;
    cell.parameters[PARAMETER_skew_percent] = 50;
    cell.parameters[PARAMETER_run_threads] = 4;
    cell.parameters[PARAMETER_window_entries] = 100;
    cell.parameters[PARAMETER_window_threads] = 64;
    return cell;
}

static size_t count_arrays(const struct index_list *list, bool made)
{
    size_t count = 0;

    for (const struct index_array *array = list->first; array; array = array->next)
        count += made == !!array->made;
    return count;
}

/* Each source, for tables of two lengths: param has the shorter one. */
TEST(what_is_wanted_is_made_as_if_alone)
{
    enum { CELLS = 3 * SOURCE_file, ARRAYS = 2 * SOURCE_file };
    static const char *const names[] = {"constant", "param", "global"};
    struct index_list together = {0};

    for (size_t i = 0; i < 2 * CELLS; i++) { /* each twice */
        const struct cell cell = make_source_cell(names[i % 3], i / 3 % SOURCE_file);

        assert_int_equal(index_list_want(&together, &cell), STATUS_OK);
    }
    assert_int_equal(count_arrays(&together, false), ARRAYS);
    assert_int_equal(index_list_make(&together), STATUS_OK);
    assert_int_equal(count_arrays(&together, true), ARRAYS);
    for (size_t i = 0; i < CELLS; i++) {
        struct cell cell = make_source_cell(names[i % 3], i / 3), same = cell;
        const struct index_array *array, *alone;
        struct index_list list = {0};

        assert_int_equal(index_list_give(&together, &cell, &array), STATUS_OK);
        assert_int_equal(index_list_give(&list, &same, &alone), STATUS_OK);
        assert_string_equal(array->sha256, alone->sha256);
        assert_int_equal(array->indices.count, alone->indices.count);
        assert_memory_equal(array->made, alone->made, alone->indices.count * sizeof(*alone->made));
        index_list_close(&list);
    }
    assert_int_equal(count_arrays(&together, true), ARRAYS);
    assert_int_equal(count_arrays(&together, false), 0);
    index_list_close(&together);
}
