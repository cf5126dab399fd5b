/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "file_lock.h"
#include "log.h"
#include "memory.h"

/* -- names --------------------------------------------------------------------------------------------- */

static enum status take_name(struct file_list *list, char *name)
{
    if (!name || !memory_grow(&list->paths, list->count, sizeof(*list->paths))) {
        free(name);
        return log_memory("the names of files");
    }
    list->paths[list->count++] = name;
    return STATUS_OK;
}

static int is_result(const struct dirent *entry)
{
    const char *name = entry->d_name;
    const size_t bytes = strlen(name), suffix = strlen(".json");

    return name[0] != '.' && bytes > suffix && strcmp(name + bytes - suffix, ".json") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum status add_folder(struct file_list *list, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_result, by_name);
    enum status status = STATUS_OK;

    if (count < 0)
        return log_error(file_failed(errno), "cannot read %s: %s", folder, strerror(errno));
    if (count == 0)
        status = log_error(STATUS_USAGE, "%s has no .json file; name a folder with results", folder);
    for (int i = 0; i < count; i++) {
        char *path = NULL;

        if (status == STATUS_OK &&
            asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", entries[i]->d_name) < 0)
            path = NULL;
        if (status == STATUS_OK)
            status = take_name(list, path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum status files_add(struct file_list *list, const char *path)
{
    struct stat info;

    if (!path[0])
        return log_error(STATUS_USAGE, "an empty name is no file");
    if (stat(path, &info) != 0)
        return log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    return S_ISDIR(info.st_mode) ? add_folder(list, path) : take_name(list, strdup(path));
}

void files_close(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct file_list){0};
}

/* -- reading ------------------------------------------------------------------------------------------- */

static enum status too_large(const char *path, size_t bytes_max)
{
    return log_error(STATUS_USAGE,
                     "%s: larger than %zu MiB, the most that cbank reads; if it is a result, take fewer samples "
                     "or measure fewer cells at a time",
                     path, bytes_max >> 20);
}

/* Initial buffer size for a file: all of it, if its size is known. 0 if it is too large. */
static size_t first_room(int descriptor, size_t bytes_max)
{
    enum { UNKNOWN_BYTES = 1 << 16 };
    struct stat about;

    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0)
        return UNKNOWN_BYTES;
    /* One more byte, to see the end. */
    return (uintmax_t)about.st_size > bytes_max ? 0 : (size_t)about.st_size + 1;
}

/* Reads a file, which may be a pipe. The caller frees *text, even on failure. */
static enum status read_all(const char *path, int descriptor, size_t bytes_max, char **text, size_t *bytes)
{
    size_t room = first_room(descriptor, bytes_max), count = 0;
    ssize_t got;

    if (room == 0)
        return too_large(path, bytes_max);
    do {
        if (!*text || count == room) {
            char *larger;

            if (*text)
                room = room < bytes_max / 2 ? 2 * room : bytes_max + 1;
            larger = realloc(*text, room + 1);
            if (!larger)
                return log_memory("%s", path);
            *text = larger;
        }
        got = TEMP_FAILURE_RETRY(read(descriptor, *text + count, room - count));
        if (got < 0)
            return log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
        count += (size_t)got;
        if (count > bytes_max)
            return too_large(path, bytes_max);
    } while (got > 0);
    (*text)[count] = '\0';
    *bytes = count;
    return STATUS_OK;
}

enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes)
{
    const int descriptor = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
    enum status status;

    *text = NULL;
    if (descriptor < 0)
        return log_error(file_failed(errno), "cannot open %s: %s", path, strerror(errno));
    status = read_all(path, descriptor, bytes_max, text, bytes);
    close(descriptor);
    if (status != STATUS_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

/* -- writing ------------------------------------------------------------------------------------------- */

/* A file that is being replaced. */
struct replacement {
    const char *path; /* as the user gave it */
    char *target;     /* owned: the target, if it is a link */
    char *temporary;  /* owned: next to the target; NULL if the file is written in place */
    int descriptor;   /* -1: not open */
    FILE *stream;     /* writes to the descriptor */
    int error;        /* of the first write that failed; 0: none */
};

static enum status cannot_write(const char *path)
{
    return log_error(file_failed(errno), "cannot write %s: %s; give a path in a directory you can write to", path,
                     strerror(errno));
}

/* Creates the temporary file, with the mode of the file that it will replace, or by the umask. */
static int open_temporary(struct replacement *file, const struct stat *old)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        const mode_t mode = old ? old->st_mode & 0777 : 0666;
        int descriptor;

        free(file->temporary);
        if (asprintf(&file->temporary, "%s.cbank-%ld-%d.tmp", file->target, (long)getpid(), attempt) < 0) {
            file->temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        descriptor = TEMP_FAILURE_RETRY(open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (descriptor < 0 && errno == EEXIST)
            continue;
        if (descriptor >= 0 && !file_lock_own(descriptor)) {
            close(descriptor);
            continue;
        }
        if (descriptor >= 0 && old && fchmod(descriptor, old->st_mode & 07777) != 0)
            log_warning("%s: its mode is not kept: %s", file->path, strerror(errno));
        return descriptor;
    }
    return -1;
}

/* Write function of a stream: a failure stays in `error`, whatever is written after it. */
static ssize_t write_through(void *cookie, const char *data, size_t bytes)
{
    struct replacement *file = cookie;
    size_t done = 0;

    while (done < bytes) {
        const ssize_t written = TEMP_FAILURE_RETRY(write(file->descriptor, data + done, bytes - done));

        if (written <= 0) {
            file->error = file->error ? file->error : written < 0 ? errno : EIO;
            return 0;
        }
        done += (size_t)written;
    }
    return (ssize_t)bytes;
}

/* Syncs the folder of the file, so that its new name lasts. The file is already in place: a failure is not an error,
 * and some file systems cannot do this. */
static void sync_folder(const struct replacement *file)
{
    const char *slash = strrchr(file->target, '/');
    char *folder = slash ? strndup(file->target, (size_t)(slash - file->target) + 1) : NULL;
    const int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (descriptor >= 0 && TEMP_FAILURE_RETRY(fsync(descriptor)) != 0 && errno != EINVAL && errno != ENOTSUP)
        log_warning("%s is written, but may be lost if the machine stops now: its folder is not synced: %s", file->path,
                    strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    free(folder);
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

enum status file_write(const char *path, file_writer *writer, const void *context)
{
    struct replacement file = {.path = path, .descriptor = -1};
    enum status status = STATUS_OK;
    struct stat about;
    bool done = false;

    if (strcmp(path, "-") == 0)
        return write_stdout(writer, context);
    file.target = file_target(path);
    if (!file.target)
        return cannot_write(path);
    if (stat(file.target, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        file.descriptor = TEMP_FAILURE_RETRY(open(file.target, O_WRONLY | O_CLOEXEC));
    } else {
        file_clean(file.target, FILE_LEFT_OVER_TEMPORARY);
        file.descriptor = open_temporary(&file, stat(file.target, &about) == 0 ? &about : NULL);
    }
    if (file.descriptor >= 0)
        file.stream = fopencookie(&file, "w", (cookie_io_functions_t){.write = write_through});
    if (!file.stream)
        goto out;
    status = writer(file.stream, context);
    if (status != STATUS_OK)
        goto out;
    done = fflush(file.stream) == 0 && !ferror(file.stream) && !file.error;
    if (file.error)
        errno = file.error;
    if (done && file.temporary) {
        done = TEMP_FAILURE_RETRY(fsync(file.descriptor)) == 0 && rename(file.temporary, file.target) == 0;
        if (done)
            sync_folder(&file);
    }
out:
    if (status == STATUS_OK && !done)
        status = cannot_write(path);
    if (file.stream)
        fclose(file.stream);
    if (status != STATUS_OK && file.temporary && file.descriptor >= 0)
        unlink(file.temporary);
    /* A temporary file is already synced; its lock ends here, after the rename. */
    if (file.descriptor >= 0 && close(file.descriptor) != 0 && !file.temporary && status == STATUS_OK)
        status = cannot_write(path);
    free(file.temporary);
    free(file.target);
    return status;
}

bool file_make_folders(const char *path)
{
    char part[PATH_MAX];

    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = part[0] ? strchr(part + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part, 0777);
        *slash = '/';
    }
    return mkdir(part, 0777) == 0 || errno == EEXIST;
}
