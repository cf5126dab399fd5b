/* SPDX-License-Identifier: MIT
 * A cache of cubins: a file for each source, under the hash of everything that decides its code. It
 * holds its own hash, so that a cut file is seen and made again:
 *
 *   hash of what follows | reason why there is no kernel, or "" | bytes of the cubin | cubin | PTX
 *
 * What is in it is run: the folder, and each that leads to it, must be one that nobody else can
 * change. That holds while it is used, since nobody else may rename what leads to it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "kernel_parts.h"
#include "log.h"

/* What stands before the cubin: the hash of everything behind it, the reason, and a size. */
enum {
    SIZE_AT = SHA256_HEX_BYTES + KERNEL_REASON_BYTES,
    HEAD_BYTES = SIZE_AT + sizeof(uint64_t),
    KEPT_SECONDS = 30 * 24 * 3600
};

bool kernel_build_made(const struct kernel_build *build)
{
    return build->cubin || build->reason[0];
}

/* Reads what is open, and closes it. NULL with errno. */
static char *read_opened(int descriptor, const struct stat *about, size_t *bytes)
{
    char *text = malloc((size_t)about->st_size + 1);
    const ssize_t got = text ? file_read_bytes(descriptor, text, (size_t)about->st_size) : -1;
    const int error = errno;

    close(descriptor);
    if (got < 0) {
        free(text);
        errno = error;
        return NULL;
    }
    *bytes = (size_t)got;
    text[*bytes] = '\0';
    return text;
}

char *kernel_read(const char *path, size_t *bytes)
{
    struct stat about;
    const char *why;
    const int descriptor = file_open(path, &about, &why);

    return descriptor < 0 ? NULL : read_opened(descriptor, &about, bytes);
}

/* -- the folder -------------------------------------------------------------------------------- */

/* Whether nobody but this user and root can change what is at a path. Into a sticky folder of
 * root's, such as /tmp, others may write, and change there what is theirs alone. False: `why` says
 * who can. */
static bool is_own(const char *path, const struct stat *about, char why[KERNEL_WHY_BYTES])
{
    const bool sticky = S_ISDIR(about->st_mode) && about->st_mode & S_ISVTX && about->st_uid == 0;

    if (about->st_uid != geteuid() && about->st_uid != 0)
        snprintf(why, KERNEL_WHY_BYTES, "%s belongs to the user %u", path, (unsigned)about->st_uid);
    else if (!S_ISLNK(about->st_mode) && about->st_mode & (S_IWGRP | S_IWOTH) && !sticky)
        snprintf(why, KERNEL_WHY_BYTES, "others may write to %s (chmod go-w)", path);
    else
        return true;
    return false;
}

/* Whether code may be kept in the folder at the end of a walk: it is this user's, and nobody else
 * may write there. */
static bool is_private(const char *path, const struct stat *about, char why[KERNEL_WHY_BYTES])
{
    if (!S_ISDIR(about->st_mode))
        snprintf(why, KERNEL_WHY_BYTES, "%s", strerror(ENOTDIR));
    else if (about->st_uid != geteuid())
        snprintf(why, KERNEL_WHY_BYTES, "it belongs to the user %u", (unsigned)about->st_uid);
    else if (about->st_mode & (S_IWGRP | S_IWOTH))
        snprintf(why, KERNEL_WHY_BYTES, "others may write to %s (chmod go-w)", path);
    else
        return true;
    return false;
}

/* Puts what a link names, behind a slash, before the rest of a path. False: it is too long. */
static bool follow(const char *link, char rest[2 * PATH_MAX])
{
    char target[PATH_MAX], after[2 * PATH_MAX];
    const ssize_t bytes = readlink(link, target, sizeof(target) - 1);

    if (bytes < 0)
        return false;
    target[bytes] = '\0';
    memcpy(after, rest, sizeof(after));
    return snprintf(rest, 2 * PATH_MAX, "/%s/%s", target, after) < 2 * PATH_MAX;
}

/* It walks to the folder as the system does, name by name and through links, and asks of each step
 * whose it is. The folder itself is no link. */
bool kernel_folder_is_safe(const char *path, char why[KERNEL_WHY_BYTES])
{
    enum { LINKS_MAX = 40 };
    char done[PATH_MAX] = "", step[PATH_MAX], rest[2 * PATH_MAX], name[NAME_MAX + 1];
    struct stat about;
    unsigned links = 0;
    int length;

    snprintf(rest, sizeof(rest), "%s", path);
    if (lstat("/", &about) != 0 || !is_own("/", &about, why))
        return false;
    while (sscanf(rest, "%*[/]%255[^/]%n", name, &length) == 1) {
        memmove(rest, rest + length, strlen(rest + length) + 1);
        if (strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0) {
            *(strrchr(done, '/') ? strrchr(done, '/') : done) = '\0';
            continue;
        }
        errno = ENAMETOOLONG;
        if (snprintf(step, sizeof(step), "%s/%s", done, name) >= PATH_MAX ||
            lstat(step, &about) != 0) {
            snprintf(why, KERNEL_WHY_BYTES, "%s", strerror(errno));
            return false;
        }
        if (!is_own(step, &about, why))
            return false;
        if (!S_ISLNK(about.st_mode)) {
            memcpy(done, step, sizeof(done));
            continue;
        }
        if (!rest[strspn(rest, "/")] || ++links > LINKS_MAX || !follow(step, rest)) {
            snprintf(why, KERNEL_WHY_BYTES, "%s is a link", step);
            return false;
        }
        if (rest[1] == '/')
            done[0] = '\0';
    }
    return is_private(done, &about, why);
}

/* The path that the environment names, absolute. NULL: none, or out of memory. The caller frees
 * it. */
static char *folder_name(void)
{
    static const char *const bases[][2] = {{"CBANK_CACHE", ""},
                                           {"XDG_CACHE_HOME", "/cbank"},
                                           {"HOME", "/.cache/cbank"}};
    char here[PATH_MAX] = "", *path = NULL;

    for (size_t i = 0; !path && i < sizeof(bases) / sizeof(bases[0]); i++) {
        const char *base = getenv(bases[i][0]);

        /* The specification of XDG_CACHE_HOME says that relative paths are to be ignored. */
        if (!base || !base[0] || (i > 0 && base[0] != '/'))
            continue;
        if (base[0] != '/' && !getcwd(here, sizeof(here)))
            return NULL;
        if (asprintf(&path, "%s%s%s%s", here, here[0] ? "/" : "", base, bases[i][1]) < 0)
            return NULL;
    }
    return path;
}

char *kernel_cache_folder(void)
{
    char *const path = folder_name(), why[KERNEL_WHY_BYTES] = "not set";
    bool safe = false;

    for (char *slash = path; path && (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    if (path && mkdir(path, 0700) != 0 && access(path, R_OK | W_OK | X_OK) != 0)
        snprintf(why, sizeof(why), "%s", strerror(errno));
    else if (path)
        safe = kernel_folder_is_safe(path, why);
    if (safe)
        return path;
    log_note(false,
             "no cache: %s: %s; kernels are compiled each time, unless CBANK_CACHE names a folder "
             "that nobody else can change",
             path ? path : "HOME", why);
    free(path);
    return NULL;
}

/* -- its files --------------------------------------------------------------------------------- */

/* Reads a file of the cache, which must be this user's own. NULL if there is none. */
static char *read_kept(const char *path, size_t *bytes)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat about;

    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        !(about.st_mode & (S_IWGRP | S_IWOTH)))
        return read_opened(descriptor, &about, bytes);
    close(descriptor);
    return NULL;
}

/* Takes cubin and PTX of a file, which is this program's own. False when out of memory. */
static bool take_code(const char *text, size_t bytes, struct kernel_build *build)
{
    uint64_t cubin;

    memcpy(&cubin, text + SIZE_AT, sizeof(cubin));
    if (cubin == 0 || cubin > bytes - HEAD_BYTES)
        return true;
    build->cubin = malloc(cubin + 1);
    build->ptx_bytes = bytes - HEAD_BYTES - cubin;
    build->ptx = build->ptx_bytes ? malloc(build->ptx_bytes + 1) : NULL;
    if (!build->cubin || (build->ptx_bytes && !build->ptx)) {
        free(build->cubin);
        free(build->ptx);
        build->cubin = build->ptx = NULL;
        return false;
    }
    build->cubin_bytes = cubin;
    memcpy(build->cubin, text + HEAD_BYTES, cubin);
    if (build->ptx) {
        memcpy(build->ptx, text + HEAD_BYTES + cubin, build->ptx_bytes);
        build->ptx[build->ptx_bytes] = '\0';
    }
    return true;
}

bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES],
                      struct kernel_build *build)
{
    char hex[SHA256_HEX_BYTES], *path = NULL, *text;
    size_t bytes = 0;

    if (asprintf(&path, "%s/kernel-%s", folder, key) < 0)
        return false;
    text = read_kept(path, &bytes);
    if (text && bytes >= HEAD_BYTES) {
        sha256_hex(text + SHA256_HEX_BYTES, bytes - SHA256_HEX_BYTES, hex);
        if (memcmp(text, hex, sizeof(hex)) == 0 && take_code(text, bytes, build)) {
            snprintf(build->reason, sizeof(build->reason), "%.*s", KERNEL_REASON_BYTES - 1,
                     text + SHA256_HEX_BYTES);
            utimensat(AT_FDCWD, path, NULL, 0); /* its last use */
        }
    }
    free(text);
    free(path);
    return kernel_build_made(build);
}

void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES],
                      const struct kernel_build *build)
{
    const uint64_t cubin = build->cubin ? build->cubin_bytes : 0;
    const size_t bytes = HEAD_BYTES + cubin + (cubin && build->ptx ? build->ptx_bytes : 0);
    char *path = NULL, *temporary = NULL, *const content = calloc(bytes, 1);
    const time_t oldest = time(NULL) - KEPT_SECONDS;
    DIR *const stream = opendir(folder);
    int descriptor = -1;
    struct stat about;
    bool whole;

    if (content && asprintf(&path, "%s/kernel-%s", folder, key) > 0 &&
        asprintf(&temporary, "%s/kernel-XXXXXX", folder) > 0)
        descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor >= 0) {
        memcpy(content + SHA256_HEX_BYTES, build->reason, KERNEL_REASON_BYTES);
        memcpy(content + SIZE_AT, &cubin, sizeof(cubin));
        if (cubin)
            memcpy(content + HEAD_BYTES, build->cubin, cubin);
        if (bytes > HEAD_BYTES + cubin)
            memcpy(content + HEAD_BYTES + cubin, build->ptx, build->ptx_bytes);
        sha256_hex(content + SHA256_HEX_BYTES, bytes - SHA256_HEX_BYTES, content);
        whole = write(descriptor, content, bytes) == (ssize_t)bytes;
        if (close(descriptor) != 0 || !whole || rename(temporary, path) != 0)
            unlink(temporary);
    }
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, "kernel-", 7) == 0 &&
            fstatat(dirfd(stream), entry->d_name, &about, 0) == 0 && about.st_mtime < oldest)
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    free(content);
    free(temporary);
    free(path);
}
