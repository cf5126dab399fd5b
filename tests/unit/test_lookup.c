/* SPDX-License-Identifier: MIT
 * Lookups, whose indices are data: what they ask for by brute force, what they write with planted faults, what they are
 * called, what cannot be, and where their indices come from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access.h"
#include "capture.h"
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

static const struct table path_table = TABLE("path", paths, path_count);
static const struct table workload_table = TABLE("workload", workloads, workload_count);

/* A cell of `uniform`, with one load at a time. */
static struct cell make_cell(const char *path, uint64_t elements, uint32_t loads)
{
    return (struct cell){.workload = table_find(&workload_table, "lookup"),
                         .path = table_find(&path_table, path),
                         .pattern = &sources[SOURCE_uniform],
                         .elements = elements,
                         .block_size = 64,
                         .regime = &regimes[0],
                         .parameters = {[PARAMETER_loads] = loads, [PARAMETER_in_flight] = 1}};
}

/* -- counts -------------------------------------------------------------------------------------------- */

/* The kernel once more: every thread of the grid strides over the elements. */
static struct access_counts brute_count(const struct cell *cell, const uint32_t *index)
{
    const uint32_t grid = cell->grid_blocks, warps = grid * cell->block_size / 32;
    const uint32_t width = table_width(cell->parameters), size = table_bytes(cell->path, cell->parameters);
    struct access_counts counts = {.blocks = grid, .warps_launched = warps};
    char *used = calloc(size, 1);

    assert_non_null(used);
    for (uint32_t warp = 0; warp < warps; warp++)
        for (uint64_t first = warp * 32ull; first < cell->elements; first += (uint64_t)grid * cell->block_size) {
            const uint32_t active = cell->elements - first < 32 ? (uint32_t)(cell->elements - first) : 32;

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
                counts.payload_loads++;
                counts.addresses += distinct_units(bytes, active, width);
                counts.lines += distinct_units(bytes, active, 64);
                counts.sectors += distinct_units(bytes, active, 32);
                counts.operations += active;
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
    assert_int_equal(counts.blocks, brute.blocks);
    assert_int_equal(counts.warps_launched, brute.warps_launched);
    assert_int_equal(counts.warps_active, brute.warps_active);
    assert_int_equal(counts.stream_loads, brute.stream_loads);
    assert_int_equal(counts.stream_sectors, brute.stream_sectors);
    assert_int_equal(counts.payload_loads, brute.payload_loads);
    assert_int_equal(counts.addresses, brute.addresses);
    assert_int_equal(counts.lines, brute.lines);
    assert_int_equal(counts.sectors, brute.sectors);
    assert_int_equal(counts.footprint_bytes, brute.footprint_bytes);
    assert_int_equal(counts.operations, brute.operations);
}

TEST(counts_are_those_of_every_warp)
{
    static const uint64_t elements[] = {1, 31, 64, 65, 1000, 1024, 5003};
    uint64_t random = 7;

    for (size_t e = 0; e < sizeof(elements) / sizeof(elements[0]); e++)
        for (uint32_t blocks = 1; blocks <= 16; blocks *= 4) {
            struct cell cell = make_cell("constant", elements[e], 3);
            const uint64_t count = 3 * elements[e];
            uint32_t *index = malloc(count * sizeof(*index));
            const struct indices indices = {index, sizeof(*index), 0, count};

            for (uint64_t i = 0; i < count; i++)
                index[i] = (uint32_t)(random_next(&random) % (i % 3 ? 16384 : 40));
            cell.indices = &indices;
            cell_set_grid(&cell, blocks);
            assert_counts(&cell, index);
            free(index);
        }
}

/* -- tables beyond those of patterns ------------------------------------------------------------------- */

/* Neighbours, elements anywhere, and the last one of all. */
TEST(large_tables_are_counted_likewise)
{
    enum { ELEMENTS = 777, COUNT = 2 * ELEMENTS };
    static const uint32_t sizes[] = {CBANK_TABLE_BYTES + 16, 1000000, CBANK_LARGE_BYTES};
    static uint32_t index[COUNT];
    const struct indices indices = {index, sizeof(*index), 0, COUNT};
    uint64_t random = 11;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (uint32_t width = 1; width <= 16; width *= sizes[s] == CBANK_LARGE_BYTES ? 16 : 2) {
            struct cell cell = make_cell("global", ELEMENTS, 2);
            const uint32_t length = sizes[s] / width;

            cell.parameters[PARAMETER_width_bytes] = parameter_kept(&parameters[PARAMETER_width_bytes], width);
            cell.parameters[PARAMETER_table_bytes] = sizes[s];
            for (uint32_t i = 0; i < COUNT; i++)
                index[i] = i % 3 ? (uint32_t)(random_next(&random) % length) : length - 1 - i;
            cell.indices = &indices;
            cell_set_grid(&cell, 2);
            assert_counts(&cell, index);
        }
}

static void assert_obstacle(const struct cell *cell, const char *expected)
{
    char reason[CELL_REASON_BYTES] = "";

    cell_obstacle(cell, 0, reason);
    assert_string_equal(reason, expected);
}

/* Lookups read them where they lie in global memory; nobody else does. */
TEST(large_tables_are_in_global_memory)
{
    struct cell cell = make_cell("global", 1000, 4);
    uint32_t *bytes = &cell.parameters[PARAMETER_table_bytes];

    assert_int_equal(parameters[PARAMETER_table_bytes].max, CBANK_LARGE_BYTES);
    assert_int_equal(cell_length(&cell), CBANK_TABLE_LENGTH);
    *bytes = CBANK_TABLE_BYTES;
    assert_false(table_is_large(cell.path, cell.parameters));
    for (size_t i = 0; i < path_count; i++) {
        cell.path = &paths[i];
        *bytes = CBANK_TABLE_BYTES + 4;
        if (path_largest(cell.path) == CBANK_LARGE_BYTES)
            assert_obstacle(&cell, "");
        else
            assert_true(path_largest(cell.path) == paths[i].bytes &&
                        cell_obstacle(&cell, 0, (char[CELL_REASON_BYTES]){0}));
        assert_true(table_is_large(cell.path, cell.parameters));
    }
    cell.path = table_find(&path_table, "constant");
    assert_obstacle(&cell, "constant holds a table of 65536 bytes at most");
    cell.path = table_find(&path_table, "texture");
    *bytes = CBANK_LARGE_BYTES + 4;
    assert_obstacle(&cell, "texture holds a table of 134217728 bytes at most");
    *bytes = CBANK_LARGE_BYTES / 2;
    cell.parameters[PARAMETER_table_count] = 2;
    assert_obstacle(&cell, "");
    cell.parameters[PARAMETER_table_count] = 3;
    assert_obstacle(&cell, "texture holds tables of 134217728 bytes together at most");
    cell = make_cell("readonly", 1000, 0);
    cell.workload = table_find(&workload_table, "add");
    cell.pattern = &patterns[0];
    cell.parameters[PARAMETER_in_flight] = 0;
    *bytes = 2 * CBANK_TABLE_BYTES;
    assert_obstacle(
        &cell, "readonly holds a table of 65536 bytes at most; a larger one is for workloads whose indices are data");
}

/* Whatever the source, but for lockstep: it has as many entries as steps. */
TEST(sources_draw_over_all_of_a_large_table)
{
    for (size_t s = 0; s < source_made_count; s++) {
        struct cell cell = make_cell("global", 10000, 2);
        struct index_list list = {.unhashed = true};
        const struct index_array *array;
        uint32_t lowest = UINT32_MAX, highest = 0;

        cell.pattern = &sources[s];
        cell.parameters[PARAMETER_width_bytes] = 1;
        cell.parameters[PARAMETER_table_bytes] = CBANK_LARGE_BYTES / 16;
        cell.parameters[PARAMETER_distinct] = 9;
        cell.parameters[PARAMETER_skew_percent] = 50;
        cell.parameters[PARAMETER_run_threads] = 4;
        assert_int_equal(index_list_give(&list, &cell, &array), STATUS_OK);
        for (uint64_t i = 0; i < cell.indices->count; i++) {
            const uint32_t index = (uint32_t)indices_at(cell.indices, i);

            lowest = index < lowest ? index : lowest;
            highest = index > highest ? index : highest;
        }
        assert_true(highest < cell_length(&cell) && lowest < cell_length(&cell) / 100);
        assert_true(s == SOURCE_lockstep ? highest == 1 : highest > cell_length(&cell) / 100 * 99);
        index_list_close(&list);
    }
}

/* Three blocks, of 64 threads, copy a table of 100 bytes: of 25 words, by one warp each, from 4 sectors. */
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

/* The whole table of a path that exchanges entries has one for each thread of a warp, if they fit. */
TEST(small_tables_have_limits)
{
    struct cell cell = make_cell("shuffle", 128000, 1);
    char reason[CELL_REASON_BYTES];

    assert_int_equal(table_length(cell.path, cell.parameters), 32);
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.parameters[PARAMETER_width_bytes] = 1;
    assert_int_equal(table_bytes(cell.path, cell.parameters), 32);
    cell.parameters[PARAMETER_width_bytes] = 16;
    assert_int_equal(table_length(cell.path, cell.parameters), 8);
    cell.parameters[PARAMETER_width_bytes] = 2;
    cell.parameters[PARAMETER_table_bytes] = 128;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "shuffle holds 32 entries at most");
    cell.parameters[PARAMETER_table_bytes] = 64;
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.elements++;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "shuffle needs all threads of a warp: elements for whole blocks of 64");
    cell.workload = table_find(&workload_table, "refill");
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "shuffle is for workloads whose indices are data");
    cell = make_cell("select_4", 128001, 1);
    assert_int_equal(table_bytes(cell.path, cell.parameters), 16);
    assert_false(cell_obstacle(&cell, 0, reason)); /* not all threads of a warp need to be there */
    cell.parameters[PARAMETER_width_bytes] = 16;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "select_4 holds no two entries of 16 bytes");
    cell.parameters[PARAMETER_width_bytes] = 8;
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.parameters[PARAMETER_table_bytes] = 24;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "select_4 holds a table of 16 bytes at most");
    cell = make_cell("select_16", 128000, 1);
    cell.parameters[PARAMETER_width_bytes] = 1;
    assert_int_equal(table_length(cell.path, cell.parameters), 64);
    assert_true(cell_obstacle(&cell, 35, reason));
    assert_string_equal(reason, "GPUs before compute capability 5.0 have no select_16");
    cell = make_cell("shared_copies", 128000, 1);
    assert_int_equal(table_bytes(cell.path, cell.parameters), 16384);
    assert_int_equal(table_copies(cell.path, cell.parameters), 2);
    cell.parameters[PARAMETER_table_bytes] = 32768;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "shared_copies holds a table of 16384 bytes at most");
    cell.parameters[PARAMETER_table_bytes] = 1024;
    assert_int_equal(cell_staged_bytes(&cell), 32768);
    assert_int_equal(table_copies(table_find(&path_table, "shared"), cell.parameters), 1);
}

/* So many warps on each SM: whole blocks, for which there is room and work. */
TEST(a_cell_says_how_many_warps_an_sm_runs)
{
    struct cell cell = make_cell("constant", 100000, 4);
    char reason[CELL_REASON_BYTES];
    struct card card;

    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    cell.block_size = 64;
    assert_int_equal(cell_crowd(&cell), 0);
    cell.parameters[PARAMETER_warps_per_sm] = 6;
    assert_false(cell_obstacle(&cell, 0, reason));
    assert_int_equal(cell_crowd(&cell), 3);
    assert_false(cell_crowd_obstacle(&cell, 132, 3, reason));
    assert_true(cell_crowd_obstacle(&cell, 132, 2, reason));
    assert_string_equal(reason, "an SM has room for 4 warps of this kernel at a time");
    cell.elements = 64 * 3 * 132 - 64;
    assert_true(cell_crowd_obstacle(&cell, 132, 3, reason));
    assert_string_equal(reason, "25280 elements are too few for 6 warps on each of 132 SMs");
    cell.elements++;
    assert_false(cell_crowd_obstacle(&cell, 132, 3, reason));
    assert_int_equal(card_blocks_resident(&card, &cell, 0), 3);
    card_set_grid(&card, &cell);
    assert_int_equal(cell.grid_blocks, 3 * 132);
    cell.parameters[PARAMETER_warps_per_sm] = 7;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "7 warps are no whole number of blocks of 64 threads");
}

/* What a block takes for nothing leaves room for fewer: of 227 KB, two of 100 KB. */
TEST(shared_memory_that_is_taken_leaves_less_room)
{
    struct cell cell = make_cell("constant", 100000, 4);
    struct card card;
    uint32_t before;

    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    before = card_blocks_resident(&card, &cell, 0);
    cell.parameters[PARAMETER_taken_bytes] = 102400;
    assert_int_equal(cell_shared_bytes(&cell), 102400);
    assert_int_equal(cell_staged_bytes(&cell), 0);
    assert_true(before > 2);
    assert_int_equal(card_blocks_resident(&card, &cell, 0), 2);
}

/* Beside 8 loads of which 2 are in flight come 4 of other data: of 20 warps, 19 whole and one of 6 threads. */
TEST(other_data_is_counted)
{
    struct cell cell = make_cell("constant", 614, 8);
    static const uint8_t index[8 * 614];
    const struct indices indices = {index, 1, 0, 8 * 614};
    struct access_counts alone, pressed;
    char reason[CELL_REASON_BYTES];

    cell.indices = &indices;
    cell.parameters[PARAMETER_in_flight] = 2;
    assert_int_equal(workload_variant(cell.parameters), 2);
    assert_int_equal(access_count(&cell, &alone), STATUS_OK);
    cell.parameters[PARAMETER_pressure_bytes] = 65536;
    assert_int_equal(workload_variant(cell.parameters), 6);
    assert_int_equal(workload_input_loads(cell.workload, cell.parameters), 8 + 4);
    assert_int_equal(access_count(&cell, &pressed), STATUS_OK);
    assert_int_equal(pressed.stream_loads, alone.stream_loads + 4 * 20);
    assert_int_equal(pressed.stream_sectors, alone.stream_sectors + 4 * (19 * 4 + 1));
    assert_int_equal(pressed.payload_loads, alone.payload_loads);
    assert_int_equal(pressed.operations, alone.operations);
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "lookup has other data beside one lookup in flight alone");
    cell.parameters[PARAMETER_in_flight] = 1;
    assert_false(cell_obstacle(&cell, 0, reason));
}

static const struct cell *cell_at(const void *list, size_t i)
{
    return &((const struct cell *)list)[i];
}

/* What is taken over from an earlier cell is what counting would have given: of lookups, what issues them does not matter. */
TEST(cells_share_counts_of_the_same_lookups)
{
    static const char *const names[] = {"constant", "shared", "staging"};
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
    char reason[CELL_REASON_BYTES];

    cell.parameters[PARAMETER_table_bytes] = 400;
    cell.parameters[PARAMETER_table_count] = 3;
    assert_int_equal(table_entries(cell.path, cell.parameters), 100);
    assert_int_equal(cell_length(&cell), 300);
    assert_int_equal(cell_staged_bytes(&cell), 1200);
    assert_int_equal(index_list_give(&list, &cell, &array), STATUS_OK);
    for (uint32_t i = 0; i < ELEMENTS * LOADS; i++)
        assert_int_equal(array->made[i] / 100, i / ELEMENTS % 3);
    index_list_close(&list);
    cell.path = table_find(&path_table, "param");
    cell.parameters[PARAMETER_table_bytes] = 1024;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "param holds tables of 2048 bytes together at most");
    cell.parameters[PARAMETER_table_count] = 2;
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.trace = 1;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_string_equal(reason, "the indices of a file are of one table");
}

/* A warp executes what is before the guard once; the loop once an element; the loop in it once for two of its loads. */
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
                                     .group = {.instructions = 9, .ldc_user = 2, .ldc_parameter = 1}};
    struct expectation expectation = {.cell = &cell, .access = &access, .sass = &code};
    const struct table table = TABLE("counter", counters, counter_count);
    const struct counter *instructions = table_find(&table, "instructions"),
                         *ldc = table_find(&table, "ldc_instructions");
    const struct counter *requests = table_find(&table, "idc_requests");

    cell.parameters[PARAMETER_in_flight] = 2;
    assert_true(instructions->expect(&expectation) == 4 * 10 + 4 * 5 + 20 * 7 + 20 * 4 * 9);
    assert_true(ldc->expect(&expectation) == 4 * 1 + 4 * 2 + 20 * 4 * 3);
    assert_true(requests->expect(&expectation) == 4 * 1 + 4 * 2 + 20 * 4 * 1 + 500);
    cell.elements = 630; /* the last round of a warp is of some threads alone */
    assert_true(isnan(instructions->expect(&expectation)));
    assert_false(isnan(ldc->expect(&expectation)));
}

/* -- what is written ----------------------------------------------------------------------------------- */

/* Two loads of a table whose entry k is 10 k: of elements of 2 bytes, and a fault planted in every element. */
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

/* -- cells --------------------------------------------------------------------------------------------- */

TEST(cells_are_named_by_their_source_or_file)
{
    struct cell cell = make_cell("constant", 1000, 4), other;
    char identity[CELL_IDENTITY_BYTES];

    cell_identity(&cell, identity);
    assert_string_equal(identity, "lookup/constant/uniform/1000/64/hot/loads=4/in_flight=1");
    other = cell;
    other.grid_blocks = 7;
    assert_true(cell_equal(&cell, &other));
    cell.pattern = &sources[SOURCE_file];
    cell.trace = 0xabc;
    cell_identity(&cell, identity);
    assert_string_equal(identity, "lookup/constant/file/1000/64/hot/loads=4/in_flight=1/indices=0000000000000abc");
    other = cell;
    other.trace = 0xabd;
    assert_false(cell_equal(&cell, &other));
}

TEST(what_cannot_be_says_why)
{
    char reason[CELL_REASON_BYTES];
    struct cell cell = make_cell("constant_uniform", 1000, 4);

    assert_true(cell_obstacle(&cell, 0, reason));
    assert_non_null(strstr(reason, "needs an index that the compiler sees"));
    cell = make_cell("constant", 1000, 6);
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.parameters[PARAMETER_in_flight] = 4;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_non_null(strstr(reason, "of 6 loads there are not 4 in flight"));
    cell = make_cell("param", 1000, 4);
    cell.parameters[PARAMETER_table_bytes] = 2052;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_non_null(strstr(reason, "param holds a table of 2048 bytes at most"));
    cell.parameters[PARAMETER_table_bytes] = 1002;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_non_null(strstr(reason, "no whole number of elements of 4"));
    cell = make_cell("constant", UINT64_C(1) << 30, 1);
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.elements++;
    assert_true(cell_obstacle(&cell, 0, reason));
    cell = make_cell("constant", 1000, 4);
    cell.pattern = &sources[SOURCE_distinct];
    cell.parameters[PARAMETER_distinct] = 5;
    assert_false(cell_obstacle(&cell, 0, reason));
    cell.parameters[PARAMETER_table_bytes] = 16;
    assert_true(cell_obstacle(&cell, 0, reason));
    assert_non_null(strstr(reason, "the table has 4 entries"));
}

/* -- where indices come from --------------------------------------------------------------------------- */

TEST(cells_share_what_is_made_alike)
{
    struct cell constant = make_cell("constant", 1000, 4), global = make_cell("global", 1000, 4),
                param = make_cell("param", 1000, 4), add = {.workload = &workloads[0]};
    struct index_list list = {0};
    const struct index_array *array;

    global.parameters[PARAMETER_in_flight] = 4;
    assert_int_equal(index_list_give(&list, &constant, &array), STATUS_OK);
    assert_int_equal(strlen(array->sha256), 64);
    assert_int_equal(index_list_give(&list, &global, &array), STATUS_OK);
    assert_int_equal(index_list_give(&list, &param, &array), STATUS_OK);
    assert_int_equal(index_list_give(&list, &add, &array), STATUS_OK);
    assert_ptr_equal(constant.indices, global.indices);
    assert_ptr_not_equal(constant.indices, param.indices); /* its table is smaller */
    assert_true(indices_highest(param.indices) < 512);
    assert_null(add.indices);
    index_list_close(&list);
}

static struct cell make_source_cell(const char *path, size_t source)
{
    struct cell cell = make_cell(path, 1000, 4);

    cell.pattern = &sources[source];
    cell.parameters[PARAMETER_distinct] = 9;
    cell.parameters[PARAMETER_skew_percent] = 50;
    cell.parameters[PARAMETER_run_threads] = 4;
    return cell;
}

static size_t count_arrays(const struct index_list *list, bool made)
{
    size_t count = 0;

    for (const struct index_array *array = list->first; array; array = array->next)
        count += made == !!array->made;
    return count;
}

/* Of each source, for tables of two lengths: param has the shorter one. */
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

/* A .npy file of 6 bytes. */
static void put_file(const char *path, const char *shape, const char values[6])
{
    static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, 0x76, 0};
    char file[128 + 6], header[118];

    memset(header, ' ', sizeof(header));
    header[snprintf(header, sizeof(header), "{'descr': '|i1', 'fortran_order': False, 'shape': %s, }", shape)] = ' ';
    header[sizeof(header) - 1] = '\n';
    memcpy(file, magic, sizeof(magic));
    memcpy(file + 10, header, sizeof(header));
    memcpy(file + 128, values, 6);
    file_put(path, file, sizeof(file));
}

TEST(a_file_says_its_shape_and_where_it_is_wrong)
{
    char path[] = "/tmp/cbank-test-XXXXXX";
    const int descriptor = mkstemp(path);
    struct cell cell = make_cell("constant", 3, 2);
    struct index_list list = {0};
    const struct index_array *array, *again;
    struct capture said;

    assert_true(descriptor >= 0);
    close(descriptor);
    put_file(path, "(2, 3)", (const char[]){1, 2, 3, 4, -7, 6});
    assert_int_equal(index_list_map(&list, path, &array), STATUS_OK);
    assert_int_equal(index_list_map(&list, path, &again), STATUS_OK);
    assert_ptr_equal(array, again);
    assert_int_equal(array->rows, 2);
    assert_int_equal(array->elements, 3);
    cell.pattern = &sources[SOURCE_file];
    cell.trace = array->trace;
    capture_begin(&said, stderr);
    assert_int_equal(index_list_give(&list, &cell, &array), STATUS_USAGE);
    assert_non_null(strstr(capture_end(&said), "index -7 at [1][1] is beyond a table of 16384 entries"));
    index_list_close(&list);

    put_file(path, "(6,)", (const char[]){1, 2, 3, 4, 5, 6});
    assert_int_equal(index_list_map(&list, path, &array), STATUS_OK);
    assert_int_equal(array->rows, 1);
    assert_int_equal(array->elements, 6);
    assert_int_not_equal(array->trace, cell.trace);
    index_list_close(&list);
    unlink(path);
}
