/* SPDX-License-Identifier: MIT
 * A cache of cubins: a file for each source, under the hash of everything that decides its code. It
 * holds its own hash, so that a cut file is seen and made again:
 *
 *   hash of what follows | reason why there is no kernel, or "" | cubin */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel_parts.h"
#include "log.h"

/* A file of the cache is the hash of everything behind it, the reason, and the cubin. */
enum { HEAD_BYTES = SHA256_HEX_BYTES + KERNEL_REASON_BYTES, KEPT_SECONDS = 30 * 24 * 3600 };

bool kernel_build_made(const struct kernel_build *build)
{
    return build->cubin || build->reason[0];
}

char *kernel_read(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "re");
    char *text = NULL;
    struct stat about = {0};

    if (!file)
        return NULL;
    errno = fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
    if (S_ISREG(about.st_mode) && (text = malloc((size_t)about.st_size + 1))) {
        *bytes = fread(text, 1, (size_t)about.st_size, file);
        text[*bytes] = '\0';
    }
    fclose(file);
    return text;
}

char *kernel_cache_folder(void)
{
    static const char *const bases[][2] = {{"CBANK_CACHE", ""},
                                           {"XDG_CACHE_HOME", "/cbank"},
                                           {"HOME", "/.cache/cbank"}};
    char *path = NULL;

    for (size_t i = 0; !path && i < sizeof(bases) / sizeof(bases[0]); i++) {
        const char *base = getenv(bases[i][0]);

        /* The specification of XDG_CACHE_HOME says that relative paths are to be ignored. */
        if (base && base[0] && (i == 0 || base[0] == '/') &&
            asprintf(&path, "%s%s", base, bases[i][1]) < 0)
            return NULL;
    }
    for (char *slash = path; path && (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    if (path && (mkdir(path, 0700) == 0 || access(path, R_OK | W_OK | X_OK) == 0))
        return path;
    log_note(false,
             "no cache: %s: %s; kernels are compiled each time, unless CBANK_CACHE names a folder",
             path ? path : "HOME", path ? strerror(errno) : "not set");
    free(path);
    return NULL;
}

bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES],
                      struct kernel_build *build)
{
    char hex[SHA256_HEX_BYTES], *path = NULL, *text;
    size_t bytes = 0;

    if (asprintf(&path, "%s/kernel-%s", folder, key) < 0)
        return false;
    text = kernel_read(path, &bytes);
    if (text && bytes >= HEAD_BYTES) {
        sha256_hex(text + SHA256_HEX_BYTES, bytes - SHA256_HEX_BYTES, hex);
        if (memcmp(text, hex, sizeof(hex)) == 0) {
            snprintf(build->reason, sizeof(build->reason), "%.*s", KERNEL_REASON_BYTES - 1,
                     text + SHA256_HEX_BYTES);
            build->cubin_bytes = bytes - HEAD_BYTES;
            build->cubin =
                build->cubin_bytes ? memmove(text, text + HEAD_BYTES, build->cubin_bytes) : NULL;
            utimensat(AT_FDCWD, path, NULL, 0); /* its last use */
        }
    }
    if (!build->cubin)
        free(text);
    free(path);
    return kernel_build_made(build);
}

void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES],
                      const struct kernel_build *build)
{
    const size_t bytes = HEAD_BYTES + build->cubin_bytes;
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
        if (build->cubin)
            memcpy(content + HEAD_BYTES, build->cubin, build->cubin_bytes);
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
