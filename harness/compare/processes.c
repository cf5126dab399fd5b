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

static void process_path(const struct process_series *series, uint64_t index, char path[PROCESS_PATH_BYTES])
{
    snprintf(path, PROCESS_PATH_BYTES, "%s/%s-%03" PRIu64 ".json", series->folder, series->name, index + 1);
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

/* -- a process ---------------------------------------------------------------------------------------- */

/* Words of a child: the program, run, what the user gave of its options, and last where its result goes. The caller's,
 * to free, and so is *text, which they lie in. NULL when out of memory. */
static char **child_words(const struct process_series *series, const char *path, char **text)
{
    static char run[] = "run", quiet[] = "--quiet";
    const struct invocation *invocation = series->invocation;
    char **words = calloc(invocation->given_count + 6, sizeof(*words));
    struct memory memory = {0};
    FILE *stream = memory_open(&memory);
    size_t count = 0;

    if (stream)
        fprintf(stream, "%s%c", series->program ? series->program : invocation->argv[0], '\0');
    for (size_t i = 0; stream && i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->group->rows == plan_option_rows || given->group->rows == measure_option_rows)
            fprintf(stream, "--%s%s%s%c", given->option->name, given->value ? "=" : "",
                    given->value ? given->value : "", '\0');
    }
    if (stream)
        fprintf(stream, "--json=%s%c", path, '\0');
    /* Only then the text stays where it is. */
    if (!memory_close(&memory, stream) || !words) {
        free(memory.text);
        free(words);
        return NULL;
    }
    *text = memory.text;
    for (char *word = *text; word < *text + memory.bytes; word += strlen(word) + 1) {
        words[count++] = word;
        if (count == 1) {
            words[count++] = run;
            words[count++] = quiet;
        }
    }
    return words;
}

/* Runs a process. An end that is no exit code of this program is an error. */
static enum status run_child(const struct process_series *series, uint64_t index, const char *path)
{
    char *text = NULL, **words = child_words(series, path, &text), what[64];
    int code = 0;
    const bool ran = words && child_run(series->program, words, &code);

    free(words);
    free(text);
    snprintf(what, sizeof(what), "%s %" PRIu64 " of %" PRIu64, series->label, index + 1, series->most);
    if (child_signal())
        return STATUS_ENVIRONMENT;
    if (!ran)
        return log_error(STATUS_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
    if (!WIFEXITED(code))
        return log_error(STATUS_ENVIRONMENT, "%s was killed by signal %d", what, WTERMSIG(code));
    if (WEXITSTATUS(code) == CHILD_NOT_STARTED)
        return log_error(STATUS_ENVIRONMENT, "%s: %s cannot be started", what,
                         series->program ? series->program : "the program");
    if (WEXITSTATUS(code) >= STATUS_INCONCLUSIVE)
        return log_error(STATUS_ENVIRONMENT, "%s exited with %d, which cbank run does not", what, WEXITSTATUS(code));
    return (enum status)WEXITSTATUS(code);
}

static void version_of(const struct tool *of, char out[sizeof((struct process_series){0}.version)])
{
    snprintf(out, sizeof((struct process_series){0}.version), "%s %s", of->version,
             of->git_commit ? of->git_commit : "");
}

/* -- what is there already ---------------------------------------------------------------------------- */

/* The command line of the processes; NULL out of memory. The caller's, to free. */
static char *make_line(const struct process_series *series)
{
    char *text = NULL, **words = child_words(series, "", &text);
    struct memory line = {0};
    FILE *stream = words ? memory_open(&line) : NULL;

    for (char **word = stream ? words + 1 : NULL; stream && *word; word++)
        fprintf(stream, " %s", *word);
    free(words);
    free(text);
    memory_close(&line, stream);
    return line.text;
}

/* Looks at the result of a process, which is done where it is there, and whole. STATUS_FINDING where a cell failed;
 * STATUS_USAGE, logged, where it is of another program than the series, or of other options. */
static enum status look_at(struct process_series *series, uint64_t index)
{
    struct result result = {0};
    char path[PROCESS_PATH_BYTES], version[sizeof(series->version)];
    const char *line;
    enum status status;

    process_path(series, index, path);
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    status = result_read(path, &result);
    if (status != STATUS_OK)
        return status;
    line = strstr(result.argv, " run --quiet ");
    version_of(&result.tool, version);
    if (!series->version[0]) /* of another program: that of its first result */
        memcpy(series->version, version, sizeof(version));
    if (!line || strncmp(line, series->line, strlen(series->line)) != 0 || strcmp(version, series->version) != 0) {
        status = log_error(STATUS_USAGE,
                           "%s is no process of this %s, but of another program or other options; name another folder "
                           "with --keep",
                           path, series->what);
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
    enum status worst = STATUS_OK;

    series->line = make_line(series);
    if (!series->line)
        return log_memory("what is run");
    if (!series->program)
        version_of(&tool, series->version);
    for (uint64_t i = 0; process_usable(worst) && i < series->most; i++)
        worst = status_worse(worst, look_at(series, i));
    return worst;
}

void process_series_close(struct process_series *series)
{
    free(series->line);
    series->line = NULL;
}

enum status process_series_run(struct process_series *series, uint64_t index)
{
    char path[PROCESS_PATH_BYTES];
    enum status status;

    if (series->done[index])
        return STATUS_OK;
    process_path(series, index, path);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s %" PRIu64 " of %" PRIu64 "\n", series->label, index + 1, series->most);
    status = run_child(series, index, path);
    if (!process_usable(status) || child_signal())
        return status;
    status = look_at(series, index);
    if (process_usable(status) && !series->done[index])
        return log_error(STATUS_ENVIRONMENT, "%s %" PRIu64 " ended before it was done", series->label, index + 1);
    return status;
}

enum status process_series_read(const struct process_series *series, uint64_t count, struct sides *sides)
{
    enum status status = STATUS_OK;

    for (uint64_t i = 0; status == STATUS_OK && i < count; i++) {
        char path[PROCESS_PATH_BYTES];

        process_path(series, i, path);
        status = sides_add(sides, path);
    }
    snprintf(sides->total.label, sizeof(sides->total.label), "%.200s/%s-*.json", series->folder, series->name);
    return status;
}

/* -- the folder --------------------------------------------------------------------------------------- */

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

void process_series_remove(const struct process_series *series)
{
    char path[PROCESS_PATH_BYTES];

    for (uint64_t i = 0; i < series->most; i++) {
        process_path(series, i, path);
        unlink(path);
    }
    file_clean(path, FILE_LEFT_OVER);
    rmdir(series->folder);
}
