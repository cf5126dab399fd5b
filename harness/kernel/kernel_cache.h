/* SPDX-License-Identifier: MIT
 * What compilers made of kernel files, kept in a folder: one file for each build, which may be removed at any time. */
#ifndef CBANK_KERNEL_CACHE_H
#define CBANK_KERNEL_CACHE_H

#include "kernel_file.h"
#include "texts.h"

/* The outcome of compiling a source. */
struct kernel_object {
    void *cubin;                          /* owned; NULL: there is a reason */
    size_t cubin_bytes;
    char reason[KERNEL_REASON_BYTES];     /* see struct kernel_build */
    char compiler[KERNEL_COMPILER_BYTES]; /* "nvcc 13.0.88" */
    struct texts includes; /* "HASH PATH" of each file that the source includes; not those of toolkits */
    double seconds; /* of compiling */
};

/* Releases; accepts a zeroed struct. */
void kernel_object_close(struct kernel_object *object);

/* Reads a file. NULL with errno if it cannot. The caller frees it. It ends with a NUL, which *bytes does not count. */
char *kernel_read(const char *path, size_t *bytes);

/* The text "HASH PATH" of a file; NULL with errno if it cannot be read. The caller frees it. */
char *kernel_include(const char *path);

/* The folder of the cache, which it makes: $CBANK_CACHE, else $XDG_CACHE_HOME/cbank, else ~/.cache/cbank. NULL, with a
 * message, if it cannot be written: then nothing is kept. The caller frees it. */
char *kernel_cache_folder(void);

/* Looks for an object. False if there is none, if its file is damaged, or if a file that it includes has changed. On
 * success the caller closes *out. */
bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES], struct kernel_object *out);

/* Keeps an object. Failures are silent: it is then compiled again. */
void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES], const struct kernel_object *object);

/* Removes objects that nobody asked for in 30 days, and what dead processes left. */
void kernel_cache_clean(const char *folder);

#endif
