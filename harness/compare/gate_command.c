/* SPDX-License-Identifier: MIT
 * Measures both sides in turn, or one of them, until a comparison says of every cell what it is. */
#include "gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "clock.h"
#include "command.h"
#include "compare_options.h"
#include "log.h"
#include "memory.h"
#include "processes.h"
#include "text.h"

struct gate_options {
    struct plan_options plan;
    struct measure_options measure;
    struct comparing_options comparing;
    struct look_options look;
    const char *programs[SIDES]; /* NULL: not given */
    const char *keep_path;       /* NULL: a folder of our own */
    uint64_t processes;
    double seconds;
};

#define MEMBER(name) .offset = offsetof(struct gate_options, name)

enum { BUDGET_ROWS = 3 }; /* the first of own_rows, which say how long and where */

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

/* -- a gate -------------------------------------------------------------------------------------------- */

struct gating {
    const struct gate_options *options;
    const struct calibration *calibration;
    struct process_series series[SIDES]; /* of sides that are measured */
    bool fixed[SIDES];                   /* sides that are results */
    struct side sides[SIDES];            /* as of the last look */
    struct comparison comparison;
    struct memory again; /* the command that goes on, but for the number of processes */
    double start;        /* seconds */
};

/* The command of this gate without its budget, and with the folder. */
static enum status make_again(struct gating *gating, const struct invocation *invocation, const char *folder)
{
    FILE *stream = memory_open(&gating->again);

    if (stream)
        fprintf(stream, "%s gate", invocation->argv[0]);
    for (size_t i = 0; stream && i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->group->rows == own_rows && given->option < own_rows + BUDGET_ROWS)
            continue;
        fprintf(stream, " --%s", given->option->name);
        if (given->value)
            text_put_word(stream, given->value);
    }
    for (size_t i = 0; stream && i < invocation->argument_count; i++)
        text_put_word(stream, invocation->arguments[i]);
    if (stream) {
        fputs(" --keep", stream);
        text_put_word(stream, folder);
    }
    return memory_close(&gating->again, stream) ? STATUS_OK : log_memory("a command");
}

/* "1 process a side": of the sides that are measured. */
static const char *count_text(const struct gating *gating, uint64_t processes, char text[64])
{
    snprintf(text, 64, "%" PRIu64 " process%s %s", processes, processes == 1 ? "" : "es",
             measured_names[measured_of(gating->fixed)]);
    return text;
}

/* One more process of each side that is measured: base, new, new, base, base and so on. */
static enum status run_round(struct gating *gating, uint64_t round)
{
    enum status worst = STATUS_OK;

    for (size_t i = 0; i < SIDES && process_usable(worst); i++) {
        const size_t side = (i + round) % SIDES;

        if (!gating->fixed[side])
            worst = status_worse(worst, process_series_run(&gating->series[side], round));
        if (child_signal())
            return STATUS_ENVIRONMENT;
    }
    return worst;
}

/* Compares what the first processes of each side say. */
static enum status look(struct gating *gating, uint64_t processes)
{
    struct compare_options options = comparing_as(&gating->options->comparing, gating->calibration);
    enum status status = STATUS_OK;

    options.looks = GATE_LOOKS;
    options.again = gating->again.text;
    memcpy(options.fixed, gating->fixed, sizeof(options.fixed));
    comparison_close(&gating->comparison);
    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++) {
        const struct process_series *series = &gating->series[i];

        if (gating->fixed[i])
            continue;
        side_close(&gating->sides[i]);
        status = process_series_read(series, processes, &gating->sides[i]);
        snprintf(gating->sides[i].label, sizeof(gating->sides[i].label), "%s/%s-*.json", series->folder, series->name);
    }
    if (status != STATUS_OK)
        return status;
    return compare_sides(&gating->sides[BASE], &gating->sides[NEW], &options, &gating->comparison);
}

static void say_looked(const struct gating *gating, uint64_t processes)
{
    const struct comparison *comparison = &gating->comparison;
    const size_t open = comparison->counts[VERDICT_INCONCLUSIVE];
    const uint64_t needs = gate_needs(comparison);
    char text[64], more[64] = "no number of processes that is advised";

    if (needs > 0)
        count_text(gating, needs, more);
    log_note(gating->options->comparing.quiet, "look at %s: %zu of %zu cells decided, %zu not%s%s%s",
             count_text(gating, processes, text), comparison->cell_count - open, comparison->cell_count, open,
             open > 0 ? "; " : "", open > 0 ? more : "", open > 0 ? " would decide them" : "");
}

/* The first process of each side is not judged, but says whether there is something to be measured. */
static bool is_worth_it(const struct gating *gating)
{
    if (gating->comparison.comparable && gating->comparison.plans_differ)
        log_warning("the sides do not have the same cells; give the options that BASE was measured with");
    return gating->comparison.comparable;
}

/* Looks where one is due. *over: there is nothing more to be measured. */
static enum status look_if_due(struct gating *gating, uint64_t processes, bool *over)
{
    const uint64_t most = gating->options->processes;
    const double seconds = gating->options->seconds;
    enum status status = STATUS_OK;
    char text[64];

    *over = processes == most || (seconds > 0 && clock_seconds() - gating->start >= seconds);
    if (*over || processes == 1 || gate_is_look(processes, most))
        status = look(gating, processes);
    if (status != STATUS_OK)
        return status;
    if (processes == 1 && !*over)
        *over = !is_worth_it(gating);
    if (*over || gate_is_look(processes, most)) {
        say_looked(gating, processes);
        *over = *over || gate_needs(&gating->comparison) == 0;
    } else {
        log_note(gating->options->comparing.quiet, "%s; the next look is at %" PRIu64,
                 count_text(gating, processes, text), gate_next_look(processes, most));
    }
    return status;
}

/* Runs and looks until all is decided or the budget is spent. */
static enum status measure(struct gating *gating)
{
    enum status status = STATUS_OK;
    bool over = false;

    for (uint64_t round = 0; status == STATUS_OK && !over; round++) {
        const enum status ran = run_round(gating, round);

        status = process_usable(ran) ? look_if_due(gating, round + 1, &over) : ran;
    }
    return status;
}

/* Finds what an earlier gate left. */
static enum status open_series(struct gating *gating)
{
    enum status worst = STATUS_OK;

    for (size_t i = 0; i < SIDES && process_usable(worst); i++)
        if (!gating->fixed[i])
            worst = status_worse(worst, process_series_open(&gating->series[i]));
    return worst;
}

/* What there is to go on with, in words. */
static void say_finished(const struct gating *gating, const char *folder, const char *more)
{
    const uint64_t base = gating->series[BASE].finished, new_count = gating->series[NEW].finished;

    if (base + new_count > 0)
        log_note(0, "%s has %" PRIu64 " of BASE and %" PRIu64 " of NEW%s%s%s", folder, base, new_count,
                 *more ? "; the same command with --keep " : " already", *more ? folder : "", more);
}

/* Files of our own go where nobody would go on with them. */
static void leave(const struct gating *gating, const char *folder, enum status status)
{
    const bool unfinished = gating->series[BASE].finished + gating->series[NEW].finished > 0;

    if (!process_usable(status) && unfinished)
        say_finished(gating, folder, " goes on");
    if (gating->options->keep_path || (process_usable(status) ? gate_needs(&gating->comparison) > 0 : unfinished))
        return;
    for (size_t i = 0; i < SIDES; i++)
        if (!gating->fixed[i])
            process_series_remove(&gating->series[i]);
}

static enum status gate_in(struct gating *gating, const struct invocation *invocation, const char *folder)
{
    enum status status = make_again(gating, invocation, folder);

    for (size_t i = 0; i < SIDES; i++)
        gating->series[i].folder = folder;
    if (status == STATUS_OK)
        status = open_series(gating);
    if (process_usable(status)) {
        say_finished(gating, folder, "");
        status = measure(gating);
    }
    leave(gating, folder, status);
    if (status == STATUS_OK)
        status = comparing_report(&gating->options->comparing, &gating->options->look, &gating->comparison);
    for (size_t i = 0; i < SIDES; i++)
        process_series_close(&gating->series[i]);
    return status;
}

/* Which side is results and which is measured. Arguments are of the sides that have no program, BASE first. */
static enum status find_sides(struct gating *gating, const struct invocation *invocation)
{
    const char *const *programs = gating->options->programs;
    enum status status = STATUS_OK;
    size_t used = 0;

    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++) {
        gating->fixed[i] = !programs[i] && used < invocation->argument_count;
        if (gating->fixed[i])
            status = comparing_side(invocation->arguments[used++], &gating->sides[i]);
        else if (!programs[i] && i == BASE)
            status = log_error(STATUS_USAGE, "a gate needs a BASE: results, or --base-program PATH");
    }
    if (status == STATUS_OK && used < invocation->argument_count)
        status = log_error(STATUS_USAGE, "a side is results or a program: leave out %s, or the program",
                           invocation->arguments[used]);
    if (status == STATUS_OK && gating->fixed[BASE] && gating->fixed[NEW])
        status = log_error(STATUS_USAGE, "both sides are results; cbank compare compares them, and a gate measures "
                                         "one side at least: --base-program, --new-program");
    return status;
}

static enum status gate(const void *parsed, const struct invocation *invocation)
{
    static const char *const labels[SIDES] = {"base process", "new process"};
    const struct gate_options *options = parsed;
    struct gating gating = {.options = options, .start = clock_seconds()};
    struct calibration room = {0};
    char own[PROCESS_PATH_BYTES];
    const char *folder;
    enum status status = process_check_device(&options->measure);

    for (size_t i = 0; i < SIDES; i++)
        gating.series[i] = (struct process_series){.invocation = invocation,
                                                   .what = "gate",
                                                   .name = side_names[i],
                                                   .label = labels[i],
                                                   .program = options->programs[i],
                                                   .most = options->processes};
    if (status == STATUS_OK)
        status = find_sides(&gating, invocation);
    if (status == STATUS_OK)
        status = comparing_calibration(&options->comparing, &room, &gating.calibration);
    if (status == STATUS_OK) {
        child_signals_catch();
        folder = process_folder_open(options->keep_path, own);
        status = folder ? gate_in(&gating, invocation, folder) : STATUS_USAGE;
    }
    comparison_close(&gating.comparison);
    for (size_t i = 0; i < SIDES; i++)
        side_close(&gating.sides[i]);
    calibration_close(&room);
    free(gating.again.text);
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
        "A side is results, as compare takes them, or a program, which measures one more process after another: this one for\n"
        "NEW where nothing else is said. Where both are programs they take turns. After 3, 5, 10 and 20 processes a side, and\n"
        "at the end of the budget, they are compared at a level that allows for so many looks; the gate ends when more\n"
        "processes would decide nothing. Reports and exit codes are those of compare.\n"
        "\n"
        "The processes end when it ends. What finished of a gate that was interrupted or not decided stays, and --keep goes on\n"
        "with it: with results of the same programs and the same options.",
    .run = gate,
};
