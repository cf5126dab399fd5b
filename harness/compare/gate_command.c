/* SPDX-License-Identifier: MIT
 * Measures both sides in turn, or NEW alone, until a comparison decides every cell. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "clock.h"
#include "command.h"
#include "comparing.h"
#include "kernel_document.h"
#include "log.h"
#include "processes.h"
#include "report_words.h"
#include "text.h"
#include "user_cell.h"

struct gate_options {
    struct plan_options plan;
    struct measure_options measure;
    struct comparing_options comparing;
    struct output_options look;
    const char *programs[SIDES]; /* NULL: not given */
    const char *results_path;    /* a folder; NULL: a temporary one */
    uint64_t processes;
    double seconds;
};

/* Testing repeatedly until significance inflates false positives. A gate makes at most five interim
 * analyses: at these numbers of processes a side, and at the end of the budget. Each is at a level
 * that is five times smaller. By Bonferroni's inequality, all of them together raise a false alarm
 * no more often than one comparison does. Equal levels are those of Pocock (Group sequential
 * methods in the design and analysis of clinical trials, 1977), whose constants are a little
 * larger. */
static const uint64_t interim_analyses[] = {3, 5, 10, 20};

enum { OTHER_ANALYSES = sizeof(interim_analyses) / sizeof(interim_analyses[0]) };

#define MEMBER(name) .offset = offsetof(struct gate_options, name)

static const struct option_row own_rows[] = {
    {.name = "processes",
     .topic = TOPIC_MEASURING,
     .argument = "N",
     .help = "most processes on a side (default 20)",
     .kind = &option_integer,
     MEMBER(processes),
     .low = 1,
     .high = PROCESSES_TO_SETTLE_MOST,
     .unit = "processes",
     .fallback = "20"},
    {.name = "seconds",
     .topic = TOPIC_MEASURING,
     .argument = "SECONDS",
     .help = "start no more processes after this time (default: no limit)",
     .kind = &option_number,
     MEMBER(seconds),
     .low = 0.001,
     .high = 1e9,
     .unit = "seconds"},
    {.name = "results",
     .topic = TOPIC_MEASURING,
     .argument = "FOLDER",
     .help = "keep the result of each process there, and go on from those that are there",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(results_path)},
    {.name = "base-program",
     .topic = TOPIC_MEASURING,
     .argument = "PATH",
     .help = "measure BASE by this cbank, or a script that ends in one",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(programs[BASE])},
    {.name = "new-program",
     .topic = TOPIC_MEASURING,
     .argument = "PATH",
     .help = "measure NEW by this one (default: the program itself)",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(programs[NEW])},
};

static const struct option_group groups[] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct gate_options, plan)),
    OPTION_GROUP(kernel_option_rows, offsetof(struct gate_options, plan.kernel)),
    OPTION_GROUP(measure_option_rows, offsetof(struct gate_options, measure)),
    OPTION_GROUP(own_rows, 0),
    OPTION_GROUP(threshold_option_rows, offsetof(struct gate_options, comparing.threshold_percent)),
    OPTION_GROUP(comparing_option_rows, offsetof(struct gate_options, comparing)),
    OPTION_GROUP(output_option_rows, offsetof(struct gate_options, look)),
};

/* -- kernel files of BASE ---------------------------------------------------------------------- */

/* The options that measure the kernel files of BASE again, as far as the user gave none. Sizes and
 * memory spaces of several files are those of the files. BASE may be another's: the user names the
 * files, whose hashes must be those of BASE. */
static enum status kernel_words(const struct plan_options *plan, const struct sides *base,
                                struct texts *out)
{
    enum { SPACE, SIZE, CACHE_STATE, OPTIONS, SHA256, WORDS };
    static const char *const names[WORDS] = {"--space=", "--size=", "--cache-state=",
                                             "--compiler-options=", "--kernel-sha256="};
    const struct kernel_options *const kernel = &plan->kernel;
    const bool own = base->kernel_count == 1 && !kernel->given;
    const bool wanted[WORDS] = {own, own, !plan->cache_states_given, !kernel->compiler_options,
                                !kernel->expected};
    const struct side *side = base->gpus;
    struct texts values[WORDS] = {{.count = 0}};
    char size[24];
    bool added = true;

    for (size_t i = 0; i < base->kernel_count; i++)
        added = added && texts_share(&values[SHA256], base->kernels[i].sha256);
    if (base->kernels[0].options)
        added = added && texts_share(&values[OPTIONS], base->kernels[0].options);
    for (size_t i = 0; i < side->cell_count; i++) {
        const struct cell *cell = &side->cells[i].cell;

        snprintf(size, sizeof(size), "%" PRIu64, cell->elements);
        added = added && texts_share(&values[SPACE], cell->kernel.spaces) &&
                texts_share(&values[SIZE], size) &&
                texts_share(&values[CACHE_STATE], cell->cache_state->name);
    }
    for (size_t i = 0; i < WORDS; i++) {
        added = added && (!wanted[i] || values[i].count == 0 ||
                          texts_take(out, texts_join(&values[i], names[i])));
        texts_close(&values[i]);
    }
    return added ? STATUS_OK : log_memory("the options of kernel files");
}

/* Checks what of BASE would be compiled, and takes its options. */
static enum status take_kernels(const struct plan_options *plan, const struct sides *base,
                                struct texts *out)
{
    char *const paths = strdup(plan->kernel.paths ? plan->kernel.paths : ""), *rest = paths;
    enum status status = paths ? STATUS_OK : log_memory("the paths of kernel files");
    char shown[TEXT_SHOWN_BYTES];

    if (status == STATUS_OK && base->kernel_count > 0 && !plan->given) {
        if (!plan->kernel.paths)
            status = log_error(STATUS_USAGE,
                               "BASE has cells of the kernel file %s, and no file is compiled "
                               "because a document names it; name it by --kernel FILE",
                               text_shown(base->kernels[0].file, shown));
        for (char *path;
             status == STATUS_OK && !plan->kernel.compiler_options && (path = strsep(&rest, ","));)
            status = kernel_document_options(base->kernels[0].options, path);
        if (status == STATUS_OK)
            status = kernel_words(plan, base, out);
    }
    free(paths);
    return status;
}

/* -- measuring --------------------------------------------------------------------------------- */

/* A gate while it measures. */
struct gate {
    const struct gate_options *options;
    struct processes processes;
    struct comparing comparing;
    double start; /* seconds */
    uint64_t crowded; /* processes that were dropped, as another one used the GPU */
};

/* Whether the budget is spent: the time, or without one so many processes that were dropped. */
static bool is_over(const struct gate *gate)
{
    const struct gate_options *const options = gate->options;

    return options->seconds > 0 ? clock_seconds() - gate->start >= options->seconds
                                : gate->crowded >= options->processes;
}

/* Runs a process of a side until it had the GPU alone. At the end of the budget it counts as it is,
 * if it is the first: else it is left out, which is *out. */
static enum status measure_alone(struct gate *gate, size_t side, uint64_t number, bool *out)
{
    const bool quiet = gate->options->comparing.quiet;

    for (;;) {
        const bool last = is_over(gate);
        const enum status status = process_run(&gate->processes, side, number, !last || number > 1,
                                               &gate->comparing.sides[side], out);

        if (status > STATUS_FINDING || !*out)
            return status;
        gate->crowded++;
        if (last) {
            log_note(quiet, "%s process %" PRIu64 " is left out: it had not the GPU alone",
                     side_names[side], number);
            return status;
        }
        log_note(quiet, "%s process %" PRIu64 " had not the GPU alone: it is measured again",
                 side_names[side], number);
    }
}

/* A gate is of one kernel file, and of one driver on a side: another is another workload. Results
 * of an earlier command may be of another. */
static enum status check_sides(const struct sides sides[SIDES], const char *folder)
{
    for (size_t i = 0; i < sides[BASE].kernel_count; i++) {
        const struct side_kernel *base = &sides[BASE].kernels[i];
        const struct side_kernel *found = sides_kernel(&sides[NEW], base->name);

        if (found && strcmp(base->sha256, found->sha256) != 0)
            return log_error(
                STATUS_USAGE,
                "%s has changed since BASE was measured; put the file back whose SHA-256, with "
                "what it includes and the compiler's options, is %s, or measure BASE again",
                found->file, base->sha256);
    }
    if (sides[NEW].count > 1 || strcmp(sides[NEW].total.identity.device.driver, SIDE_MIXED) == 0)
        return log_error(STATUS_USAGE,
                         "%s has results of another GPU or driver than this one; name a new folder",
                         folder);
    return STATUS_OK;
}

/* Compares what is measured. */
static enum status analyse(struct gate *gate, uint64_t processes)
{
    struct comparison *comparison = &gate->comparing.comparison;
    enum status status;

    comparison_close(comparison);
    status = compare_sides(gate->comparing.sides, &gate->comparing.as, comparison);
    if (status == STATUS_OK && (processes > 1 || !comparison->comparable ||
                                gate->options->processes == 1 || is_over(gate)))
        log_note(gate->options->comparing.quiet || !comparison->comparable,
                 "at %" PRIu64 " processes %s: %zu of %zu cells decided", processes,
                 gate->comparing.as.judge.base_fixed ? "of NEW" : "a side",
                 comparison->cell_count - comparison->counts[VERDICT_INCONCLUSIVE] -
                     comparison->counts[VERDICT_CONTENDED],
                 comparison->cell_count);
    return status;
}

/* Runs processes until all is decided or the budget is spent, and compares at every interim
 * analysis. The comparison of the last one stays: after a signal, that of what was measured. */
static enum status measure(struct gate *gate)
{
    struct comparing *const comparing = &gate->comparing;
    struct comparison *const comparison = &comparing->comparison;
    const uint64_t most = gate->options->processes;

    gate->start = clock_seconds();
    for (uint64_t number = 1;; number++) {
        bool left_out = false, over, analysed = number == 1;
        enum status status = STATUS_OK;

        /* Sides take turns: base, new, new, base, base and so on. */
        for (size_t i = 0; i < SIDES && status <= STATUS_FINDING && !left_out; i++) {
            const size_t side = (i + number - 1) % SIDES;

            if (side == NEW || !comparing->as.judge.base_fixed)
                status = status_worse(status, measure_alone(gate, side, number, &left_out));
        }
        if (interrupted() && comparing->sides[BASE].count > 0 && comparing->sides[NEW].count > 0)
            return analyse(gate, number);
        if (status > STATUS_FINDING)
            return status;
        status = check_sides(comparing->sides, gate->processes.folder);
        if (status != STATUS_OK)
            return status;
        over = left_out || number == most || is_over(gate);
        /* The first process decides nothing, but shows whether the sides can be compared. */
        for (size_t i = 0; i < OTHER_ANALYSES; i++)
            analysed |= number == interim_analyses[i];
        if (!over && !analysed)
            continue;
        status = analyse(gate, number);
        if (status != STATUS_OK || over || !comparison->comparable)
            return status;
        if (number > 1 && comparison_needs(comparison) == 0)
            return STATUS_OK;
    }
}

static enum status gate(const void *parsed, const struct invocation *invocation)
{
    const struct gate_options *options = parsed;
    const bool fixed = invocation->argument_count > 0;
    struct gate gate = {.options = options,
                        .processes = {.invocation = invocation,
                                      .measure = &options->measure,
                                      .base_by_toolkit = options->plan.jit}};
    struct comparing *const comparing = &gate.comparing;
    struct sides *sides = comparing->sides;
    enum status status;
    bool early;

    if (fixed == !!options->programs[BASE])
        return log_error(STATUS_USAGE, "a gate needs one BASE: results, or --base-program PATH");
    status = comparing_open(&options->comparing, comparing);
    comparing->as.judge.other_analyses = OTHER_ANALYSES;
    comparing->as.judge.base_fixed = fixed;
    comparing->as.energy = options->measure.energy;
    comparing_pair(comparing, options->plan.jit);
    memcpy(gate.processes.programs, options->programs, sizeof(options->programs));
    if (status == STATUS_OK && fixed)
        status = sides_add_list(&sides[BASE], invocation->arguments[0]);
    if (status == STATUS_OK && sides[BASE].count > 1)
        status = log_error(STATUS_USAGE,
                           "%s: results of several GPUs; a gate measures one, so name its results",
                           sides[BASE].total.label);
    for (size_t i = fixed ? NEW : BASE; i < SIDES; i++)
        snprintf(sides[i].total.label, sizeof(sides[i].total.label), "%s",
                 options->programs[i] ? options->programs[i] : "this program");
    interrupt_catch();
    if (status == STATUS_OK && fixed)
        status = take_kernels(&options->plan, &sides[BASE], &gate.processes.more);
    if (status == STATUS_OK)
        status = processes_open(&gate.processes, options->results_path);
    if (status == STATUS_OK)
        status = measure(&gate);
    early = interrupted() || status != STATUS_OK;
    status = comparing_close(comparing, status, output_style(&options->look));
    processes_close(&gate.processes, early, "the same command line with --results ");
    interrupt_end();
    return status;
}

const struct command gate_command = {
    .name = "gate",
    .summary = "Measure and compare until every cell is decided: is NEW worse than BASE?",
    .arguments = "[BASE]",
    .arguments_max = 1,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct gate_options),
    .common =
        "quick,path,kernel,device,processes,seconds,results,base-program,new-program,threshold,"
        "junit,quiet",
    .details = "BASE is results, as compare takes them, or a program. NEW is a program: this one "
               "where nothing else is said. They take\n"
               "turns. After 3, 5, 10 and 20 processes a side, and at the end of the budget, they "
               "are compared at a level that allows\n"
               "for so many interim analyses. The gate ends when more processes would decide "
               "nothing. Exit codes are those of compare.\n"
               "A process beside which another one used the GPU is measured again, until --seconds "
               "are over, or so often as --processes\n"
               "says. A signal ends the gate with what it has; --results keeps that, also where it "
               "is killed, and goes on.\n"
               "With --jit NEW is compiled by the driver, and a program for BASE by its toolkit.\n"
               "Without a GPU it is 3, unless --engine model is given. If BASE has users' kernels, "
               "--kernel names their files, which must\n"
               "be those of BASE: NEW measures them as BASE did. Nothing is compiled because BASE "
               "names it, and of its options\n"
               "for the compiler only -D, -O, -std and -I below the file's folder are used.",
    .run = gate,
};
