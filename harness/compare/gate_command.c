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

uint64_t gate_next_interim_analysis(uint64_t processes, uint64_t most)
{
    static const uint64_t interim_analyses[GATE_INTERIM_ANALYSES - 1] = {3, 5, 10,
                                                                         20}; /* and one at the end of the budget */

    for (size_t i = 0; i < GATE_INTERIM_ANALYSES - 1; i++)
        if (interim_analyses[i] > processes)
            return interim_analyses[i] < most ? interim_analyses[i] : most;
    return most;
}

struct gate_options {
    struct plan_options plan;
    struct measure_options measure;
    struct comparing_options comparing;
    struct output_options look;
    const char *programs[SIDES]; /* NULL: not given */
    const char *keep_path;       /* NULL: a folder of its own */
    uint64_t processes;
    double seconds;
};

#define MEMBER(name) .offset = offsetof(struct gate_options, name)

/* clang-format off */
static const struct option_row own_rows[] = {
    {.name = "processes", .argument = "N", .help = "most processes on a side (default 20)",
     .kind = &option_integer, MEMBER(processes), .low = 1, .high = PROCESSES_TO_SETTLE_MOST, .unit = "processes",
     .fallback = "20"},
    {.name = "seconds", .argument = "SECONDS", .help = "start no more processes after this time (default: no limit)",
     .kind = &option_number, MEMBER(seconds), .low = 0.001, .high = 1e9, .unit = "seconds"},
    {.name = "keep", .argument = "FOLDER",
     .help = "keep the results of the processes there, and continue an earlier gate that ended early",
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
    OPTION_GROUP(output_option_rows, offsetof(struct gate_options, look)),
};

struct gating {
    const struct gate_options *options;
    struct compare_options as;
    struct process_series series[SIDES]; /* of sides that are measured */
    struct sides sides[SIDES];           /* as of the last interim analysis */
    struct comparison comparison;        /* its outcome */
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

/* Runs processes until all is decided or the budget is spent, and compares at every interim analysis. */
static enum status measure(struct gating *gating)
{
    const struct gate_options *options = gating->options;
    const struct comparison *comparison = &gating->comparison;
    const uint64_t most = options->processes;
    const char *of = measured_text(gating->as.fixed);
    const double start = clock_seconds();

    for (uint64_t processes = 1;; processes++) {
        enum status status = STATUS_OK;
        uint64_t enough;
        size_t open;
        bool over;

        /* Sides take turns: base, new, new, base, base and so on. */
        for (size_t i = 0; i < SIDES && process_usable(status); i++) {
            const size_t side = (i + processes - 1) % SIDES;

            if (!gating->as.fixed[side])
                status = status_worse(status, process_series_run(&gating->series[side], processes - 1));
            if (child_signal())
                return STATUS_ENVIRONMENT;
        }
        if (!process_usable(status))
            return status;
        over = processes == most || (options->seconds > 0 && clock_seconds() - start >= options->seconds);
        /* The first process decides nothing, but shows whether the sides can be compared. */
        if (!over && processes > 1 && gate_next_interim_analysis(processes - 1, most) != processes)
            continue;
        comparison_close(&gating->comparison);
        status = STATUS_OK;
        for (size_t i = 0; i < SIDES && status == STATUS_OK; i++)
            if (!gating->as.fixed[i]) {
                sides_close(&gating->sides[i]);
                status = process_series_read(&gating->series[i], processes, &gating->sides[i]);
            }
        if (status == STATUS_OK)
            status = compare_sides(gating->sides, &gating->as, &gating->comparison);
        if (status != STATUS_OK)
            return status;
        if (processes == 1 && !over && comparison->comparable) {
            if (comparison->plans_differ)
                log_warning("the sides do not have the same cells; give the options that BASE was measured with");
            continue;
        }
        open = comparison->counts[VERDICT_INCONCLUSIVE];
        enough = needs(comparison);
        log_note(options->comparing.quiet, "at %" PRIu64 " processes %s: %zu of %zu cells decided", processes, of,
                 comparison->cell_count - open, comparison->cell_count);
        if (open > 0 && enough > 0)
            log_note(options->comparing.quiet, "%" PRIu64 " processes %s would decide the others", enough, of);
        if (over || enough == 0 || !comparison->comparable)
            return STATUS_OK;
    }
}

/* Finds out which side is results and which is measured. Arguments are of the sides without a program, BASE first. */
static enum status find_sides(struct gating *gating, const struct invocation *invocation)
{
    const char *const *programs = gating->options->programs;
    bool *fixed = gating->as.fixed;
    enum status status = STATUS_OK;
    size_t used = 0;

    for (size_t i = 0; i < SIDES; i++) {
        fixed[i] = !programs[i] && used < invocation->argument_count;
        used += fixed[i];
    }
    if ((!fixed[BASE] && !programs[BASE]) || (fixed[BASE] && fixed[NEW]) || used < invocation->argument_count)
        return log_error(STATUS_USAGE, "a gate needs a BASE: results, or --base-program PATH. NEW is --new-program, or "
                                       "this program; where BASE is a program, NEW may be results");
    used = 0;
    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++) {
        struct sides *sides = &gating->sides[i];

        if (fixed[i])
            status = sides_add_list(sides, invocation->arguments[used++]);
        if (status == STATUS_OK && sides->count > 1)
            status = log_error(STATUS_USAGE, "%s: results of several GPUs; a gate measures one, so name its results",
                               sides->total.label);
    }
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

    gating.as.interim_analyses = GATE_INTERIM_ANALYSES;
    if (status == STATUS_OK)
        status = find_sides(&gating, invocation);
    if (status == STATUS_OK && calibration_path)
        status = calibration_read(calibration_path, &calibration);
    if (status == STATUS_OK) {
        child_signals_catch();
        gating.as.folder = process_folder_open(options->keep_path, own);
        status = gating.as.folder ? STATUS_OK : STATUS_USAGE;
    }
    for (size_t i = 0; gating.as.folder && i < SIDES && process_usable(status); i++) {
        gating.series[i] = (struct process_series){.invocation = invocation,
                                                   .name = side_names[i],
                                                   .program = options->programs[i],
                                                   .folder = gating.as.folder,
                                                   .most = options->processes};
        if (!gating.as.fixed[i])
            status = status_worse(status, process_series_open(&gating.series[i]));
    }
    if (gating.as.folder && process_usable(status))
        status = measure(&gating);
    for (size_t i = 0; gating.as.folder && i < SIDES; i++) {
        const bool failed = !process_usable(status), open = needs(&gating.comparison) > 0;
        const bool some = gating.series[BASE].finished + gating.series[NEW].finished > 0;

        if (!gating.as.fixed[i])
            process_series_close(&gating.series[i], !options->keep_path && !(failed ? some : open), failed);
    }
    if (gating.as.folder && status == STATUS_OK)
        status = comparing_report(&options->comparing, output_color(&options->look, STDOUT_FILENO), &gating.comparison);
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
