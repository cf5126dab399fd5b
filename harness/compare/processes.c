/* SPDX-License-Identifier: MIT */
#include "processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "file_lock.h"
#include "log.h"
#include "memory.h"
#include "verdict.h"

enum { PATH_BYTES = PROCESS_PATH_BYTES - 8 }; /* behind --json= */

static void process_path(const struct process_series *series, uint64_t index, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s-%03" PRIu64 ".json", series->folder, series->name, index + 1);
}

bool process_usable(enum status status)
{
    return status == STATUS_OK || status == STATUS_FINDING;
}

enum status process_check_device(const struct measure_options *measure)
{
    if (measure->devices.all || measure->devices.count > 1)
        return log_error(STATUS_USAGE, "--device: all processes are of one GPU; name one, and take each by itself");
    return STATUS_OK;
}

static void version_of(const struct tool *of, char out[sizeof((struct process_series){0}.version)])
{
    snprintf(out, sizeof((struct process_series){0}.version), "%s %s", of->version,
             of->git_commit ? of->git_commit : "");
}

/* Makes the words of a child: the program, run, and the options of the plan and of measuring, with a place for --json. */
static enum status make_words(struct process_series *series)
{
    const struct invocation *invocation = series->invocation;
    struct memory line = {0};
    FILE *stream = memory_open(&line);
    size_t count = 1;

    if (stream)
        fprintf(stream, "%s%crun%c--quiet%c", series->program ? series->program : invocation->argv[0], '\0', '\0',
                '\0');
    for (size_t i = 0; stream && i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->group->rows == plan_option_rows || given->group->rows == measure_option_rows)
            fprintf(stream, "--%s%s%s%c", given->option->name, given->value ? "=" : "",
                    given->value ? given->value : "", '\0');
    }
    memory_close(&line, stream);
    series->line = line.text;
    series->words = calloc(invocation->given_count + 5, sizeof(*series->words));
    if (!series->line || !series->words)
        return log_memory("what is run");
    series->words[0] = line.text;
    for (char *word = line.text + strlen(line.text) + 1; word < line.text + line.bytes; word += strlen(word) + 1)
        series->words[count++] = word;
    series->words[count] = series->json;
    return STATUS_OK;
}

/* Looks at the result of a process, which is done where it is there, and whole. STATUS_FINDING where a cell failed;
 * STATUS_USAGE, logged, where it is of another program than the series, or of other options. */
static enum status look_at(struct process_series *series, uint64_t index)
{
    struct result result = {0};
    char path[PATH_BYTES], version[sizeof(series->version)];
    const char *at;
    enum status status;

    process_path(series, index, path);
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    status = result_read(path, &result);
    if (status != STATUS_OK)
        return status;
    /* The words behind the program, up to --json. */
    at = strstr(result.argv, " run --quiet ");
    for (char *const *word = series->words + 1; at && *word != series->json; word++)
        at = *at == ' ' && strncmp(at + 1, *word, strlen(*word)) == 0 ? at + 1 + strlen(*word) : NULL;
    version_of(&result.tool, version);
    if (!series->version[0]) /* of another program: that of its first result */
        memcpy(series->version, version, sizeof(version));
    if (!at || strncmp(at, " --json=", 8) != 0 || strcmp(version, series->version) != 0) {
        status =
            log_error(STATUS_USAGE, "%s is of another program or other options; name another folder with --keep", path);
    } else if (result.complete) {
        status = result_verdict(&result) == STATUS_FINDING ? STATUS_FINDING : STATUS_OK;
        series->done[index] = true;
        series->finished++;
    }
    result_close(&result);
    return status;
}

enum status process_series_open(struct process_series *series)
{
    enum status worst = make_words(series);

    if (!series->program)
        version_of(&tool, series->version);
    for (uint64_t i = 0; process_usable(worst) && i < series->most; i++)
        worst = status_worse(worst, look_at(series, i));
    if (series->finished > 0)
        log_note(0, "%s has %" PRIu64 " of %" PRIu64 " %s processes already", series->folder, series->finished,
                 series->most, series->name);
    return worst;
}

void process_series_close(struct process_series *series, bool remove, bool open)
{
    char path[PATH_BYTES];

    for (uint64_t i = 0; remove && i < series->most; i++) {
        process_path(series, i, path);
        unlink(path);
    }
    if (remove) {
        file_clean(path, FILE_LEFT_OVER);
        rmdir(series->folder);
    } else if (open && series->finished > 0) {
        log_note(0, "%s has %" PRIu64 " of %" PRIu64 " %s processes; the same command with --keep %s goes on",
                 series->folder, series->finished, series->most, series->name, series->folder);
    }
    free(series->line);
    free(series->words);
    series->line = NULL;
    series->words = NULL;
}

enum status process_series_run(struct process_series *series, uint64_t index)
{
    const char *program = series->program ? series->program : "the program";
    char path[PATH_BYTES], what[64];
    int code = 0;
    enum status status;

    if (series->done[index])
        return STATUS_OK;
    snprintf(what, sizeof(what), "%s process %" PRIu64 " of %" PRIu64, series->name, index + 1, series->most);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s\n", what);
    process_path(series, index, path);
    snprintf(series->json, sizeof(series->json), "--json=%s", path);
    if (!child_run(series->program, series->words, &code) && !child_signal())
        return log_error(STATUS_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
    if (child_signal())
        return STATUS_ENVIRONMENT;
    if (!WIFEXITED(code))
        return log_error(STATUS_ENVIRONMENT, "%s was killed by signal %d", what, WTERMSIG(code));
    if (WEXITSTATUS(code) == CHILD_NOT_STARTED)
        return log_error(STATUS_ENVIRONMENT, "%s: %s cannot be started", what, program);
    if (WEXITSTATUS(code) >= STATUS_INCONCLUSIVE)
        return log_error(STATUS_ENVIRONMENT, "%s exited with %d, which cbank run does not", what, WEXITSTATUS(code));
    status = (enum status)WEXITSTATUS(code);
    if (!process_usable(status))
        return status;
    status = look_at(series, index);
    if (process_usable(status) && !series->done[index])
        return log_error(STATUS_ENVIRONMENT, "%s ended before it was done", what);
    return status;
}

enum status process_series_read(const struct process_series *series, uint64_t count, struct sides *sides)
{
    enum status status = STATUS_OK;

    for (uint64_t i = 0; status == STATUS_OK && i < count; i++) {
        char path[PATH_BYTES];

        process_path(series, i, path);
        status = sides_add(sides, path);
    }
    snprintf(sides->total.label, sizeof(sides->total.label), "%.200s/%s-*.json", series->folder, series->name);
    return status;
}

const char *process_folder_open(const char *keep, char own[PROCESS_PATH_BYTES])
{
    const char *path = keep;

    snprintf(own, PROCESS_PATH_BYTES, "/tmp/cbank-processes-XXXXXX");
    if (!keep)
        path = mkdtemp(own);
    if (path && (!keep || mkdir(keep, 0777) == 0 || errno == EEXIST))
        return path;
    log_error(STATUS_USAGE, "cannot make a folder for the processes: %s; choose one with --keep", strerror(errno));
    return NULL;
}
