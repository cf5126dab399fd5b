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
    enum { LINKS_MAX = 40 };
    char *target = realpath(path, NULL), now[PATH_MAX], link[PATH_MAX], folder[PATH_MAX];

    if (target || errno != ENOENT)
        return target;
    /* A link whose target is missing, or a new file. */
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof(now))
        return NULL;
    strcpy(now, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        const ssize_t bytes = readlink(now, link, sizeof(link) - 1);
        const size_t before = folder_bytes(now);

        if (bytes < 0) {
            /* The folder's canonical name, so that every path of a file gives the same text. Opening it reports
             * errors. */
            snprintf(link, sizeof(link), "%.*s", before ? (int)before : 1, before ? now : ".");
            if (!realpath(link, folder))
                return strdup(now);
            if (asprintf(&target, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, now + before) >= 0)
                return target;
            errno = ENOMEM;
            return NULL;
        }
        link[bytes] = '\0';
        if (link[0] != '/' && before + (size_t)bytes >= sizeof(now)) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        strcpy(now + (link[0] == '/' ? 0 : before), link);
    }
    errno = ELOOP;
    return NULL;
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

/* Opens and locks the lock's file, and writes the owner into it. Returns 0, or errno; ESTALE if it was removed
 * meanwhile. On a file system without locks, the existing file is the lock: after a crash the user must remove it. */
static int lock_file(struct file_lock *lock)
{
    enum { FLAGS = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC };
    char who[WHO_BYTES], host[65] = "";
    int error = 0;
    bool made;

    lock->descriptor = open(lock->path, FLAGS | O_EXCL, 0666);
    made = lock->descriptor >= 0;
    if (!made && errno == EEXIST)
        lock->descriptor = open(lock->path, FLAGS, 0666);
    if (lock->descriptor < 0)
        return errno;
    if (TEMP_FAILURE_RETRY(flock(lock->descriptor, LOCK_EX | LOCK_NB)) != 0)
        error = made && errno != EWOULDBLOCK ? 0 : EWOULDBLOCK;
    else if (!is_named(lock->descriptor, AT_FDCWD, lock->path))
        error = ESTALE;
    if (error) {
        close(lock->descriptor);
        return error;
    }
    gethostname(host, sizeof(host) - 1);
    snprintf(who, sizeof(who), "process %ld on %s\n", (long)getpid(), host);
    /* If this fails, a waiting process sees less about the owner. */
    if (ftruncate(lock->descriptor, 0) != 0 || pwrite(lock->descriptor, who, strlen(who), 0) < 0)
        return 0;
    return 0;
}

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
    struct stat about;
    int error;

    *out = (struct file_lock){0};
    /* Only files need a lock. */
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return 0;
    out->path = lock_name(path);
    if (!out->path)
        return errno;
    file_clean(out->path, FILE_LEFT_OVER);
    do
        error = lock_file(out);
    while (error == ESTALE);
    if (error) {
        free(out->path);
        *out = (struct file_lock){0};
    }
    return error;
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
