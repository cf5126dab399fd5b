/* SPDX-License-Identifier: MIT
 * Temporary folders. A process holds a lock of a file in its own, which ends with the process in
 * every case. A folder whose file nobody has locked is that of a process that was killed:
 *
 *   TMPDIR/cbank-scratch-XXXXXX/lock     locked: in use        not locked: it is removed
 *                              no lock: it was kept, or is not one of these
 */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

#define PREFIX "cbank-scratch-"

static const char *parent_folder(void)
{
    /* nvcc starts programs by a shell, which leaves such a name as it is. */
    static const char plain[] =
        "/._-+0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *const base = getenv("TMPDIR");
    const bool fits =
        base && base[0] == '/' && strlen(base) < SCRATCH_BYTES / 2 && !base[strspn(base, plain)];

    return fits ? base : "/tmp";
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void remove_all(const char *path)
{
    /* A program that a child started may have written until it was killed. */
    for (int i = 0; i < 2 && access(path, F_OK) == 0; i++)
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Opens and locks the file of a folder; -1 with errno if there is none, or it cannot be locked.
 * EWOULDBLOCK: another process has it. */
static int take_lock(const char *folder, int flags)
{
    char path[SCRATCH_BYTES + 8];
    int descriptor;

    snprintf(path, sizeof(path), "%s/lock", folder);
    descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        const int error = errno;

        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

/* Removes the folders of this user whose processes were killed. */
static void sweep(const char *parent)
{
    DIR *const stream = opendir(parent);
    char path[SCRATCH_BYTES];
    struct stat about;

    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        int lock;

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) >= SCRATCH_BYTES ||
            lstat(path, &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid())
            continue;
        lock = take_lock(path, 0);
        if (lock < 0)
            continue;
        remove_all(path);
        close(lock);
    }
    if (stream)
        closedir(stream);
}

enum status scratch_open(struct scratch *out)
{
    const char *const parent = parent_folder();

    sweep(parent);
    for (;;) {
        struct stat opened, named;
        char path[SCRATCH_BYTES + 8];

        *out = (struct scratch){.lock = -1};
        snprintf(out->path, sizeof(out->path), "%s/" PREFIX "XXXXXX", parent);
        if (!mkdtemp(out->path)) {
            const int error = errno;

            log_error(STATUS_ENVIRONMENT,
                      "cannot write a temporary folder %s: %s; TMPDIR=FOLDER names another",
                      out->path, strerror(error));
            *out = (struct scratch){0};
            return STATUS_ENVIRONMENT;
        }
        snprintf(path, sizeof(path), "%s/lock", out->path);
        out->lock = take_lock(out->path, O_CREAT | O_EXCL);
        /* Others remove a folder whose lock nobody holds, but leave one without a lock alone. */
        if (out->lock < 0 && errno != EWOULDBLOCK) {
            unlink(path);
            return STATUS_OK;
        }
        /* Another process may have taken it for that of a killed one, and removes it. */
        if (out->lock < 0)
            continue;
        if (fstat(out->lock, &opened) == 0 && stat(path, &named) == 0 &&
            opened.st_ino == named.st_ino)
            return STATUS_OK;
        close(out->lock);
    }
}

void scratch_keep(struct scratch *scratch)
{
    char path[SCRATCH_BYTES + 8];

    if (!scratch->path[0])
        return;
    snprintf(path, sizeof(path), "%s/lock", scratch->path);
    unlink(path);
    if (scratch->lock >= 0)
        close(scratch->lock);
    *scratch = (struct scratch){0};
}

void scratch_close(struct scratch *scratch)
{
    if (!scratch->path[0])
        return;
    remove_all(scratch->path);
    if (scratch->lock >= 0)
        close(scratch->lock);
    *scratch = (struct scratch){0};
}
