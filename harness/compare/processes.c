/* SPDX-License-Identifier: MIT
 * A process of calibrate and gate: cbank run, with the options of this command line. */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "files.h"
#include "log.h"
#include "memory.h"
#include "sha256.h"

enum { PROGRAM_BYTES_MAX = 1 << 30, FOLDER_BYTES_MAX = PATH_MAX / 2 };

static const char about_name[] = "processes.txt";

/* -- what is run ------------------------------------------------------------------------------- */

static const char *shown_program(const struct processes *processes, size_t side)
{
    return processes->programs[side] ? processes->programs[side] : processes->invocation->argv[0];
}

/* Puts the words of a command line, each with `end` behind: the options of this one that say what
 * is measured and how, and `more`. */
static void put_words(FILE *stream, const struct processes *processes, size_t side, char end)
{
    const struct invocation *const invocation = processes->invocation;

    fprintf(stream, "%s%crun%c--quiet%c", shown_program(processes, side), end, end, end);
    for (size_t i = 0; i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (side == BASE && processes->base_by_toolkit &&
            given->option == &plan_option_rows[PLAN_OPTION_JIT])
            continue;
        if (given->group->rows == plan_option_rows || given->group->rows == kernel_option_rows ||
            given->group->rows == measure_option_rows)
            fprintf(stream, "--%s%s%s%c", given->option->name, given->value ? "=" : "",
                    given->value ? given->value : "", end);
    }
    for (size_t i = 0; i < processes->more.count; i++)
        fprintf(stream, "%s%c", processes->more.items[i], end);
    if (!processes->measure->engine) /* or a gate without a GPU would compare models, and pass */
        fprintf(stream, "--engine=%s%c", engine_rows[0].name, end);
}

/* Puts the hash of a program, as far as its file is found. */
static void put_hash(FILE *stream, const char *program)
{
    struct stat about;
    const char *why;
    const int descriptor = file_open(program ? program : "/proc/self/exe", &about, &why);
    char hex[SHA256_HEX_BYTES], *text = NULL;
    ssize_t bytes = -1;

    if (descriptor < 0)
        return;
    if (about.st_size <= (off_t)PROGRAM_BYTES_MAX && (text = malloc((size_t)about.st_size + 1)))
        bytes = file_read_bytes(descriptor, text, (size_t)about.st_size);
    close(descriptor);
    if (bytes >= 0) {
        sha256_hex(text, (size_t)bytes, hex);
        fprintf(stream, "%s\n", hex);
    }
    free(text);
}

/* -- the folder -------------------------------------------------------------------------------- */

static enum status write_text(FILE *stream, const void *context)
{
    fputs(context, stream);
    return STATUS_OK;
}

/* The folder must be of the same processes, or have nothing. */
static enum status take_folder(struct processes *processes, const char *about)
{
    char path[PATH_MAX], *before;
    struct dirent **entries;
    enum status status;
    size_t bytes;
    int count;

    snprintf(path, sizeof(path), "%s/%s", processes->folder, about_name);
    if (processes->scratch.path[0])
        return file_write(path, write_text, about);
    status = file_lock_take(path, &processes->lock);
    if (status != STATUS_OK)
        return status;
    if (access(path, F_OK) != 0) {
        /* ".", ".." and the lock */
        count = scandir(processes->folder, &entries, NULL, NULL);
        for (int i = 0; i < count; i++)
            free(entries[i]);
        if (count >= 0)
            free(entries);
        return count > 3 ? log_error(STATUS_USAGE,
                                     "%s has other files than results of a gate; name a new folder",
                                     processes->folder)
                         : file_write(path, write_text, about);
    }
    status = file_read(path, 1 << 20, &before, &bytes);
    if (status != STATUS_OK)
        return status;
    if (strcmp(before, about) != 0)
        status = log_error(STATUS_USAGE,
                           "%s has processes of another command line or program (%s says which); "
                           "name a new folder, or give what they were measured with",
                           processes->folder, path);
    free(before);
    return status;
}

enum status processes_open(struct processes *processes, const char *named)
{
    struct memory about = {0};
    enum status status;
    FILE *stream;

    if (processes->measure->devices.all || processes->measure->devices.count > 1)
        return log_error(STATUS_USAGE, "--device: all processes are of one GPU; name one, and take "
                                       "each by itself");
    if (named && (strlen(named) > FOLDER_BYTES_MAX || (mkdir(named, 0777) != 0 && errno != EEXIST)))
        return log_error(STATUS_USAGE, "cannot make the folder %s: %s; name another by --results",
                         named,
                         strlen(named) > FOLDER_BYTES_MAX ? "its name is too long"
                                                          : strerror(errno));
    status = named ? STATUS_OK : scratch_open(&processes->scratch);
    if (status != STATUS_OK)
        return status;
    processes->folder = named ? named : processes->scratch.path;
    stream = memory_open(&about);
    for (size_t i = 0; stream && i < SIDES; i++) {
        put_words(stream, processes, i, '\n');
        put_hash(stream, processes->programs[i]);
    }
    status = memory_close(&about, stream) ? take_folder(processes, about.text)
                                          : log_memory("what is run");
    free(about.text);
    return status;
}

void processes_close(struct processes *processes, bool early, const char *again)
{
    const bool kept = processes->told || (early && processes->measured > 0);

    if (early && processes->measured > 0)
        log_note(false, "%zu result%s in %s; %s%s goes on", processes->measured,
                 processes->measured == 1 ? " is" : "s are", processes->folder, again,
                 processes->folder);
    else if (processes->told)
        log_note(false, "the results are kept in %s", processes->folder);
    if (kept)
        scratch_keep(&processes->scratch);
    scratch_close(&processes->scratch);
    file_lock_release(&processes->lock);
    texts_close(&processes->more);
    *processes = (struct processes){0};
}

/* -- a process --------------------------------------------------------------------------------- */

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

/* Runs a process, whose result is then at the path. */
static enum status run_process(struct processes *processes, size_t side, const char *what,
                               const char *path)
{
    const char *const program = processes->programs[side], *shown = shown_program(processes, side);
    struct memory line = {0};
    FILE *const stream = memory_open(&line);
    enum status status;

    if (stream) {
        put_words(stream, processes, side, '\0');
        fprintf(stream, "--json=%s%c", path, '\0');
    }
    status = memory_close(&line, stream) ? run_words(&line, program, shown, what, path)
                                         : log_memory("what is run");
    free(line.text);
    processes->told |= status == STATUS_FINDING;
    return status;
}

static bool is_contended(const struct result *result)
{
    bool contended = false;

    for (size_t i = 0; i < result->cell_count; i++)
        contended = contended || result->cells[i].flags & FLAG_CONTENDED;
    return contended;
}

/* Reads the result of a process that an earlier command measured to its end. False: there is
 * none. */
static bool read_before(const char *path, struct result *out)
{
    bool whole;

    if (access(path, F_OK) != 0)
        return false;
    whole = result_read(path, out) == STATUS_OK && out->complete;
    if (!whole) {
        result_close(out);
        file_discard(path);
    }
    return whole;
}

enum status process_run(struct processes *processes, size_t side, uint64_t number, bool alone,
                        struct sides *sides, bool *dropped)
{
    char path[PATH_MAX], what[64];
    struct result result = {0};
    enum status status = STATUS_OK, added = STATUS_OK;

    *dropped = false;
    snprintf(what, sizeof(what), "%s process %" PRIu64, side_names[side], number);
    snprintf(path, sizeof(path), "%s/%s-%" PRIu64 ".json", processes->folder, side_names[side],
             number);
    if (!read_before(path, &result)) {
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "%s\n", what);
        status = run_process(processes, side, what, path);
        sides->total.findings += status == STATUS_FINDING;
        if (status > STATUS_FINDING && !interrupted())
            file_discard(path);
        if (status <= STATUS_FINDING)
            added = result_read(path, &result);
        else if (read_before(path, &result)) /* a signal came when the result was there already */
            status = STATUS_OK;
        else
            return status;
        if (added != STATUS_OK) {
            processes->told = true;
            result_close(&result);
            return status_worse(status, added);
        }
    }
    *dropped = alone && is_contended(&result);
    if (*dropped) {
        file_discard(path);
    } else {
        status = status_worse(status, sides_take(sides, path, &result));
        processes->measured += status <= STATUS_FINDING;
    }
    result_close(&result);
    return status;
}
