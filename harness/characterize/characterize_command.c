/* SPDX-License-Identifier: MIT
 * `cbank characterize`: asks the probes of a GPU, or of a recorded file (--replay), and writes what
 * the experiments found, with every answer. With --new-card it also writes a card of the chip. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "card_make.h"
#include "child.h"
#include "command.h"
#include "cuda_probe.h"
#include "experiment_cells.h"
#include "file_lock.h"
#include "files.h"
#include "log.h"
#include "text_print.h"

struct characterize_options {
    uint64_t ordinal; /* of the GPU */
    const char *resume_path; /* of an interrupted one; NULL: a new one */
    const char *replay_path; /* file whose answers are analysed; NULL: a GPU is asked */
    const char *json_path, *card_path;
    const char *new_card_path; /* file for the new card; NULL: none */
    double watchdog_slack_seconds;
    bool all, quiet;
};

#define MEMBER(name) .offset = offsetof(struct characterize_options, name)

static const struct option_row rows[] = {
    {.name = "device",
     .topic = TOPIC_GPU,
     .argument = "N",
     .help = "GPU ordinal (default 0)",
     .kind = &option_integer,
     MEMBER(ordinal),
     .high = 1023,
     .unit = "as a device",
     .fallback = "0"},
    {.name = "replay",
     .topic = TOPIC_GPU,
     .argument = "FILE",
     .help = "analyse the answers in a characterization again, without a GPU",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(replay_path)},
    {.name = "resume",
     .topic = TOPIC_RESUME,
     .argument = "FILE",
     .help = "make the experiments that an interrupted characterization lacks, into it or --json",
     .kind = &option_text,
     .file = FILE_UPDATED,
     MEMBER(resume_path)},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "file for all measurements, - for stdout (default characterization.json)",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     MEMBER(json_path),
     .fallback = "characterization.json",
     .instead = "resume"},
    {.name = "card",
     .topic = TOPIC_GPU,
     .argument = "CARD",
     .help = "card of the same chip with the other numbers of --new-card: a file, or a name of "
             "cbank list cards (default: the chip's)",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(card_path)},
    {.name = "new-card",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "write a card of the chip, with numbers that were measured, from the driver, and from "
             "--card",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     MEMBER(new_card_path)},
    {.name = "watchdog-slack",
     .topic = TOPIC_MEASURING,
     .argument = "SECONDS",
     .help = "extra time for a call to the GPU before the command ends (default 120)",
     .kind = &option_number,
     MEMBER(watchdog_slack_seconds),
     .low = 0.001,
     .high = 86400,
     .unit = "seconds",
     .fallback = "120"},
    {.name = "all",
     .topic = TOPIC_VIEW,
     .help = "print more than a screen: intervals, every number, and why something was not found",
     .kind = &option_flag,
     MEMBER(all)},
    {.name = "quiet",
     .topic = TOPIC_OUTPUT,
     .help = "print only errors and warnings",
     .kind = &option_flag,
     MEMBER(quiet)},
};

/* The file while it is measured. */
struct so_far {
    const char *path;
    bool written, noted;
    double save_at; /* seconds */
};

static const double save_seconds = 0.5, save_pause = 4; /* as of a run */

static void note_interrupted(struct so_far *so_far)
{
    const bool noted = so_far->noted;

    so_far->noted = true;
    if (noted)
        return;
    if (so_far->written)
        log_note(false, "interrupted; cbank characterize --resume %s makes the rest", so_far->path);
    else
        log_note(false, "interrupted; nothing is written");
}

/* Ends the command because the GPU does not answer, or not soon after a signal. */
static void end_now(void *context, const char *call, double seconds)
{
    struct so_far *so_far = context;

    if (interrupted()) {
        note_interrupted(so_far);
        interrupt_end();
    }
    log_error(STATUS_FINDING,
              "%s did not come back in %.1f s: the GPU hangs%s%s%s; look at nvidia-smi and the "
              "kernel's log for it",
              call, seconds, so_far->written ? "; cbank characterize --resume " : "",
              so_far->written ? so_far->path : ", and nothing is written",
              so_far->written ? " makes the rest" : "");
    _exit(STATUS_FINDING);
}

/* Writes the experiments so far, unless the last time is not long ago. */
static enum status write_so_far(void *context, const struct characterization *made)
{
    struct so_far *so_far = context;
    struct characterization partial = *made;
    const double start = clock_seconds();
    enum status status;

    if (strcmp(so_far->path, "-") == 0 || (start < so_far->save_at && !interrupted()))
        return STATUS_OK;
    partial.interrupted = true;
    status = document_write(&characterization_document, &partial, so_far->path);
    so_far->written |= status == STATUS_OK;
    so_far->save_at =
        status == STATUS_OK
            ? clock_seconds() + fmax(save_seconds, save_pause * (clock_seconds() - start))
            : INFINITY;
    if (status != STATUS_OK)
        log_warning("measuring goes on; the file is written again at the end");
    return STATUS_OK;
}

/* What answers the questions of the experiments: a GPU, with whole kernels that were measured
 * before, or the answers in a file. */
struct answers {
    struct characterization recorded;
    struct probe_resume resume;
    struct cells_source cells;
    struct cuda_probe *probe;
    struct watchdog watchdog;
};

static void answers_close(struct answers *answers)
{
    characterization_close(&answers->recorded);
    cuda_probe_close(answers->probe);
    result_close(&answers->cells.result);
    watchdog_close(&answers->watchdog);
}

/* Opens a GPU or a file, and describes the device. The caller closes *answers, also on failure. */
static enum status answers_open(const struct characterize_options *options, struct so_far *so_far,
                                struct answers *answers, struct device_info *device,
                                struct probe_source *source)
{
    const struct watchdog_end end = {.end = end_now, .asked = interrupted, .context = so_far};
    const struct characterization *const recorded = &answers->recorded;
    enum status status = STATUS_OK;

    if (options->replay_path) {
        status = characterization_read(options->replay_path, &answers->recorded);
        characterization_warn(options->replay_path, &answers->recorded);
        *source = probe_replay_source(&answers->recorded.replay);
        *device = answers->recorded.device;
        return status;
    }
    if (options->resume_path) {
        status = characterization_read(options->resume_path, &answers->recorded);
        if (status != STATUS_OK)
            return status;
        if (!recorded->interrupted)
            return log_error(STATUS_USAGE, "%s is complete: nothing is missing",
                             options->resume_path);
    }
    watchdog_open(&answers->watchdog, &end);
    if (!characterization_outcome(recorded, "whole_kernels")) /* else the file has their answers */
        status = cells_measure((uint32_t)options->ordinal, &answers->watchdog,
                               options->watchdog_slack_seconds, &answers->cells);
    if (status != STATUS_OK)
        return status;
    status = cuda_probe_open((uint32_t)options->ordinal, &answers->watchdog,
                             options->watchdog_slack_seconds, &answers->probe, device, source);
    if (status != STATUS_OK)
        return status;
    *source = cells_source_with(&answers->cells, source);
    if (!options->resume_path)
        return STATUS_OK;
    if (strcmp(device->uuid, recorded->device.uuid) != 0 ||
        strcmp(device->name, recorded->device.name) != 0 ||
        strcmp(device->driver, recorded->device.driver) != 0)
        return log_error(STATUS_ENVIRONMENT,
                         "%s was interrupted on %s %s with driver %s, which is not device %d here",
                         options->resume_path, recorded->device.name, recorded->device.uuid,
                         recorded->device.driver, (int)options->ordinal);
    answers->resume = (struct probe_resume){.live = *source,
                                            .exchanges = recorded->replay.exchanges,
                                            .count = recorded->replay.count};
    *source = probe_resume_source(&answers->resume);
    return STATUS_OK;
}

/* Writes the characterization as the options ask, and a card if one is wanted. */
static enum status write_all(const struct characterize_options *options,
                             const struct characterization *made, struct card_tally *tally)
{
    const bool to_stdout = strcmp(options->json_path, "-") == 0;
    const struct card_request request = {.found = made,
                                         .file = options->replay_path ? options->replay_path
                                                 : to_stdout          ? NULL
                                                                      : options->json_path,
                                         .base_path = options->card_path};
    cJSON *card = NULL;
    enum status status = document_write(&characterization_document, made, options->json_path);

    if (status != STATUS_OK || !options->new_card_path)
        return status;
    status = card_make(&request, &card, tally);
    if (status != STATUS_OK)
        goto out;
    status = file_write(options->new_card_path, json_put, card);
out:
    json_free(card);
    return status;
}

static enum status print_all(const struct characterize_options *options,
                             const struct characterization *made, const struct card_tally *tally)
{
    enum status status = STATUS_OK;

    if (options->quiet || strcmp(options->json_path, "-") == 0)
        return STATUS_OK;
    if (options->all)
        characterization_print_all(made);
    else
        status = characterization_print(made);
    text_line(stdout, "%.2f s; %s", made->seconds, options->json_path);
    if (options->new_card_path)
        text_line(stdout,
                  "card %s: %zu numbers characterized, %zu of the device, %zu of another card, "
                  "%zu not known",
                  options->new_card_path, tally->characterized, tally->device, tally->base,
                  tally->unknown);
    return status;
}

/* STATUS_ENVIRONMENT, logged, where every experiment was skipped. */
static enum status need_outcomes(const struct characterization *made)
{
    for (size_t i = 0; i < made->count; i++)
        if (made->outcomes[i].status == OUTCOME_OK)
            return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT,
                     "nothing was measured: every experiment was skipped, the first is %s: %s; "
                     "record a GPU with cbank characterize",
                     made->outcomes[0].experiment.name, made->outcomes[0].reason);
}

static enum status characterize_gpu(const void *parsed, const struct invocation *invocation)
{
    struct characterize_options own = *(const struct characterize_options *)parsed;
    const struct characterize_options *options = &own;
    const double start = clock_seconds();
    struct so_far so_far = {.path = NULL};
    const struct characterize_watch watch = {write_so_far, &so_far};
    struct characterization made = {.replayed = options->replay_path};
    struct probe_record record = {.count = 0};
    struct answers answers = {.probe = NULL};
    struct card_tally tally = {0};
    struct file_lock lock = {0};
    enum status status;
    struct card card;

    if (options->resume_path && options->replay_path)
        return log_error(STATUS_USAGE, "--resume asks a GPU, and --replay a file; leave one out");
    if (!own.json_path)
        own.json_path = own.resume_path;
    so_far.path = own.json_path;
    if (options->card_path && !options->new_card_path)
        return log_error(STATUS_USAGE,
                         "--card is what --new-card FILE takes numbers from; name that file, too");
    /* read first, so that a bad one ends the command before anything is measured */
    if (options->card_path && (status = card_read(options->card_path, &card)) != STATUS_OK)
        return status;
    command_line(invocation, made.argv, sizeof(made.argv));
    clock_utc(made.started_utc);
    interrupt_catch();
    status = answers_open(options, &so_far, &answers, &made.device, &record.source);
    if (status != STATUS_OK)
        goto out;
    status = file_lock_take(options->json_path, &lock);
    if (status != STATUS_OK)
        goto out;
    status = characterize(&record, options->replay_path ? &answers.recorded : NULL, options->quiet,
                          options->replay_path ? NULL : &watch, &made);
    made.seconds = clock_seconds() - start;
    if (status != STATUS_OK)
        goto out;
    clock_utc(made.finished_utc);
    status = write_all(options, &made, &tally);
    if (status != STATUS_OK)
        goto out;
    status = print_all(options, &made, &tally);
    if (status != STATUS_OK)
        goto out;
    status = need_outcomes(&made);
out:
    if (interrupted())
        note_interrupted(&so_far);
    characterization_close(&made);
    probe_record_close(&record);
    answers_close(&answers);
    file_lock_release(&lock);
    interrupt_end();
    return status;
}

const struct command characterize_command = {
    .name = "characterize",
    .summary = "Measure how the load paths of a GPU work: latencies, caches, serialization",
    .groups = &(const struct option_group)OPTION_GROUP(rows, 0),
    .group_count = 1,
    .options_bytes = sizeof(struct characterize_options),
    .details =
        "It measures the latency of a dependent load, the cost of distinct addresses in a "
        "warp, and throughput against resident\n"
        "warps. It finds the caches behind each path, what launches and copies leave of "
        "them, and which SMs share one. The file\n"
        "has every answer of the probes, for --replay. It is written as experiments end: one "
        "that was interrupted or killed\n"
        "goes on by --resume.",
    .run = characterize_gpu,
};
