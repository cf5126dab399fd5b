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

#include "child.h"
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

bool files_add_folder(struct texts *list, const char *path, const char *ending)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, NULL, alphasort);
    bool added;

    if (count < 0)
        return false;
    added = add_entries(list, path, ending, entries, count);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    if (!added)
        errno = ENOMEM;
    return added;
}

enum status files_add(struct texts *list, const char *path, const char *ending)
{
    const size_t before = list->count;
    struct stat info;

    if (!path[0])
        return log_error(STATUS_USAGE, "an empty name is no file");
    if (stat(path, &info) != 0)
        return log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return texts_take(list, strdup(path)) ? STATUS_OK : log_memory("the names of files");
    if (!files_add_folder(list, path, ending))
        return errno == ENOMEM
                   ? log_memory("the names of files")
                   : log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    if (list->count == before)
        return log_error(STATUS_USAGE, "%s has no %s file; name a folder with some", path, ending);
    return STATUS_OK;
}

char *file_of_device(const char *path, unsigned device)
{
    const char *const dot = strrchr(path, '.');
    const size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    char *name;

    return asprintf(&name, "%.*s-device%u%s", (int)stem, path, device, dot ? dot : "") < 0 ? NULL
                                                                                           : name;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* What stands where a regular file is wanted; NULL: a regular file. */
static const char *other_kind(mode_t mode)
{
    static const struct {
        mode_t type;
        const char *words;
    } kinds[] = {
        {S_IFDIR, "Is a directory"},
        {S_IFIFO, "it is a pipe, not a file"},
        {S_IFSOCK, "it is a socket, not a file"},
        {S_IFCHR, "it is a device, not a file"},
        {S_IFBLK, "it is a device, not a file"},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((mode & S_IFMT) == kinds[i].type)
            return kinds[i].words;
    return NULL;
}

int file_open(const char *path, struct stat *about, const char **why)
{
    int descriptor;

    if (stat(path, about) != 0) {
        *why = strerror(errno);
        return -1;
    }
    /* Opening a device may do something: what it is is asked before, and again of what was
     * opened. */
    *why = other_kind(about->st_mode);
    if (*why) {
        errno = S_ISDIR(about->st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 || fstat(descriptor, about) != 0)
        *why = strerror(errno);
    else
        *why = other_kind(about->st_mode);
    if (!*why)
        return descriptor;
    if (descriptor >= 0) {
        close(descriptor);
        errno = EINVAL;
    }
    return -1;
}

ssize_t file_read_bytes(int descriptor, void *to, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        const ssize_t got = read(descriptor, (char *)to + done, bytes - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes)
{
    enum status status = STATUS_OK;
    char *room = NULL, *fitting;
    struct stat about;
    const char *why;
    const int descriptor = file_open(path, &about, &why);
    ssize_t got;

    *text = NULL;
    *bytes = 0;
    if (descriptor < 0)
        return log_error(file_failed(errno), "cannot read %s: %s", path, why);
    room = malloc(bytes_max + 2); /* pages that nothing is written to take no memory */
    if (!room) {
        status = log_memory("%s", path);
        goto out;
    }
    got = about.st_size > (off_t)bytes_max ? (ssize_t)bytes_max + 1
                                           : file_read_bytes(descriptor, room, bytes_max + 1);
    if (got < 0)
        status = log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    else if ((size_t)got > bytes_max)
        status = log_error(STATUS_USAGE,
                           "%s: larger than %zu MiB, the most that cbank reads; if it is a result, "
                           "take fewer samples "
                           "or measure fewer cells at a time",
                           path, bytes_max >> 20);
    if (status != STATUS_OK)
        goto out;
    room[got] = '\0';
    *bytes = (size_t)got;
    fitting = realloc(room, *bytes + 1);
    *text = fitting ? fitting : room;
    room = NULL;
out:
    free(room);
    close(descriptor);
    return status;
}

/* -- writing ----------------------------------------------------------------------------------- */

enum status file_cannot_write(const char *path, int error)
{
    return log_error(file_failed(error),
                     "cannot write %s: %s; name a path you can write to, with space left", path,
                     strerror(error));
}

/* Opens a file next to the target, with the mode of the file that it will replace, or by the umask.
 * NULL, with errno, if it cannot. The caller frees *temporary, its name. */
static FILE *open_temporary(const char *target, const struct stat *old, char **temporary)
{
    int descriptor;
    FILE *stream;

    if (asprintf(temporary, "%s%s", target, file_beside[0]) < 0) {
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
    struct interrupt_actions actions;
    enum status status;
    bool whole;

    interrupt_release(&actions); /* its reader may let it wait */
    status = writer(stdout, context);
    whole = fflush(stdout) == 0 && !ferror(stdout);
    interrupt_resume(&actions);
    if (whole)
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
        return file_cannot_write(path, errno);
    if (temporary && (fsync(fileno(stream)) != 0 || rename(temporary, target) != 0))
        return file_cannot_write(path, errno);
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

/* Opens a pipe or a device, to write it in place. Opening never waits, and writing does as usual.
 * NULL, with errno, if it cannot. */
static FILE *open_in_place(const char *target)
{
    const int descriptor = open(target, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *stream = NULL;

    if (descriptor < 0)
        return NULL;
    if (fcntl(descriptor, F_SETFL, O_WRONLY) == 0)
        stream = fdopen(descriptor, "w");
    if (!stream)
        close(descriptor);
    return stream;
}

/* Writes a pipe or a device in place. */
static enum status write_in_place(const char *path, const char *target, mode_t mode,
                                  file_writer *writer, const void *context)
{
    struct interrupt_actions actions;
    FILE *const stream = open_in_place(target);
    enum status status;

    if (!stream && errno == ENXIO && S_ISFIFO(mode))
        return log_error(STATUS_USAGE,
                         "cannot write %s: nobody reads this pipe; start its reader first", path);
    if (!stream)
        return file_cannot_write(path, errno);
    interrupt_release(&actions); /* its reader may let it wait */
    status = write_stream(stream, path, target, NULL, writer, context);
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = file_cannot_write(path, errno);
    interrupt_resume(&actions);
    return status;
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
        return file_cannot_write(path, errno);
    there = stat(target, &about) == 0;
    if (there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        status = write_in_place(path, target, about.st_mode, writer, context);
        goto out;
    }
    stream = open_temporary(target, there ? &about : NULL, &temporary);
    if (!stream) {
        status = file_cannot_write(path, errno);
        goto out;
    }
    status = write_stream(stream, path, target, temporary, writer, context);
    if (status != STATUS_OK)
        unlink(temporary);
    /* The lock of a temporary file ends here, after it was renamed. */
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = file_cannot_write(path, errno);
    if (status == STATUS_OK)
        sync_folder(target);
out:
    free(temporary);
    free(target);
    return status;
}
