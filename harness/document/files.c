/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

/* -- names --------------------------------------------------------------------------------------------- */

static enum status add_one(struct file_list *list, char *path)
{
    char **paths = path ? realloc(list->paths, (list->count + 1) * sizeof(*paths)) : NULL;

    if (!paths) {
        free(path);
        return log_error(STATUS_ENVIRONMENT, "out of memory for the names of files");
    }
    list->paths = paths;
    list->paths[list->count++] = path;
    return STATUS_OK;
}

static int is_result(const struct dirent *entry)
{
    const size_t bytes = strlen(entry->d_name), suffix = strlen(".json");

    return entry->d_name[0] != '.' && bytes > suffix && strcmp(entry->d_name + bytes - suffix, ".json") == 0;
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
        return log_error(STATUS_USAGE, "cannot read %s: %s", folder, strerror(errno));
    if (count == 0)
        status = log_error(STATUS_USAGE, "%s has no .json file; name a folder with results", folder);
    for (int i = 0; i < count; i++) {
        char *path = NULL;

        if (status == STATUS_OK &&
            asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", entries[i]->d_name) < 0)
            path = NULL;
        if (status == STATUS_OK)
            status = add_one(list, path);
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
        return log_error(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
    return S_ISDIR(info.st_mode) ? add_folder(list, path) : add_one(list, strdup(path));
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

/* Room to read a file into at first: all of it, where its size is known. 0 when it is too large. */
static size_t first_room(FILE *file, size_t bytes_max)
{
    enum { UNKNOWN_BYTES = 1 << 16 };
    struct stat about;

    if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0)
        return UNKNOWN_BYTES;
    /* One more than there is, to see the end. */
    return (uintmax_t)about.st_size > bytes_max ? 0 : (size_t)about.st_size + 1;
}

/* Reads from wherever the file comes: it may be a pipe. *text is the caller's to free, on failure too. */
static enum status read_all(const char *path, FILE *file, size_t bytes_max, char **text, size_t *bytes)
{
    size_t room = first_room(file, bytes_max), count = 0;

    if (room == 0)
        return too_large(path, bytes_max);
    for (;;) {
        char *larger = realloc(*text, room + 1);

        if (!larger)
            return log_error(STATUS_ENVIRONMENT, "%s: out of memory", path);
        *text = larger;
        count += fread(*text + count, 1, room - count, file);
        if (ferror(file))
            return log_error(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
        if (count > bytes_max)
            return too_large(path, bytes_max);
        if (count < room)
            break;
        room = room < bytes_max / 2 ? 2 * room : bytes_max + 1;
    }
    (*text)[count] = '\0';
    *bytes = count;
    return STATUS_OK;
}

enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    enum status status;

    *text = NULL;
    if (!file)
        return log_error(STATUS_USAGE, "cannot open %s: %s", path, strerror(errno));
    status = read_all(path, file, bytes_max, text, bytes);
    fclose(file);
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
    char *target;     /* owned: what it points to, if it is a link */
    char *temporary;  /* owned: beside the target; NULL for what is written in place */
    FILE *stream;
};

static enum status cannot_write(const char *path)
{
    return log_error(STATUS_USAGE, "cannot write %s: %s; give a path in a directory you can write to", path,
                     strerror(errno));
}

/* Where a link leads, also where nothing is yet; else the path itself. NULL out of memory. */
static char *find_target(const char *path)
{
    char *whole = realpath(path, NULL), *target = NULL;
    char link[4096];
    ssize_t bytes;

    if (whole)
        return whole;
    bytes = readlink(path, link, sizeof(link) - 1);
    if (bytes < 0)
        return strdup(path);
    link[bytes] = '\0';
    if (link[0] == '/')
        return strdup(link);
    return asprintf(&target, "%.*s%s", (int)(strrchr(path, '/') ? strrchr(path, '/') - path + 1 : 0), path, link) < 0
               ? NULL
               : target;
}

/* Creates the temporary file, with the mode of the file that it will replace, else that of the umask. */
static int open_temporary(struct replacement *file, const struct stat *old)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int descriptor;

        free(file->temporary);
        if (asprintf(&file->temporary, "%s.%ld-%d.tmp", file->target, (long)getpid(), attempt) < 0) {
            file->temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 && old && fchmod(descriptor, old->st_mode & 07777) != 0)
            log_warning("%s: its mode is not kept: %s", file->path, strerror(errno));
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
    return -1;
}

static bool open_replacement(struct replacement *file)
{
    struct stat about;
    bool there;
    int descriptor;

    file->target = find_target(file->path);
    if (!file->target)
        return false;
    there = stat(file->target, &about) == 0;
    descriptor = there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)
                     ? open(file->target, O_WRONLY | O_CLOEXEC)
                     : open_temporary(file, there ? &about : NULL);
    if (descriptor < 0)
        return false;
    file->stream = fdopen(descriptor, "w");
    if (!file->stream)
        close(descriptor);
    return file->stream;
}

/* Syncs the folder of the file, so that its new name lasts. A file system that cannot is none of our errors. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[4096];
    int descriptor;

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
}

/* Brings what was written to its place. Returns false with errno. */
static bool commit(struct replacement *file)
{
    const bool written =
        fflush(file->stream) == 0 && !ferror(file->stream) && (!file->temporary || fsync(fileno(file->stream)) == 0);
    const int saved = errno;
    const bool closed = fclose(file->stream) == 0;

    file->stream = NULL;
    if (!written)
        errno = saved;
    if (!written || !closed)
        return false;
    if (!file->temporary)
        return true;
    if (rename(file->temporary, file->target) != 0)
        return false;
    sync_folder(file->target);
    return true;
}

static enum status write_stdout(file_writer *writer, const void *context)
{
    const enum status status = writer(stdout, context);

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    log_error(STATUS_USAGE, "cannot write standard output: %s", strerror(errno));
    /* Whoever looks at stdout at the end must not find the error again and say it twice. */
    __fpurge(stdout);
    clearerr(stdout);
    return STATUS_USAGE;
}

enum status file_write(const char *path, file_writer *writer, const void *context)
{
    struct replacement file = {.path = path};
    enum status status;
    bool kept = false;

    if (strcmp(path, "-") == 0)
        return write_stdout(writer, context);
    if (!open_replacement(&file)) {
        status = cannot_write(path);
        goto out;
    }
    status = writer(file.stream, context);
    if (status != STATUS_OK)
        goto out;
    kept = commit(&file);
    if (!kept)
        status = cannot_write(path);
out:
    if (file.stream)
        fclose(file.stream);
    if (file.temporary && !kept)
        unlink(file.temporary);
    free(file.temporary);
    free(file.target);
    return status;
}
