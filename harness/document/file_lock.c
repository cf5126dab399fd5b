/* SPDX-License-Identifier: MIT
 * Locks by flock on a file beside the target. Between open and flock another process may remove the
 * file, so after locking it is checked that the name still leads to the same inode; else it starts
 * again. */
#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum status file_failed(int error)
{
    return error == ENOMEM ? STATUS_ENVIRONMENT : STATUS_USAGE;
}

char *file_target(const char *path)
{
    char *target = realpath(path, NULL);

    return target || errno != ENOENT ? target : strdup(path);
}

int file_open_locked(const char *path, mode_t mode, bool wait)
{
    for (;;) {
        const int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
        struct stat opened, named;

        if (descriptor < 0)
            return -1;
        /* On a file system without locks every process has the lock. */
        if (TEMP_FAILURE_RETRY(flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB))) != 0 &&
            errno == EWOULDBLOCK) {
            close(descriptor);
            errno = EWOULDBLOCK;
            return -1;
        }
        /* The process that had the lock may have removed or renamed the file. */
        if (fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0 &&
            opened.st_ino == named.st_ino && opened.st_dev == named.st_dev)
            return descriptor;
        close(descriptor);
    }
}

int file_lock_try(const char *path, struct file_lock *out)
{
    char *target;
    struct stat about;
    int error = ENOMEM;

    *out = (struct file_lock){0};
    /* Only files need a lock. */
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return 0;
    target = file_target(path);
    if (!target)
        return errno;
    if (asprintf(&out->path, "%s.cbank-lock.tmp", target) >= 0) {
        out->descriptor = file_open_locked(out->path, 0666, false);
        error = out->descriptor < 0 ? errno : 0;
        if (error)
            free(out->path);
    }
    free(target);
    if (error)
        *out = (struct file_lock){0};
    return error;
}

enum status file_lock_take(const char *path, struct file_lock *out)
{
    const int error = file_lock_try(path, out);

    if (error == EWOULDBLOCK)
        return log_error(STATUS_USAGE,
                         "%s is being written by another process; wait until that has ended, or "
                         "name another "
                         "file",
                         path);
    if (error)
        return log_error(file_failed(error),
                         "cannot write %s: %s; name a path you can write to, with space left", path,
                         strerror(error));
    return STATUS_OK;
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

void file_discard(const char *path)
{
    static const char *const endings[] = {"", ".cbank.tmp", ".cbank-lock.tmp"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char *name;

        if (asprintf(&name, "%s%s", path, endings[i]) < 0)
            return;
        unlink(name);
        free(name);
    }
}
