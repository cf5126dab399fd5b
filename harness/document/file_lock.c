/* SPDX-License-Identifier: MIT */
#include "file_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
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

/* Bytes of a path up to its last slash, with it; 0 where there is none. */
static int folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash - path) + 1 : 0;
}

/* A name as seen from the folder of a path, which is freed. NULL with errno. */
static char *beside(char *path, const char *name)
{
    char *joined = NULL;

    if (asprintf(&joined, "%.*s%s", name[0] == '/' ? 0 : folder_bytes(path), path, name) < 0) {
        joined = NULL;
        errno = ENOMEM;
    }
    free(path);
    return joined;
}

/* The path with its folder's own name, so that every way to a file is one text. It is freed. */
static char *with_real_folder(char *path)
{
    const int bytes = folder_bytes(path);
    char *folder = strndup(bytes ? path : ".", bytes ? (size_t)bytes : 1), *real, *joined = NULL;

    if (!folder) {
        free(path);
        return NULL;
    }
    real = realpath(folder, NULL);
    free(folder);
    if (!real)
        return path; /* whoever opens it says why */
    if (asprintf(&joined, "%s/%s", strcmp(real, "/") == 0 ? "" : real, path + bytes) < 0) {
        joined = NULL;
        errno = ENOMEM;
    }
    free(real);
    free(path);
    return joined;
}

char *file_target(const char *path)
{
    enum { LINKS_MAX = 40 };
    char *target = realpath(path, NULL), link[4096];

    if (target || errno != ENOENT)
        return target;
    target = strdup(path);
    for (int i = 0; target && i < LINKS_MAX; i++) {
        const ssize_t bytes = readlink(target, link, sizeof(link) - 1);

        if (bytes < 0)
            return with_real_folder(target);
        link[bytes] = '\0';
        target = beside(target, link);
    }
    if (!target)
        return NULL;
    free(target);
    errno = ELOOP;
    return NULL;
}

/* -- what dead processes left --------------------------------------------------------------------------- */

/* Whether the name still is of the file that is open: it may have been removed or replaced meanwhile. */
static bool is_named(int descriptor, int folder, const char *name)
{
    struct stat opened, named;

    return fstat(descriptor, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

static void clean_one(int folder, const char *name)
{
    const int descriptor = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_named(descriptor, folder, name))
        unlinkat(folder, name, 0);
    close(descriptor);
}

void file_clean(const char *path, const char *pattern)
{
    char *folder = strndup(path, (size_t)folder_bytes(path));
    DIR *directory = folder ? opendir(folder[0] ? folder : ".") : NULL;
    const struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (fnmatch(pattern, entry->d_name, 0) == 0)
            clean_one(dirfd(directory), entry->d_name);
    if (directory)
        closedir(directory);
    free(folder);
}

bool file_lock_own(int descriptor)
{
    struct stat about;

    /* A file system without locks: nobody can clean there either. */
    TEMP_FAILURE_RETRY(flock(descriptor, LOCK_EX));
    return fstat(descriptor, &about) == 0 && about.st_nlink > 0;
}

/* -- the lock of a file --------------------------------------------------------------------------------- */

enum { WHO_BYTES = 128 };

/* What is no file needs no lock. */
static bool needs_lock(const char *path)
{
    struct stat about;

    return strcmp(path, "-") != 0 && (stat(path, &about) != 0 || S_ISREG(about.st_mode));
}

/* Says in the lock's file who has it; where that fails, who waits for it is told less. */
static void sign(int descriptor)
{
    char who[WHO_BYTES], host[65] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(who, sizeof(who), "process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, who, strlen(who), 0) < 0)
        return;
}

/* Opens and locks the lock's file. Returns 0, or errno; ESTALE where it was removed meanwhile. On a file system without
 * locks it is whose file it is: a killed process's has to be removed by hand. */
static int lock_file(struct file_lock *lock)
{
    enum { FLAGS = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC };
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
    if (error == 0)
        sign(lock->descriptor);
    else
        close(lock->descriptor);
    return error;
}

int file_lock_try(const char *path, struct file_lock *out)
{
    char *target;
    int error;

    *out = (struct file_lock){0};
    if (!needs_lock(path))
        return 0;
    target = file_target(path);
    if (!target)
        return errno;
    file_clean(target, FILE_LEFT_OVER);
    if (asprintf(&out->path, "%s.cbank-lock.tmp", target) < 0)
        out->path = NULL;
    free(target);
    if (!out->path)
        return ENOMEM;
    do
        error = lock_file(out);
    while (error == ESTALE);
    if (error) {
        free(out->path);
        *out = (struct file_lock){0};
    }
    return error;
}

/* Who has the lock of a file, as it says itself. */
static void find_holder(const char *path, char who[WHO_BYTES])
{
    char *target = file_target(path), *name = NULL;
    FILE *file = target && asprintf(&name, "%s.cbank-lock.tmp", target) >= 0 ? fopen(name, "re") : NULL;

    if (!file || !fgets(who, WHO_BYTES, file))
        snprintf(who, WHO_BYTES, "another process");
    who[strcspn(who, "\n")] = '\0';
    text_clean(who);
    if (file)
        fclose(file);
    free(name);
    free(target);
}

enum status file_lock_take(const char *path, struct file_lock *out)
{
    enum { ATTEMPTS = 20 };
    const struct timespec pause = {.tv_nsec = 10000000};
    char who[WHO_BYTES];
    int error = file_lock_try(path, out);

    /* Who cleans the folder looks at each lock for a moment. */
    for (int i = 1; error == EWOULDBLOCK && i < ATTEMPTS; i++) {
        nanosleep(&pause, NULL);
        error = file_lock_try(path, out);
    }
    if (!error)
        return STATUS_OK;
    if (error != EWOULDBLOCK)
        return log_error(file_failed(error), "cannot write %s: %s; give a path in a directory you can write to", path,
                         strerror(error));
    find_holder(path, who);
    return log_error(STATUS_USAGE, "%s is being written by %s; wait until that has ended, or name another file", path,
                     who);
}

void file_lock_release(struct file_lock *lock)
{
    if (!lock->path)
        return;
    /* While it is locked: nobody else's is removed. */
    unlink(lock->path);
    close(lock->descriptor);
    free(lock->path);
    *lock = (struct file_lock){0};
}
