/* SPDX-License-Identifier: MIT
 * Measures both sides in turn, or one of them, until a comparison decides every cell. */
#include "gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "command.h"
#include "compare_report.h"
#include "log.h"
#include "processes.h"

uint64_t gate_next_look(uint64_t processes, uint64_t most)
{
    static const uint64_t looks[GATE_LOOKS - 1] = {3, 5, 10, 20}; /* and one at the end of the budget */

    for (size_t i = 0; i < GATE_LOOKS - 1; i++)
        if (looks[i] > processes)
            return looks[i] < most ? looks[i] : most;
    return most;
}

struct gate_options {
    struct plan_options plan;
    struct measure_options measure;
    struct comparing_options comparing;
    struct look_options look;
    const char *programs[SIDES]; /* NULL: not given */
    const char *keep_path;       /* NULL: a folder of its own */
    uint64_t processes;
    double seconds;
};

#define MEMBER(name) .offset = offsetof(struct gate_options, name)

/* clang-format off */
static const struct option_row own_rows[] = {
    {.name = "processes", .argument = "N", .help = "processes a side at most (default 20)",
     .kind = &option_integer, MEMBER(processes), .low = 1, .high = PROCESSES_TO_SETTLE_MOST, .unit = "processes",
     .fallback = "20"},
    {.name = "seconds", .argument = "SECONDS", .help = "begin no more processes after so long (default: no limit)",
     .kind = &option_number, MEMBER(seconds), .low = 0.001, .high = 1e9, .unit = "seconds"},
    {.name = "keep", .argument = "FOLDER",
     .help = "keep the results of the processes there, and go on with those of an earlier gate that ended early",
     .kind = &option_text, MEMBER(keep_path)},
    {.name = "base-program", .argument = "PATH", .help = "measure BASE by this cbank, or a script that ends in one",
     .kind = &option_text, MEMBER(programs[BASE])},
    {.name = "new-program", .argument = "PATH", .help = "measure NEW by this one (default: the program itself)",
     .kind = &option_text, MEMBER(programs[NEW])},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct gate_options, plan)),
    OPTION_GROUP(measure_option_rows, offsetof(struct gate_options, measure)),
    OPTION_GROUP(own_rows, 0),
    OPTION_GROUP(comparing_option_rows, offsetof(struct gate_options, comparing)),
    OPTION_GROUP(look_option_rows, offsetof(struct gate_options, look)),
};

struct gating {
    const struct gate_options *options;
    struct compare_options as;
    struct process_series series[SIDES]; /* of sides that are measured */
    struct sides sides[SIDES];           /* as of the last interim analysis */
    struct comparison comparison;        /* its outcome */
    const char *folder;
};

/* How many processes would decide every cell that more processes can decide; 0: there is no such cell. */
static uint64_t needs(const struct comparison *comparison)
{
    uint64_t most = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].judged.settle > most && comparison->cells[i].verdict == VERDICT_INCONCLUSIVE)
            most = comparison->cells[i].judged.settle;
    return most;
}

/* Compares the first processes of each side. */
static enum status look(struct gating *gating, uint64_t processes)
{
    enum status status = STATUS_OK;

    comparison_close(&gating->comparison);
    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++) {
        const struct process_series *series = &gating->series[i];

        if (gating->as.fixed[i])
            continue;
        sides_close(&gating->sides[i]);
        status = process_series_read(series, processes, &gating->sides[i]);
    }
    return status == STATUS_OK ? compare_sides(gating->sides, &gating->as, &gating->comparison) : status;
}

/* Runs and looks until all is decided or the budget is spent. */
static enum status measure(struct gating *gating)
{
    const struct gate_options *options = gating->options;
    const struct comparison *comparison = &gating->comparison;
    const uint64_t most = options->processes;
    const char *of = measured_text(gating->as.fixed);
    const double start = clock_seconds();

    for (uint64_t processes = 1;; processes++) {
        enum status ran = STATUS_OK, status = STATUS_OK;
        bool over, due;

        /* One more process of each side that is measured: base, new, new, base, base and so on. */
        for (size_t i = 0; i < SIDES && process_usable(ran); i++) {
            const size_t side = (i + processes - 1) % SIDES;

            if (!gating->as.fixed[side])
                ran = status_worse(ran, process_series_run(&gating->series[side], processes - 1));
            if (child_signal())
                return STATUS_ENVIRONMENT;
        }
        if (!process_usable(ran))
            return ran;
        over = processes == most || (options->seconds > 0 && clock_seconds() - start >= options->seconds);
        due = over || gate_next_look(processes - 1, most) == processes;
        /* The first process decides nothing, but shows whether the sides can be compared. */
        if (due || processes == 1)
            status = look(gating, processes);
        if (status != STATUS_OK)
            return status;
        if (processes == 1 && !over) {
            over = !comparison->comparable;
            if (comparison->comparable && comparison->plans_differ)
                log_warning("the sides do not have the same cells; give the options that BASE was measured with");
        }
        if (due || over) {
            const size_t open = comparison->counts[VERDICT_INCONCLUSIVE];
            const uint64_t enough = needs(comparison);
            char more[96] = "";

            if (enough > 0)
                snprintf(more, sizeof(more), "; %" PRIu64 " processes %s would decide them", enough, of);
            else if (open > 0)
                snprintf(more, sizeof(more), "; no number of processes that is advised would decide them");
            log_note(options->comparing.quiet, "at %" PRIu64 " process%s %s: %zu of %zu cells decided, %zu not%s",
                     processes, processes == 1 ? "" : "es", of, comparison->cell_count - open, comparison->cell_count,
                     open, more);
            if (over || enough == 0)
                return STATUS_OK;
        } else {
            log_note(options->comparing.quiet, "%" PRIu64 " process%s %s; the next interim analysis is at %" PRIu64,
                     processes, processes == 1 ? "" : "es", of, gate_next_look(processes, most));
        }
    }
}

static enum status gate_in(struct gating *gating)
{
    struct process_series *series = gating->series;
    enum status status = STATUS_OK;
    uint64_t finished = 0;
    bool goes_on;

    gating->as.folder = gating->folder;
    for (size_t i = 0; i < SIDES && process_usable(status); i++)
        if (!gating->as.fixed[i]) {
            status = status_worse(status, process_series_open(&series[i]));
            finished += series[i].finished;
        }
    if (process_usable(status)) {
        if (finished > 0)
            log_note(0, "%s has %" PRIu64 " of BASE and %" PRIu64 " of NEW already", gating->folder,
                     series[BASE].finished, series[NEW].finished);
        status = measure(gating);
    }
    finished = series[BASE].finished + series[NEW].finished;
    goes_on = process_usable(status) ? needs(&gating->comparison) > 0 : finished > 0;
    if (!process_usable(status) && finished > 0)
        log_note(0, "%s has %" PRIu64 " of BASE and %" PRIu64 " of NEW; the same command with --keep %s goes on",
                 gating->folder, series[BASE].finished, series[NEW].finished, gating->folder);
    for (size_t i = 0; i < SIDES; i++)
        if (!gating->options->keep_path && !goes_on && !gating->as.fixed[i])
            process_series_remove(&series[i]);
    if (status == STATUS_OK)
        status = comparing_report(&gating->options->comparing, look_color(&gating->options->look, STDOUT_FILENO),
                                  &gating->comparison);
    for (size_t i = 0; i < SIDES; i++)
        process_series_close(&series[i]);
    return status;
}

/* Finds out which side is results and which is measured. Arguments are of the sides without a program, BASE first. */
static enum status find_sides(struct gating *gating, const struct invocation *invocation)
{
    const char *const *programs = gating->options->programs;
    enum status status = STATUS_OK;
    size_t used = 0;

    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++) {
        struct sides *sides = &gating->sides[i];

        gating->as.fixed[i] = !programs[i] && used < invocation->argument_count;
        if (gating->as.fixed[i])
            status = sides_add_list(sides, invocation->arguments[used++]);
        else if (!programs[i] && i == BASE)
            status = log_error(STATUS_USAGE, "a gate needs a BASE: results, or --base-program PATH");
        if (status == STATUS_OK && sides->count > 1)
            status = log_error(STATUS_USAGE, "%s: results of several GPUs; a gate measures one, so name its results",
                               sides->total.label);
    }
    if (status == STATUS_OK && used < invocation->argument_count)
        status = log_error(STATUS_USAGE, "a side is results or a program: leave out %s, or the program",
                           invocation->arguments[used]);
    if (status == STATUS_OK && gating->as.fixed[BASE] && gating->as.fixed[NEW])
        status = log_error(STATUS_USAGE, "both sides are results; cbank compare compares them, and a gate measures one "
                                         "side at least: --base-program, --new-program");
    return status;
}

static enum status gate(const void *parsed, const struct invocation *invocation)
{
    const struct gate_options *options = parsed;
    const char *calibration_path = options->comparing.calibration_path;
    struct calibration calibration = {0};
    struct gating gating = {.options = options,
                            .as = comparing_as(&options->comparing, calibration_path ? &calibration : NULL)};
    char own[PROCESS_PATH_BYTES];
    enum status status = process_check_device(&options->measure);

    gating.as.looks = GATE_LOOKS;
    if (status == STATUS_OK)
        status = find_sides(&gating, invocation);
    if (status == STATUS_OK && calibration_path)
        status = calibration_read(calibration_path, &calibration);
    if (status == STATUS_OK) {
        child_signals_catch();
        gating.folder = process_folder_open(options->keep_path, own);
        for (size_t i = 0; i < SIDES; i++)
            gating.series[i] = (struct process_series){.invocation = invocation,
                                                       .what = "gate",
                                                       .name = side_names[i],
                                                       .label = i == BASE ? "base process" : "new process",
                                                       .program = options->programs[i],
                                                       .folder = gating.folder,
                                                       .most = options->processes};
        status = gating.folder ? gate_in(&gating) : STATUS_USAGE;
    }
    comparison_close(&gating.comparison);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&gating.sides[i]);
    calibration_close(&calibration);
    child_signals_end();
    return status;
}

const struct command gate_command = {
    .name = "gate",
    .summary = "Measure and compare until every cell is decided: is NEW worse than BASE?",
    .arguments = "[BASE] [NEW]",
    .arguments_max = 2,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct gate_options),
    .details =
        "A side is results, as compare takes them, or a program, which measures one process after another: this one for NEW\n"
        "where nothing else is said. Where both are programs they take turns. After 3, 5, 10 and 20 processes a side, and at\n"
        "the end of the budget, they are compared at a level that allows for so many interim analyses. The gate ends when more\n"
        "processes would decide nothing. Reports and exit codes are those of compare.\n"
        "\n"
        "Its processes end with it. Results of a gate that was interrupted or not decided stay, and --keep goes on with\n"
        "them, if programs and options are the same.",
    .run = gate,
};
