/* SPDX-License-Identifier: MIT
 * For tests: what is written to a standard stream meanwhile, and files in a temporary directory. */
#ifndef CBANK_TESTS_CAPTURE_H
#define CBANK_TESTS_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A standard stream that goes to a file for a while. */
struct capture {
    FILE *stream;
    FILE *file;
    int saved;
    char text[8192];
};

static inline void capture_begin(struct capture *capture, FILE *stream)
{
    capture->stream = stream;
    capture->file = tmpfile();
    fflush(stream);
    capture->saved = dup(fileno(stream));
    if (!capture->file || capture->saved < 0 || dup2(fileno(capture->file), fileno(stream)) < 0)
        abort();
}

/* The text that was written, as far as it fits; valid until the next capture_begin. */
static inline const char *capture_end(struct capture *capture)
{
    size_t count;

    fflush(capture->stream);
    if (dup2(capture->saved, fileno(capture->stream)) < 0)
        abort();
    close(capture->saved);
    rewind(capture->file);
    count = fread(capture->text, 1, sizeof(capture->text) - 1, capture->file);
    capture->text[count] = '\0';
    fclose(capture->file);
    return capture->text;
}

/* The text of a file, NUL after it; NULL when it cannot be read. The caller's, to free. */
static inline char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long bytes;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) >= 0) {
        text = calloc((size_t)bytes + 1, 1);
        rewind(file);
        if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
            abort();
    }
    fclose(file);
    return text;
}

static inline void file_put(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

#endif
