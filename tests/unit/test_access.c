/* SPDX-License-Identifier: MIT
 * Exact counts against a count thread by thread, and against numbers worked out by hand. */

#include "access.h"
#include "capture.h"
#include "cells.h"
#include "size.h"
#include "test.h"

/* -- a pattern that the table does not have ---------------------------------------------------- */

static uint32_t beyond_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length,
                             struct pattern_numbers numbers)
{
    (void)numbers;
    return block == 3 && thread == 40 && step == 0 ? length : thread % length;
}

static void beyond_block_indices(uint32_t block, uint32_t threads, uint32_t step, uint32_t length,
                                 struct pattern_numbers numbers, uint32_t *index)
{
    for (uint32_t thread = 0; thread < threads; thread++)
        index[thread] = beyond_index(block, thread, step, length, numbers);
}

static const struct pattern beyond = {.name = "beyond",
                                      .formula = "of block and thread",
                                      .index = beyond_index,
                                      .block_indices = beyond_block_indices};

/* -- cells ------------------------------------------------------------------------------------- */

static struct cell make_cell(const struct workload *workload, const struct path *path,
                             const struct pattern *pattern, uint64_t elements, uint32_t block_size)
{
    return (struct cell){.workload = workload,
                         .path = path,
                         .pattern = pattern,
                         .elements = elements,
                         .block_size = block_size,
                         .cache_state = &cache_states[0]};
}

/* -- the count thread by thread ---------------------------------------------------------------- */

/* Turns that shared memory takes: in each it answers one word of every bank. */
static uint32_t brute_words(const uint64_t *words, uint32_t count)
{
    uint32_t in_bank[32] = {0}, most = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = 0;

        while (words[j] != words[i])
            j++;
        in_bank[words[i] % 32] += j == i;
        most = in_bank[words[i] % 32] > most ? in_bank[words[i] % 32] : most;
    }
    return most;
}

/* ... for the whole warp where a thread reads a word or less, else for as many threads as read 32
 * words; one for all of them where they read the same. */
static uint32_t brute_wavefronts(const uint64_t *bytes, uint32_t count, uint32_t width)
{
    uint64_t words[32];
    uint32_t filled = 0, wavefronts = 0;

    if (distinct_units(bytes, count, width) == 1)
        return 1;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t byte = 0; byte < width; byte += 4)
            words[filled++] = (bytes[i] + byte) / 4;
        if (filled == 32 || i + 1 == count) {
            wavefronts += brute_words(words, filled);
            filled = 0;
        }
    }
    return wavefronts;
}

/* The most lines of 128 bytes that are as far from a multiple of 4 lines as each other. */
static uint32_t brute_tags(const uint64_t *bytes, uint32_t count)
{
    uint32_t most = 0;

    for (uint32_t bank = 0; bank < 4; bank++) {
        uint64_t of_bank[32];
        uint32_t found = 0;

        for (uint32_t i = 0; i < count; i++)
            if (bytes[i] / 128 % 4 == bank)
                of_bank[found++] = bytes[i];
        found = distinct_units(of_bank, found, 128);
        most = found > most ? found : most;
    }
    return most;
}

struct brute {
    struct access_counts counts;
    uint8_t used[CBANK_TABLE_BYTES];
    uint8_t seen[64][CBANK_TABLE_BYTES / 64]; /* lines of a block, by step modulo 64 */
};

/* A load of the input by the threads of a warp: byte addresses. */
static void brute_stream(struct brute *brute, const uint64_t *bytes, uint32_t count)
{
    brute->counts.stream_loads += count > 0;
    brute->counts.stream_sectors += distinct_units(bytes, count, 32);
}

/* The element that thread `thread` of a block loads from the input at `step` of the shape's code;
 * false for none. Written after kernels.cu, for each shape apart. */
typedef bool input_of(const struct cell *cell, uint64_t block, uint32_t thread, uint32_t step,
                      uint64_t *element);

static bool map_input(const struct cell *cell, uint64_t block, uint32_t thread, uint32_t step,
                      uint64_t *element)
{
    *element = block * cell->block_size + thread;
    return step == 0 && *element < cell->elements;
}

static bool stencil_input(const struct cell *cell, uint64_t block, uint32_t thread, uint32_t step,
                          uint64_t *element)
{
    const uint64_t own = block * cell->block_size + thread;

    switch (step) {
    case 0:
        *element = own;
        return own < cell->elements;
    case 1:
        *element = own - 4;
        return thread < 4 && own >= 4;
    default:
        *element = own + cell->block_size;
        return thread < 4 && *element < cell->elements;
    }
}

static bool convolution_input(const struct cell *cell, uint64_t block, uint32_t thread,
                              uint32_t step, uint64_t *element)
{
    const struct image_size image = workload_image(cell->workload, cell->elements);
    const uint64_t own = block * cell->block_size + thread;
    const int64_t r = cell->parameters[PARAMETER_radius], side = 2 * r + 1;
    const int64_t size[] = {(int64_t)image.width, (int64_t)image.height, (int64_t)image.depth};
    int64_t position[] = {(int64_t)(own % image.width), (int64_t)(own / image.width % image.height),
                          (int64_t)(own / image.width / image.height)};

    for (uint32_t d = 0; d < cell->workload->dimensions; d++, step /= (uint32_t)side) {
        position[d] += step % side - r;
        if (position[d] < 0 || position[d] >= size[d])
            return false;
    }
    *element = (uint64_t)((position[2] * size[1] + position[1]) * size[0] + position[0]);
    return own < cell->elements;
}

static input_of *find_input(const struct workload *workload)
{
    if (strncmp(workload->name, "conv", 4) == 0)
        return convolution_input;
    return strncmp(workload->name, "stencil", 7) == 0 ? stencil_input : map_input;
}

static uint32_t brute_width(const struct cell *cell)
{
    return cell->parameters[PARAMETER_width_bytes] ? cell->parameters[PARAMETER_width_bytes] : 4;
}

static uint32_t brute_table_bytes(const struct cell *cell)
{
    const uint32_t exchanged = 32 * brute_width(cell), most = cell->path->bytes;

    if (cell->parameters[PARAMETER_table_bytes])
        return cell->parameters[PARAMETER_table_bytes];
    return cell->path->unit == UNIT_REGISTERS && exchanged < most ? exchanged : most;
}

/* 1 but for the path that makes several: then as many as there is room for in 32 KB, 32 at most. */
static uint32_t brute_copies(const struct cell *cell)
{
    uint32_t copies = strcmp(cell->path->name, "shared_copies") == 0 ? 32 : 1;

    while (copies > 1 && copies * brute_table_bytes(cell) > 32768)
        copies /= 2;
    return copies;
}

/* The most bytes that one instruction of the path loads. */
static uint32_t brute_largest(const struct path *path)
{
    return path->unit == UNIT_SELECT            ? 16
           : strncmp(path->sass, "LDC", 3) == 0 ? 8
           : strcmp(path->sass, "SHFL") == 0    ? 4
                                                : 16;
}

/* The bytes that threads read of copies that lie entry by entry. */
static uint32_t brute_copied_wavefronts(const struct cell *cell, const uint64_t *bytes,
                                        uint32_t active)
{
    const uint32_t copies = brute_copies(cell), largest = brute_largest(cell->path);
    const uint32_t width = brute_width(cell) < largest ? brute_width(cell) : largest;
    uint64_t copied[32];

    for (uint32_t lane = 0; lane < active; lane++)
        copied[lane] = bytes[lane] * copies + lane % copies * width;
    return brute_wavefronts(copied, active, width);
}

/* Instructions of one payload load: one for each piece of an entry. For a table in registers, each
 * word of an entry takes the instructions that select it among the entries. */
static uint32_t brute_instructions(const struct cell *cell)
{
    static const uint32_t of_entries[] = {[2] = 1, [4] = 2, [8] = 5, [16] = 10};
    const uint32_t width = brute_width(cell), words = width > 4 ? width / 4 : 1;

    if (cell->path->unit == UNIT_SELECT)
        return strcmp(cell->path->name, "prmt") == 0
                   ? 2
                   : words * of_entries[cell->path->bytes / 4 / words];
    return width > brute_largest(cell->path) ? width / brute_largest(cell->path) : 1;
}

static void brute_warp(struct brute *brute, const struct cell *cell, uint64_t block, uint32_t first)
{
    const uint32_t steps = workload_steps(cell->workload, cell->parameters);
    const uint64_t warp_first = block * cell->block_size + first;
    const uint32_t active = warp_first >= cell->elements ? 0
                            : cell->elements - warp_first >= 32
                                ? 32
                                : (uint32_t)(cell->elements - warp_first);
    const uint32_t width = brute_width(cell), size = brute_table_bytes(cell),
                   largest = brute_largest(cell->path);
    uint64_t bytes[32];

    brute->counts.warps_launched++;
    brute->counts.warps_active += active > 0;
    for (uint32_t step = 0; step < workload_input_loads(cell->workload, cell->parameters); step++) {
        uint32_t count = 0;

        for (uint32_t lane = 0; lane < 32; lane++) {
            uint64_t element;

            if (find_input(cell->workload)(cell, block, first + lane, step, &element))
                bytes[count++] = element * 4;
        }
        brute_stream(brute, bytes, count);
        if (find_input(cell->workload) == convolution_input)
            brute->counts.operations += 2 * count;
    }
    if (find_input(cell->workload) != convolution_input)
        brute->counts.operations += find_input(cell->workload) == map_input ? active : 12 * active;
    if (active == 0 || !cell->path->loads)
        return;
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t lane = 0; lane < active; lane++) {
            const uint32_t index =
                cell->pattern->index((uint32_t)block, first + lane, step, size / width,
                                     pattern_numbers(cell->parameters));

            bytes[lane] = (uint64_t)index * width;
            memset(brute->used + bytes[lane], 1, width);
            brute->counts.block_lines += !brute->seen[step % 64][bytes[lane] / 64];
            brute->seen[step % 64][bytes[lane] / 64] = 1;
        }
        for (uint32_t piece = 0; piece < brute_instructions(cell); piece++) {
            if (piece == 0 || cell->path->unit != UNIT_SELECT) {
                brute->counts.wavefronts += brute_copied_wavefronts(cell, bytes, active);
                brute->counts.tag_wavefronts += brute_tags(bytes, active);
            }
            brute->counts.payload_loads++;
            brute->counts.addresses +=
                distinct_units(bytes, active, width < largest ? width : largest);
            brute->counts.lines += distinct_units(bytes, active, 64);
            brute->counts.sectors += distinct_units(bytes, active, 32);
            for (uint32_t lane = 0; lane < active && cell->path->unit != UNIT_SELECT; lane++)
                bytes[lane] += largest;
        }
    }
}

/* A warp's part of the copying of the table. */
static void brute_staging(struct brute *brute, const struct cell *cell, uint64_t block,
                          uint32_t first)
{
    const bool map = find_input(cell->workload) == map_input;
    const uint32_t copies = brute_copies(cell), piece = copies > 1 ? brute_width(cell) : 4;
    const uint32_t length = map ? brute_table_bytes(cell) * copies / piece
                                : workload_steps(cell->workload, cell->parameters);

    if (cell->path->unit == UNIT_REGISTERS) {
        brute->counts.staging_loads++;
        brute->counts.staging_sectors += (brute_table_bytes(cell) + 31) / 32;
    }
    if (cell->path->unit == UNIT_SELECT && block * cell->block_size + first < cell->elements) {
        brute->counts.staging_loads += cell->path->bytes / 4;
        brute->counts.staging_sectors += cell->path->bytes / 4;
    }
    for (uint32_t done = 0; cell->path->unit == UNIT_SHARED && done < length;
         done += cell->block_size) {
        uint64_t bytes[32];
        uint32_t count = 0;

        for (uint32_t lane = 0; lane < 32; lane++)
            if (done + first + lane < length)
                bytes[count++] = (done + first + lane) / copies * (uint64_t)piece;
        brute->counts.staging_loads += count > 0;
        brute->counts.staging_sectors += distinct_units(bytes, count, 32);
    }
}

static struct access_counts brute_count(const struct cell *cell)
{
    static struct brute brute;

    memset(&brute, 0, sizeof(brute));
    for (uint64_t block = 0; block * cell->block_size < cell->elements; block++) {
        brute.counts.blocks++;
        memset(brute.seen, 0, sizeof(brute.seen));
        for (uint32_t first = 0; first < cell->block_size; first += 32) {
            brute_warp(&brute, cell, block, first);
            brute_staging(&brute, cell, block, first);
        }
    }
    for (uint32_t i = 0; i < CBANK_TABLE_BYTES; i++)
        brute.counts.footprint_bytes += brute.used[i];
    for (uint32_t i = 0; i < CBANK_TABLE_BYTES; i += ACCESS_LINE_BYTES)
        brute.counts.footprint_lines += memchr(&brute.used[i], 1, ACCESS_LINE_BYTES) != NULL;
    return brute.counts;
}

static void check(const struct cell *cell)
{
    const struct access_counts expected = brute_count(cell);
    struct access_counts actual;

    assert_int_equal(access_count(cell, &actual), STATUS_OK);
    assert_memory_equal(&actual, &expected, sizeof(actual));
}

static const uint32_t block_sizes[] = {32, 64, 96, 160, 256, 352, 992, 1024};

/* A cell of one load a thread at many sizes. */
static void check_sizes(struct cell cell)
{
    static const uint64_t elements[] = {1,    2,    7,     8,     9,     31,   32,   33,
                                        63,   64,   65,    95,    96,    97,   127,  512,
                                        1000, 1023, 1024,  1025,  2047,  2049, 3001, 4096,
                                        5000, 8191, 10240, 16384, 33000, 70001};
    const size_t every = repetitions(1, sanitized(8, 3));

    for (size_t e = 0; e < sizeof(elements) / sizeof(elements[0]); e++)
        for (size_t b = e % every; b < sizeof(block_sizes) / sizeof(block_sizes[0]); b += every) {
            cell.elements = elements[e];
            cell.block_size = block_sizes[b];
            check(&cell);
        }
}

TEST(table_patterns_match_brute_force)
{
    static const char *const some_paths[] = {"constant", "param"};

    for (size_t path = 0; path < 2; path++)
        for (size_t p = 0; p < pattern_count; p++) {
            struct cell cell =
                make_cell(&workloads[0], path_named(some_paths[path]), &patterns[p], 1, 32);

            if (cell_parameter_mask(cell.workload, cell.pattern) & PARAMETER_BIT(distinct)) {
                cell.parameters[PARAMETER_distinct] = 8;
                cell.parameters[PARAMETER_stride_bytes] = 64;
            }
            check_sizes(cell);
        }
}

/* Paths to small tables are for lookups alone; their counts are those of any workload. */
static bool brute_holds(const struct cell *cell)
{
    const uint32_t width = brute_width(cell), bytes = brute_table_bytes(cell);

    return bytes <= cell->path->bytes && bytes >= width &&
           (cell->path->unit != UNIT_REGISTERS || bytes / width <= 32) &&
           (!cell->path->entry_bytes || width <= cell->path->entry_bytes) &&
           cell->parameters[PARAMETER_distinct] * cell->parameters[PARAMETER_stride_bytes] <= bytes;
}

/* Elements of every width, in tables of every size, on paths with and without a widest load. */
TEST(tables_of_every_width_match_brute_force)
{
    static const char *const some_paths[] = {"constant",         "param",
                                             "global",           "shared",
                                             "shared_fill_only", "shared_copies",
                                             "shuffle",          "select_4",
                                             "select_16",        "prmt"};
    const uint32_t every = (uint32_t)repetitions(1, sanitized(3, 2));
    char reason[CELL_REASON_BYTES];
    uint32_t number = 0, checked = 0;

    for (size_t path = 0; path < sizeof(some_paths) / sizeof(some_paths[0]); path++)
        for (size_t p = 0; p < pattern_count; p++)
            for (uint32_t width = 1; width <= 16; width *= 2)
                for (uint32_t bytes = 8; bytes <= CBANK_TABLE_BYTES; bytes *= 2) {
                    struct cell cell =
                        make_cell(&workloads[0], path_named(some_paths[path]), &patterns[p],
                                  strcmp(some_paths[path], "shuffle") == 0 ? 1056 : 1001, 352);

                    cell.parameters[PARAMETER_width_bytes] = width == 4 ? 0 : width;
                    cell.parameters[PARAMETER_table_bytes] = bytes == 8 ? 0 : bytes;
                    if (cell_parameter_mask(cell.workload, cell.pattern) &
                        PARAMETER_BIT(distinct)) {
                        cell.parameters[PARAMETER_distinct] = 8;
                        cell.parameters[PARAMETER_stride_bytes] = 48;
                    }
                    if (path_is_small(cell.path) ? !brute_holds(&cell)
                                                 : cell_obstacle(&cell, 0, reason))
                        continue;
                    if (number++ % every)
                        continue;
                    check(&cell);
                    checked++;
                }
    assert_true(checked > 2000 / every);
}

/* Every workload on every path that it can have: few elements, since convolutions have many steps.
 * Images end anywhere in a row, in a plane, or a few elements into another. */
TEST(workloads_match_brute_force)
{
    static const uint64_t elements[] = {1,    6,    33,   97,   1023, 1026,
                                        1056, 2050, 3001, 4096, 4100, 9000};
    const size_t every = repetitions(1, sanitized(5, 4));
    char reason[CELL_REASON_BYTES];
    size_t checked = 0;

    for (size_t w = 0; w < workload_count; w++)
        for (size_t p = 0; p < path_count && workloads[w].index != INDEX_LOADED;
             p++) /* those: test_lookup.c */
            for (size_t e = w % every; e < sizeof(elements) / sizeof(elements[0]); e += every)
                for (size_t b = 0; b < sizeof(block_sizes) / sizeof(block_sizes[0]); b += 3) {
                    const bool filters =
                        workload_steps(&workloads[w], (uint32_t[PARAMETERS_MAX]){0, 0, 1}) > 1;
                    struct cell cell = make_cell(&workloads[w], &paths[p],
                                                 pattern_named(filters ? "lockstep" : "per_warp"),
                                                 elements[e], block_sizes[b]);

                    cell.parameters[PARAMETER_radius] = workloads[w].variants ? 1 + (p + e) % 3 : 0;
                    if (cell_obstacle(&cell, 0, reason))
                        continue;
                    check(&cell);
                    checked++;
                }
    assert_true(checked > 1000 / every);
}

/* More blocks than the table has elements: per_block comes round. */
TEST(block_index_wraps)
{
    for (size_t p = 0; p < pattern_count; p++) {
        struct cell cell =
            make_cell(&workloads[0], &paths[0], &patterns[p], 32u * 16384 + 32 * 7 + 5, 32);

        cell.parameters[PARAMETER_distinct] = 4; /* for those that take it */
        cell.parameters[PARAMETER_stride_bytes] = 4;
        check(&cell);
    }
}

/* -- by hand ----------------------------------------------------------------------------------- */

/* 12,800,000 elements in blocks of 1024: 12,500 blocks of 32 warps, none of them partial.
 * pseudo_random: 32 threads 1357 elements apart, modulo 16384. 1357 is odd, so they are distinct.
 * Two in one line would need d x 1357 within 15 of a multiple of 16384 for a d of 1 .. 31; the
 * nearest are d = 12 (16284, 100 short) and d = 24 (200 short). So every address has a line of its
 * own. A block reads 1024 distinct elements. 1357 being odd, the addresses of a warp are in
 * distinct banks. 42.4 lines of 128 bytes apart, 13 of them are in the fullest of four banks of
 * lines, in every warp. */
TEST(large_grid_by_hand)
{
    static const struct {
        const char *pattern;
        uint64_t addresses, lines, sectors, wavefronts, tag_wavefronts, footprint_bytes,
            block_lines, footprint_lines;
    } rows[] = {
        {"per_block", 400000, 400000, 400000, 400000, 400000, 12500 * 4, 12500, 782},
        {"per_warp", 400000, 400000, 400000, 400000, 400000, 32 * 4, 12500 * 2, 2},
        {"per_thread", 400000 * 32, 400000 * 2, 400000 * 4, 400000, 400000, 1024 * 4, 12500 * 64,
         64},
        {"pseudo_random", 400000 * 32, 400000 * 32, 400000 * 32, 400000, 12500 * 32 * 13, 1024 * 4,
         12500 * 924, 924},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cell cell =
            make_cell(&workloads[0], &paths[0], pattern_named(rows[i].pattern), 12800000, 1024);
        const struct access_counts expected = {
            .blocks = 12500,
            .warps_launched = 400000,
            .warps_active = 400000,
            .payload_loads = 400000,
            .addresses = rows[i].addresses,
            .lines = rows[i].lines,
            .sectors = rows[i].sectors,
            .wavefronts = rows[i].wavefronts,
            .tag_wavefronts = rows[i].tag_wavefronts,
            .stream_loads = 400000,
            .stream_sectors = 1600000,
            .footprint_bytes = rows[i].footprint_bytes,
            .block_lines = rows[i].block_lines,
            .footprint_lines = rows[i].footprint_lines,
            .operations = 12800000,
        };
        struct access_counts actual;

        assert_int_equal(access_count(&cell, &actual), STATUS_OK);
        assert_memory_equal(&actual, &expected, sizeof(actual));
    }
}

TEST(reading_beyond_the_table_is_an_error)
{
    const struct cell cell = make_cell(&workloads[0], &paths[0], &beyond, 1000, 64);
    struct access_counts counts;
    struct capture capture;
    enum status status;

    capture_begin(&capture, stderr);
    status = access_count(&cell, &counts);
    assert_non_null(
        strstr(capture_end(&capture),
               "beyond reads element 16384 of a table of 16384; correct its row in patterns.def"));
    assert_int_equal(status, STATUS_USAGE);
}

/* Of one warp's load, by hand. */
TEST(sectors_and_lines_of_a_warp)
{
    uint32_t own[32], rows[32], fives[32], pages[32];
    int32_t every_eighth[32], overlapping[4] = {-4, 0, 30, 64};

    for (uint32_t i = 0; i < 32; i++) {
        own[i] = 4 * i;
        rows[i] = 128 * i;
        fives[i] = 20 * i;
        pages[i] = 4096 * i;
        every_eighth[i] = 8 * (int32_t)i;
    }
    assert_int_equal(access_warp_tag_wavefronts(own, 4), 1);
    assert_int_equal(access_warp_tag_wavefronts(rows, 4), 8); /* 32 lines over 4 banks */
    assert_int_equal(access_warp_tag_wavefronts(fives, 4), 2); /* 5 lines */
    assert_int_equal(access_warp_tag_wavefronts(pages, 4), 32); /* all in one bank */
    assert_int_equal(access_sectors(every_eighth, 32, 4), 8);
    /* One before the begin, one that crosses into the next, and one alone. */
    assert_int_equal(access_sectors(overlapping, 4, 4), 4);
    assert_int_equal(access_sectors(overlapping, 2, 4), 2);
}
