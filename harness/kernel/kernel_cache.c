/* SPDX-License-Identifier: MIT */
#include "kernel_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "memory.h"

enum { KEPT_SECONDS = 30 * 24 * 3600 };

/* A file of the cache begins so. The hash of everything after this line follows. */
#define HEAD "cbank kernel 1 "
enum { HEAD_BYTES = sizeof(HEAD) - 1 + SHA256_HEX_BYTES };

void kernel_object_close(struct kernel_object *object)
{
    free(object->cubin);
    texts_close(&object->includes);
    *object = (struct kernel_object){0};
}

char *kernel_read(const char *path, size_t *bytes)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    struct stat about;
    ssize_t got = 1;

    *bytes = 0;
    if (descriptor < 0)
        return NULL;
    errno = EINVAL;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))
        text = malloc((size_t)about.st_size + 1);
    for (; text && got > 0 && *bytes < (size_t)about.st_size; *bytes += got > 0 ? (size_t)got : 0)
        got = read(descriptor, text + *bytes, (size_t)about.st_size - *bytes);
    close(descriptor);
    if (text && got < 0) {
        free(text);
        return NULL;
    }
    if (text)
        text[*bytes] = '\0';
    return text;
}

char *kernel_include(const char *path)
{
    char hex[SHA256_HEX_BYTES], *out;
    size_t bytes;
    char *text = kernel_read(path, &bytes);

    if (!text)
        return NULL;
    sha256_hex(text, bytes, hex);
    free(text);
    return asprintf(&out, "%s %s", hex, path) < 0 ? NULL : out;
}

/* -- the folder ---------------------------------------------------------------------------------------- */

char *kernel_cache_folder(void)
{
    static const char *const places[][2] = {{"CBANK_CACHE", ""},
                                            {"XDG_CACHE_HOME", "/cbank"},
                                            {"HOME", "/.cache/cbank"}};
    char *path = NULL;

    for (size_t i = 0; !path && i < sizeof(places) / sizeof(places[0]); i++) {
        const char *base = getenv(places[i][0]);

        /* Relative paths of XDG_CACHE_HOME are to be ignored, its specification says. */
        if (base && base[0] && (i == 0 || base[0] == '/') && asprintf(&path, "%s%s", base, places[i][1]) < 0)
            return NULL;
    }
    if (!path) {
        log_note(false, "HOME is not set: kernels are compiled anew each time; CBANK_CACHE=FOLDER keeps them");
        return NULL;
    }
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    if (access(path, R_OK | W_OK | X_OK) == 0)
        return path;
    log_note(false, "%s: %s: kernels are compiled anew each time; CBANK_CACHE=FOLDER keeps them elsewhere", path,
             strerror(errno));
    free(path);
    return NULL;
}

void kernel_cache_clean(const char *folder)
{
    const time_t oldest = time(NULL) - KEPT_SECONDS;
    DIR *stream = opendir(folder);
    struct stat about;

    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, "kernel-", 7) == 0 && fstatat(dirfd(stream), entry->d_name, &about, 0) == 0 &&
            about.st_mtime < oldest)
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}

/* -- objects ------------------------------------------------------------------------------------------- */

/* Takes the line at *at, without its end, if it begins with `key`. */
static char *take(char **at, const char *key)
{
    const size_t bytes = strlen(key);
    char *line = *at, *end = strchr(line, '\n');

    if (!end || strncmp(line, key, bytes) != 0)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line + bytes;
}

/* Reads what put writes after the first line. The text is whole, as its hash is right. */
static bool read_object(char *text, const char *end, struct kernel_object *out)
{
    char *at = text, *compiler = take(&at, "compiler "), *seconds = take(&at, "seconds "),
         *reason = take(&at, "reason ");

    if (!compiler || !seconds || !reason)
        return false;
    *out = (struct kernel_object){.seconds = strtod(seconds, NULL)};
    snprintf(out->compiler, sizeof(out->compiler), "%s", compiler);
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
    for (char *include; (include = take(&at, "include "));) {
        char *now = strlen(include) > SHA256_HEX_BYTES ? kernel_include(include + SHA256_HEX_BYTES) : NULL;
        const bool same = now && strcmp(now, include) == 0;

        if (!texts_take(&out->includes, now) || !same)
            return false;
    }
    if (!take(&at, "cubin"))
        return false;
    out->cubin_bytes = (size_t)(end - at);
    if (out->cubin_bytes == 0)
        return out->reason[0];
    out->cubin = malloc(out->cubin_bytes);
    if (out->cubin)
        memcpy(out->cubin, at, out->cubin_bytes);
    return out->cubin;
}

bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES], struct kernel_object *out)
{
    char hex[SHA256_HEX_BYTES], *path = NULL, *text;
    bool good = false;
    size_t bytes;

    *out = (struct kernel_object){0};
    if (!folder || asprintf(&path, "%s/kernel-%s", folder, key) < 0)
        return false;
    text = kernel_read(path, &bytes);
    if (text && bytes > HEAD_BYTES && text[HEAD_BYTES - 1] == '\n') {
        sha256_hex(text + HEAD_BYTES, bytes - HEAD_BYTES, hex);
        good = memcmp(text, HEAD, sizeof(HEAD) - 1) == 0 &&
               memcmp(text + sizeof(HEAD) - 1, hex, SHA256_HEX_BYTES - 1) == 0 &&
               read_object(text + HEAD_BYTES, text + bytes, out);
    }
    if (good)
        utimensat(AT_FDCWD, path, NULL, 0); /* its last use */
    else
        kernel_object_close(out);
    free(text);
    free(path);
    return good;
}

void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES], const struct kernel_object *object)
{
    char hex[SHA256_HEX_BYTES], *path = NULL, *temporary = NULL;
    struct memory memory;
    FILE *stream = memory_open(&memory);
    int descriptor;
    bool whole;

    if (stream) {
        fprintf(stream, "compiler %s\nseconds %.3f\nreason %s\n", object->compiler, object->seconds, object->reason);
        for (size_t i = 0; i < object->includes.count; i++)
            fprintf(stream, "include %s\n", object->includes.items[i]);
        fputs("cubin\n", stream);
        if (object->cubin)
            fwrite(object->cubin, 1, object->cubin_bytes, stream);
    }
    if (!memory_close(&memory, stream) || !folder)
        goto out;
    sha256_hex(memory.text, memory.bytes, hex);
    if (asprintf(&path, "%s/kernel-%s", folder, key) < 0 || asprintf(&temporary, "%s/kernel-tmp-XXXXXX", folder) < 0)
        goto out;
    descriptor = mkostemp(temporary, O_CLOEXEC);
    stream = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!stream)
        goto out;
    fprintf(stream, HEAD "%s\n", hex);
    fwrite(memory.text, 1, memory.bytes, stream);
    whole = !ferror(stream);
    if (fclose(stream) != 0 || !whole || rename(temporary, path) != 0)
        unlink(temporary);
out:
    free(memory.text);
    free(temporary);
    free(path);
}
