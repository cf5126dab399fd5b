/* SPDX-License-Identifier: MIT
 * Measured beside modelled. Golden files, run from the root of the repository: CBANK_UPDATE_GOLDEN=1 writes them
 * anew. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cells.h"
#include "document.h"
#include "explain.h"
#include "golden.h"
#include "json.h"
#include "table.h"
#include "text.h"

#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

static const double whole[] = {4000, 12000};

static struct card default_card(void)
{
    struct card card;

    /* Which, unlike that of the program, nothing makes again. */
    assert_int_equal(card_read("results/base_cards/h200.json", &card), STATUS_OK);
    return card;
}

static void set_time(struct cell_result *cell, double ns)
{
    cell->status = CELL_OK;
    cell->verified = true;
    cell->time.summary =
        (struct summary){.count = 20, .value = ns, .ci_low = ns * 0.999, .ci_high = ns * 1.001, .min = ns};
    cell->time.sm_clock_mhz = 1980;
}

/* A cell of add in blocks of 1024. */
static struct cell make_cell(size_t path, size_t pattern, uint64_t elements, size_t regime)
{
    struct cell cell = cell_of(path, pattern);

    cell.elements = elements;
    cell.block_size = 1024;
    cell.regime = &regimes[regime];
    return cell;
}

static void open_result(struct result *result, const struct cell *cells, size_t count)
{
    assert_int_equal(result_open(result, cells, count), STATUS_OK);
    result->engine = "cuda";
    result->complete = true;
    strcpy(result->device.name, "NVIDIA H200");
    strcpy(result->device.chip, "GH100");
    result->device.cc_major = 9;
    result->device.sm_count = 132;
    result->device.launch_ns = 606;
    for (size_t i = 0; i < count; i++)
        set_time(&result->cells[i], 20000);
}

static struct counter_value exact(const char *name, double value, double expected)
{
    return (struct counter_value){
        .name = name, .unit = "", .kind = COUNTER_EXACT, .status = COUNTER_OK, .value = value, .expected = expected};
}

static struct counter_value measured(const char *name, double value)
{
    return (struct counter_value){
        .name = name, .unit = "", .kind = COUNTER_MEASURED, .status = COUNTER_OK, .value = value, .expected = NAN};
}

/* Gives a cell these counters; result_close frees them. */
static void set_counters(struct cell_result *cell, const struct counter_value *values, size_t count)
{
    cell->counters = calloc(count, sizeof(*values));
    assert_non_null(cell->counters);
    memcpy(cell->counters, values, count * sizeof(*values));
    cell->counter_count = count;
}

/* What explain_print prints on so many columns; the caller's, to free. */
static char *printed(const struct explanation *explanation, int width, bool color)
{
    const struct card card = default_card();
    const struct grid_look look = {.width = width, .color = color};
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    assert_int_equal(explain_print(stream, explanation, &card, &look), STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void assert_narrow(const char *text, size_t width)
{
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t count = 0;

        for (const char *at = line; *at != '\n'; at++)
            count += (*at & 0xc0) != 0x80;
        if (count > width || (count > 0 && strchr(line, '\n')[-1] == ' '))
            fail_msg("%zu columns, or a blank at the end: %.130s", count, line);
    }
}

/* The document of one file as JSON; the caller's, to free. */
static char *json_text(const struct explanation *explanation)
{
    const struct card card = default_card();
    struct explanation copy = *explanation;
    const struct explained_results results = {.card = &card, .results = &copy, .count = 1};
    cJSON *document = document_to_json(&explain_document, &results), *tool;
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    /* The program that wrote it changes. */
    tool = cJSON_CreateObject();
    json_add_text(tool, "name", "cbank");
    json_add_text(tool, "version", "0.1.0");
    json_add_text(tool, "git_commit", "unknown");
    json_add(tool, "git_dirty", cJSON_CreateFalse());
    json_add_text(tool, "compiler", "gcc");
    json_add_text(tool, "cuda_toolkit", NULL);
    cJSON_ReplaceItemInObjectCaseSensitive(document, "tool", tool);
    assert_int_equal(json_put_owned(stream, document), STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void explain(const struct result *result, const struct card *card, struct explanation *out)
{
    assert_int_equal(explain_open("result.json", result, card, NULL, NULL, out), STATUS_OK);
}

/* Has the set of reasons that one? */
static bool has_reason(uint64_t reasons, const char *name)
{
    for (size_t i = 0; i < explain_reason_count; i++)
        if (strcmp(explain_reasons[i].name, name) == 0)
            return (reasons >> i & 1) != 0;
    fail_msg("no reason %s", name);
    return false;
}

static bool is_over(const struct explained_cell *cell)
{
    return cell->agreement == EXPLAIN_DIFFERS;
}

/* -- parts and remainders ----------------------------------------------------------------------------- */

static void test_parts_make_the_time(void **state)
{
    const struct card card = default_card();
    struct cell cells[24];
    struct explanation explanation;
    struct result result;
    size_t count = 0;

    (void)state;
    for (size_t path = 0; path < 3; path++)
        for (size_t pattern = 0; pattern < 4; pattern++)
            for (size_t regime = 0; regime < 2; regime++)
                cells[count++] = make_cell(path, pattern, 1280000, regime);
    open_result(&result, cells, count);
    explain(&result, &card, &explanation);
    for (size_t i = 0; i < count; i++) {
        const struct explained_cell *cell = &explanation.cells[i];
        double ns = 0, terms[EXPLAIN_TERMS] = {0};

        for (size_t part = 0; part < EXPLAIN_PARTS; part++)
            if (explain_parts[part].term == EXPLAIN_TERM_ALONE || cell->bound & 1u << part)
                ns += explain_part_ns(&cell->model.parts, part);
            else
                terms[explain_parts[part].term] += explain_part_ns(&cell->model.parts, part);
        assert_near(ns, cell->model.time_ns, 1e-6);
        for (size_t term = 0; term < EXPLAIN_TERMS; term++)
            assert_true(terms[term] <= ns);
        assert_near(cell->remainder_ns, 20000 - cell->model.time_ns, 1e-9);
        assert_near(cell->remainder, cell->remainder_ns / 20000, 1e-12);
    }
    explain_close(&explanation);
    result_close(&result);
}

/* 10 % of the measured time, and 10 us, are within. */
static void test_limits(void **state)
{
    const struct card card = default_card();
    const struct cell cell = make_cell(1, 1, 12800000, 0);
    struct explanation explanation;
    struct result result;
    double ns;

    (void)state;
    open_result(&result, &cell, 1);
    explain(&result, &card, &explanation);
    ns = explanation.cells[0].model.time_ns;
    explain_close(&explanation);
    static const struct {
        double factor;
        bool over;
    } rows[] = {{1, false}, {1 / 0.9001, false}, {1 / 0.8999, true}, {1 / 1.0999, false}, {1 / 1.1001, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_time(&result.cells[0], ns * rows[i].factor);
        explain(&result, &card, &explanation);
        assert_int_equal(is_over(&explanation.cells[0]), rows[i].over);
        assert_int_equal(explanation.summary.tallies[true].cells, 1);
        assert_int_equal(explanation.summary.tallies[true].within, !rows[i].over);
        explain_close(&explanation);
    }
    set_time(&result.cells[0], 10000);
    explain(&result, &card, &explanation);
    assert_false(explain_is_long(&explanation.cells[0]));
    assert_int_equal(explanation.summary.tallies[false].cells, 1);
    explain_close(&explanation);
    result_close(&result);
}

/* Another card, another prediction: that in the file is not looked at. */
static void test_prediction_is_the_cards(void **state)
{
    const struct cell cell = make_cell(0, 2, 128000, 0);
    struct card card = default_card();
    struct explanation explanation;
    struct result result;
    double before;

    (void)state;
    open_result(&result, &cell, 1);
    explain(&result, &card, &explanation);
    before = explanation.cells[0].model.time_ns;
    explain_close(&explanation);
    card.launch_ns += 1000;
    explain(&result, &card, &explanation);
    assert_near(explanation.cells[0].model.time_ns, before + 1000, 1e-6);
    explain_close(&explanation);
    result_close(&result);
}

/* -- counters ----------------------------------------------------------------------------------------- */

/* A card of levels with whole lines: per_warp, 125 blocks, each on an SM of its own: 125 x 2 lines, 2 of parameters and
 * 8 of the immediate caches; 4000 loads and 12000 of parameters. */
static void test_levels_by_hand(void **state)
{
    const struct card card = default_card();
    const struct cell cell = make_cell(0, 1, 128000, 0);
    const struct counter_value values[] = {exact("idc_requests", 16000, whole[0] + whole[1]),
                                           measured("idc_misses_new", 500), measured("gcc_constant_requests", 1499),
                                           measured("gcc_constant_misses", 246)};
    struct explanation explanation;
    struct result result;

    (void)state;
    open_result(&result, &cell, 1);
    set_counters(&result.cells[0], values, 4);
    explain(&result, &card, &explanation);
    const struct explained_count *levels = explanation.cells[0].levels;
    static const struct {
        double measured, low;
        enum explain_agreement agreement;
    } rows[EXPLAIN_LEVELS] = {{15500, 15500, EXPLAIN_EQUAL},
                              {500, 500, EXPLAIN_EQUAL},
                              {1499, 1500, EXPLAIN_DIFFERS},
                              {1253, 1500 - 1250 - 125 / 18.0, EXPLAIN_WITHIN},
                              {246, 125 / 18.0, EXPLAIN_WITHIN}};

    for (size_t i = 0; i < EXPLAIN_LEVELS; i++) {
        assert_near(levels[i].measured, rows[i].measured, 0);
        assert_near(levels[i].low, rows[i].low, 1e-6);
        assert_int_equal(levels[i].agreement, rows[i].agreement);
    }
    assert_near(levels[4].high, 125 / 18.0 + 1250, 1e-6);
    assert_int_equal(explanation.summary.exact, 1);
    assert_int_equal(explanation.summary.exact_equal, 1);
    assert_int_equal(explanation.summary.single, 0);
    explain_close(&explanation);

    /* What was not read is not known. */
    result.cells[0].counters[1].status = COUNTER_UNSUPPORTED;
    result.cells[0].counters[1].value = NAN;
    explain(&result, &card, &explanation);
    assert_int_equal(explanation.cells[0].levels[1].agreement, EXPLAIN_UNKNOWN);
    explain_close(&explanation);
    result_close(&result);
}

/* What an H200 counted of one warp by each path and pattern of the core matrix: hits, misses and requests of the first
 * level to the integer, and those of the second as far as the model says a number. */
static void test_single_warps_of_an_h200(void **state)
{
    const struct card card = default_card();
    struct explanation explanation;
    struct result result;

    (void)state;
    assert_int_equal(result_read("tests/data/single-warp.json", &result), STATUS_OK);
    explain(&result, &card, &explanation);
    assert_int_equal(result.cell_count, 24);
    for (size_t i = 0; i < result.cell_count; i++)
        for (size_t level = 0; level < EXPLAIN_LEVELS; level++)
            assert_int_equal(explanation.cells[i].levels[level].agreement, level < 3 ? EXPLAIN_EQUAL : EXPLAIN_WITHIN);
    assert_int_equal(explanation.summary.single, 24 * EXPLAIN_LEVELS);
    assert_int_equal(explanation.summary.single_equal, 24 * 3);
    assert_int_equal(explanation.summary.single_within, 24 * 2);
    assert_int_equal(explanation.summary.exact, explanation.summary.exact_equal);
    explain_close(&explanation);
    result_close(&result);
}

/* -- reasons ------------------------------------------------------------------------------------------ */

/* The reasons of a cell: a set of bits, by the index in explain_reasons. */
static uint64_t reasons_set(const struct explained_cell *cell)
{
    uint64_t reasons = 0;

    for (size_t i = 0; i < cell->reason_count; i++)
        reasons |= 1ull << (cell->reasons[i].row - explain_reasons);
    return reasons;
}

/* Those of one that is far off. */
static uint64_t reasons_of(struct result *result, const struct card *card)
{
    struct explanation explanation;
    uint64_t reasons;

    explain(result, card, &explanation);
    assert_true(is_over(&explanation.cells[0]));
    reasons = reasons_set(&explanation.cells[0]);
    explain_close(&explanation);
    return reasons;
}

static void test_reasons(void **state)
{
    const struct cell cell = make_cell(0, 1, 12800000, 0);
    const struct counter_value misses[] = {measured("idc_misses_new", 900), measured("idc_misses_retried", 7)};
    const struct card card = default_card();
    uint64_t seen;
    struct result result;

    (void)state;
    open_result(&result, &cell, 1);
    struct cell_result *own = &result.cells[0];

    set_time(own, 1e6);
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "misses_uncounted") && __builtin_popcount(seen) == 1);

    own->flags = FLAG_UNSTABLE | FLAG_THROTTLED | FLAG_CLOCK_VARIED | FLAG_COUNTER_DIFFERS;
    own->time.sm_clock_mhz = 1700;
    result.device.launch_ns = 900;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "unstable") && has_reason(seen, "throttled") && has_reason(seen, "clock_varied"));
    assert_true(has_reason(seen, "counter_differs") && has_reason(seen, "clock_differs"));
    assert_true(has_reason(seen, "launch_differs"));
    assert_int_equal(__builtin_popcount(seen), 7);
    own->flags = 0;
    own->time.sm_clock_mhz = NAN;
    result.device.launch_ns = NAN;
    own->cell.path = &paths[1];
    assert_int_equal(reasons_of(&result, &card), 0);
    own->cell.path = &paths[0];

    set_counters(own, misses, 2);
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "misses_differ") && has_reason(seen, "misses_retried"));
    assert_false(has_reason(seen, "misses_uncounted"));
    own->counter_count = 0;

    own->cell.block_size = 256;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "block_size"));
    own->cell.block_size = 1024;

    own->cell.elements = 5000000;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "l2_part"));
    own->cell.elements = 32;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "idle_sms") && has_reason(seen, "latency") && !has_reason(seen, "short"));
    set_time(own, 5000);
    own->cell.regime = &regimes[1];
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "short") && has_reason(seen, "cold"));
    own->cell.regime = &regimes[0];
    own->cell.elements = 12800000;
    set_time(own, 1e6);

    own->cell.path = path_named("texture");
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "unit"));
    own->cell.path = &paths[0];
    own->cell.workload = workload_named("refill");
    own->cell.parameters[PARAMETER_refill_bytes] = 1024;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "refill") && has_reason(seen, "workload"));
    own->cell.parameters[PARAMETER_refill_bytes] = 0;
    own->cell.workload = workload_named("modules");
    own->cell.parameters[PARAMETER_modules] = 2;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "modules"));
    own->cell.workload = &workloads[0];
    own->cell.parameters[PARAMETER_modules] = 0;

    own->cell.workload = workload_named("conv_2d");
    own->cell.parameters[PARAMETER_radius] = 3;
    own->cell.elements = 1 << 24;
    own->cell.pattern = pattern_named("lockstep");
    own->kernel.registers = 40; /* room for 36 warps */
    set_time(own, 1e7);
    assert_true(has_reason(reasons_of(&result, &card), "alone"));
    own->kernel.registers = 32;
    assert_false(has_reason(reasons_of(&result, &card), "alone"));
    own->kernel.registers = 0;
    set_time(own, 1e6);
    own->cell.workload = &workloads[0];
    own->cell.parameters[PARAMETER_radius] = 0;
    own->cell.elements = 12800000;
    own->cell.pattern = cell.pattern;

    result.modelled_time = true;
    seen = reasons_of(&result, &card);
    assert_true(has_reason(seen, "modelled"));
    result.cells[0].cell = cell;
    result_close(&result);
}

/* What is said of a cell of which so many fills were counted. */
static uint64_t fills_reasons(struct result *result, double fills, double retried, enum explain_agreement expected)
{
    const struct counter_value counted[] = {measured("idc_misses_new", fills), measured("idc_misses_retried", retried)};
    const struct card card = default_card();
    struct explanation explanation;
    uint64_t reasons;

    free(result->cells[0].counters);
    set_counters(&result->cells[0], counted, 2);
    explain(result, &card, &explanation);
    assert_int_equal(explanation.cells[0].agreement, EXPLAIN_WITHIN);
    assert_int_equal(explanation.cells[0].fills, expected);
    assert_int_equal(explanation.summary.fills, expected != EXPLAIN_UNKNOWN);
    assert_int_equal(explanation.summary.fills_within, expected == EXPLAIN_WITHIN);
    reasons = reasons_set(&explanation.cells[0]);
    assert_int_equal(explanation.summary.reasons, reasons);
    explain_close(&explanation);
    return reasons;
}

/* Fills have a limit, and reasons, of their own. */
static void test_reasons_of_fills(void **state)
{
    const struct cell cell = make_cell(0, 0, 12800000, 0);
    const struct card card = default_card();
    struct explanation explanation;
    struct result result;
    uint64_t seen;
    double modelled;

    (void)state;
    open_result(&result, &cell, 1);
    explain(&result, &card, &explanation);
    set_time(&result.cells[0], explanation.cells[0].model.time_ns);
    modelled = explanation.cells[0].levels[EXPLAIN_LEVEL_IDC_MISSES].low;
    assert_int_equal(explanation.cells[0].fills, EXPLAIN_UNKNOWN);
    explain_close(&explanation);

    assert_int_equal(fills_reasons(&result, 0, 0, EXPLAIN_UNKNOWN), 0);
    assert_int_equal(fills_reasons(&result, modelled / 0.951, 0, EXPLAIN_WITHIN), 0);
    assert_int_equal(fills_reasons(&result, modelled / 1.049, 7, EXPLAIN_WITHIN), 0);
    seen = fills_reasons(&result, modelled / 0.949, 7, EXPLAIN_DIFFERS);
    assert_true(has_reason(seen, "fills_retried") && __builtin_popcountll(seen) == 1);
    seen = fills_reasons(&result, 200000, 0, EXPLAIN_DIFFERS); /* more than 1024 lines of 132 SMs */
    assert_true(has_reason(seen, "fills_places") && __builtin_popcountll(seen) == 1);

    result.cells[0].cell.elements = 128000; /* 125 blocks: a line each, and one of parameters */
    explain(&result, &card, &explanation);
    set_time(&result.cells[0], explanation.cells[0].model.time_ns);
    modelled = explanation.cells[0].levels[EXPLAIN_LEVEL_IDC_MISSES].low;
    explain_close(&explanation);
    seen = fills_reasons(&result, modelled + 132, 0, EXPLAIN_DIFFERS);
    assert_true(has_reason(seen, "fills_few") && has_reason(seen, "fills_first_wave"));
    seen = fills_reasons(&result, modelled + 133, 0, EXPLAIN_DIFFERS);
    assert_true(!has_reason(seen, "fills_few") && has_reason(seen, "fills_first_wave"));
    result_close(&result);
}

/* Residency of the cell where a thread has so many registers. */
static double residency_with(struct result *result, const struct card *card, uint32_t registers)
{
    struct explanation explanation;
    double ns;

    result->cells[0].kernel.registers = registers;
    explain(result, card, &explanation);
    ns = explanation.cells[0].model.parts.residency_ns;
    explain_close(&explanation);
    return ns;
}

/* 32 warps of 64 registers: 65536 hold one block; 32: two, which is what threads leave room for. */
static void test_registers_leave_room(void **state)
{
    const struct cell cell = make_cell(0, 1, 12800000, 0);
    const struct card card = default_card();
    struct result result;

    (void)state;
    open_result(&result, &cell, 1);
    assert_true(residency_with(&result, &card, 32) == residency_with(&result, &card, 0));
    assert_true(residency_with(&result, &card, 33) > 1.9 * residency_with(&result, &card, 0));
    assert_true(residency_with(&result, &card, 64) == residency_with(&result, &card, 33));
    result_close(&result);
}

/* A cell within the limit needs none. */
static void test_no_reason_within(void **state)
{
    const struct card card = default_card();
    struct cell cell = make_cell(0, 1, 12800000, 0);
    struct explanation explanation;
    struct result result;

    (void)state;
    cell.block_size = 256;
    open_result(&result, &cell, 1);
    result.cells[0].flags = FLAG_UNSTABLE;
    explain(&result, &card, &explanation);
    set_time(&result.cells[0], explanation.cells[0].model.time_ns);
    explain_close(&explanation);
    explain(&result, &card, &explanation);
    assert_int_equal(explanation.cells[0].reason_count, 0);
    explain_close(&explanation);
    result_close(&result);
}

static void test_names_are_unique(void **state)
{
    (void)state;
    assert_true(explain_reason_count <= 64);
    for (size_t i = 0; i < explain_reason_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(explain_reasons[i].name, explain_reasons[k].name);
}

/* -- what is printed ---------------------------------------------------------------------------------- */

/* Cells of every kind: well predicted, far off, without counters, pending, skipped, failed, of one warp. */
static void fill(struct result *result, const struct card *card)
{
    struct cell cells[9] = {make_cell(0, 2, 12800000, 0), make_cell(1, 2, 12800000, 0), make_cell(0, 0, 128000, 0),
                            make_cell(2, 1, 128000, 1),   make_cell(0, 0, 128000, 1),   make_cell(1, 3, 128000, 0),
                            make_cell(2, 3, 128000, 0),   make_cell(0, 0, 32, 0),       make_cell(1, 0, 128000, 0)};
    struct explanation explanation;

    cells[7].block_size = 32;
    cells[8].path = path_named("constant_operand");
    open_result(result, cells, 9);
    explain(result, card, &explanation);
    for (size_t i = 0; i < 9; i++)
        if (explanation.cells[i].predicted)
            set_time(&result->cells[i], explanation.cells[i].model.time_ns * (1 + 0.01 * (double)i));
    explain_close(&explanation);

    const struct counter_value thread[] = {exact("idc_requests", 14400000, 14400000),
                                           exact("l1_sectors", 1600001, 1600000),
                                           measured("idc_misses_new", 800736),
                                           measured("gcc_constant_requests", 801792),
                                           measured("gcc_constant_misses", 1080),
                                           measured("sm_cycles", 250000)};
    const struct counter_value one[] = {exact("idc_requests", 4, 4), measured("idc_misses_new", 3),
                                        measured("gcc_constant_requests", 5), measured("gcc_constant_misses", 1)};

    set_counters(&result->cells[0], thread, 6);
    result->cells[0].flags = FLAG_COUNTER_DIFFERS;
    set_counters(&result->cells[7], one, 4);
    set_counters(&result->cells[1], thread, 2);
    result->cells[1].counters[0] = (struct counter_value){.name = "idc_requests",
                                                          .kind = COUNTER_EXACT,
                                                          .status = COUNTER_UNSUPPORTED,
                                                          .value = NAN,
                                                          .expected = NAN,
                                                          .reason = "no such metric on GH100"};
    result->cells[1].counters[1].expected = NAN;
    set_time(&result->cells[2], 2500);
    result->cells[2].flags = FLAG_UNSTABLE;
    set_time(&result->cells[3], 4000);
    set_time(&result->cells[4], 60000);
    result->cells[5].status = CELL_PENDING;
    result->cells[5].time.summary = (struct summary){.value = NAN, .ci_low = NAN, .ci_high = NAN};
    result->cells[6].status = CELL_FAILED;
    strcpy(result->cells[6].reason, "output[7] is 1, not 2");
    result->cells[8].status = CELL_SKIPPED;
    strcpy(result->cells[8].reason, "constant_operand needs an index that is known when the kernel is compiled");
    result->cells[8].time.summary = (struct summary){.value = NAN, .ci_low = NAN, .ci_high = NAN};
}

static void test_every_kind_of_cell(void **state)
{
    const struct card card = default_card();
    struct explanation explanation;
    struct result result;
    char *text;

    (void)state;
    fill(&result, &card);
    result.complete = false;
    explain(&result, &card, &explanation);
    text = printed(&explanation, 160, false);
    assert_narrow(text, 160);
    free(text);
    text = printed(&explanation, TEXT_WIDTH, false);
    assert_narrow(text, TEXT_WIDTH);
    check_golden("tests/golden/explain_every.txt", text);
    text = json_text(&explanation);
    check_golden("tests/golden/explain_every.json", text);
    explain_close(&explanation);
    result_close(&result);
}

static void test_modelled_result(void **state)
{
    const struct card card = default_card();
    const struct cell cell = make_cell(0, 1, 128000, 0);
    struct explanation explanation;
    struct result result;
    char *text;

    (void)state;
    open_result(&result, &cell, 1);
    result.engine = "model";
    result.modelled_time = true;
    strcpy(result.device.name, "H200");
    strcpy(result.counters_reason, "not asked for");
    set_time(&result.cells[0], 1700);
    explain(&result, &card, &explanation);
    text = printed(&explanation, TEXT_WIDTH, false);
    assert_narrow(text, TEXT_WIDTH);
    assert_null(strstr(text, "  measured"));
    check_golden("tests/golden/explain_modelled.txt", text);
    text = json_text(&explanation);
    check_golden("tests/golden/explain_modelled.json", text);
    explain_close(&explanation);
    result_close(&result);
}

/* A name leaves cells out, and the summary as it is. */
static void test_chosen_cells(void **state)
{
    static const struct {
        const char *name, *printed;
        size_t chosen;
    } rows[] = {
        {NULL, NULL, 9},
        {"add/constant/per_thread/12800000/1024/hot", "printed: 1 of 9 cells\n", 1},
        {"*/constant/*", "printed: 4 of 9 cells\n", 4},
        {"constant/per_thread", "printed: 0 of 9 cells\n", 0},
    };
    const struct card card = default_card();
    struct explanation explanation;
    struct result result;
    char *all = NULL, *text;

    (void)state;
    fill(&result, &card);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(explain_open("result.json", &result, &card, rows[i].name, NULL, &explanation), STATUS_OK);
        assert_int_equal(explanation.chosen, rows[i].chosen);
        text = printed(&explanation, TEXT_WIDTH, false);
        all = all ? all : strdup(text);
        assert_int_equal(strstr(text, "\nprinted:") != NULL, rows[i].printed != NULL);
        if (rows[i].printed)
            assert_string_equal(strstr(text, "printed:"), rows[i].printed);
        assert_int_equal(strstr(text, "\nadd/constant/per_thread/12800000/1024/hot\n") != NULL, rows[i].chosen > 0);
        assert_int_equal(strstr(text, "\nadd/global/per_thread") != NULL, rows[i].chosen == 9);
        assert_memory_equal(strstr(text, "\ncells over 10 us"), strstr(all, "\ncells over 10 us"),
                            strlen(strstr(all, "\ncells over 10 us")));
        free(text);
        explain_close(&explanation);
    }
    free(all);
    result_close(&result);
}

static void test_color(void **state)
{
    const struct card card = default_card();
    struct explanation explanation;
    struct result result;
    char *text;

    (void)state;
    fill(&result, &card);
    explain(&result, &card, &explanation);
    text = printed(&explanation, TEXT_WIDTH, true);
    assert_non_null(strstr(text, "\033[1m[")); /* what bounds a cell */
    assert_non_null(strstr(text, "\033[31m+")); /* what is beyond the limit */
    free(text);
    text = printed(&explanation, TEXT_WIDTH, false);
    assert_null(strchr(text, '\033'));
    free(text);
    explain_close(&explanation);
    result_close(&result);
}

static void test_no_cells(void **state)
{
    const struct card card = default_card();
    struct explanation explanation;
    struct result result;
    char *text;

    (void)state;
    open_result(&result, NULL, 0);
    explain(&result, &card, &explanation);
    text = printed(&explanation, TEXT_WIDTH, false);
    assert_non_null(strstr(text, "cells over 10 us: none\n"));
    assert_narrow(text, TEXT_WIDTH);
    free(text);
    explain_close(&explanation);
    result_close(&result);
}

/* -- what is refused ---------------------------------------------------------------------------------- */

static void test_other_chips_are_refused(void **state)
{
    const struct cell cell = make_cell(0, 1, 128000, 0);
    const struct card card = default_card();

    (void)state;
    for (int what = 0; what < 5; what++) {
        struct card other = card;
        struct explanation explanation = {0};
        struct capture capture;
        struct result result;
        enum status status;
        const char *said;

        open_result(&result, &cell, 1);
        other.cc_major += what == 0;
        other.cc_minor += what == 1;
        other.sm_count += what == 2;
        strcpy(other.chip, what == 3 ? "GB100" : "GH100");
        result.device.chip[0] = what == 4 ? '\0' : 'G'; /* not known: no obstacle */
        capture_begin(&capture, stderr);
        status = explain_open("result.json", &result, &other, NULL, NULL, &explanation);
        said = capture_end(&capture);
        assert_int_equal(status, what == 4 ? STATUS_OK : STATUS_ENVIRONMENT);
        if (what < 4) {
            assert_non_null(strstr(said, "not comparable"));
            assert_non_null(strstr(said, "--card"));
            assert_null(explanation.cells);
        }
        explain_close(&explanation);
        result_close(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_make_the_time),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_prediction_is_the_cards),
        cmocka_unit_test(test_levels_by_hand),
        cmocka_unit_test(test_single_warps_of_an_h200),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_reasons_of_fills),
        cmocka_unit_test(test_registers_leave_room),
        cmocka_unit_test(test_no_reason_within),
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_every_kind_of_cell),
        cmocka_unit_test(test_modelled_result),
        cmocka_unit_test(test_chosen_cells),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_no_cells),
        cmocka_unit_test(test_other_chips_are_refused),
    };

    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
