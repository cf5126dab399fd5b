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
    {.name = "base-program",
     .topic = TOPIC_MEASURING,
     .argument = "PATH",
     .help = "measure BASE by this cbank, or a script that ends in one",
     .kind = &option_text,
     MEMBER(programs[BASE])},
    {.name = "new-program",
     .topic = TOPIC_MEASURING,
     .argument = "PATH",
     .help = "measure NEW by this one (default: the program itself)",
     .kind = &option_text,
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

/* Runs processes until all is decided or the budget is spent, and compares at every interim
 * analysis. The comparison of the last one stays. */
static enum status measure(const struct gate_options *options, const struct invocation *invocation,
                           const struct texts *more, struct comparing *comparing)
{
    struct comparison *comparison = &comparing->comparison;
    const uint64_t most = options->processes;
    const double start = clock_seconds();

    for (uint64_t processes = 1;; processes++) {
        enum status status = STATUS_OK;
        bool over, analysed = processes == 1;
        char what[64];

        /* Sides take turns: base, new, new, base, base and so on. */
        for (size_t i = 0; i < SIDES && status <= STATUS_FINDING; i++) {
            const size_t side = (i + processes - 1) % SIDES;

            snprintf(what, sizeof(what), "%s process %" PRIu64, side_names[side], processes);
            if (side == NEW || !comparing->as.judge.base_fixed)
                status = status_worse(status, process_run(invocation, &options->measure, more,
                                                          options->programs[side], what,
                                                          &comparing->sides[side]));
        }
        if (status > STATUS_FINDING)
            return status;
        /* A gate is of one kernel file: another is another workload. */
        for (size_t i = 0; processes == 1 && i < comparing->sides[BASE].kernel_count; i++) {
            const struct side_kernel *base = &comparing->sides[BASE].kernels[i];
            const struct side_kernel *found = sides_kernel(&comparing->sides[NEW], base->name);

            if (found && strcmp(base->sha256, found->sha256) != 0)
                return log_error(
                    STATUS_USAGE,
                    "%s has changed since BASE was measured; put the file back whose SHA-256, with "
                    "what it "
                    "includes and the compiler's options, is %s, or measure BASE again",
                    found->file, base->sha256);
        }
        over = processes == most ||
               (options->seconds > 0 && clock_seconds() - start >= options->seconds);
        /* The first process decides nothing, but shows whether the sides can be compared. */
        for (size_t i = 0; i < OTHER_ANALYSES; i++)
            analysed |= processes == interim_analyses[i];
        if (!over && !analysed)
            continue;
        comparison_close(comparison);
        status = compare_sides(comparing->sides, &comparing->as, comparison);
        if (status != STATUS_OK)
            return status;
        if (processes == 1 && !over && comparison->comparable)
            continue;
        log_note(options->comparing.quiet || !comparison->comparable,
                 "at %" PRIu64 " processes a side: %zu of %zu cells decided", processes,
                 comparison->cell_count - comparison->counts[VERDICT_INCONCLUSIVE] -
                     comparison->counts[VERDICT_CONTENDED],
                 comparison->cell_count);
        if (over || comparison_needs(comparison) == 0 || !comparison->comparable)
            return STATUS_OK;
    }
}

static enum status gate(const void *parsed, const struct invocation *invocation)
{
    const struct gate_options *options = parsed;
    const bool fixed = invocation->argument_count > 0;
    struct comparing comparing;
    struct sides *sides = comparing.sides;
    struct texts more = {0};
    enum status status;

    if (fixed == !!options->programs[BASE])
        return log_error(STATUS_USAGE, "a gate needs one BASE: results, or --base-program PATH");
    status = comparing_open(&options->comparing, &comparing);
    comparing.as.judge.other_analyses = OTHER_ANALYSES;
    comparing.as.judge.base_fixed = fixed;
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
        status = take_kernels(&options->plan, &sides[BASE], &more);
    if (status == STATUS_OK)
        status = measure(options, invocation, &more, &comparing);
    texts_close(&more);
    status = comparing_close(&comparing, status, output_style(&options->look));
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
    .common = "quick,path,kernel,device,processes,seconds,base-program,new-program,threshold,"
              "calibration,junit,quiet",
    .details = "BASE is results, as compare takes them, or a program. NEW is a program: this one "
               "where nothing else is said. They take\n"
               "turns. After 3, 5, 10 and 20 processes a side, and at the end of the budget, they "
               "are compared at a level that allows\n"
               "for so many interim analyses. The gate ends when more processes would decide "
               "nothing. Exit codes are those of compare.\n"
               "Without a GPU it is 3, unless --engine model is given. If BASE has users' kernels, "
               "--kernel names their files, which must\n"
               "be those of BASE: NEW measures them as BASE did. Nothing is compiled because BASE "
               "names it, and of its options\n"
               "for the compiler only -D, -O, -std and -I below the file's folder are used.",
    .run = gate,
};
