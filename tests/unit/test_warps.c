/* SPDX-License-Identifier: MIT
 * The warps of an SM side by side: by hand, and against a simulation that looks at every cycle. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cells.h"
#include "model_levels.h"
#include "model_warps.h"
#include "size.h"

/* One SM, 8 sets of 4 lines of 64 bytes, a line comes 100 cycles after it is asked for, lines 30 cycles apart at least. */
static struct card make_card(uint32_t ways, enum cache_replacement replacement)
{
    struct card card = {
        .sm_count = 1,
        .warps_per_sm = 64,
        .level_count = 2,
        .levels = {{.capacity_bytes = 2048,
                    .line_bytes = 64,
                    .ways = ways,
                    .sms = 1,
                    .replacement = replacement,
                    .request_cycles = 2,
                    .miss_latency_cycles = 100},
                   {.capacity_bytes = 131072, .line_bytes = 256, .ways = 8, .sms = 1, .request_cycles = 30}},
    };

    return card;
}

/* So many warps in blocks of so many; distinct addresses so far apart, or another pattern where that is 0. */
static struct cell make_cell(const char *pattern, uint32_t warps, uint32_t block_warps, uint32_t distinct,
                             uint32_t stride)
{
    struct cell cell = {
        .workload = &workloads[0],
        .path = path_named("constant"),
        .pattern = pattern_named(pattern),
        .elements = UINT64_C(32) * warps,
        .block_size = 32 * block_warps,
        .regime = &regimes[0],
    };

    cell.parameters[PARAMETER_distinct] = distinct;
    cell.parameters[PARAMETER_stride_bytes] = stride;
    return cell;
}

static struct model_warps run_warps(const struct cell *cell, const struct card *card, uint32_t resident, double life)
{
    const struct model_sm sm = {.blocks = cell_blocks(cell),
                                .resident = resident,
                                .life_cycles = life,
                                .end_cycles = 68};
    struct model_warps warps;

    assert_int_equal(model_warps_run(cell, card, &sm, &warps), STATUS_OK);
    return warps;
}

/* -- by hand ------------------------------------------------------------------------------------------ */

/* Two warps want one line: the second waits for what the first has asked for. Each looks twice: a miss, and a hit. */
static void a_line_on_its_way_is_shared(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    const struct cell cell = make_cell("distinct", 2, 2, 1, 4);
    const struct model_warps warps = run_warps(&cell, &card, 1, 0);

    (void)state;
    assert_true(warps.fills == 1 && warps.refills == 0);
    assert_true(warps.lookups == 4);
    /* Asked for at 300, there at 370; the second warp's lookup 4 cycles later, and 2 + 68 cycles to the end. */
    assert_true(warps.cycles == 370 + 4 + 2 + 68);
}

/* What an H200 and an H100 were measured to take for a load of one address that hits, and for one of 32 that all miss:
 * results/characterizations, experiment serialization_constant, latency. The first of them has its pass in both. */
static void a_lone_warp_is_as_slow_as_measured(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    const double hit = 28, misses = 2609;
    const struct cell cell = make_cell("distinct", 1, 1, 32, 128);
    const struct model_warps warps = run_warps(&cell, &card, 1, 0);

    (void)state;
    assert_true(warps.fills == 32 && warps.lookups == 64);
    assert_true(warps.cycles == 300 + (misses - hit) + 2 + 68);
}

/* A warp that waits for its input first loads from the table so much later, in each of its blocks. */
static void input_comes_first(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    struct card parameters = card;
    const struct cell cell = make_cell("distinct", 1, 1, 32, 128), blocks = make_cell("distinct", 3, 1, 1, 4);
    const struct model_sm at_once = {.blocks = 3, .resident = 1, .end_cycles = 68};
    struct model_sm later = {.blocks = 1, .resident = 1, .end_cycles = 68, .input_cycles = 500};
    struct model_warps first, warps;

    (void)state;
    assert_int_equal(model_warps_run(&cell, &card, &later, &warps), STATUS_OK);
    assert_true(warps.cycles == run_warps(&cell, &card, 1, 0).cycles + 500);
    parameters.parameter_lines = 2;
    later.blocks = 3;
    assert_int_equal(model_warps_run(&blocks, &parameters, &at_once, &first), STATUS_OK);
    assert_int_equal(model_warps_run(&blocks, &parameters, &later, &warps), STATUS_OK);
    assert_true(warps.cycles == first.cycles + 3 * 500);
}

/* A warp of a grid that strides waits for an index before each of three lookups: the first asks at 300 + 337 and has its line 70
 * cycles later, the others hit. From one to the next it is 2 cycles, a pass, and the index. */
static void a_warp_that_strides_waits_for_indices(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    const struct model_sm sm = {.blocks = 3, .resident = 1, .end_cycles = 68, .index_cycles = 337};
    struct cell cell = make_cell("distinct", 3, 1, 1, 4);
    struct model_warps warps;

    (void)state;
    cell.parameters[PARAMETER_in_flight] = 1;
    assert_int_equal(model_warps_run(&cell, &card, &sm, &warps), STATUS_OK);
    assert_true(warps.fills == 1 && warps.lookups == 4);
    assert_true(warps.cycles == 300 + 337 + 70 + 2 * (2 + 11 + 337) + 2 + 68);
}

/* The same with parameters. Before the first element come two lines of them, one after the other: 70 cycles each, a pass between
 * them, and 2 of the last lookup. At each further element the second of them is looked up beside the index, and hits. */
static void a_warp_that_strides_reads_parameters_again(void **state)
{
    struct card card = make_card(4, CACHE_TREE);
    const struct model_sm sm = {.blocks = 3, .resident = 1, .end_cycles = 68, .index_cycles = 337};
    struct cell cell = make_cell("distinct", 3, 1, 1, 4);
    struct model_warps warps;

    (void)state;
    card.parameter_lines = 2;
    cell.parameters[PARAMETER_in_flight] = 1;
    assert_int_equal(model_warps_run(&cell, &card, &sm, &warps), STATUS_OK);
    assert_true(warps.fills == 1 && warps.parameter_refills == 0 && warps.lookups == 4 + 2 + 2 * 2);
    assert_true(warps.cycles == 300 + (70 + 11 + 70 + 2) + (11 + 337 + 70 + 2) + 2 * (11 + 337 + 2) + 68);
}

/* Warps of one SM that strides do not wait for each other: the last of them begins with its block, as late as that does. */
static void later_blocks_of_a_grid_that_strides_begin_later(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    const struct model_sm sm = {.blocks = 3, .resident = 3, .end_cycles = 68, .index_cycles = 337, .next_cycles = 1000};
    struct cell cell = make_cell("distinct", 3, 1, 1, 4);
    struct model_warps warps;

    (void)state;
    cell.parameters[PARAMETER_in_flight] = 1;
    assert_int_equal(model_warps_run(&cell, &card, &sm, &warps), STATUS_OK);
    assert_true(warps.cycles == 1000 + 300 + 337 + 2 + 68);
}

/* An element of 16 bytes is two loads that are under way together. Of two lines the first load asks at 300 and, a pass after
 * its coming, at 381; the other wakes 4 cycles after it and waits for both: read at 455. One after the other they would take until
 * 453 and two passes more. */
static void pieces_of_an_element_are_under_way_together(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    struct cell cell = make_cell("distinct", 1, 1, 2, 128);
    struct model_warps warps;

    (void)state;
    cell.parameters[PARAMETER_width_bytes] = 16;
    warps = run_warps(&cell, &card, 1, 0);
    assert_true(warps.fills == 2);
    assert_true(warps.cycles == 455 + 2 + 68);
}

/* Four warps want a line each: asked for at 300, 302, 304 and 306, they come from 370 on, 30 cycles apart. */
static void lines_come_apart(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    const struct cell cell = make_cell("per_thread", 4, 4, 1, 4);
    const struct model_warps warps = run_warps(&cell, &card, 1, 0);

    (void)state;
    /* The last one's first line at 460; its 15 other addresses, and the second line, that comes alone: 70 more. */
    assert_true(warps.fills == 8 && warps.lookups == 4 * 32 + 8);
    assert_true(warps.cycles >= 460 + 15 * 11 + 11 + 70 + 15 * 11 + 2 + 68);
    assert_true(warps.cycles <= 460 + 15 * 11 + 11 + 70 + 15 * 11 + 2 + 68 + 32 * 2);
}

/* The same where one of four SMs has a block: a line's turn is a pass and a quarter of what the turns of all four are longer. */
static void lines_come_sooner_where_few_ask(void **state)
{
    const double apart = 11 + (4 * 30 - 11) / 4.0, last = 370 + 3 * apart;
    struct card card = make_card(4, CACHE_TREE);
    const struct cell cell = make_cell("per_thread", 4, 4, 1, 4);
    double cycles;

    (void)state;
    card.sm_count = card.levels[1].sms = 4;
    cycles = run_warps(&cell, &card, 1, 0).cycles;
    assert_true(cycles >= last + 15 * 11 + 11 + 70 + 15 * 11 + 2 + 68);
    assert_true(cycles <= last + 15 * 11 + 11 + 70 + 15 * 11 + 2 + 68 + 32 * 2);
}

/* What fits is filled once, however many warps there are; one line more a set is not, in any replacement. */
static void what_fits_comes_once(void **state)
{
    (void)state;
    for (int replacement = 0; replacement < CACHE_REPLACEMENT_COUNT; replacement++) {
        const struct card card = make_card(4, (enum cache_replacement)replacement);
        const struct cell fits = make_cell("distinct", 640, 32, 4, 512), all = make_cell("distinct", 640, 32, 32, 64);
        const struct cell conflict = make_cell("distinct", 640, 32, 8, 512);
        struct model_warps warps = run_warps(&fits, &card, 2, 2000);

        assert_true(warps.fills == 4 && warps.refills == 0);
        warps = run_warps(&all, &card, 2, 2000);
        assert_true(warps.fills == 32 && warps.refills == 0);
        warps = run_warps(&conflict, &card, 2, 2000);
        assert_true(warps.refills > 0 && warps.fills == warps.refills + 8);
        /* Warps share: fewer fills than requests, by far. */
        assert_true(warps.fills < 640 * 8 / 2);
    }
}

/* Lines beside the table, by the code of kernels for sm_90: bytes 0 and 0x210 of the bank of parameters, of a kernel that chooses
 * the pattern byte 0x240, and a line of the compiler's. Beside a table in another bank the first is in set 5 of 8. */
static void other_lines_are_where_the_code_reads(void **state)
{
    struct cell cell = make_cell("per_warp", 1, 1, 0, 0);
    uint64_t lines[MODEL_OTHER_LINES_MAX];

    (void)state;
    assert_int_equal(model_other_lines(&cell, 64, lines), 2);
    assert_true(lines[0] > MODEL_OTHER_BANK_LINE && lines[0] % 8 == 5 && lines[1] == lines[0] + 8);
    cell.path = path_named("param");
    assert_int_equal(model_other_lines(&cell, 64, lines), 2);
    assert_true(lines[0] == 0 && lines[1] == 8);
    cell.workload = workload_named("add_runtime");
    assert_int_equal(model_other_lines(&cell, 64, lines), 4);
    assert_true(lines[0] == 0 && lines[1] == 8 && lines[2] == 9 && lines[3] > MODEL_OTHER_BANK_LINE);
    cell.path = path_named("constant");
    assert_int_equal(model_other_lines(&cell, 64, lines), 4);
    assert_true(lines[2] == lines[0] + 9 && lines[3] > MODEL_OTHER_BANK_LINE);
}

/* A table that fills the level has its lines and those of parameters come again; one with room beside it has not. */
static void parameters_take_places_of_the_table(void **state)
{
    struct card card = make_card(4, CACHE_TREE);
    const struct cell all = make_cell("distinct", 640, 32, 32, 64), half = make_cell("distinct", 640, 32, 16, 64);
    struct model_warps warps;

    (void)state;
    card.parameter_lines = 2;
    warps = run_warps(&half, &card, 2, 2000);
    assert_true(warps.fills == 16 && warps.refills == 0 && warps.parameter_refills == 0);
    warps = run_warps(&all, &card, 2, 2000);
    assert_true(warps.refills > 0 && warps.fills == 32 + warps.refills);
    assert_true(warps.parameter_refills > 0);
}

/* A line of the table that holds parameters, too, is of the table, whoever fetches it. */
static void a_line_with_both_is_of_the_table(void **state)
{
    struct card card = make_card(4, CACHE_TREE);
    struct cell cell = make_cell("per_warp", 1, 1, 0, 0);

    (void)state;
    card.parameter_lines = 2;
    cell.path = path_named("param");
    cell.workload = workload_named("add_switch");
    assert_true(run_warps(&cell, &card, 1, 0).fills == 1); /* one entry, in line 9 */
}

/* A block that waits for nothing takes its life, and one begins when another ends. */
static void lives_follow_each_other(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    const struct cell cell = make_cell("distinct", 20, 1, 1, 4);

    (void)state;
    assert_true(run_warps(&cell, &card, 1, 5000).cycles == 20 * 5000.0);
    assert_true(run_warps(&cell, &card, 2, 5000).cycles == 10 * 5000.0 + 400);
}

/* -- against a simulation that looks at every cycle ---------------------------------------------------- */

enum { SLOW_WARPS = 64, SLOW_LINES = 4096, SLOW_PLACES = 32, SLOW_STAGGER = 2, NONE = -1 };

/* One set of places, replaced by LRU, one block: every warp's load, looked at cycle after cycle. */
struct slow {
    int warps, count[SLOW_WARPS], at[SLOW_WARPS], line[SLOW_WARPS][32];
    long due[SLOW_WARPS], since[SLOW_WARPS]; /* when the warp is to be looked up, NONE: not by itself */
    bool passing[SLOW_WARPS], woken[SLOW_WARPS];
    int queue[2][4][1 << 12], first[2][4], last[2][4]; /* by quarter: refused loads, others */
    int turns[4]; /* taken, by quarter */
    int follower[SLOW_WARPS]; /* who is woken after it */
    long comes[SLOW_LINES], used[SLOW_LINES]; /* of lines that have a place; used 0: none */
    bool coming[SLOW_LINES];
    int owner[SLOW_LINES], tail[SLOW_LINES];
    long order, fill_port;
    int held, fills, lookups, left;
};

static void slow_plan(struct slow *slow, int warp, long when)
{
    slow->due[warp] = when;
    slow->since[warp] = ++slow->order;
}

static void slow_queue(struct slow *slow, int kind, int warp)
{
    slow->due[warp] = NONE;
    slow->queue[kind][warp % 4][slow->last[kind][warp % 4]++] = warp;
}

static void slow_leave(struct slow *slow, int warp, long when)
{
    const int quarter = warp % 4;

    slow->passing[warp] = false;
    slow->turns[quarter]--;
    for (int kind = 0; kind < 2; kind++)
        while (slow->turns[quarter] < 2 && slow->first[kind][quarter] < slow->last[kind][quarter]) {
            const int next = slow->queue[kind][quarter][slow->first[kind][quarter]++];

            slow->turns[quarter]++;
            slow->passing[next] = true;
            slow_plan(slow, next, when);
        }
}

/* Lines that have come by now are used by that, the first to come first. */
static void slow_note(struct slow *slow, long now)
{
    for (;;) {
        int come = NONE;

        for (int line = 0; line < SLOW_LINES; line++)
            if (slow->coming[line] && slow->comes[line] <= now &&
                (come == NONE || slow->comes[line] < slow->comes[come]))
                come = line;
        if (come == NONE)
            return;
        slow->coming[come] = false;
        slow->used[come] = ++slow->order;
    }
}

static bool slow_fetch(struct slow *slow, int line, int warp, long now)
{
    int oldest = NONE;

    for (int other = 0; slow->held == SLOW_PLACES && other < SLOW_LINES; other++)
        if (slow->used[other] && (oldest == NONE || slow->used[other] < slow->used[oldest]))
            oldest = other;
    if (oldest != NONE && (slow->coming[oldest] || slow->owner[oldest] != NONE))
        return false;
    if (slow->held == SLOW_PLACES)
        slow->used[oldest] = 0;
    else
        slow->held++;
    slow->fill_port = now + 70 > slow->fill_port + 30 ? now + 70 : slow->fill_port + 30;
    slow->comes[line] = slow->fill_port;
    slow->coming[line] = true;
    slow->owner[line] = slow->tail[line] = warp;
    slow->used[line] = ++slow->order;
    slow->fills++;
    slow_plan(slow, warp, slow->fill_port);
    slow->woken[warp] = true;
    return true;
}

static void slow_read(struct slow *slow, int line, int warp, long now)
{
    slow->used[line] = ++slow->order;
    if (slow->owner[line] == warp)
        slow->owner[line] = NONE;
    if (++slow->at[warp] < slow->count[warp]) {
        slow_plan(slow, warp, now + 11);
        return;
    }
    slow->due[warp] = NONE;
    slow->left--;
    slow_leave(slow, warp, now + 2);
}

static void slow_look(struct slow *slow, int warp, long now)
{
    const int line = slow->line[warp][slow->at[warp]];
    const int follower = slow->follower[warp];

    slow->lookups++;
    slow->woken[warp] = false;
    slow->follower[warp] = NONE;
    slow_note(slow, now);
    if (follower != NONE) {
        slow_plan(slow, follower, now + 4);
        slow->woken[follower] = true;
    }
    if (slow->used[line] && !slow->coming[line]) {
        slow_read(slow, line, warp, now);
        return;
    }
    slow->due[warp] = NONE;
    if (slow->used[line]) {
        slow->used[line] = ++slow->order;
        slow->follower[slow->tail[line]] = warp;
        slow->tail[line] = warp;
    } else if (!slow_fetch(slow, line, warp, now)) {
        if (slow->turns[warp % 4] <= 2) {
            slow_plan(slow, warp, now + 33);
            return;
        }
        slow_queue(slow, 0, warp);
    }
    slow_leave(slow, warp, now);
}

/* The warp that is due longest; NONE when none is. */
static int slow_due(const struct slow *slow, long now)
{
    int due = NONE;

    for (int warp = 0; warp < slow->warps; warp++)
        if (slow->due[warp] != NONE && slow->due[warp] <= now &&
            (due == NONE || slow->due[warp] < slow->due[due] ||
             (slow->due[warp] == slow->due[due] && slow->since[warp] < slow->since[due])))
            due = warp;
    return due;
}

/* Runs the block; returns when the last load has ended. */
static long slow_run(struct slow *slow)
{
    long port = 0;
    int warp;

    for (long now = 0; slow->left > 0; now++)
        while (now >= port && (warp = slow_due(slow, now)) != NONE) {
            if (!slow->passing[warp] && !slow->woken[warp] && slow->turns[warp % 4] >= 2) {
                slow_queue(slow, 1, warp);
                continue;
            }
            slow->turns[warp % 4] += !slow->passing[warp];
            slow->passing[warp] = true;
            port = now + 2;
            slow_look(slow, warp, now);
        }
    return port;
}

/* Blocks of one to 32 warps, of patterns that fit and that do not. */
static void every_cycle_says_the_same(void **state)
{
    static const char *const names[] = {"per_warp", "per_thread", "pseudo_random", "half_warp", "distinct"};
    struct card card = make_card(32, CACHE_LRU);
    static struct slow slow;

    (void)state;
    for (int n = 0; n < 5 * 32; n++) {
        const struct cell cell = make_cell(names[n % 5], (uint32_t)n / 5 + 1, (uint32_t)n / 5 + 1, 32, 128);
        const struct model_warps warps = run_warps(&cell, &card, 1, 0);

        slow = (struct slow){.warps = n / 5 + 1, .left = n / 5 + 1};
        memset(slow.owner, NONE, sizeof(slow.owner));
        memset(slow.follower, NONE, sizeof(slow.follower));
        for (int warp = 0; warp < slow.warps; warp++) {
            slow_plan(&slow, warp, 300 + SLOW_STAGGER * warp);
            for (uint32_t thread = 0; thread < 32; thread++) {
                const uint32_t of = 32 * (uint32_t)warp;
                const uint32_t index =
                    cell.pattern->index(0, of + thread, 0, CBANK_TABLE_LENGTH, pattern_numbers(cell.parameters));
                bool before = false;

                for (uint32_t lower = 0; lower < thread; lower++)
                    before |= cell.pattern->index(0, of + lower, 0, CBANK_TABLE_LENGTH,
                                                  pattern_numbers(cell.parameters)) == index;
                if (!before)
                    slow.line[warp][slow.count[warp]++] = (int)(index / 16);
            }
        }
        assert_true(warps.cycles == (double)slow_run(&slow) + 68);
        assert_true(warps.fills == slow.fills && warps.lookups == slow.lookups);
    }
}

/* -- long launches are cut short ---------------------------------------------------------------------- */

/* A launch that is cut short is as one that is not: exactly where nothing conflicts, within 5 % elsewhere, of as many blocks as
 * an SM of an H200 has of 12.8 million elements. (Of 4000, 32 addresses 256 bytes apart come to need half the lines.) */
static void the_rest_goes_on_as_before(void **state)
{
    const struct card card = make_card(4, CACHE_TREE);
    static const struct {
        uint32_t distinct, stride, blocks;
        double limit;
    } rows[] = {{1, 4, 4000, 1e-3},  {8, 64, 4000, 1e-3}, {32, 32, 4000, 1e-3}, {8, 512, 95, 0.05},
                {32, 128, 95, 0.05}, {32, 256, 95, 0.05}, {16, 512, 95, 0.05},  {32, 512, 95, 0.05}};

    const size_t count = sizeof(rows) / sizeof(rows[0]);

    (void)state;
    for (size_t i = 0; i < repetitions(count, sanitized(2, count)); i++) {
        const uint32_t blocks = rows[i].blocks;
        const struct cell cell = make_cell("distinct", 32 * blocks, 32, rows[i].distinct, rows[i].stride);
        struct model_sm sm = {.blocks = blocks, .resident = 2, .life_cycles = 1800, .end_cycles = 68};
        struct model_warps cut, whole;

        assert_int_equal(model_warps_run(&cell, &card, &sm, &cut), STATUS_OK);
        sm.whole = true;
        assert_int_equal(model_warps_run(&cell, &card, &sm, &whole), STATUS_OK);
        assert_true(fabs(cut.cycles / whole.cycles - 1) < rows[i].limit);
        assert_true(fabs(cut.fills / whole.fills - 1) < rows[i].limit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_on_its_way_is_shared),
        cmocka_unit_test(a_lone_warp_is_as_slow_as_measured),
        cmocka_unit_test(input_comes_first),
        cmocka_unit_test(a_warp_that_strides_waits_for_indices),
        cmocka_unit_test(a_warp_that_strides_reads_parameters_again),
        cmocka_unit_test(later_blocks_of_a_grid_that_strides_begin_later),
        cmocka_unit_test(pieces_of_an_element_are_under_way_together),
        cmocka_unit_test(lines_come_sooner_where_few_ask),
        cmocka_unit_test(lines_come_apart),
        cmocka_unit_test(what_fits_comes_once),
        cmocka_unit_test(other_lines_are_where_the_code_reads),
        cmocka_unit_test(parameters_take_places_of_the_table),
        cmocka_unit_test(a_line_with_both_is_of_the_table),
        cmocka_unit_test(lives_follow_each_other),
        cmocka_unit_test(the_rest_goes_on_as_before),
        cmocka_unit_test(every_cycle_says_the_same),
    };

    return cmocka_run_group_tests_name("warps", tests, NULL, NULL);
}
