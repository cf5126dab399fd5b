/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "log.h"
#include "text.h"
#include "text_print.h"

/* A device, and the process that measures it. */
struct one {
    uint32_t device;
    char number[16];
    char path[RESULT_PATH_BYTES]; /* of --json, if it is one file */
    char **words; /* owned */
    struct child child;
    bool started;
    FILE *output, *messages; /* owned */
};

static enum status start(struct one *one, const struct run_options *options, const struct invocation *invocation)
{
    snprintf(one->number, sizeof(one->number), "%" PRIu32, one->device);
    result_file_name(options->json_path, one->device, one->path);

    /* The command line as typed, followed by the words for one device, which override earlier ones. */
    const char *more[] = {"--device", one->number,
                          "--color",  output_color(&options->look, STDOUT_FILENO) ? "always" : "never",
                          "--json",   one->path};
    const size_t more_count = sizeof(more) / sizeof(more[0]) - (one->path[0] ? 0 : 2);
    const size_t count = (size_t)invocation->argc;

    one->output = tmpfile();
    one->messages = tmpfile();
    one->words = calloc(count + more_count + 1, sizeof(*one->words));
    if (!one->words)
        return log_memory("the process of device %s", one->number);
    memcpy(one->words, invocation->argv, count * sizeof(*one->words));
    for (size_t i = 0; i < more_count; i++)
        one->words[count + i] = (char *)more[i];
    if (one->output && one->messages) {
        one->child =
            (struct child){.words = one->words, .output = fileno(one->output), .messages = fileno(one->messages)};
        one->started = child_start(&one->child);
    }
    if (one->started || child_signal())
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot start a process for device %s: %s; --sequential needs none",
                     one->number, strerror(errno));
}

static void copy(FILE *from, FILE *to)
{
    char bytes[4096];
    size_t count;

    rewind(from);
    while ((count = fread(bytes, 1, sizeof(bytes), from)) > 0)
        fwrite(bytes, 1, count, to);
    fflush(to);
}

/* Waits for the process of a device, and prints its output. */
static enum status finish(struct one *one)
{
    int code = 0;

    if (!one->started)
        return STATUS_OK;
    if (!child_wait(&one->child, &code))
        return log_error(STATUS_ENVIRONMENT, "lost the process of device %s: %s", one->number, strerror(errno));
    copy(one->output, stdout);
    copy(one->messages, stderr);
    if (WIFEXITED(code) && WEXITSTATUS(code) != CHILD_NOT_STARTED)
        return (enum status)WEXITSTATUS(code);
    if (child_signal())
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "the process of device %s %s; --sequential measures without processes",
                     one->number, WIFSIGNALED(code) ? strsignal(WTERMSIG(code)) : "did not start");
}

enum status run_devices_parallel(const struct run_options *options, const struct invocation *invocation,
                                 const uint32_t *devices, size_t count)
{
    struct one *all = calloc(count, sizeof(*all));
    enum status worst = all ? STATUS_OK : log_memory("%zu devices", count);
    char width[16];

    snprintf(width, sizeof(width), "%d", text_width(stdout));
    setenv("COLUMNS", width, 0);
    log_note(options->quiet, "measuring %zu GPUs at the same time", count);
    child_signals_catch();
    for (size_t i = 0; all && i < count; i++) {
        all[i].device = devices[i];
        worst = status_worse(worst, start(&all[i], options, invocation));
    }
    for (size_t i = 0; all && i < count; i++)
        worst = status_worse(worst, finish(&all[i]));
    for (size_t i = 0; all && i < count; i++) {
        free(all[i].words);
        if (all[i].output)
            fclose(all[i].output);
        if (all[i].messages)
            fclose(all[i].messages);
    }
    free(all);
    child_signals_end();
    return worst;
}
