/* SPDX-License-Identifier: MIT */
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

enum status process_run(const struct invocation *invocation, const struct measure_options *measure,
                        const struct texts *more, const char *program, const char *what,
                        struct sides *sides)
{
    const char *shown = program ? program : invocation->argv[0];
    char folder[] = "/tmp/cbank-processes-XXXXXX", path[sizeof(folder) + 16];
    struct memory line = {0};
    char **words;
    FILE *stream;
    size_t count = 0;
    int code = 0;
    enum status status = STATUS_ENVIRONMENT;

    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s\n", what);
    if (measure->devices.all || measure->devices.count > 1)
        return log_error(STATUS_USAGE, "--device: all processes are of one GPU; name one, and take "
                                       "each by itself");
    if (!mkdtemp(folder))
        return log_error(STATUS_USAGE, "%s: cannot make a folder in /tmp: %s", what,
                         strerror(errno));
    snprintf(path, sizeof(path), "%s/result.json", folder);
    words = calloc(invocation->given_count + more->count + 6, sizeof(*words));
    stream = memory_open(&line);
    if (stream)
        fprintf(stream, "%s%crun%c--quiet%c", shown, '\0', '\0', '\0');
    for (size_t i = 0; stream && i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->group->rows == plan_option_rows || given->group->rows == kernel_option_rows ||
            given->group->rows == measure_option_rows)
            fprintf(stream, "--%s%s%s%c", given->option->name, given->value ? "=" : "",
                    given->value ? given->value : "", '\0');
    }
    for (size_t i = 0; stream && i < more->count; i++)
        fprintf(stream, "%s%c", more->items[i], '\0');
    if (stream && !measure->engine) /* or a gate without a GPU would compare models, and pass */
        fprintf(stream, "--engine=%s%c", engine_rows[0].name, '\0');
    if (stream)
        fprintf(stream, "--json=%s%c", path, '\0');
    if (memory_close(&line, stream) && words) {
        for (char *word = line.text; word < line.text + line.bytes; word += strlen(word) + 1)
            words[count++] = word;
        if (!child_run(program, words, &code) && !interrupted())
            log_error(status, "%s: %s cannot be started: %s", what, shown, strerror(errno));
        else if (!interrupted() && !WIFEXITED(code))
            log_error(status, "%s was killed by signal %d", what, WTERMSIG(code));
        else if (!interrupted() &&
                 (WEXITSTATUS(code) >= STATUS_INCONCLUSIVE ||
                  (WEXITSTATUS(code) <= STATUS_FINDING && access(path, F_OK) != 0)))
            log_error(status, "%s: %s exited with %d, and wrote no result", what, shown,
                      WEXITSTATUS(code));
        else if (!interrupted())
            status = (enum status)WEXITSTATUS(code);
        sides->total.findings += status == STATUS_FINDING;
        if (status <= STATUS_FINDING)
            status = status_worse(status, sides_add(sides, path));
    } else {
        log_memory("what is run");
    }
    file_discard(path);
    rmdir(folder);
    free(line.text);
    free(words);
    return status;
}
