/* SPDX-License-Identifier: MIT
 * Comparisons of results made here: what is paired, what is not comparable, counters, code,
 * calibration, order. Verdicts of times are in test_judge.c. */
#include "sides.h"
#include "test.h"

static const struct compare_options defaults = {.judge.threshold = 0.01};

static const struct context_field *field_named(const char *name)
{
    return row_named((struct table)TABLE("context field", context_fields, context_field_count),
                     name);
}

/* Two sides of one process each, whose results a test changes. */
static struct pair {
    struct result results[SIDES];
    struct sides sides[SIDES];
} pair;

static struct comparison comparison;

static void open_pair(size_t count)
{
    pair = (struct pair){.sides = {{.count = 0}}};
    for (unsigned i = 0; i < SIDES; i++)
        result_fill(&pair.results[i], count, i);
    /* Sides of the same data would be the same. */
    for (size_t i = 0; i < count; i++)
        result_time(&pair.results[NEW].cells[i], 1000.01);
}

static void compare_pair(const struct compare_options *options)
{
    for (size_t i = 0; i < SIDES; i++)
        sides_put(&pair.sides[i], &pair.results[i]);
    comparison = compared(pair.sides, options);
}

static void expect(size_t index, enum cell_verdict verdict, const char *note)
{
    const struct comparison_cell *cell = compared_cell(&comparison, index);

    assert_string_equal(verdict_rows[cell->verdict].name, verdict_rows[verdict].name);
    if (!strstr(cell->note, note) || (!*note && *cell->note))
        fail_msg("cell %zu: \"%s\"", index, cell->note);
}

/* -- cells ------------------------------------------------------------------------------------- */

TEST(test_cells_are_worst_first)
{
    static const enum cell_verdict expected[] = {VERDICT_REGRESSED, VERDICT_REGRESSED,
                                                 VERDICT_MISSING,   VERDICT_INVALID,
                                                 VERDICT_IMPROVED,  VERDICT_NEW,
                                                 VERDICT_SAME};

    open_pair(6);
    result_time(&pair.results[NEW].cells[1], 900);
    result_time(&pair.results[NEW].cells[2], 1100);
    result_time(&pair.results[NEW].cells[3], 1200);
    pair.results[NEW].cells[4].cell.elements = 1030;
    pair.results[NEW].cells[5].status = CELL_FAILED;
    compare_pair(&defaults);
    assert_int_equal(comparison.cell_count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(comparison.cells[i].verdict, expected[i]);
    assert_true(comparison.cells[0].cell.elements == 1003 &&
                comparison.cells[1].cell.elements == 1002);
    assert_true(comparison.plans_differ && comparison.comparable && comparison.common == 5);
    assert_true(isnan(compared_cell(&comparison, 4)->judged.ratio.value));
    assert_true(compared_cell(&comparison, 4)->judged.sides[BASE].estimate.ns > 0);
    assert_int_equal(comparison_status(&comparison, true), STATUS_FINDING);
    compared_close(&comparison, pair.sides);
}

TEST(test_cells_without_a_valid_time_are_invalid)
{
    static const struct {
        enum cell_status status;
        double ns;
        const char *note;
        enum cell_verdict verdict;
    } rows[] = {
        {CELL_FAILED, 1000, " is failed: because", VERDICT_INVALID},
        {CELL_SKIPPED, 1000, " is skipped: because", VERDICT_INVALID},
        {CELL_PENDING, 1000, " is pending: because", VERDICT_MISSING},
        {CELL_OK, NAN, " has no time", VERDICT_INVALID},
    };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t side = i % 2;
        struct cell_result *cell;

        open_pair(2);
        cell = pair.results[side].cells;
        cell->status = rows[i / 2].status;
        strcpy(cell->reason, "because");
        result_time(cell, rows[i / 2].ns);
        if (isnan(rows[i / 2].ns))
            cell->time.summary.count = 0;
        compare_pair(&defaults);
        expect(0, rows[i / 2].verdict, rows[i / 2].note);
        assert_memory_equal(compared_cell(&comparison, 0)->note, side_names[side],
                            strlen(side_names[side]));
        expect(1, VERDICT_SAME, "");
        assert_int_equal(comparison_status(&comparison, true), STATUS_FINDING);
        compared_close(&comparison, pair.sides);
    }
}

TEST(test_cells_that_both_sides_skip_are_the_same)
{
    for (size_t cells = 1; cells <= 2; cells++) {
        open_pair(cells);
        pair.results[BASE].cells[0].status = pair.results[NEW].cells[0].status = CELL_SKIPPED;
        compare_pair(&defaults);
        expect(0, VERDICT_SAME, "skipped on both sides");
        /* Without another cell, nothing is decided. */
        assert_int_equal(comparison_status(&comparison, false),
                         cells == 2 ? STATUS_OK : STATUS_INCONCLUSIVE);
        compared_close(&comparison, pair.sides);
    }
}

TEST(test_sides_without_a_common_cell_cannot_be_compared)
{
    struct sides none[SIDES] = {{.count = 0}, {.count = 0}};

    open_pair(1);
    pair.results[NEW].cells[0].cell.block_size = 512;
    compare_pair(&defaults);
    assert_int_equal(comparison.counts[VERDICT_MISSING] + comparison.counts[VERDICT_NEW], 2);
    assert_int_equal(comparison_status(&comparison, true), STATUS_ENVIRONMENT);
    compared_close(&comparison, pair.sides);
    comparison = compared(none, &defaults);
    assert_int_equal(comparison_status(&comparison, true), STATUS_ENVIRONMENT);
    compared_close(&comparison, none);
}

TEST(test_flags_are_noted_and_make_times_doubtful)
{
    open_pair(5);
    for (size_t i = 0; i < 4; i++)
        result_time(&pair.results[NEW].cells[i], i < 2 ? 1050 : 3000);
    result_time(&pair.results[NEW].cells[4], 300);
    pair.results[NEW].cells[0].flags = FLAG_THROTTLED | FLAG_UNSTABLE;
    pair.results[BASE].cells[1].flags = FLAG_CLOCK_VARIED;
    /* No flag hides a cell that is slower by more than ten times the threshold. */
    pair.results[NEW].cells[2].flags = FLAG_MULTIMODAL;
    pair.results[NEW].cells[3].flags = FLAG_CONTENDED | FLAG_UNSTABLE;
    pair.results[NEW].cells[4].flags = FLAG_MULTIMODAL;
    compare_pair(&defaults);
    expect(0, VERDICT_INCONCLUSIVE, "new is throttled; new is unstable");
    expect(1, VERDICT_REGRESSED, "base is clock_varied");
    expect(2, VERDICT_REGRESSED, "new is multimodal");
    expect(3, VERDICT_REGRESSED, "new is unstable; new is contended");
    expect(4, VERDICT_INCONCLUSIVE, "new is multimodal");
    /* A change that a flag alone keeps from its verdict opens no gate. */
    assert_int_equal(comparison.held, 2);
    assert_int_equal(comparison.unguarded, 0);
    compared_close(&comparison, pair.sides);
}

/* Makes all samples but the first of each buffer set longer. */
static void interrupt_samples(struct cell_result *cell, double ns, uint32_t launches)
{
    cell->flags |= FLAG_CONTENDED;
    cell->time.launches_per_sample = launches;
    for (int i = 1; i < RESULT_SAMPLES; i++)
        cell->time.samples_ns[i] += ns;
}

TEST(test_a_neighbour_is_no_regression)
{
    open_pair(6);
    for (size_t i = 0; i < 6; i++)
        interrupt_samples(&pair.results[NEW].cells[i], 20000, 100);
    /* The sample that nothing interrupted is slower, too. */
    pair.results[NEW].cells[1].time.samples_ns[0] = 1050;
    /* By as much as a slice of time is for each of 100 launches: all may have been interrupted. */
    pair.results[NEW].cells[2].time.samples_ns[0] = 7000;
    /* Both sides had a neighbour. */
    pair.results[BASE].cells[3].flags = FLAG_CONTENDED;
    /* The neighbour was gone for long enough. */
    result_time(&pair.results[NEW].cells[4], 1000);
    /* BASE had it alone. */
    result_time(&pair.results[NEW].cells[5], 1050);
    pair.results[NEW].cells[5].flags = 0;
    pair.results[BASE].cells[5].flags = FLAG_CONTENDED;
    compare_pair(&defaults);
    expect(0, VERDICT_CONTENDED, "new is contended");
    expect(1, VERDICT_REGRESSED, "new is contended");
    expect(2, VERDICT_CONTENDED, "new is contended");
    expect(3, VERDICT_CONTENDED, "base is contended; new is contended");
    expect(4, VERDICT_SAME, "new is contended");
    expect(5, VERDICT_INCONCLUSIVE, "base is contended");
    assert_int_equal(comparison.unguarded, 2);
    assert_int_equal(comparison.held, 1);
    comparison.counts[VERDICT_REGRESSED] = 0;
    assert_int_equal(comparison_status(&comparison, false), STATUS_INCONCLUSIVE);
    compared_close(&comparison, pair.sides);
}

/* One table offset of a table, and one copy of code, is what there is where it is not known. */
TEST(test_another_layout_is_another_plan)
{
    open_pair(3);
    pair.results[NEW].cells[0].time.table_offsets = 1;
    pair.results[NEW].cells[1].time.table_offsets = 30;
    pair.results[BASE].cells[2].time.code_copies = 4;
    compare_pair(&defaults);
    expect(0, VERDICT_SAME, "");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(compared_cell(&comparison, i)->judged.plans_differ, i > 0);
    compared_close(&comparison, pair.sides);
}

/* -- counters and code ------------------------------------------------------------------------- */

TEST(test_counters)
{
    static const struct {
        enum counter_kind kind;
        double base, new_value;
        bool shown;
        enum cell_verdict verdict;
    } rows[] = {
        {COUNTER_EXACT, 4000, 4000, false, VERDICT_SAME},
        {COUNTER_EXACT, 4000, 4001, true, VERDICT_REGRESSED},
        {COUNTER_EXACT, 4000, 3999, true, VERDICT_REGRESSED},
        {COUNTER_MEASURED, 100, 104, false, VERDICT_SAME},
        {COUNTER_MEASURED, 100, 106, true, VERDICT_SAME},
        {COUNTER_EXACT, NAN, 1, false, VERDICT_SAME},
        {COUNTER_EXACT, 1, NAN, false, VERDICT_SAME},
    };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

    open_pair(ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        result_counter(&pair.results[BASE].cells[i], "idc_requests", rows[i].kind, rows[i].base);
        result_counter(&pair.results[NEW].cells[i], "idc_requests", rows[i].kind,
                       rows[i].new_value);
    }
    compare_pair(&defaults);
    for (size_t i = 0; i < ROWS; i++) {
        const struct comparison_cell *cell = compared_cell(&comparison, i);

        expect(i, rows[i].verdict, isnan(rows[i].new_value) ? "new has no value" : "");
        assert_int_equal(cell->change_count, rows[i].shown);
        if (rows[i].shown)
            assert_true(strcmp(cell->changes->name, "idc_requests") == 0 &&
                        cell->changes->kind == rows[i].kind &&
                        cell->changes->base == rows[i].base &&
                        cell->changes->new_value == rows[i].new_value);
    }
    compared_close(&comparison, pair.sides);
}

/* Without a counter that BASE has NEW does not pass, unless the user says that it may be missing.
 * Times are judged. */
TEST(test_lost_counters)
{
    const void *rows[] = {&context_fields[CONTEXT_COUNTERS]};
    const struct selection allowed = {.rows = rows, .count = 1};
    struct compare_options lenient = defaults;

    lenient.allowed = &allowed;
    for (unsigned k = 0; k < 4; k++) {
        const bool pass = k & 1, slow = k & 2;

        open_pair(3);
        for (size_t i = 0; i < 2; i++) {
            result_counter(&pair.results[BASE].cells[i], "idc_requests", COUNTER_EXACT, 4000);
            result_counter(&pair.results[BASE].cells[i], "cycles", COUNTER_MEASURED, 7);
            result_counter(&pair.results[NEW].cells[i], "idc_requests", COUNTER_EXACT, NAN);
            result_counter(&pair.results[NEW].cells[i], "cycles", COUNTER_MEASURED, NAN);
        }
        result_counter(&pair.results[BASE].cells[2], "not_asked_of_new", COUNTER_EXACT, 1);
        result_counter(&pair.results[NEW].cells[2], "not_asked_of_base", COUNTER_EXACT, 1);
        if (slow)
            result_time(&pair.results[NEW].cells[1], 1100);
        compare_pair(pass ? &lenient : &defaults);
        expect(0, VERDICT_SAME, pass ? "" : "new has no value of base's counter idc_requests");
        expect(1, slow ? VERDICT_REGRESSED : VERDICT_SAME,
               pass ? "" : "new has no value of base's counter idc_requests");
        expect(2, VERDICT_SAME, pass ? "" : "new has no value of base's counter not_asked_of_new");
        assert_int_equal(comparison.counters_lost, pass ? 0 : 3);
        assert_int_equal(comparison_status(&comparison, false), slow   ? STATUS_FINDING
                                                                : pass ? STATUS_OK
                                                                       : STATUS_INCONCLUSIVE);
        compared_close(&comparison, pair.sides);
    }
}

/* The verdict of a run is that of a gate: each cause makes a cell of either side invalid, and a
 * finding. */
TEST(test_an_invalid_cell_fails)
{
    for (size_t side = 0; side < SIDES; side++)
        for (uint32_t cause = 0; cause < INVALID_CAUSES; cause++) {
            struct result *result = &pair.results[side];
            const bool whole = cause <= INVALID_RUN_ENDED;
            struct cell_result *cell;
            char note[200];

            open_pair(3);
            cell = &result->cells[1];
            for (size_t i = 0; i < SIDES; i++)
                result_counter(&pair.results[i].cells[1], "idc_requests", COUNTER_EXACT, 4000);
            if (cause == INVALID_DEVICE_ERRORS)
                result->health.grew = 1u << HEALTH_ECC_UNCORRECTED;
            else if (cause == INVALID_REMAP_FAILED)
                result->health.after.values[HEALTH_REMAP_FAILED] = optional_of(1);
            else if (cause == INVALID_RUN_ENDED)
                result->end.given = true;
            else if (cause == INVALID_NOT_VERIFIED)
                cell->verified = false;
            else
                cell->counters[0].expected = optional_of(4001);
            compare_pair(&defaults);
            snprintf(note, sizeof(note), "%s is invalid: %s", side_names[side],
                     invalid_rows[cause].words);
            expect(0, whole ? VERDICT_INVALID : VERDICT_SAME, whole ? note : "");
            expect(1, VERDICT_INVALID, note);
            assert_int_equal(comparison_status(&comparison, false), STATUS_FINDING);
            compared_close(&comparison, pair.sides);
        }
}

/* Errors that correct themselves, and those from before the run, make nothing invalid. */
TEST(test_harmless_errors_pass)
{
    open_pair(1);
    pair.results[NEW].health.grew = 1u << HEALTH_ECC_CORRECTED | 1u << HEALTH_XIDS;
    pair.results[NEW].health.before.values[HEALTH_ECC_UNCORRECTED] = optional_of(3);
    pair.results[NEW].health.after.values[HEALTH_ECC_UNCORRECTED] = optional_of(3);
    compare_pair(&defaults);
    expect(0, VERDICT_SAME, "");
    compared_close(&comparison, pair.sides);
}

/* Bad cells are named also where one side alone has them. */
TEST(test_an_invalid_cell_of_one_side_fails)
{
    open_pair(2);
    pair.results[NEW].cells[1].cell.block_size = 512;
    pair.results[NEW].cells[1].verified = false;
    compare_pair(&defaults);
    assert_int_equal(comparison.counts[VERDICT_INVALID], 1);
    assert_int_equal(comparison.counts[VERDICT_NEW], 0);
    compared_close(&comparison, pair.sides);
}

/* A program of a gate that found something fails the gate, whatever its times are. */
TEST(test_a_program_that_found_something_fails)
{
    open_pair(1);
    pair.sides[NEW].total.findings = 1;
    compare_pair(&defaults);
    expect(0, VERDICT_SAME, "");
    assert_int_equal(comparison_status(&comparison, false), STATUS_FINDING);
    compared_close(&comparison, pair.sides);
}

/* One process of NEW that counted something else is a change; one of BASE that NEW has not is
 * none. */
TEST(test_an_exact_counter_of_one_process_is_a_change)
{
    static const double values[SIDES][2][3] = {{{4000, 4000, 4000}, {4000, 4000, 5000}},
                                               {{4000, 3000, 4000}, {4000, 4000, 4000}}};
    struct sides sides[SIDES] = {{.count = 0}, {.count = 0}};

    for (unsigned i = 0; i < SIDES * 3; i++) {
        struct result result;

        result_fill(&result, 2, i);
        for (size_t k = 0; k < 2; k++)
            result_counter(&result.cells[k], "idc_requests", COUNTER_EXACT,
                           values[i % 2][k][i / 2]);
        sides_put(&sides[i % 2], &result);
    }
    comparison = compared(sides, &defaults);
    expect(0, VERDICT_REGRESSED, "");
    assert_true(compared_cell(&comparison, 0)->changes->new_value == 3000);
    expect(1, VERDICT_SAME, "");
    compared_close(&comparison, sides);
}

TEST(test_other_code_is_compared_only_where_it_may_differ)
{
    const void *row[] = {field_named("sass")};
    const struct selection allowed = {row, 1};
    struct compare_options options = defaults;

    for (size_t i = 0; i < 2; i++) {
        open_pair(2);
        strcpy(pair.results[NEW].cells[0].kernel.sha256, "bb");
        strcpy(pair.results[NEW].cells[1].kernel.sha256, "");
        result_counter(&pair.results[BASE].cells[0], "instructions", COUNTER_EXACT, 10);
        result_counter(&pair.results[NEW].cells[0], "instructions", COUNTER_EXACT, 11);
        options.allowed = i ? &allowed : NULL;
        compare_pair(&options);
        assert_int_equal(comparison_status(&comparison, true), i ? STATUS_OK : STATUS_ENVIRONMENT);
        expect(0, i ? VERDICT_SAME : VERDICT_INVALID, i ? "" : "sass differs");
        expect(1, VERDICT_SAME, "");
        assert_true(compared_cell(&comparison, 0)->sass_differs &&
                    !compared_cell(&comparison, 1)->sass_differs);
        compared_close(&comparison, pair.sides);
    }
}

/* -- context ----------------------------------------------------------------------------------- */

TEST(test_what_differs_between_sides)
{
    for (size_t i = 0; i < context_field_count; i++) {
        const struct context_field *field = &context_fields[i];
        const void *row[] = {field};
        const struct selection allowed = {row, 1};
        struct compare_options options = defaults;

        if (field->offset == SIZE_MAX)
            continue;
        for (size_t k = 0; k < 4; k++) {
            bool good;

            open_pair(2);
            for (size_t side = 0; side < SIDES; side++)
                sides_put(&pair.sides[side], &pair.results[side]);
            /* Text that is not known is no difference, and what is mixed on both sides is one. */
            strcpy((char *)&pair.sides[NEW].gpus->identity + field->offset, k == 2   ? ""
                                                                            : k == 3 ? "mixed"
                                                                                     : "else");
            if (k == 3)
                strcpy((char *)&pair.sides[BASE].gpus->identity + field->offset, "mixed");
            options.allowed = k == 1 ? &allowed : NULL;
            good = k == 1 || k == 2 || field->allowed;
            comparison = compared(pair.sides, &options);
            assert_int_equal(comparison.differing, k != 2 ? 1u << i : 0);
            assert_int_equal(comparison.refused, good ? 0 : 1u << i);
            assert_int_equal(comparison.comparable, good);
            /* Nothing is known of the noise of another model. */
            expect(0,
                   !good                            ? VERDICT_INVALID
                   : field == field_named("device") ? VERDICT_INCONCLUSIVE
                                                    : VERDICT_SAME,
                   good ? "" : "not comparable");
            compared_close(&comparison, pair.sides);
        }
    }
    assert_true(field_named("driver")->allowed && field_named("vbios")->allowed &&
                !field_named("uuid")->allowed);
}

TEST(test_clocks_far_apart_make_a_cell_incomparable)
{
    static const double mhz[] = {1980 * 1.02, 1980 * 1.0099, NAN};
    const void *row[] = {field_named("clocks")};
    const struct selection allowed = {row, 1};
    struct compare_options options = {.judge.threshold = 0.03};

    for (size_t k = 0; k < 2; k++) {
        open_pair(3);
        for (size_t i = 0; i < 3; i++)
            pair.results[NEW].cells[i].time.sm_clock_mhz = mhz[i];
        options.allowed = k ? &allowed : NULL;
        compare_pair(&options);
        expect(0, k ? VERDICT_SAME : VERDICT_INVALID, k ? "" : "clocks differs");
        expect(1, VERDICT_SAME, "");
        expect(2, VERDICT_SAME, "");
        assert_int_equal(comparison_status(&comparison, true), k ? STATUS_OK : STATUS_ENVIRONMENT);
        assert_int_equal(compared_cell(&comparison, 1)->judged.clock_ratio != 1, !k);
        compared_close(&comparison, pair.sides);
    }
}

/* -- calibration ------------------------------------------------------------------------------- */

TEST(test_a_calibration_stands_in_for_the_default)
{
    static const struct {
        double deviation;
        const char *driver, *note;
        enum deviation_origin origin;
        enum cell_verdict verdict;
    } rows[] = {
        /* BASE's driver counts, too */
        {0.015, "570", "", DEVIATION_CALIBRATED, VERDICT_INCONCLUSIVE},
        {0.002, "580", "", DEVIATION_CALIBRATED, VERDICT_REGRESSED},
        {0.015, "1", "another driver", DEVIATION_DEFAULT, VERDICT_REGRESSED},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct calibrated_cell cell = {.cell = cell_of(0, 0),
                                       .has_deviation = true,
                                       .deviation = {rows[i].deviation, 20, DEVIATION_PROCESSES},
                                       .sha256 = "aa"};
        struct calibration calibration = {.device.uuid = "GPU-11111111-2222",
                                          .cells = &cell,
                                          .cell_count = 1};
        struct compare_options options = defaults;

        strcpy(calibration.device.driver, rows[i].driver);
        cell.cell.elements = 1000;
        options.calibration = &calibration;
        open_pair(1);
        result_time(&pair.results[NEW].cells[0], 1030);
        strcpy(pair.results[NEW].device.driver, "580");
        compare_pair(&options);
        expect(0, rows[i].verdict, rows[i].note);
        assert_int_equal(compared_cell(&comparison, 0)->judged.deviation.origin, rows[i].origin);
        compared_close(&comparison, pair.sides);
    }
}

/* -- exit codes -------------------------------------------------------------------------------- */

TEST(test_every_exit_code)
{
    static const enum status expected[VERDICTS] = {
        [VERDICT_SAME] = STATUS_OK,           [VERDICT_IMPROVED] = STATUS_OK,
        [VERDICT_REGRESSED] = STATUS_FINDING, [VERDICT_INCONCLUSIVE] = STATUS_INCONCLUSIVE,
        [VERDICT_MISSING] = STATUS_FINDING,   [VERDICT_NEW] = STATUS_INCONCLUSIVE,
        [VERDICT_INVALID] = STATUS_FINDING,   [VERDICT_CONTENDED] = STATUS_INCONCLUSIVE,
    };

    for (size_t i = 0; i < VERDICTS; i++) {
        const bool decided = i == VERDICT_SAME || i == VERDICT_IMPROVED;
        struct comparison comparison = {.comparable = true, .decided = decided};

        comparison.counts[i] = 1000;
        assert_int_equal(comparison_status(&comparison, true), expected[i]);
        /* A comparison that decided no cell says so, strict or not. */
        comparison.counts[VERDICT_INCONCLUSIVE] = 1;
        assert_int_equal(comparison_status(&comparison, false), expected[i] == STATUS_FINDING
                                                                    ? STATUS_FINDING
                                                                : decided ? STATUS_OK
                                                                          : STATUS_INCONCLUSIVE);
        assert_int_equal(comparison_status(&comparison, true),
                         expected[i] == STATUS_FINDING ? STATUS_FINDING : STATUS_INCONCLUSIVE);
        comparison.comparable = false;
        assert_int_equal(comparison_status(&comparison, false), STATUS_ENVIRONMENT);
    }
}
