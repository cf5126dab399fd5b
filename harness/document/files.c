/* SPDX-License-Identifier: MIT
 * Names, reading and writing of files. Writing never leaves a part behind:
 *
 *   FILE.cbank.tmp: open and lock -> write -> fsync -> rename to FILE -> fsync of the folder */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_lock.h"
#include "log.h"

/* -- names ------------------------------------------------------------------------------------- */

/* Adds the names of a folder that have the ending, each behind the path. False when out of
 * memory. */
static bool add_entries(struct texts *list, const char *path, const char *ending,
                        struct dirent *const *entries, int count)
{
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    char pattern[16];

    snprintf(pattern, sizeof(pattern), "*%s", ending);
    for (int i = 0; i < count; i++) {
        char *name = NULL;

        if (fnmatch(pattern, entries[i]->d_name, FNM_PERIOD) != 0)
            continue;
        if (asprintf(&name, "%s%s%s", path, slash, entries[i]->d_name) < 0)
            return false;
        if (!texts_take(list, name))
            return false;
    }
    return true;
}

enum status files_add(struct texts *list, const char *path, const char *ending)
{
    const size_t before = list->count;
    struct dirent **entries = NULL;
    struct stat info;
    int count = 0;
    bool added;

    if (!path[0])
        return log_error(STATUS_USAGE, "an empty name is no file");
    if (stat(path, &info) != 0 ||
        (S_ISDIR(info.st_mode) && (count = scandir(path, &entries, NULL, alphasort)) < 0))
        return log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return texts_take(list, strdup(path)) ? STATUS_OK : log_memory("the names of files");
    added = add_entries(list, path, ending, entries, count);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    if (!added)
        return log_memory("the names of files");
    if (list->count == before)
        return log_error(STATUS_USAGE, "%s has no %s file; name a folder with some", path, ending);
    return STATUS_OK;
}

/* -- reading ----------------------------------------------------------------------------------- */

enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes)
{
    FILE *file = fopen(path, "re");
    enum status status = STATUS_OK;
    char *room, *fitting;
    struct stat about;

    *text = NULL;
    if (!file)
        return log_error(file_failed(errno), "cannot open %s: %s", path, strerror(errno));
    *bytes = 0;
    room = malloc(bytes_max + 2); /* pages that nothing is written to take no memory */
    if (fstat(fileno(file), &about) == 0 && about.st_size > (off_t)bytes_max)
        *bytes = bytes_max + 1;
    else if (room)
        *bytes = fread(room, 1, bytes_max + 1, file);
    if (!room)
        status = log_memory("%s", path);
    else if (ferror(file))
        status = log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    else if (*bytes > bytes_max)
        status = log_error(STATUS_USAGE,
                           "%s: larger than %zu MiB, the most that cbank reads; if it is a result, "
                           "take fewer samples "
                           "or measure fewer cells at a time",
                           path, bytes_max >> 20);
    fclose(file);
    if (status != STATUS_OK) {
        free(room);
        return status;
    }
    room[*bytes] = '\0';
    fitting = realloc(room, *bytes + 1);
    *text = fitting ? fitting : room;
    return STATUS_OK;
}

/* -- writing ----------------------------------------------------------------------------------- */

static enum status cannot_write(const char *path)
{
    return log_error(file_failed(errno),
                     "cannot write %s: %s; name a path you can write to, with space left", path,
                     strerror(errno));
}

/* Opens a file next to the target, with the mode of the file that it will replace, or by the umask.
 * NULL, with errno, if it cannot. The caller frees *temporary, its name. */
static FILE *open_temporary(const char *target, const struct stat *old, char **temporary)
{
    int descriptor;
    FILE *stream;

    if (asprintf(temporary, "%s.cbank.tmp", target) < 0) {
        *temporary = NULL;
        errno = ENOMEM;
        return NULL;
    }
    descriptor = file_open_locked(*temporary, old ? old->st_mode & 0777 : 0666, true);
    if (descriptor >= 0 && old && fchmod(descriptor, old->st_mode & 07777) != 0)
        log_warning("%s: its mode is not kept: %s", target, strerror(errno));
    stream = descriptor >= 0 && ftruncate(descriptor, 0) == 0 ? fdopen(descriptor, "w") : NULL;
    if (descriptor >= 0 && !stream) {
        unlink(*temporary);
        close(descriptor);
    }
    return stream;
}

static enum status write_stdout(file_writer *writer, const void *context)
{
    const enum status status = writer(stdout, context);

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    log_error(STATUS_USAGE, "cannot write standard output: %s", strerror(errno));
    /* The check of stdout at the end must not find this error again and report it twice. */
    __fpurge(stdout);
    clearerr(stdout);
    return STATUS_USAGE;
}

/* Writes what there is to write, and puts a temporary file in the place of the target. */
static enum status write_stream(FILE *stream, const char *path, const char *target,
                                const char *temporary, file_writer *writer, const void *context)
{
    const enum status status = writer(stream, context);

    if (status != STATUS_OK)
        return status;
    errno = EIO; /* of a write that failed before */
    if (fflush(stream) != 0 || ferror(stream))
        return cannot_write(path);
    if (temporary && (fsync(fileno(stream)) != 0 || rename(temporary, target) != 0))
        return cannot_write(path);
    return STATUS_OK;
}

/* Makes the new name of a file last, whose path is changed. The file is already in place: a failure
 * is not an error, and some file systems cannot do this. */
static void sync_folder(char *target)
{
    const int folder = open(dirname(target), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    if (fsync(folder) != 0 && errno != EINVAL && errno != ENOTSUP)
        log_warning("the folder of a file that was written is not synced: %s", strerror(errno));
    close(folder);
}

enum status file_write(const char *path, file_writer *writer, const void *context)
{
    char *target, *temporary = NULL;
    enum status status;
    struct stat about;
    bool there;
    FILE *stream;

    if (strcmp(path, "-") == 0)
        return write_stdout(writer, context);
    target = file_target(path);
    if (!target)
        return cannot_write(path);
    there = stat(target, &about) == 0;
    if (there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        stream = fopen(target, "we");
    else
        stream = open_temporary(target, there ? &about : NULL, &temporary);
    if (!stream) {
        status = cannot_write(path);
        goto out;
    }
    status = write_stream(stream, path, target, temporary, writer, context);
    if (status != STATUS_OK && temporary)
        unlink(temporary);
    /* The lock of a temporary file ends here, after it was renamed. */
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = cannot_write(path);
    if (status == STATUS_OK && temporary)
        sync_folder(target);
out:
    free(temporary);
    free(target);
    return status;
}
