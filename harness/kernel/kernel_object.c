/* SPDX-License-Identifier: MIT */
#include "kernel_object.h"

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

/* A file of the cache is this, the hash of everything behind the line's end, and that. */
#define HEAD "cbank kernel 1 "
enum { HEAD_BYTES = sizeof(HEAD) - 1 + SHA256_HEX_BYTES };

bool kernel_object_made(const struct kernel_object *object)
{
    return object->cubin || object->reason[0];
}

void kernel_object_close(struct kernel_object *object)
{
    free(object->text);
    free(object->cubin);
    free(object->messages);
    *object = (struct kernel_object){0};
}

char *kernel_read(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "re");
    char *text = NULL;
    struct stat about;

    if (!file)
        return NULL;
    errno = EINVAL; /* of what is no regular file */
    if (fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) && (text = malloc((size_t)about.st_size + 1))) {
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
        if (base && base[0] && (i == 0 || base[0] == '/') && asprintf(&path, "%s%s", base, bases[i][1]) < 0)
            return NULL;
    }
    for (char *slash = path; slash; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        mkdir(path, 0700);
        if (!slash)
            break;
    }
    if (path && access(path, R_OK | W_OK | X_OK) == 0)
        return path;
    log_note(false, "no cache: %s: %s; kernels are compiled each time, unless CBANK_CACHE names a folder",
             path ? path : "HOME", path ? strerror(errno) : "not set");
    free(path);
    return NULL;
}

/* Takes the next line, without its end. NULL if there is none. */
static char *take_line(char **at)
{
    char *const line = *at, *const end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line;
}

/* Reads the content of a file of the cache, whose hash is right. */
static bool read_outcome(char *text, const char *end, struct kernel_object *out)
{
    const char *const compiler = take_line(&text), *const seconds = compiler ? take_line(&text) : NULL,
                      *const reason = seconds ? take_line(&text) : NULL;

    if (!reason || (text == end && !reason[0]))
        return false;
    snprintf(out->compiler, sizeof(out->compiler), "%s", compiler);
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
    out->seconds = strtod(seconds, NULL);
    out->cubin_bytes = (size_t)(end - text);
    out->cubin = text == end ? NULL : malloc(out->cubin_bytes);
    if (out->cubin)
        memcpy(out->cubin, text, out->cubin_bytes);
    return out->cubin || text == end;
}

bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES], struct kernel_object *object)
{
    char hex[SHA256_HEX_BYTES], *path = NULL, *text;
    size_t bytes = 0;

    if (!folder || asprintf(&path, "%s/kernel-%s", folder, key) < 0)
        return false;
    text = kernel_read(path, &bytes);
    if (text && bytes > HEAD_BYTES) {
        sha256_hex(text + HEAD_BYTES, bytes - HEAD_BYTES, hex);
        object->cached = memcmp(text, HEAD, sizeof(HEAD) - 1) == 0 &&
                         memcmp(text + sizeof(HEAD) - 1, hex, SHA256_HEX_BYTES - 1) == 0 &&
                         read_outcome(text + HEAD_BYTES, text + bytes, object);
        if (object->cached)
            utimensat(AT_FDCWD, path, NULL, 0); /* its last use */
    }
    free(text);
    free(path);
    return object->cached;
}

static void remove_old(const char *folder)
{
    const time_t oldest = time(NULL) - KEPT_SECONDS;
    DIR *const stream = opendir(folder);
    struct stat about;

    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, "kernel-", 7) == 0 && fstatat(dirfd(stream), entry->d_name, &about, 0) == 0 &&
            about.st_mtime < oldest)
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}

void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES], const struct kernel_object *object)
{
    char hex[SHA256_HEX_BYTES], *path = NULL, *temporary = NULL;
    struct memory memory;
    FILE *stream = memory_open(&memory);
    int descriptor = -1;
    bool whole = false;

    if (stream) {
        fprintf(stream, "%s\n%.3f\n%s\n", object->compiler, object->seconds, object->reason);
        if (object->cubin)
            fwrite(object->cubin, 1, object->cubin_bytes, stream);
    }
    if (memory_close(&memory, stream) && asprintf(&path, "%s/kernel-%s", folder, key) > 0 &&
        asprintf(&temporary, "%s/kernel-XXXXXX", folder) > 0)
        descriptor = mkostemp(temporary, O_CLOEXEC);
    stream = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (stream) {
        sha256_hex(memory.text, memory.bytes, hex);
        fprintf(stream, HEAD "%s\n", hex);
        whole = fwrite(memory.text, 1, memory.bytes, stream) == memory.bytes;
        if (fclose(stream) != 0 || !whole || rename(temporary, path) != 0)
            unlink(temporary);
        remove_old(folder);
    }
    free(memory.text);
    free(temporary);
    free(path);
}
