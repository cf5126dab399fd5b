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

#include "child.h"
#include "files.h"
#include "log.h"

static const char replacement[] = ".cbank.tmp", lock_file[] = ".cbank-lock.tmp";

const char *const file_beside[FILES_BESIDE] = {replacement, lock_file};

enum status file_failed(int error)
{
    return error == ENOMEM ? STATUS_ENVIRONMENT : STATUS_USAGE;
}

char *file_target(const char *path)
{
    char *target = realpath(path, NULL);

    return target || errno != ENOENT ? target : strdup(path);
}

/* Locks a file, or waits until it can: without end, but for a second after a signal. False, with
 * errno. On a file system without locks every process has the lock. */
static bool take_lock(int descriptor, bool wait)
{
    enum { PAUSE_US = 20000, PAUSES_MAX = 50 };
    unsigned pauses = 0;

    while (TEMP_FAILURE_RETRY(flock(descriptor, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK) {
        if (!wait)
            return false;
        if (interrupted() && pauses++ == PAUSES_MAX) {
            errno = EINTR;
            return false;
        }
        usleep(PAUSE_US);
    }
    return true;
}

int file_open_locked(const char *path, mode_t mode, bool wait)
{
    for (;;) {
        const int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
        struct stat opened, named;
        int error;

        if (descriptor < 0)
            return -1;
        error = take_lock(descriptor, wait) ? 0 : errno;
        /* The process that had the lock may have removed or renamed the file. */
        if (!error && fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0 &&
            opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
            /* What has another name, too, is somebody's file. */
            if (S_ISREG(opened.st_mode) && opened.st_nlink == 1)
                return descriptor;
            error = EEXIST;
        }
        close(descriptor);
        if (error) {
            errno = error;
            return -1;
        }
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
    if (asprintf(&out->path, "%s%s", target, lock_file) >= 0) {
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
        return file_cannot_write(path, error);
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
    unlink(path);
    for (size_t i = 0; i < FILES_BESIDE; i++) {
        char *name;

        if (asprintf(&name, "%s%s", path, file_beside[i]) < 0)
            return;
        unlink(name);
        free(name);
    }
}
