/* SPDX-License-Identifier: MIT */
#include "file_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

enum status file_failed(int error)
{
    return error == ENOMEM ? STATUS_ENVIRONMENT : STATUS_USAGE;
}

/* -- where a path leads --------------------------------------------------------------------------------- */

/* Bytes of a path up to and including its last slash; 0 if there is none. */
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

char *file_target(const char *path)
{
    char *target = realpath(path, NULL), *next, link[PATH_MAX];
    ssize_t bytes;

    if (target || errno != ENOENT)
        return target;
    bytes = readlink(path, link, sizeof(link) - 1);
    if (bytes < 0)
        return strdup(path); /* a new file */
    /* A link whose target is missing. A circle is no such link: realpath reports it. */
    link[bytes] = '\0';
    if (asprintf(&next, "%.*s%s", link[0] == '/' ? 0 : (int)folder_bytes(path), path, link) < 0) {
        errno = ENOMEM;
        return NULL;
    }
    target = file_target(next);
    free(next);
    return target;
}

/* -- what dead processes left --------------------------------------------------------------------------- */

/* Whether the name still belongs to the open file: it may have been removed or replaced. */
static bool is_named(int descriptor, int folder, const char *name)
{
    struct stat opened, named;

    return fstat(descriptor, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

void file_clean(const char *path, const char *pattern)
{
    char *folder = strndup(path, folder_bytes(path));
    DIR *directory = folder ? opendir(folder[0] ? folder : ".") : NULL;
    const struct dirent *entry;

    free(folder);
    while (directory && (entry = readdir(directory))) {
        int descriptor;

        if (fnmatch(pattern, entry->d_name, 0) != 0)
            continue;
        descriptor = openat(dirfd(directory), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0)
            continue;
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_named(descriptor, dirfd(directory), entry->d_name))
            unlinkat(dirfd(directory), entry->d_name, 0);
        close(descriptor);
    }
    if (directory)
        closedir(directory);
}

bool file_lock_own(int descriptor)
{
    struct stat about;

    /* On a file system without locks nobody can clean. */
    TEMP_FAILURE_RETRY(flock(descriptor, LOCK_EX));
    return fstat(descriptor, &about) == 0 && about.st_nlink > 0;
}

/* -- the lock of a file --------------------------------------------------------------------------------- */

enum { WHO_BYTES = 128 };

/* The name of the lock's file; NULL with errno. */
static char *lock_name(const char *path)
{
    char *target = file_target(path), *name = NULL;

    if (target && asprintf(&name, "%s.cbank-lock.tmp", target) < 0) {
        name = NULL;
        errno = ENOMEM;
    }
    free(target);
    return name;
}

int file_lock_try(const char *path, struct file_lock *out)
{
    char who[WHO_BYTES], host[65] = "";
    struct stat about;
    int error = 0;

    *out = (struct file_lock){0};
    /* Only files need a lock. */
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return 0;
    out->path = lock_name(path);
    if (!out->path)
        return errno;
    file_clean(out->path, FILE_LEFT_OVER);
    for (;;) {
        out->descriptor = open(out->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (out->descriptor < 0)
            error = errno;
        else if (TEMP_FAILURE_RETRY(flock(out->descriptor, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK)
            error = EWOULDBLOCK;
        else if (is_named(out->descriptor, AT_FDCWD, out->path))
            break;
        if (out->descriptor >= 0)
            close(out->descriptor);
        if (error) {
            free(out->path);
            *out = (struct file_lock){0};
            return error;
        }
    }
    gethostname(host, sizeof(host) - 1);
    snprintf(who, sizeof(who), "process %ld on %s\n", (long)getpid(), host);
    /* If this fails, a waiting process sees less about the owner. */
    if (ftruncate(out->descriptor, 0) != 0 || pwrite(out->descriptor, who, strlen(who), 0) < 0)
        return 0;
    return 0;
}

enum status file_lock_take(const char *path, struct file_lock *out)
{
    enum { ATTEMPTS = 20 };
    const struct timespec pause = {.tv_nsec = 10000000};
    char who[WHO_BYTES] = "another process", *name;
    int error = file_lock_try(path, out);
    FILE *file;

    /* A process that cleans the folder holds each lock for a moment. */
    for (int i = 1; error == EWOULDBLOCK && i < ATTEMPTS; i++) {
        nanosleep(&pause, NULL);
        error = file_lock_try(path, out);
    }
    if (!error)
        return STATUS_OK;
    if (error != EWOULDBLOCK)
        return log_error(file_failed(error), "cannot write %s: %s; give a path in a directory you can write to", path,
                         strerror(error));
    name = lock_name(path);
    file = name ? fopen(name, "re") : NULL;
    if (file && !fgets(who, sizeof(who), file))
        strcpy(who, "another process");
    if (file)
        fclose(file);
    free(name);
    who[strcspn(who, "\n")] = '\0';
    text_clean(who);
    return log_error(STATUS_USAGE, "%s is being written by %s; wait until that has ended, or name another file", path,
                     who);
}

void file_lock_release(struct file_lock *lock)
{
    if (!lock->path)
        return;
    /* While it is locked, so that no other process's file is removed. */
    unlink(lock->path);
    close(lock->descriptor);
    free(lock->path);
    *lock = (struct file_lock){0};
}
