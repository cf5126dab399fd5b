/* SPDX-License-Identifier: MIT
 * The files that a compile reads, from the line markers of its preprocessed text, and the hash of
 * a kernel file that follows from them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel_parts.h"
#include "log.h"

void kernel_chain(char chain[SHA256_HEX_BYTES], const void *data, size_t bytes)
{
    struct {
        char before[SHA256_HEX_BYTES], added[SHA256_HEX_BYTES];
    } both = {0};

    memcpy(both.before, chain, strnlen(chain, sizeof(both.before) - 1));
    sha256_hex(data, bytes, both.added);
    sha256_hex(&both, sizeof(both), chain);
}

void kernel_blank(char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!text[i])
            text[i] = ' ';
}

void kernel_unfollowed(struct kernel_reads *reads, const char *reason, const char *what)
{
    if (!reads->unfollowed[0])
        snprintf(reads->unfollowed, sizeof(reads->unfollowed), "%s%s%.150s", reason,
                 what ? " " : "", what ? what : "");
}

/* -- whose a file is --------------------------------------------------------------------------- */

/* Whether a folder, or one that it is in, is the include folder of a CUDA toolkit. */
static bool is_of_toolkit(char *path)
{
    static const char *const marks[] = {"cuda_runtime.h", "crt/host_config.h"};

    for (char *slash; (slash = strrchr(path, '/')) && slash != path;) {
        bool all = true;

        *slash = '\0';
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
            char mark[PATH_MAX];

            all = all && snprintf(mark, sizeof(mark), "%s/%s", path, marks[i]) < PATH_MAX &&
                  access(mark, F_OK) == 0;
        }
        if (all)
            return true;
    }
    return false;
}

/* Whether a file belongs to the system or a toolkit. A kernel file's own folder is the user's.
 * `marked`: the compiler calls it a header of the system, which -isystem may do to any. */
static bool is_header(const struct kernel_reads *reads, const char *path, bool marked)
{
    static const char *const folders[] = {"/usr/include/", "/usr/lib/", "/usr/lib64/"};
    /* of a compiler elsewhere */
    static const char *const parts[] = {"/lib/gcc/", "/lib64/gcc/", "/include/c++/"};
    const size_t own = (size_t)(strrchr(reads->kernel, '/') + 1 - reads->kernel);
    char real[PATH_MAX];

    if (strncmp(path, reads->kernel, own) == 0 || !realpath(path, real))
        return false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (strncmp(real, folders[i], strlen(folders[i])) == 0)
            return true;
    for (size_t i = 0; marked && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(real, parts[i]))
            return true;
    return is_of_toolkit(real);
}

bool kernel_reads_add(struct kernel_reads *reads, const char *path, bool marked)
{
    const bool header = is_header(reads, path, marked);

    return texts_share(header ? &reads->headers : &reads->files, path);
}

static bool is_known(const struct texts *texts, const char *path)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], path) == 0)
            return true;
    return false;
}

bool kernel_reads_know(const struct kernel_reads *reads, const char *path)
{
    return is_known(&reads->files, path) || is_known(&reads->headers, path);
}

/* -- preprocessed text ------------------------------------------------------------------------- */

/* Reads a line marker, `# 12 "path" 1 3`, of a file that begins: flag 1; flag 3 is the system's. */
static bool begins_file(const char *line, char path[PATH_MAX], bool *marked)
{
    size_t length = 0;
    char *end;

    if (line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9')
        return false;
    strtoul(line + 2, &end, 10);
    if (end[0] != ' ' || end[1] != '"')
        return false;
    for (line = end + 2; *line && *line != '"' && length + 1 < PATH_MAX; line++) {
        char character = *line;

        if (*line == '\\' && strspn(line + 1, "01234567") >= 3) {
            character = (char)((line[1] - '0') * 64 + (line[2] - '0') * 8 + line[3] - '0');
            line += 3;
        } else if (*line == '\\' && line[1]) {
            character = *++line;
        }
        path[length++] = character;
    }
    path[length] = '\0';
    *marked = *line == '"' && strstr(line, " 3");
    return *line == '"' && strncmp(line, "\" 1", 3) == 0 && path[0] != '<';
}

bool kernel_reads_take(struct kernel_reads *reads, char *text, size_t bytes)
{
    static const char *const unseen[] = {".incbin", ".include"}; /* of the assembler */
    char *to = text, *rest = text, path[PATH_MAX];
    bool added = true, marked;

    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
        if (memmem(text, bytes, unseen[i], strlen(unseen[i])))
            kernel_unfollowed(reads, "its assembly reads files by", unseen[i]);
    for (char *line; added && (line = strsep(&rest, "\n"));) {
        const size_t length = strlen(line);

        if (begins_file(line, path, &marked))
            added = kernel_reads_add(reads, path, marked);
        /* Markers name folders, and the temporary one. */
        if (length == 0 || (line[0] == '#' && line[1] == ' '))
            continue;
        memmove(to, line, length + 1); /* with its NUL */
        to += length;
        *to++ = '\n';
    }
    kernel_chain(reads->text_sha256, text, (size_t)(to - text));
    return added;
}

bool kernel_reads_lack(const struct kernel_reads *reads, char *text, char path[PATH_MAX])
{
    char *rest = text;
    bool marked;

    for (char *line; (line = strsep(&rest, "\n"));)
        if (begins_file(line, path, &marked) && !kernel_reads_know(reads, path))
            return true;
    return false;
}

/* -- the hash ---------------------------------------------------------------------------------- */

const char *kernel_next_data(const char *text, const char **rest, size_t *length)
{
    static const char ending[] = ".npy";

    while ((*rest = strstr(*rest, ending))) {
        const char *name = *rest, *const end = *rest + strlen(ending);

        *rest = end;
        while (name > text && name[-1] != '"' && name[-1] != '\n')
            name--;
        *length = (size_t)(end - name);
        if (name > text && name[-1] == '"' && end[end[0] == '\\'] == '"' && *length < PATH_MAX)
            return name;
    }
    return NULL;
}

bool kernel_data_path(const char *kernel, const char *name, size_t length, char path[PATH_MAX])
{
    const int folder_bytes = (int)(strrchr(kernel, '/') + 1 - kernel);

    return snprintf(path, PATH_MAX, "%.*s%.*s", name[0] == '/' ? 0 : folder_bytes, kernel,
                    (int)length, name) < PATH_MAX;
}

/* Hashes the files of data that a text names: literals that end with .npy. */
static bool add_data(struct kernel_reads *reads, const char *text, char identity[SHA256_HEX_BYTES])
{
    const char *rest = text, *name;
    size_t length;

    while ((name = kernel_next_data(text, &rest, &length))) {
        char path[PATH_MAX], hex[SHA256_HEX_BYTES], *data, *item;
        size_t bytes;

        if (!kernel_data_path(reads->kernel, name, length, path))
            continue;
        data = kernel_read(path, &bytes);
        if (!data && errno == ENOMEM)
            return false;
        if (!data)
            continue; /* a case that reads it says that it is not there */
        sha256_hex(data, bytes, hex);
        free(data);
        kernel_chain(identity, name, length);
        kernel_chain(identity, hex, strlen(hex));
        if (asprintf(&item, "%s %.*s", hex, (int)length, name) < 0 ||
            !texts_take(&reads->data, item))
            return false;
    }
    return true;
}

/* Options decide what is compiled, but for the folders of includes and of the host's compiler:
 * what is read from there counts. */
static void add_options(const struct texts *words, char identity[SHA256_HEX_BYTES])
{
    for (size_t i = 0; i < words->count; i++) {
        const char *const word = words->items[i];
        const bool folder = strncmp(word, "-I", 2) == 0, host = strncmp(word, "-ccbin", 6) == 0;

        if (folder || host)
            i += !word[folder ? 2 : 6]; /* the path is a word of its own */
        else
            kernel_chain(identity, word, strlen(word));
    }
}

bool kernel_is_header(const char *text)
{
    for (size_t i = 0; i < KERNEL_HEADERS; i++)
        if (strcmp(text, kernel_headers[i].text) == 0)
            return true;
    return false;
}

/* Adds a file of the user's. False when out of memory. */
static bool add_file(struct kernel_reads *reads, const char *path, char identity[SHA256_HEX_BYTES])
{
    size_t bytes;
    char *const text = kernel_read(path, &bytes);
    bool added = text || errno != ENOMEM;

    if (!text && added) {
        kernel_unfollowed(reads, "the compiler names a file that cannot be read:", path);
        kernel_chain(identity, "", 0);
        return true;
    }
    if (!text)
        return false;
    kernel_chain(identity, text, bytes);
    kernel_blank(text, bytes);
    added = add_data(reads, text, identity);
    /* Builds differ by these macros alone. */
    if (strstr(text, "CBANK_SPACE_") && !kernel_is_header(text))
        kernel_unfollowed(reads, "it may include other files by CBANK_SPACE_... in", path);
    free(text);
    return added;
}

enum status kernel_identity(struct kernel_reads *reads, const struct texts *words, bool against,
                            char identity[SHA256_HEX_BYTES])
{
    bool added = true;

    identity[0] = reads->headers_sha256[0] = '\0';
    texts_close(&reads->data);
    for (size_t i = 0; added && i < reads->files.count; i++)
        added = add_file(reads, reads->files.items[i], identity);
    for (size_t i = 0; added && i < words->count; i++)
        added = add_data(reads, words->items[i], identity);
    add_options(words, identity);
    if (against)
        kernel_chain(identity, "against", strlen("against"));
    for (size_t i = 0; added && i < reads->headers.count; i++) {
        size_t bytes = 0;
        char *const text = kernel_read(reads->headers.items[i], &bytes);

        added = text || errno != ENOMEM;
        kernel_chain(reads->headers_sha256, text ? text : "", bytes);
        free(text);
    }
    return added ? STATUS_OK : log_memory("the hash of %s", reads->kernel);
}

void kernel_reads_close(struct kernel_reads *reads)
{
    texts_close(&reads->files);
    texts_close(&reads->headers);
    texts_close(&reads->data);
}
