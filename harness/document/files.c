/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
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
                           "%s: larger than %zu MiB, the most that cbank reads; if it is a result, take fewer samples "
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

/* -- writing ------------------------------------------------------------------------------------------- */

static enum status cannot_write(const char *path)
{
    return log_error(file_failed(errno), "cannot write %s: %s; give a path in a directory you can write to", path,
                     strerror(errno));
}

/* Creates a file next to the target, with the mode of the file that it will replace, or by the umask. NULL, with errno, if
 * it cannot. The caller frees *temporary, its name. */
static FILE *open_temporary(const char *target, const struct stat *old, char **temporary)
{
    int error = EEXIST;

    for (int attempt = 0; error == EEXIST && attempt < 100; attempt++) {
        int descriptor;

        if (asprintf(temporary, "%s.cbank-%ld-%d.tmp", target, (long)getpid(), attempt) < 0) {
            *temporary = NULL;
            errno = ENOMEM;
            return NULL;
        }
        descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? old->st_mode & 0777 : 0666);
        error = descriptor < 0 ? errno : EEXIST;
        if (descriptor >= 0 && file_lock_own(descriptor)) {
            if (old && fchmod(descriptor, old->st_mode & 07777) != 0)
                log_warning("%s: its mode is not kept: %s", target, strerror(errno));
            return fdopen(descriptor, "w");
        }
        if (descriptor >= 0)
            close(descriptor);
        free(*temporary);
        *temporary = NULL;
    }
    errno = error;
    return NULL;
}

/* Syncs the folder of the file, so that its new name lasts. The file is already in place: a failure is not an error,
 * and some file systems cannot do this. */
static void sync_folder(char *target)
{
    const int descriptor = open(dirname(target), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (descriptor >= 0 && fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        log_warning("the folder of a file that was written is not synced: %s", strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
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
    char *target, *temporary = NULL;
    enum status status = STATUS_OK;
    bool done = false, there;
    struct stat about;
    FILE *stream;

    if (strcmp(path, "-") == 0)
        return write_stdout(writer, context);
    target = file_target(path);
    if (!target)
        return cannot_write(path);
    there = stat(target, &about) == 0;
    if (there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        stream = fopen(target, "we");
    } else {
        file_clean(target, FILE_LEFT_OVER_TEMPORARY);
        stream = open_temporary(target, there ? &about : NULL, &temporary);
    }
    if (stream)
        status = writer(stream, context);
    if (stream && status == STATUS_OK) {
        errno = EIO; /* of a write that failed before */
        done = fflush(stream) == 0 && !ferror(stream) &&
               (!temporary || (fsync(fileno(stream)) == 0 && rename(temporary, target) == 0));
    }
    if (status == STATUS_OK && !done)
        status = cannot_write(path);
    if (status != STATUS_OK && temporary)
        unlink(temporary);
    /* The lock of a temporary file ends here, after it was renamed. */
    if (stream && fclose(stream) != 0 && status == STATUS_OK)
        status = cannot_write(path);
    if (done && temporary)
        sync_folder(target);
    free(temporary);
    free(target);
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
