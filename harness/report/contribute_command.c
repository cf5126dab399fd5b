/* SPDX-License-Identifier: MIT
 * Makes the folder of a chip: each step is a child, and one whose file is there is not run again. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "clock.h"
#include "command.h"
#include "files.h"
#include "log.h"
#include "result.h"
#include "script.h"
#include "text.h"

struct contribute_options {
    const char *credit;
    bool brief;
    struct look_options look;
};

#define MEMBER(name) .offset = offsetof(struct contribute_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "credit", .argument = "NAME", .help = "who measured, for the manifest (default: as it was, else anonymous)",
     .kind = &option_text, MEMBER(credit)},
    {.name = "brief", .help = "short plans, for tests", .kind = &option_flag, MEMBER(brief), .hidden = true},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct contribute_options, look)),
};

/* What a scratch card leaves beside itself. */
static const char scratch_record[] = ".again.json";

struct contributing {
    const struct contribute_options *options;
    char *name;            /* argv[0] */
    const char *folder;    /* which is also the working directory */
    enum status worst;     /* of the steps: findings */
    const char *python;    /* that runs the fit; NULL: nothing is left to run */
    double spent, planned; /* seconds of the steps that were run here: of the clock, and of the table */
};

/* -- what is there already ----------------------------------------------------------------------------- */

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Whether a step has to be run. *resume: its result is there, but for some cells. STATUS_USAGE, logged, where the file is not
 * of this step. */
static enum status is_needed(const struct contributing *contributing, const struct chip_step *step, bool *needed,
                             bool *resume)
{
    struct result result = {0};
    enum status status = STATUS_OK;

    *resume = false;
    *needed = !is_there(step->scratch ? "card.json" : step->file) && !is_there(step->file);
    if (*needed || step->kind != CHIP_RESULT)
        return STATUS_OK;
    status = result_read(step->file, &result);
    if (status == STATUS_OK &&
        (result.modelled_time || !chip_is_of_step(step, contributing->options->brief, result.argv)))
        status = log_error(STATUS_USAGE, "%s/%s is of another command: %s; remove it, or name another folder",
                           contributing->folder, step->file, result.argv);
    if (status == STATUS_OK)
        *needed = *resume = !result.complete;
    result_close(&result);
    return status;
}

/* Seconds of the steps from this one on that have no file. */
static double seconds_left(const struct contributing *contributing, const struct chip_step *from)
{
    const double pace = contributing->planned > 0 ? contributing->spent / contributing->planned : 1;
    double seconds = 0;

    for (const struct chip_step *step = from; step < chip_steps + chip_step_count; step++)
        seconds += is_there(step->scratch ? "card.json" : step->file) ? 0 : step->seconds;
    return seconds * pace;
}

/* -- steps --------------------------------------------------------------------------------------------- */

enum { WORDS_MAX = 64 };

/* Runs a child with these words, which blanks divide, behind those that are there. `text` is changed. */
static enum status run_words(const char *program, char *words[WORDS_MAX], size_t count, char *text, const char *what)
{
    int code = 0;

    for (char *word; (word = strsep(&text, " ")) && count + 1 < WORDS_MAX;)
        words[count++] = word;
    words[count] = NULL;
    if (!child_run(program, words, &code))
        return child_signal() ? STATUS_ENVIRONMENT
                              : log_error(STATUS_ENVIRONMENT, "cannot start %s: %s", what, strerror(errno));
    if (child_signal())
        return STATUS_ENVIRONMENT;
    if (!WIFEXITED(code))
        return log_error(STATUS_ENVIRONMENT, "%s was killed by signal %d", what, WTERMSIG(code));
    return WEXITSTATUS(code) <= STATUS_INCONCLUSIVE
               ? (enum status)WEXITSTATUS(code)
               : log_error(STATUS_ENVIRONMENT, "%s exited with %d", what, WEXITSTATUS(code));
}

static enum status run_script(const struct contributing *contributing, const struct chip_step *step)
{
    char program[PATH_MAX], script[PATH_MAX], text[2 * PATH_MAX];
    const enum status status = script_find(step->script, program, script);
    char *words[WORDS_MAX] = {(char *)contributing->python, "-B", script};

    if (status != STATUS_OK)
        return status;
    snprintf(text, sizeof(text), "--program %s %s", program, step->arguments);
    return run_words(contributing->python, words, 3, text, step->what);
}

static enum status run_step(const struct contributing *contributing, const struct chip_step *step, bool resume)
{
    char *words[WORDS_MAX] = {contributing->name};
    char text[CHIP_ARGV_BYTES];

    if (step->script)
        return run_script(contributing, step);
    if (resume)
        snprintf(text, sizeof(text), "run --quiet --resume %s", step->file);
    else
        chip_words(step, contributing->options->brief, text);
    return run_words(NULL, words, 1, text, step->what);
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether a result is of the GPU, driver and program of the first. One that is not goes, so that the folder stays of one. */
static enum status check_mixed(const struct contributing *contributing, const struct chip_step *step)
{
    struct result first = {0}, last = {0};
    enum status status = step->kind == CHIP_RESULT ? result_read(chip_steps[0].file, &first) : STATUS_OK;

    if (status == STATUS_OK && step->kind == CHIP_RESULT)
        status = result_read(step->file, &last);
    if (status == STATUS_OK &&
        (!is_same(first.device.uuid, last.device.uuid) || !is_same(first.device.driver, last.device.driver) ||
         !is_same(first.tool.git_commit, last.tool.git_commit))) {
        unlink(step->file);
        status =
            log_error(STATUS_USAGE,
                      "%s was begun on %s, %s, with driver %s by commit %.12s; this is %s, %s, with driver %s and "
                      "commit %.12s: name another folder",
                      contributing->folder, first.device.name, first.device.uuid, first.device.driver,
                      first.tool.git_commit ? first.tool.git_commit : "unknown", last.device.name, last.device.uuid,
                      last.device.driver, last.tool.git_commit ? last.tool.git_commit : "unknown");
    }
    result_close(&first);
    result_close(&last);
    return status;
}

/* Runs a step that is needed. A finding does not end the rest. */
static enum status take_step(struct contributing *contributing, const struct chip_step *step)
{
    const double start = clock_seconds(), left = seconds_left(contributing, step);
    bool needed, resume;
    enum status status = is_needed(contributing, step, &needed, &resume);

    if (status != STATUS_OK || !needed)
        return status;
    log_note(0, "%zu of %zu: %s; about %.0f min %02.0f s left", (size_t)(step - chip_steps) + 1, chip_step_count,
             step->what, floor(left / 60), left - 60 * floor(left / 60));
    status = run_step(contributing, step, resume);
    contributing->spent += clock_seconds() - start;
    contributing->planned += step->seconds;
    if (status != STATUS_OK && status != STATUS_FINDING && status != STATUS_INCONCLUSIVE)
        return status;
    contributing->worst = status_worse(contributing->worst, status);
    return is_there(step->file) ? check_mixed(contributing, step)
                                : log_error(STATUS_ENVIRONMENT, "%s left no %s", step->what, step->file);
}

/* Whether a file that a GPU measures is still to come. What is behind them takes none. */
static bool is_measuring_left(void)
{
    for (size_t i = 0; i < chip_step_count; i++)
        if (chip_steps[i].kind != CHIP_CARD && !is_there(chip_steps[i].file))
            return true;
    return false;
}

/* What has to be there before anything is measured: a GPU that counts, and what the fit takes. */
static enum status prepare(struct contributing *contributing)
{
    char doctor[] = "doctor";
    char *words[WORDS_MAX] = {contributing->name};
    char program[PATH_MAX], script[PATH_MAX];
    enum status status = script_find("fit_card.py", program, script);

    if (status == STATUS_OK && strchr(program, ' '))
        status = log_error(STATUS_ENVIRONMENT, "%s: the fit takes no path with blanks; move the program", program);
    contributing->python = script_python("scipy, numpy");
    if (status == STATUS_OK && !contributing->python)
        status = log_error(STATUS_ENVIRONMENT,
                           "the fit of the card needs python3 with scipy; install it: scripts/setup.sh contribute, or "
                           "python3-scipy of the distribution");
    return status == STATUS_OK && is_measuring_left() ? run_words(NULL, words, 1, doctor, "cbank doctor") : status;
}

/* A warm-up: the first process on a machine is slow, and is not kept. */
static enum status warm_up(const struct contributing *contributing)
{
    char *words[WORDS_MAX] = {contributing->name};
    char text[CHIP_ARGV_BYTES];

    snprintf(text, sizeof(text), "%s --counters none --json .again.json",
             chip_arguments(&chip_steps[0], contributing->options->brief));
    return run_words(NULL, words, 1, text, "the warm-up");
}

/* -- the manifest -------------------------------------------------------------------------------------- */

/* Adds a file as it is. */
static enum status list_file(struct manifest *manifest, const char *name)
{
    struct manifest_file *file = &manifest->files[manifest->file_count];
    char *text;
    size_t bytes;
    const enum status status = file_read(name, JSON_FILE_BYTES_MAX, &text, &bytes);

    if (status != STATUS_OK)
        return status;
    *file = (struct manifest_file){.name = name, .bytes = bytes};
    sha256_hex(text, bytes, file->sha256);
    free(text);
    manifest->file_count++;
    return STATUS_OK;
}

/* Who measured: as the line says, or as an earlier manifest does. */
static enum status set_credit(const struct contributing *contributing, struct manifest *manifest)
{
    struct manifest before = {.brief = false};
    const char *credit = contributing->options->credit;
    enum status status = STATUS_OK;

    if (!credit && is_there(CHIP_MANIFEST)) {
        status = document_read(&manifest_document, CHIP_MANIFEST, &before, &before.tree);
        credit = before.credit;
    }
    snprintf(manifest->credit, sizeof(manifest->credit), "%s", credit && *credit ? credit : "anonymous");
    text_clean(manifest->credit);
    manifest_close(&before);
    return status == STATUS_USAGE ? STATUS_OK : status; /* a broken one is written again */
}

static enum status write_manifest(const struct contributing *contributing, const struct invocation *invocation)
{
    struct manifest manifest = {.brief = contributing->options->brief};
    struct result result = {0};
    struct file_list names = {0};
    enum status status = chip_files(".", &names);

    if (status == STATUS_OK)
        status = result_read(chip_steps[0].file, &result);
    if (status == STATUS_OK && !(manifest.files = calloc(names.count, sizeof(*manifest.files))))
        status = log_memory("a manifest");
    for (size_t i = 0; status == STATUS_OK && i < names.count; i++)
        status = list_file(&manifest, names.paths[i]);
    if (status == STATUS_OK) {
        command_line(invocation, manifest.argv, sizeof(manifest.argv));
        memcpy(manifest.measured_utc, result.started_utc, sizeof(result.started_utc));
        manifest.device = result.device;
        status = set_credit(contributing, &manifest);
    }
    if (status == STATUS_OK)
        status = document_write(&manifest_document, &manifest, CHIP_MANIFEST);
    result_close(&result);
    manifest_close(&manifest);
    files_close(&names);
    return status;
}

/* -- the command --------------------------------------------------------------------------------------- */

static enum status take_steps(struct contributing *contributing)
{
    bool needed = false, resume = false;
    enum status status = is_needed(contributing, &chip_steps[0], &needed, &resume);

    if (status == STATUS_OK && needed && !resume)
        status = warm_up(contributing);
    for (size_t i = 0; status == STATUS_OK && i < chip_step_count; i++)
        status = take_step(contributing, &chip_steps[i]);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < chip_step_count; i++)
        if (chip_steps[i].scratch)
            unlink(chip_steps[i].file);
    unlink(scratch_record);
    return STATUS_OK;
}

/* Goes into the folder, which is made where it is not there, with those above it. */
static enum status enter(const char *folder)
{
    if (!file_make_folders(folder) || chdir(folder) != 0)
        return log_error(STATUS_USAGE, "%s: %s; name a folder that can be written", folder, strerror(errno));
    return STATUS_OK;
}

/* Says what is wrong with the folder, as cbank check does. */
static enum status say_check(const struct contributing *contributing)
{
    struct chip_check check;
    enum status status = chip_check(".", contributing->options->brief, &check);

    snprintf(check.folder, sizeof(check.folder), "%s", contributing->folder);
    if (status == STATUS_OK)
        status = check_print(&check, 1, look_color(&contributing->options->look, STDOUT_FILENO));
    if (status == STATUS_OK)
        status = check_verdict(&check, 1);
    check_close(&check);
    return status;
}

static enum status contribute(const void *parsed, const struct invocation *invocation)
{
    struct contributing contributing = {.options = parsed,
                                        .name = invocation->argv[0],
                                        .folder = invocation->arguments[0]};
    enum status status = enter(contributing.folder);

    if (status != STATUS_OK)
        return status;
    child_signals_catch();
    if (seconds_left(&contributing, chip_steps) > 0)
        status = prepare(&contributing);
    if (status == STATUS_OK)
        status = take_steps(&contributing);
    if (child_signal())
        log_note(0, "%s has what is done; the same command goes on", contributing.folder);
    child_signals_end();
    if (status == STATUS_OK)
        status = write_manifest(&contributing, invocation);
    if (status == STATUS_OK)
        status = say_check(&contributing);
    return status_worse(status, contributing.worst);
}

const struct command contribute_command = {
    .name = "contribute",
    .summary = "Measure all that the folder of a chip holds, on the first GPU",
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct contribute_options),
    .details =
        "After cbank doctor: the default plan hot, cold and by a second process, how much processes differ, sizes,\n"
        "serialization, widths, table sizes, every workload by every path, the characterization, and a card whose times are\n"
        "fitted to the results, for which python3-scipy is needed. Then a manifest names the files with their hashes, and\n"
        "cbank check looks at the folder. It can be stopped at any time: the same command goes on with what is not there. The\n"
        "card, which comes last, takes no GPU: it can be made on another machine. Names of hosts are left out.",
    .run = contribute,
};
