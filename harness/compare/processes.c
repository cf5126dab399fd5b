/* SPDX-License-Identifier: MIT
 * A process of calibrate and gate: cbank run, with the options of this command line. */
#include "processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "file_lock.h"
#include "log.h"
#include "memory.h"

/* The words of the command line, each with a NUL behind: the options of this one that say what is
 * measured and how, and `more`. */
static bool write_words(const struct invocation *invocation, const struct measure_options *measure,
                        const struct texts *more, const char *program, const char *path,
                        struct memory *out)
{
    FILE *stream = memory_open(out);

    if (!stream)
        return memory_close(out, stream);
    fprintf(stream, "%s%crun%c--quiet%c", program, '\0', '\0', '\0');
    for (size_t i = 0; i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->group->rows == plan_option_rows || given->group->rows == kernel_option_rows ||
            given->group->rows == measure_option_rows)
            fprintf(stream, "--%s%s%s%c", given->option->name, given->value ? "=" : "",
                    given->value ? given->value : "", '\0');
    }
    for (size_t i = 0; i < more->count; i++)
        fprintf(stream, "%s%c", more->items[i], '\0');
    if (!measure->engine) /* or a gate without a GPU would compare models, and pass */
        fprintf(stream, "--engine=%s%c", engine_rows[0].name, '\0');
    fprintf(stream, "--json=%s%c", path, '\0');
    return memory_close(out, stream);
}

/* Runs the program that the words begin with, and waits for it. Returns its exit status;
 * STATUS_ENVIRONMENT, logged unless interrupted, if it made no result. */
static enum status run_words(const struct memory *line, const char *program, const char *shown,
                             const char *what, const char *path)
{
    size_t count = 0;
    char **words;
    int code = 0;
    bool started;

    for (size_t i = 0; i < line->bytes; i++)
        count += line->text[i] == '\0';
    words = calloc(count + 1, sizeof(*words));
    if (!words)
        return log_memory("what is run");
    count = 0;
    for (char *word = line->text; word < line->text + line->bytes; word += strlen(word) + 1)
        words[count++] = word;
    started = child_run(program, words, &code);
    free(words);
    if (interrupted())
        return STATUS_ENVIRONMENT;
    if (!started)
        return log_error(STATUS_ENVIRONMENT, "%s: %s cannot be started: %s", what, shown,
                         strerror(errno));
    if (!WIFEXITED(code))
        return log_error(STATUS_ENVIRONMENT, "%s was killed by signal %d", what, WTERMSIG(code));
    if (WEXITSTATUS(code) >= STATUS_INCONCLUSIVE ||
        (WEXITSTATUS(code) <= STATUS_FINDING && access(path, F_OK) != 0))
        return log_error(STATUS_ENVIRONMENT, "%s: %s exited with %d, and wrote no result", what,
                         shown, WEXITSTATUS(code));
    return (enum status)WEXITSTATUS(code);
}

enum status process_run(const struct invocation *invocation, const struct measure_options *measure,
                        const struct texts *more, const char *program, const char *what,
                        struct sides *sides)
{
    const char *shown = program ? program : invocation->argv[0];
    char folder[] = "/tmp/cbank-processes-XXXXXX", path[sizeof(folder) + 16];
    struct memory line = {0};
    enum status status;

    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s\n", what);
    if (measure->devices.all || measure->devices.count > 1)
        return log_error(STATUS_USAGE, "--device: all processes are of one GPU; name one, and take "
                                       "each by itself");
    if (!mkdtemp(folder))
        return log_error(STATUS_USAGE, "%s: cannot make a folder in /tmp: %s", what,
                         strerror(errno));
    snprintf(path, sizeof(path), "%s/result.json", folder);
    if (write_words(invocation, measure, more, shown, path, &line))
        status = run_words(&line, program, shown, what, path);
    else
        status = log_memory("what is run");
    sides->total.findings += status == STATUS_FINDING;
    if (status <= STATUS_FINDING)
        status = status_worse(status, sides_add(sides, path));
    file_discard(path);
    rmdir(folder);
    free(line.text);
    return status;
}
