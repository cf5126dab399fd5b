/* SPDX-License-Identifier: MIT
 * Verdicts and exit codes of sides made here, and how often simulated comparisons are right. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "deviation.h"
#include "random.h"
#include "size.h"
#include "stats.h"
#include "student.h"

static const struct compare_options defaults = {.threshold = 0.01, .counter_threshold = 0.05};

/* -- sides -------------------------------------------------------------------------------------------- */

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(6.283185307179586 * uniform(state));
}

/* Cell `index` of any number: each has its own size. */
static struct cell cell_at(size_t index)
{
    return (struct cell){
        .workload = &workloads[0],
        .path = &paths[index % path_count],
        .pattern = &patterns[index / path_count % pattern_count],
        .elements = 1000 + index,
        .block_size = 256,
        .regime = &regimes[0],
    };
}

/* A side of cells with nothing but their identity, one kernel each and a clock. side_close releases it. */
static struct side make_side(size_t cells)
{
    struct side side = {.files = 1, .cell_count = cells, .cells = calloc(cells + 1, sizeof(*side.cells))};

    assert_non_null(side.cells);
    side.identity = (struct side_identity){
        .engine = "cuda",
        .device = {.name = "NVIDIA Test", .uuid = "GPU-1", .driver = "570", .vbios = "96", .ecc = "on", .mig = "off"}};
    for (size_t i = 0; i < cells; i++) {
        side.cells[i] = (struct side_cell){.cell = cell_at(i), .status = CELL_OK, .clock.value = 1980};
        snprintf(side.cells[i].sha256, sizeof(side.cells[i].sha256), "%zu", i);
    }
    return side;
}

enum { SAMPLES_MAX = 256 };

static void add_process(struct side_cell *cell, double *samples, size_t count)
{
    double scratch[SAMPLES_MAX];
    struct process_time *processes = realloc(cell->processes, (cell->process_count + 1) * sizeof(*processes));

    assert_non_null(processes);
    cell->processes = processes;
    processes[cell->process_count++] = process_of(samples, count, 0, scratch);
}

/* Noise of a simulated measurement, relative. */
struct noise {
    double between, within;
    size_t processes, samples;
};

static const struct noise quiet = {0.0005, 0.002, 3, 20};

static void simulate_cell(struct side_cell *cell, double ns, const struct noise *noise, uint64_t *state)
{
    double samples[SAMPLES_MAX];

    assert_true(noise->samples <= SAMPLES_MAX);
    for (size_t i = 0; i < noise->processes; i++) {
        const double center = ns * (1 + noise->between * normal(state));

        for (size_t k = 0; k < noise->samples; k++)
            samples[k] = center * (1 + noise->within * normal(state));
        add_process(cell, samples, noise->samples);
    }
}

/* A side all of whose cells take 1 us, the first `factor` times that. */
static struct side simulate(size_t cells, double factor, const struct noise *noise, uint64_t seed)
{
    struct side side = make_side(cells);

    for (size_t i = 0; i < cells; i++)
        simulate_cell(&side.cells[i], i == 0 ? 1000 * factor : 1000, noise, &seed);
    return side;
}

static void add_counter(struct side_cell *cell, const char *name, enum counter_kind kind, double value)
{
    struct side_counter *counters = realloc(cell->counters, (cell->counter_count + 1) * sizeof(*counters));

    assert_non_null(counters);
    cell->counters = counters;
    counters[cell->counter_count++] =
        (struct side_counter){.name = name, .kind = kind, .read = !isnan(value), .value = value};
}

static struct comparison compare(const struct side *base, const struct side *new_side,
                                 const struct compare_options *options)
{
    struct comparison comparison;

    assert_int_equal(compare_sides(base, new_side, options, &comparison), STATUS_OK);
    return comparison;
}

/* The verdict of cell `index` of the sides. */
static const struct comparison_cell *cell_of(const struct comparison *comparison, size_t index)
{
    const struct cell cell = cell_at(index);

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (cell_equal(&comparison->cells[i].cell, &cell))
            return &comparison->cells[i];
    fail();
    return NULL;
}

static void close_all(struct comparison *comparison, struct side *base, struct side *new_side)
{
    comparison_close(comparison);
    comparison_close(comparison);
    side_close(base);
    side_close(new_side);
}

/* Compares two sides that are then closed: verdict of cell 0 and exit code. */
static void expect(struct side base, struct side new_side, const struct compare_options *options, enum verdict verdict,
                   enum status status)
{
    struct comparison comparison = compare(&base, &new_side, options);

    assert_string_equal(verdict_rows[cell_of(&comparison, 0)->verdict].name, verdict_rows[verdict].name);
    assert_int_equal(comparison_status(&comparison), status);
    close_all(&comparison, &base, &new_side);
}

static const struct facet *facet_named(const char *name)
{
    static const struct table table = TABLE("facet", facets, facet_count);

    return table_find(&table, name);
}

/* -- verdicts of time --------------------------------------------------------------------------------- */

static void test_time_verdicts(void **state)
{
    static const struct noise loud = {0.01, 0.02, 3, 20};

    (void)state;
    expect(simulate(4, 1, &quiet, 1), simulate(4, 1, &quiet, 2), &defaults, VERDICT_SAME, STATUS_OK);
    expect(simulate(4, 1, &quiet, 1), simulate(4, 1.005, &quiet, 2), &defaults, VERDICT_SAME, STATUS_OK);
    expect(simulate(4, 1, &quiet, 1), simulate(4, 1.03, &quiet, 2), &defaults, VERDICT_REGRESSED, STATUS_FINDING);
    expect(simulate(4, 1.03, &quiet, 1), simulate(4, 1, &quiet, 2), &defaults, VERDICT_IMPROVED, STATUS_OK);
    expect(simulate(1, 1, &loud, 3), simulate(1, 1.001, &loud, 4), &defaults, VERDICT_INCONCLUSIVE,
           STATUS_INCONCLUSIVE);
}

static void test_threshold(void **state)
{
    struct compare_options options = defaults;

    (void)state;
    options.threshold = 0.05;
    expect(simulate(4, 1, &quiet, 1), simulate(4, 1.03, &quiet, 2), &options, VERDICT_SAME, STATUS_OK);
    options.threshold = 0.001;
    expect(simulate(4, 1, &quiet, 1), simulate(4, 1.005, &quiet, 2), &options, VERDICT_REGRESSED, STATUS_FINDING);
    options.threshold = 0;
    expect(simulate(1, 1, &quiet, 1), simulate(1, 1, &quiet, 1), &options, VERDICT_INCONCLUSIVE, STATUS_INCONCLUSIVE);
}

/* Ratio, interval and estimates are those of the sides. */
static void test_numbers(void **state)
{
    struct side base = simulate(3, 1, &quiet, 1), new_side = simulate(3, 1.03, &quiet, 2);
    struct comparison comparison = compare(&base, &new_side, &defaults);
    const struct comparison_cell *cell = &comparison.cells[0];

    (void)state;
    assert_int_equal(comparison.cell_count, 3);
    assert_int_equal(comparison.counts[VERDICT_REGRESSED], 1);
    assert_int_equal(comparison.counts[VERDICT_SAME], 2);
    assert_true(comparison.comparable && comparison.difference_count == 0);
    assert_true(cell == cell_of(&comparison, 0));
    assert_true(fabs(cell->ratio.value - 1.03) < 0.002 && cell->ratio.value == cell->ns[NEW] / cell->ns[BASE]);
    assert_true(fabs(cell->ns[BASE] - 1000) < 2);
    assert_true(cell->ratio.ci_low > 1.025 && cell->ratio.ci_low < cell->ratio.value);
    assert_true(cell->ratio.ci_high < 1.035 && cell->ratio.ci_high > cell->ratio.value);
    assert_true(fabs(cell->adjusted_p / cell->ratio.p - 3) < 1e-9 && cell->adjusted_p < 0.05);
    assert_false(cell->underpowered || cell->sass_differs || cell->same_data);
    assert_true(cell->has_deviation && cell->deviation.origin == DEVIATION_DEFAULT && cell->side_degrees == 4);
    assert_true(fabs(cell->noise - (sqrt(cell->ratio.ci_high / cell->ratio.ci_low) - 1)) < 1e-12);
    assert_int_equal(cell->settle, 0);
    assert_string_equal(cell->note, "");
    close_all(&comparison, &base, &new_side);
}

/* One sample a side has no spread, which must not pass for certainty: without an interval of the median in its process
 * and a second process nothing is known, and nothing is printed. */
static void test_too_few_samples(void **state)
{
    static const struct {
        size_t processes, samples;
        double factor;
        bool known;
        enum verdict verdict;
    } rows[] = {
        {1, 1, 1.03, false, VERDICT_INCONCLUSIVE}, {1, 1, 1, false, VERDICT_INCONCLUSIVE},
        {1, 5, 1.03, false, VERDICT_INCONCLUSIVE}, {1, 6, 1.03, true, VERDICT_REGRESSED},
        {5, 3, 1.03, true, VERDICT_REGRESSED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct noise noise = {0, 0.0002, rows[i].processes, rows[i].samples};
        struct side base = simulate(1, 1, &noise, 1), new_side = simulate(1, rows[i].factor, &noise, 2);
        struct comparison comparison = compare(&base, &new_side, &defaults);
        const struct comparison_cell *cell = &comparison.cells[0];

        assert_int_equal(cell->verdict, rows[i].verdict);
        assert_int_equal(cell->underpowered, !rows[i].known);
        assert_int_equal(cell->has_deviation, rows[i].known);
        assert_int_equal(isnan(cell->ratio.p), !rows[i].known);
        assert_int_equal(isnan(cell->ratio.ci_low), !rows[i].known);
        assert_true(cell->ratio.value > 0.99 && cell->settle == 0);
        if (rows[i].known)
            assert_int_equal(cell->deviation.origin, rows[i].processes == 5 ? DEVIATION_PROCESSES : DEVIATION_DEFAULT);
        close_all(&comparison, &base, &new_side);
    }
}

/* The interval by hand: one process a side, the default deviation, or the error of the samples, which is greater here. */
static void test_one_process_by_hand(void **state)
{
    static const struct noise one = {0.001, 0.002, 1, 20};
    struct side base = simulate(1, 1, &one, 1), new_side = simulate(1, 1.02, &one, 2);
    struct comparison comparison = compare(&base, &new_side, &defaults);
    const struct comparison_cell *cell = &comparison.cells[0];
    const double within = sqrt((pow(cell->estimates[BASE].within, 2) + pow(cell->estimates[NEW].within, 2)) / 2);
    const struct deviation before = deviation_default(CAUSE_process, &cell->cell, cell->ns[BASE]);
    const struct deviation process = {fmax(before.value, within), before.degrees, DEVIATION_DEFAULT};
    const double error = process.value * sqrt(2), t = student_quantile(0.05, process.degrees);

    (void)state;
    assert_true(fabs(cell->deviation.value / process.value - 1) < 1e-12 && cell->side_degrees == 0);
    assert_true(fabs(cell->ratio.ci_high / cell->ratio.value - exp(t * error)) < 1e-9);
    assert_true(fabs(cell->ratio.p - student_p(log(cell->ratio.value) / error, process.degrees)) < 1e-12);
    close_all(&comparison, &base, &new_side);
}

/* An unstable cell is at worst inconclusive, and no number of processes is promised to settle it. */
static void test_unstable(void **state)
{
    (void)state;
    for (size_t side = 0; side < SIDES; side++)
        for (size_t faster = 0; faster < 2; faster++) {
            struct side sides[] = {simulate(2, 1, &quiet, 1), simulate(2, faster ? 0.9 : 1.1, &quiet, 2)};
            struct comparison comparison;

            sides[side].cells[0].flags = FLAG_UNSTABLE;
            comparison = compare(&sides[BASE], &sides[NEW], &defaults);
            assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INCONCLUSIVE);
            assert_int_equal(cell_of(&comparison, 0)->settle, 0);
            assert_int_equal(cell_of(&comparison, 1)->verdict, VERDICT_SAME);
            close_all(&comparison, &sides[BASE], &sides[NEW]);
        }
}

/* Sides of other plans or of two GPUs: what those differ by is in the interval, and no process takes it away. */
static void test_plans_and_boards(void **state)
{
    const void *row[] = {facet_named("uuid")};
    const struct selection allowed = {row, 1};
    struct compare_options options = defaults;
    struct side base = simulate(2, 1, &quiet, 1), new_side = simulate(2, 1, &quiet, 2);
    struct comparison comparison = compare(&base, &new_side, &defaults);
    const double width = cell_of(&comparison, 0)->error.value;

    (void)state;
    assert_false(comparison.plans_differ || comparison.boards_differ);
    comparison_close(&comparison);
    new_side.cell_count = 1;
    comparison = compare(&base, &new_side, &defaults);
    assert_true(comparison.plans_differ && cell_of(&comparison, 0)->error.value > width * 1.2);
    comparison_close(&comparison);
    new_side.cell_count = 2;
    side_close(&new_side);
    new_side = simulate(2, 1, &quiet, 2);
    strcpy(new_side.identity.device.uuid, "GPU-2");
    options.allowed = &allowed;
    comparison = compare(&base, &new_side, &options);
    assert_true(comparison.boards_differ && cell_of(&comparison, 0)->error.value > width * 1.05);
    close_all(&comparison, &base, &new_side);
}

/* One process of a cell whose 24 placements differ by several percent, each the same in two samples. */
static void add_placed(struct side_cell *cell, double factor)
{
    double samples[48], scratch[48];

    for (size_t i = 0; i < 48; i++)
        samples[i] = 1000 * factor * (1 + 0.005 * (double)(i % 24 * 7 % 24));
    cell->processes = calloc(1, sizeof(*cell->processes));
    assert_non_null(cell->processes);
    cell->processes[cell->process_count++] = process_of(samples, 48, 24, scratch);
}

/* Of one plan, placements are the same in every process, and 1.8 % is told. Another plan has others, and so has another number of
 * sites or of copies of the code. */
static void test_places_of_other_plans(void **state)
{
    struct side base = make_side(2), new_side = make_side(2);
    struct comparison comparison;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        add_placed(&base.cells[i], 1);
        add_placed(&new_side.cells[i], i == 0 ? 1.018 : 1);
    }
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_REGRESSED);
    assert_int_equal(cell_of(&comparison, 1)->verdict, VERDICT_SAME);
    comparison_close(&comparison);
    new_side.cell_count = 1;
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INCONCLUSIVE);
    new_side.cell_count = 2;
    comparison_close(&comparison);
    new_side.cells[0].sites = 1;
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(cell_of(&comparison, 0)->verdict,
                     VERDICT_REGRESSED); /* one is what there is where it is not known */
    assert_string_equal(cell_of(&comparison, 0)->note, "");
    comparison_close(&comparison);
    new_side.cells[0].sites = 30;
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(cell_of(&comparison, 0)->note, "the table had 1 and 30 sites a place"));
    assert_string_equal(cell_of(&comparison, 1)->note, "");
    comparison_close(&comparison);
    new_side.cells[0].sites = 0;
    new_side.cells[0].code_copies = 4;
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(cell_of(&comparison, 0)->note, "the code was loaded 1 and 4 times"));
    close_all(&comparison, &base, &new_side);
}

static struct side modelled(double ns)
{
    struct side side = make_side(1);

    strcpy(side.identity.engine, "model");
    side.cells[0].modelled = true;
    add_process(&side.cells[0], &ns, 1);
    return side;
}

static void test_modelled(void **state)
{
    const void *engine[] = {&facets[0]};
    const struct selection allowed = {engine, 1};
    struct compare_options options = defaults;
    struct side base = modelled(1000), new_side = modelled(1015);
    struct comparison comparison = compare(&base, &new_side, &defaults);

    (void)state;
    assert_true(comparison.cells[0].ratio.p == 0 && comparison.cells[0].ratio.ci_low == 1.015 &&
                comparison.cells[0].ratio.ci_high == 1.015);
    assert_false(comparison.cells[0].underpowered);
    close_all(&comparison, &base, &new_side);
    expect(modelled(1000), modelled(1015), &defaults, VERDICT_REGRESSED, STATUS_FINDING);
    expect(modelled(1015), modelled(1000), &defaults, VERDICT_IMPROVED, STATUS_OK);
    expect(modelled(1000), modelled(1000), &defaults, VERDICT_SAME, STATUS_OK);
    expect(modelled(1000), modelled(1005), &defaults, VERDICT_SAME, STATUS_OK);
    /* Against measured only when asked for. */
    expect(modelled(1000), simulate(1, 1.03, &quiet, 1), &defaults, VERDICT_INVALID, STATUS_ENVIRONMENT);
    options.allowed = &allowed;
    expect(modelled(1000), simulate(1, 1.03, &quiet, 1), &options, VERDICT_REGRESSED, STATUS_FINDING);
    expect(modelled(1000), simulate(1, 1, &quiet, 1), &options, VERDICT_SAME, STATUS_OK);
}

/* -- the same data ------------------------------------------------------------------------------------ */

/* Gives the processes of every cell the names that are given, one for each. */
static void name_processes(struct side *side, const char *const *names)
{
    for (size_t i = 0; i < side->cell_count; i++)
        for (size_t k = 0; k < side->cells[i].process_count; k++)
            side->cells[i].processes[k].process = names[k];
}

/* Sides of the same processes with the same samples are the same, however much these spread; where one sample differs,
 * or the processes are others, the intervals decide. */
static void test_same_data(void **state)
{
    static const struct noise loud = {0.1, 0.1, 3, 8};
    static const char *const names[] = {"a", "b", "c"}, *const turned[] = {"c", "b", "a"},
                             *const twice[] = {"a", "a", "b"}, *const others[] = {"a", "b", "d"};
    struct side base = simulate(2, 1, &loud, 1), new_side = simulate(2, 1, &loud, 1);
    struct process_time *processes = new_side.cells[0].processes, first;
    struct comparison comparison;

    (void)state;
    name_processes(&base, names);
    name_processes(&new_side, names);
    first = processes[0];
    processes[0] = processes[2];
    processes[2] = first;
    comparison = compare(&base, &new_side, &defaults);
    for (size_t i = 0; i < 2; i++) {
        const struct comparison_cell *cell = cell_of(&comparison, i);

        assert_true(cell->same_data && cell->verdict == VERDICT_SAME && !cell->underpowered);
        assert_true(cell->ratio.value == 1 && cell->ratio.ci_low == 1 && cell->ratio.ci_high == 1 &&
                    cell->ratio.p == 1);
        assert_true(cell->ns[BASE] == cell->ns[NEW] && cell->adjusted_p == 1);
    }
    comparison_close(&comparison);
    processes[1].samples++; /* another sum: one of them is another */
    comparison = compare(&base, &new_side, &defaults);
    assert_false(cell_of(&comparison, 0)->same_data);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INCONCLUSIVE);
    assert_true(cell_of(&comparison, 1)->same_data);
    comparison_close(&comparison);
    for (size_t i = 0; i < 3; i++) {
        name_processes(&new_side, i == 0 ? turned : i == 1 ? twice : others);
        comparison = compare(&base, &new_side, &defaults);
        assert_false(cell_of(&comparison, 1)->same_data);
        comparison_close(&comparison);
    }
    side_close(&base);
    side_close(&new_side);
}

/* However many cells: one that became slower is found, and those that did not are the same by intervals of their own. */
static void test_many_cells(void **state)
{
    enum { MANY = 600 };
    struct side base = simulate(MANY, 1, &quiet, 1), new_side = simulate(MANY, 1.05, &quiet, 2);
    struct comparison comparison = compare(&base, &new_side, &defaults);

    (void)state;
    assert_int_equal(comparison.cells[0].verdict, VERDICT_REGRESSED);
    assert_int_equal(comparison.counts[VERDICT_SAME], MANY - 1);
    close_all(&comparison, &base, &new_side);
}

/* -- missing, new, invalid ---------------------------------------------------------------------------- */

static void test_missing_and_new(void **state)
{
    struct side base = simulate(3, 1, &quiet, 1), new_side = simulate(2, 1, &quiet, 2);
    struct compare_options options = defaults;
    struct comparison comparison;

    (void)state;
    options.threshold = 0.05; /* far beyond what plans differ by */
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(comparison.cells[0].verdict, VERDICT_MISSING);
    assert_true(comparison.cells[0].cell.elements == 1002);
    assert_true(isnan(comparison.cells[0].ratio.value) && isnan(comparison.cells[0].adjusted_p));
    assert_int_equal(comparison_status(&comparison), STATUS_FINDING);
    comparison_close(&comparison);
    comparison = compare(&new_side, &base, &options);
    assert_int_equal(cell_of(&comparison, 2)->verdict, VERDICT_NEW);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_SAME); /* of other plans */
    assert_int_equal(comparison_status(&comparison), STATUS_OK);
    close_all(&comparison, &base, &new_side);
}

static void test_nothing_in_common(void **state)
{
    struct side base = simulate(2, 1, &quiet, 1), new_side = simulate(2, 1, &quiet, 1), none = make_side(0);
    struct comparison comparison;

    (void)state;
    for (size_t i = 0; i < 2; i++)
        new_side.cells[i].cell.block_size = 512;
    comparison = compare(&base, &new_side, &defaults);
    assert_false(comparison.comparable);
    assert_int_equal(comparison.counts[VERDICT_MISSING], 2);
    assert_int_equal(comparison.counts[VERDICT_NEW], 2);
    assert_int_equal(comparison_status(&comparison), STATUS_ENVIRONMENT);
    comparison_close(&comparison);
    comparison = compare(&none, &none, &defaults);
    assert_int_equal(comparison.cell_count, 0);
    assert_int_equal(comparison_status(&comparison), STATUS_ENVIRONMENT);
    close_all(&comparison, &base, &new_side);
    side_close(&none);
}

static void test_invalid(void **state)
{
    static const enum cell_status statuses[] = {CELL_FAILED, CELL_SKIPPED, CELL_PENDING};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct side base = simulate(2, 1, &quiet, 1), new_side = simulate(2, 1, &quiet, 2);
        struct side_cell *cell = i % 2 ? &base.cells[0] : &new_side.cells[0];
        struct comparison comparison;

        cell->status = statuses[i / 2];
        cell->reason = strdup("because");
        comparison = compare(&base, &new_side, &defaults);
        assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INVALID);
        assert_true(isnan(cell_of(&comparison, 0)->ratio.value));
        assert_non_null(strstr(cell_of(&comparison, 0)->note, "because"));
        assert_non_null(strstr(cell_of(&comparison, 0)->note, i % 2 ? "base is" : "new is"));
        assert_int_equal(cell_of(&comparison, 1)->verdict, VERDICT_SAME);
        assert_int_equal(comparison_status(&comparison), STATUS_FINDING);
        close_all(&comparison, &base, &new_side);
    }
}

static void test_times_that_are_none(void **state)
{
    static const double bad[] = {0, -1, 1e-308, 1e308};
    struct side base = simulate(1, 1, &quiet, 1), new_side = make_side(1);
    struct comparison comparison = compare(&base, &new_side, &defaults);

    (void)state;
    assert_string_equal(cell_of(&comparison, 0)->note, "new has no time");
    assert_int_equal(comparison_status(&comparison), STATUS_FINDING);
    close_all(&comparison, &base, &new_side);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        base = make_side(1), new_side = make_side(1);
        add_process(&base.cells[0], &(double){i == 3 ? 1e-308 : 1e308}, 1);
        add_process(&new_side.cells[0], &(double){bad[i]}, 1);
        comparison = compare(&base, &new_side, &defaults);
        assert_int_equal(comparison.cells[0].verdict, VERDICT_INVALID);
        assert_true(isnan(comparison.cells[0].ratio.value));
        assert_true(comparison.cells[0].note[0]);
        close_all(&comparison, &base, &new_side);
    }
}

/* -- counters ----------------------------------------------------------------------------------------- */

static void test_exact_counters(void **state)
{
    struct side base = simulate(3, 1, &quiet, 1), new_side = simulate(3, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        add_counter(&base.cells[i], "idc_requests", COUNTER_EXACT, 4000);
        add_counter(&base.cells[i], "l2_sectors", COUNTER_MEASURED, 100);
        add_counter(&new_side.cells[i], "l2_sectors", COUNTER_MEASURED, i == 1 ? 106 : 104);
        add_counter(&new_side.cells[i], "idc_requests", COUNTER_EXACT, i == 0 ? 4001 : 4000);
    }
    comparison = compare(&base, &new_side, &defaults);
    assert_true(&comparison.cells[0] == cell_of(&comparison, 0));
    assert_int_equal(comparison.cells[0].verdict, VERDICT_REGRESSED);
    assert_int_equal(comparison.cells[0].change_count, 1);
    assert_string_equal(comparison.cells[0].changes[0].name, "idc_requests");
    assert_int_equal(comparison.cells[0].changes[0].kind, COUNTER_EXACT);
    assert_true(comparison.cells[0].changes[0].base == 4000 && comparison.cells[0].changes[0].new_value == 4001);
    assert_int_equal(cell_of(&comparison, 1)->verdict, VERDICT_SAME);
    assert_int_equal(cell_of(&comparison, 1)->change_count, 1);
    assert_string_equal(cell_of(&comparison, 1)->changes[0].name, "l2_sectors");
    assert_int_equal(cell_of(&comparison, 2)->change_count, 0);
    assert_int_equal(comparison_status(&comparison), STATUS_FINDING);
    close_all(&comparison, &base, &new_side);
}

/* What three processes read, ascending. */
static void set_values(struct side_counter *counter, const double values[3])
{
    counter->read = 3;
    counter->values = malloc(3 * sizeof(*values));
    assert_non_null(counter->values);
    memcpy(counter->values, values, 3 * sizeof(*values));
    counter->value = values[1];
}

/* One process of NEW that counted something else is a change; one of BASE that NEW has not is none. */
static void test_exact_counter_of_one_process(void **state)
{
    struct side base = simulate(2, 1, &quiet, 1), new_side = simulate(2, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        add_counter(&base.cells[i], "idc_requests", COUNTER_EXACT, 4000);
        add_counter(&new_side.cells[i], "idc_requests", COUNTER_EXACT, 4000);
    }
    set_values(&new_side.cells[0].counters[0], (const double[]){3000, 4000, 4000});
    set_values(&base.cells[1].counters[0], (const double[]){4000, 4000, 5000});
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_REGRESSED);
    assert_true(cell_of(&comparison, 0)->changes[0].new_value == 3000);
    assert_int_equal(cell_of(&comparison, 1)->verdict, VERDICT_SAME);
    close_all(&comparison, &base, &new_side);
}

/* What one side did not read says nothing. */
static void test_counters_not_read(void **state)
{
    struct side base = simulate(1, 1, &quiet, 1), new_side = simulate(1, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    add_counter(&base.cells[0], "a", COUNTER_EXACT, 1);
    add_counter(&base.cells[0], "b", COUNTER_EXACT, NAN);
    add_counter(&base.cells[0], "c", COUNTER_EXACT, 1);
    add_counter(&new_side.cells[0], "a", COUNTER_EXACT, NAN);
    add_counter(&new_side.cells[0], "b", COUNTER_EXACT, 1);
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(comparison.cells[0].change_count, 0);
    assert_int_equal(comparison.cells[0].verdict, VERDICT_SAME);
    close_all(&comparison, &base, &new_side);
}

/* -- facets ------------------------------------------------------------------------------------------- */

/* Changes the facet of a side that has it as text. */
static void change_text(struct side *side, const struct facet *facet)
{
    strcpy((char *)&side->identity + facet->offset, "else");
}

static void test_facets_of_sides(void **state)
{
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < facet_count; i++) {
        const void *row[] = {&facets[i]};
        const struct selection allowed = {row, 1};
        /* Boards differ by more than what is asked for. */
        const enum verdict alike = strcmp(facets[i].name, "uuid") == 0 ? VERDICT_INCONCLUSIVE : VERDICT_SAME;
        struct compare_options options = defaults;
        struct side base = simulate(2, 1, &quiet, 1), new_side = simulate(2, 1, &quiet, 2);
        struct comparison comparison;

        if (facets[i].offset != SIZE_MAX) {
            change_text(&new_side, &facets[i]);
            comparison = compare(&base, &new_side, &options);
            assert_int_equal(comparison.difference_count, 1);
            assert_ptr_equal(comparison.differences[0].facet, &facets[i]);
            assert_string_equal(comparison.differences[0].new_text, "else");
            assert_int_equal(comparison.differences[0].allowed, facets[i].allowed);
            assert_int_equal(comparison.counts[VERDICT_INVALID], facets[i].allowed ? 0 : 2);
            assert_int_equal(comparison_status(&comparison), facets[i].allowed ? STATUS_OK : STATUS_ENVIRONMENT);
            comparison_close(&comparison);
            options.allowed = &allowed;
            comparison = compare(&base, &new_side, &options);
            assert_true(comparison.comparable && comparison.differences[0].allowed);
            assert_int_equal(comparison.counts[alike], 2);
            comparison_close(&comparison);
            seen++;
        }
        side_close(&base);
        side_close(&new_side);
    }
    assert_int_equal(seen, 7);
    assert_true(facet_named("driver")->allowed && facet_named("vbios")->allowed && !facet_named("uuid")->allowed);
}

/* A side of several GPUs is of none that could be the same; what is not known is no difference. */
static void test_mixed_and_unknown(void **state)
{
    struct side base = simulate(1, 1, &quiet, 1), new_side = simulate(1, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    strcpy(base.identity.device.uuid, "mixed");
    strcpy(new_side.identity.device.uuid, "mixed");
    comparison = compare(&base, &new_side, &defaults);
    assert_false(comparison.comparable);
    assert_non_null(strstr(comparison.cells[0].note, "uuid differs"));
    comparison_close(&comparison);
    strcpy(base.identity.device.uuid, "");
    comparison = compare(&base, &new_side, &defaults);
    assert_true(comparison.comparable);
    close_all(&comparison, &base, &new_side);
}

static void test_clocks(void **state)
{
    const void *row[] = {facet_named("clocks")};
    const struct selection allowed = {row, 1};
    struct compare_options options = defaults;
    struct side base = simulate(3, 1, &quiet, 1), new_side = simulate(3, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    new_side.cells[0].clock.value = 1980 * 1.02;
    new_side.cells[1].clock.value = 1980 * 1.005;
    new_side.cells[2].clock.value = NAN;
    comparison = compare(&base, &new_side, &options);
    assert_false(comparison.comparable);
    assert_int_equal(comparison.difference_count, 1);
    assert_string_equal(comparison.differences[0].base, "1 cell");
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INVALID);
    assert_non_null(strstr(cell_of(&comparison, 0)->note, "clocks differs"));
    assert_int_equal(cell_of(&comparison, 1)->verdict, VERDICT_SAME);
    assert_int_equal(cell_of(&comparison, 2)->verdict, VERDICT_SAME);
    assert_int_equal(comparison_status(&comparison), STATUS_ENVIRONMENT);
    comparison_close(&comparison);
    options.allowed = &allowed;
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(comparison_status(&comparison), STATUS_OK);
    close_all(&comparison, &base, &new_side);
}

/* A clock that is 0.7 % higher, and times that follow it, do not, or change by themselves. By hand: half intervals are those of
 * the ratio of times. */
static void test_clocks_that_moved(void **state)
{
    static const double moved = 1.007;
    static const struct {
        double time, threshold;
        bool allowed;
        enum verdict verdict;
        double size;
    } rows[] = {
        {1 / 1.007, 0.01, false, VERDICT_SAME, 0},
        {1 / 1.007, 0.005, false, VERDICT_INCONCLUSIVE, 0},
        {1 / 1.007, 0.005, true, VERDICT_IMPROVED, 0.007},
        {1, 0.005, false, VERDICT_INCONCLUSIVE, 0},
        {1, 0.005, true, VERDICT_SAME, 0},
        {1.03, 0.01, false, VERDICT_REGRESSED, 0.03},
        {1 / 1.03, 0.01, false, VERDICT_IMPROVED, 0.0228},
        {1 / 1.012, 0.01, false, VERDICT_INCONCLUSIVE, 0.005},
        {1 / 1.012, 0.01, true, VERDICT_IMPROVED, 0.012},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const void *row[] = {facet_named("clocks")};
        const struct selection allowed = {row, 1};
        struct compare_options options = defaults;
        struct side base = simulate(2, 1, &quiet, 1), new_side = simulate(2, rows[i].time, &quiet, 2);
        struct comparison comparison;
        const struct comparison_cell *cell;
        double half, low, high;

        options.threshold = rows[i].threshold;
        options.allowed = rows[i].allowed ? &allowed : NULL;
        new_side.cells[0].clock.value = 1980 * moved;
        comparison = compare(&base, &new_side, &options);
        cell = cell_of(&comparison, 0);
        assert_int_equal(cell->verdict, rows[i].verdict);
        assert_true(fabs(change_size(cell) - rows[i].size) < 0.002);
        half = student_quantile(0.05, cell->error.degrees) * cell->error.value;
        low = cell->ratio.value * exp(-half);
        high = cell->ratio.value * exp(half) * (rows[i].allowed ? 1 : moved);
        assert_true(fabs(cell->ratio.ci_low / low - 1) < 1e-9 && fabs(cell->ratio.ci_high / high - 1) < 1e-9);
        assert_true(cell->clock_ratio == (rows[i].allowed ? 1 : 1980 / (1980 * moved)));
        assert_true(cell_of(&comparison, 1)->clock_ratio == 1);
        if (cell->verdict == VERDICT_INCONCLUSIVE)
            assert_int_equal(cell->settle, 0);
        close_all(&comparison, &base, &new_side);
    }
}

static void test_sass(void **state)
{
    const void *row[] = {facet_named("sass")};
    const struct selection allowed = {row, 1};
    struct compare_options options = defaults;
    struct side base = simulate(3, 1, &quiet, 1), new_side = simulate(3, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    strcpy(new_side.cells[0].sha256, "else");
    strcpy(new_side.cells[1].sha256, "");
    base.cells[0].code = strdup("LDC 1 MOV 1;AB;x");
    new_side.cells[0].code = strdup("LDC 2 MOV 1;AAB;y");
    strcpy(new_side.cells[2].sha256, "mixed");
    base.cells[2].code = strdup("LDC 1 MOV 1;AB;x");
    new_side.cells[2].code = strdup("LDC 2 MOV 1;AAB;y");
    add_counter(&base.cells[0], "instructions", COUNTER_EXACT, 10);
    add_counter(&new_side.cells[0], "instructions", COUNTER_EXACT, 11);
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(comparison_status(&comparison), STATUS_ENVIRONMENT);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INVALID);
    assert_true(cell_of(&comparison, 0)->sass_differs);
    assert_false(cell_of(&comparison, 1)->sass_differs);
    comparison_close(&comparison);
    options.allowed = &allowed;
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(comparison_status(&comparison), STATUS_OK);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_SAME);
    assert_int_equal(cell_of(&comparison, 0)->change_count, 1);
    assert_non_null(cell_of(&comparison, 0)->code);
    assert_int_equal(cell_of(&comparison, 0)->code->opcodes[0].new_count, 2);
    assert_int_equal(cell_of(&comparison, 0)->code->opcode_at, 2);
    assert_null(cell_of(&comparison, 1)->code);
    assert_true(cell_of(&comparison, 2)->sass_differs && !cell_of(&comparison, 2)->code);
    assert_non_null(strstr(cell_of(&comparison, 0)->note, "the code differs"));
    close_all(&comparison, &base, &new_side);
}

static void test_flags_are_noted(void **state)
{
    struct side base = simulate(1, 1, &quiet, 1), new_side = simulate(1, 1, &quiet, 2);
    struct comparison comparison;

    (void)state;
    new_side.cells[0].flags = FLAG_THROTTLED | FLAG_CLOCK_VARIED;
    comparison = compare(&base, &new_side, &defaults);
    assert_string_equal(comparison.cells[0].note, "new is throttled; new is clock_varied");
    close_all(&comparison, &base, &new_side);
}

/* -- calibration -------------------------------------------------------------------------------------- */

static const struct calibrated_cell calibrated_wide = {
    .noise = 0.04,
    .has_deviation = true,
    .deviation = {0.015, 20, DEVIATION_PROCESSES},
    .median_ns = 1000,
    .sha256 = "0",
};

static const struct noise one_process = {0.0005, 0.002, 1, 20};

static void test_calibrated(void **state)
{
    struct calibrated_cell calibrated = calibrated_wide;
    struct calibration calibration = {.device = {.name = "NVIDIA Test", .uuid = "GPU-1", .driver = "570"},
                                      .processes = 21,
                                      .cells = &calibrated,
                                      .cell_count = 1};
    struct compare_options options = defaults;
    struct side base = simulate(2, 1, &one_process, 1), new_side = simulate(2, 1.03, &one_process, 2);
    struct comparison comparison = compare(&base, &new_side, &options);

    (void)state;
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_REGRESSED);
    comparison_close(&comparison);
    strcpy(new_side.identity.device.driver, "580");
    options.calibration = &calibration;
    calibrated.cell = cell_at(0);
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_INCONCLUSIVE);
    assert_true(fabs(cell_of(&comparison, 0)->deviation.value - 0.015) < 1e-12);
    assert_true(cell_of(&comparison, 0)->deviation.origin == DEVIATION_CALIBRATED &&
                cell_of(&comparison, 0)->deviation.degrees == 20);
    assert_true(cell_of(&comparison, 1)->deviation.origin == DEVIATION_DEFAULT);
    assert_non_null(strstr(cell_of(&comparison, 1)->note, "no such cell"));
    comparison_close(&comparison);
    calibrated.deviation.value = 0.002;
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_REGRESSED);
    comparison_close(&comparison);
    /* Another board: what boards differ by is added. Another driver: it says nothing. */
    strcpy(calibration.device.uuid, "GPU-2");
    comparison = compare(&base, &new_side, &options);
    assert_true(cell_of(&comparison, 0)->deviation.value > 0.002 &&
                cell_of(&comparison, 0)->deviation.origin == DEVIATION_OTHER_BOARD);
    comparison_close(&comparison);
    strcpy(calibration.device.driver, "1");
    calibrated.deviation.value = 0.015;
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(cell_of(&comparison, 0)->verdict, VERDICT_REGRESSED);
    assert_non_null(strstr(cell_of(&comparison, 0)->note, "another driver"));
    close_all(&comparison, &base, &new_side);
}

/* Cells that differ in one parameter alone are different cells, in sides and in a calibration. */
static void test_parameters(void **state)
{
    struct side base = simulate(2, 1.03, &one_process, 1), new_side = simulate(2, 1, &one_process, 2);
    struct calibrated_cell calibrated = calibrated_wide;
    struct calibration calibration = {.device = {.name = "NVIDIA Test", .uuid = "GPU-1", .driver = "570"},
                                      .processes = 5,
                                      .cells = &calibrated,
                                      .cell_count = 1};
    struct compare_options options = defaults;
    struct comparison comparison;
    char identity[CELL_IDENTITY_BYTES];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        base.cells[i].cell = cell_at(0);
        base.cells[i].cell.parameters[PARAMETER_radius] = 1 + (uint32_t)i;
        /* In the other order. */
        new_side.cells[1 - i].cell = base.cells[i].cell;
        strcpy(base.cells[i].sha256, "0");
        strcpy(new_side.cells[i].sha256, "0");
    }
    calibrated.cell = base.cells[0].cell;
    options.calibration = &calibration;
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(comparison.cell_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct comparison_cell *cell = &comparison.cells[i];

        cell_identity(&cell->cell, identity);
        assert_int_equal(cell->deviation.origin == DEVIATION_CALIBRATED, strstr(identity, "/radius=1") != NULL);
        assert_int_equal(cell->verdict == VERDICT_INCONCLUSIVE, cell->deviation.origin == DEVIATION_CALIBRATED);
    }
    comparison_close(&comparison);
    new_side.cells[0].cell.parameters[PARAMETER_radius] = 3;
    comparison = compare(&base, &new_side, &options);
    assert_int_equal(comparison.counts[VERDICT_MISSING], 1);
    assert_int_equal(comparison.counts[VERDICT_NEW], 1);
    close_all(&comparison, &base, &new_side);
}

/* -- order and exit codes ----------------------------------------------------------------------------- */

static void test_worst_first(void **state)
{
    static const double factors[] = {1, 0.9, 1.1, 1.2, 1, 1};
    static const enum verdict expected[] = {VERDICT_REGRESSED, VERDICT_REGRESSED, VERDICT_MISSING, VERDICT_INVALID,
                                            VERDICT_IMPROVED,  VERDICT_NEW,       VERDICT_SAME};
    uint64_t seed = 5;
    struct side base = make_side(6), new_side = make_side(6);
    struct comparison comparison;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        simulate_cell(&base.cells[i], 20000, &quiet, &seed);
        simulate_cell(&new_side.cells[i], 20000 * factors[i], &quiet, &seed);
    }
    new_side.cells[4].cell = cell_at(100);
    new_side.cells[5].status = CELL_FAILED;
    comparison = compare(&base, &new_side, &defaults);
    assert_int_equal(comparison.cell_count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(comparison.cells[i].verdict, expected[i]);
    assert_true(comparison.cells[0].cell.elements == 1003 && comparison.cells[1].cell.elements == 1002);
    assert_int_equal(comparison_status(&comparison), STATUS_FINDING);
    close_all(&comparison, &base, &new_side);
}

static void test_every_exit_code(void **state)
{
    static const enum status expected[] = {
        [VERDICT_SAME] = STATUS_OK,           [VERDICT_IMPROVED] = STATUS_OK,
        [VERDICT_REGRESSED] = STATUS_FINDING, [VERDICT_INCONCLUSIVE] = STATUS_INCONCLUSIVE,
        [VERDICT_MISSING] = STATUS_FINDING,   [VERDICT_NEW] = STATUS_OK,
        [VERDICT_INVALID] = STATUS_FINDING,
    };
    struct comparison comparison = {.comparable = true};

    (void)state;
    assert_int_equal(verdict_count, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < verdict_count; i++) {
        comparison = (struct comparison){.comparable = true};
        comparison.counts[i] = 1000;
        assert_int_equal(comparison_status(&comparison), expected[i]);
        comparison.counts[VERDICT_INCONCLUSIVE] = 1;
        assert_int_equal(comparison_status(&comparison),
                         expected[i] == STATUS_FINDING ? STATUS_FINDING : STATUS_INCONCLUSIVE);
        comparison.comparable = false;
        assert_int_equal(comparison_status(&comparison), STATUS_ENVIRONMENT);
    }
}

/* -- the same numbers -------------------------------------------------------------------------------- */

/* The same sides give the same numbers. Of one process a side a cell's do not depend on what else is compared. */
static void test_each_cell_by_itself(void **state)
{
    struct side base = simulate(24, 1.01, &one_process, 1), new_side = simulate(24, 1, &one_process, 2);
    struct comparison all = compare(&base, &new_side, &defaults), again = compare(&base, &new_side, &defaults);

    (void)state;
    for (size_t i = 0; i < 24; i++) {
        const struct side one = {.identity = base.identity, .cells = &base.cells[i], .cell_count = 1};
        const struct side other = {.identity = new_side.identity, .cells = &new_side.cells[i], .cell_count = 1};
        struct comparison alone = compare(&one, &other, &defaults);

        assert_memory_equal(&alone.cells[0].ratio, &cell_of(&all, i)->ratio, sizeof(struct ratio));
        assert_memory_equal(&again.cells[i].ratio, &all.cells[i].ratio, sizeof(struct ratio));
        assert_true(cell_equal(&again.cells[i].cell, &all.cells[i].cell));
        comparison_close(&alone);
    }
    comparison_close(&again);
    close_all(&all, &base, &new_side);
}

/* -- how often it is right ---------------------------------------------------------------------------- */

/* Verdicts of the first of 24 cells, and of the other 23, over `comparisons`; all seeded. */
static void simulate_many(double factor, const struct noise *noise, size_t comparisons,
                          size_t first[VERDICT_INVALID + 1], size_t others[VERDICT_INVALID + 1])
{
    memset(first, 0, (VERDICT_INVALID + 1) * sizeof(*first));
    memset(others, 0, (VERDICT_INVALID + 1) * sizeof(*others));
    for (size_t i = 0; i < comparisons; i++) {
        /* Seeds next to each other begin sequences that are far apart. */
        struct side base = simulate(24, 1, noise, 2 * i), new_side = simulate(24, factor, noise, 2 * i + 1);
        struct comparison comparison = compare(&base, &new_side, &defaults);

        for (size_t k = 0; k < 24; k++)
            (k == 0 ? first : others)[cell_of(&comparison, k)->verdict]++;
        close_all(&comparison, &base, &new_side);
    }
}

/* What is advised to settle a cell does settle it, mostly. */
static void test_settle(void **state)
{
    struct noise noise = {0.0003, 0.016, 1, 20};
    struct side base = simulate(24, 1, &noise, 1), new_side = simulate(24, 1, &noise, 2);
    struct comparison comparison = compare(&base, &new_side, &defaults);
    const size_t undecided = comparison.counts[VERDICT_INCONCLUSIVE];
    size_t settle = 0;

    (void)state;
    for (size_t i = 0; i < comparison.cell_count; i++)
        if (comparison.cells[i].settle > settle)
            settle = comparison.cells[i].settle;
    assert_true(undecided > 0 && settle > 1 && settle <= PROCESSES_TO_SETTLE_MOST);
    close_all(&comparison, &base, &new_side);
    noise.processes = settle;
    base = simulate(24, 1, &noise, 1), new_side = simulate(24, 1, &noise, 2);
    comparison = compare(&base, &new_side, &defaults);
    assert_true(comparison.counts[VERDICT_SAME] >= 20);
    close_all(&comparison, &base, &new_side);
}

/* Intervals at one process a side hold 1 as often as they say where the noise is what is assumed, and wider ones
 * where several processes show that it is more. */
static void test_coverage(void **state)
{
    struct side any = make_side(1);
    const struct noise assumed = {deviation_default(CAUSE_process, &any.cells[0].cell, 1000).value, 0.0003, 1, 20};
    static const struct noise louder = {0.0068, 0.0015, 3, 20};
    const size_t comparisons = repetitions(100, 20);

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        size_t covered = 0;

        for (size_t i = 0; i < comparisons; i++) {
            struct side base = simulate(24, 1, k ? &louder : &assumed, 1000 + 2 * i);
            struct side new_side = simulate(24, 1, k ? &louder : &assumed, 1001 + 2 * i);
            struct comparison comparison = compare(&base, &new_side, &defaults);

            for (size_t c = 0; c < 24; c++)
                covered += comparison.cells[c].ratio.ci_low <= 1 && comparison.cells[c].ratio.ci_high >= 1;
            close_all(&comparison, &base, &new_side);
        }
        /* Four standard deviations of the binomial below, and no interval that says nothing. */
        assert_true((double)covered > 24 * 0.95 * (double)comparisons - 4 * sqrt(24 * 0.0475 * (double)comparisons));
        assert_true((double)covered < 24 * 0.99 * (double)comparisons);
    }
    side_close(&any);
}

static void test_false_alarms(void **state)
{
    static const struct noise processes = {0.002, 0.002, 3, 20}, one_process = {0.001, 0.002, 1, 20};
    const size_t comparisons = repetitions(200, 10);
    size_t first[VERDICT_INVALID + 1], others[VERDICT_INVALID + 1];

    (void)state;
    simulate_many(1, &processes, comparisons, first, others);
    assert_int_equal(first[VERDICT_REGRESSED] + first[VERDICT_IMPROVED], 0);
    assert_int_equal(others[VERDICT_REGRESSED] + others[VERDICT_IMPROVED], 0);
    assert_true(first[VERDICT_SAME] + others[VERDICT_SAME] > comparisons * 24 * 95 / 100);
    simulate_many(1, &one_process, comparisons / 4, first, others);
    assert_int_equal(first[VERDICT_REGRESSED] + first[VERDICT_IMPROVED], 0);
    assert_int_equal(others[VERDICT_REGRESSED] + others[VERDICT_IMPROVED], 0);
}

static void test_power(void **state)
{
    static const struct noise processes = {0.002, 0.002, 5, 20};
    const size_t comparisons = repetitions(100, 5);
    size_t first[VERDICT_INVALID + 1], others[VERDICT_INVALID + 1];

    (void)state;
    simulate_many(1.015, &processes, comparisons, first, others);
    assert_true(first[VERDICT_REGRESSED] >= comparisons * 95 / 100);
    assert_int_equal(others[VERDICT_REGRESSED] + others[VERDICT_IMPROVED], 0);
    simulate_many(1.003, &processes, comparisons, first, others);
    assert_int_equal(first[VERDICT_REGRESSED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_verdicts),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_too_few_samples),
        cmocka_unit_test(test_one_process_by_hand),
        cmocka_unit_test(test_unstable),
        cmocka_unit_test(test_plans_and_boards),
        cmocka_unit_test(test_places_of_other_plans),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_modelled),
        cmocka_unit_test(test_same_data),
        cmocka_unit_test(test_many_cells),
        cmocka_unit_test(test_missing_and_new),
        cmocka_unit_test(test_nothing_in_common),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_times_that_are_none),
        cmocka_unit_test(test_exact_counters),
        cmocka_unit_test(test_exact_counter_of_one_process),
        cmocka_unit_test(test_counters_not_read),
        cmocka_unit_test(test_facets_of_sides),
        cmocka_unit_test(test_mixed_and_unknown),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_clocks_that_moved),
        cmocka_unit_test(test_sass),
        cmocka_unit_test(test_flags_are_noted),
        cmocka_unit_test(test_calibrated),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_worst_first),
        cmocka_unit_test(test_every_exit_code),
        cmocka_unit_test(test_each_cell_by_itself),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_power),
    };

    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
