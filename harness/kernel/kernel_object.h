/* SPDX-License-Identifier: MIT
 * Sources and what compilers made of them, which a cache keeps: one file for each object, which may be removed at any
 * time. */
#ifndef CBANK_KERNEL_OBJECT_H
#define CBANK_KERNEL_OBJECT_H

#include "kernel_file.h"

/* A source, and the outcome of compiling it. */
struct kernel_object {
    char *text;                           /* owned: of the source, which includes the kernel file */
    void *cubin;                          /* owned; NULL: see reason, then status */
    size_t cubin_bytes;
    char reason[KERNEL_REASON_BYTES];     /* see struct kernel_build */
    enum status status; /* STATUS_USAGE: it does not compile; STATUS_ENVIRONMENT: the compiler cannot */
    char *messages; /* owned: of the compiler; NULL: none */
    char compiler[KERNEL_COMPILER_BYTES]; /* "nvcc 13.0.88" */
    double seconds; /* of compiling */
    bool cached; /* by kernel_cache_get */
};

/* Whether there is an outcome that stays the same. */
bool kernel_object_made(const struct kernel_object *object);

/* Releases; accepts a zeroed struct. */
void kernel_object_close(struct kernel_object *object);

/* Reads a regular file. NULL with errno if it cannot. The caller frees it. It ends with a NUL, which *bytes does not
 * count. */
char *kernel_read(const char *path, size_t *bytes);

/* The folder of the cache, which it makes: $CBANK_CACHE, else $XDG_CACHE_HOME/cbank, else ~/.cache/cbank. NULL, with a
 * message, if it cannot be written: then nothing is kept. The caller frees it. */
char *kernel_cache_folder(void);

/* Looks for the outcome of a source. False if there is none, or if its file is damaged. */
bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES], struct kernel_object *object);

/* Keeps an outcome, and removes those that nobody asked for in 30 days. Failures are silent: it is compiled again. */
void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES], const struct kernel_object *object);

#endif
