/* SPDX-License-Identifier: MIT
 * Compilers of kernel files: an nvcc, which runs as a child, or NVRTC, a library of the toolkit. */
#ifndef CBANK_KERNEL_COMPILER_H
#define CBANK_KERNEL_COMPILER_H

#include <limits.h>

#include "kernel_object.h"

/* The functions of NVRTC, which return 0 on success. */
struct nvrtc {
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *text, const char *name, int count, const char *const *headers,
                  const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*cubin_bytes)(void *program, size_t *bytes);
    int (*cubin)(void *program, char *cubin);
    int (*log_bytes)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*destroy)(void **program);
};

/* A compiler that was found. */
struct kernel_compiler {
    char path[PATH_MAX];                 /* of nvcc; "": NVRTC */
    struct nvrtc nvrtc;                  /* its library stays open */
    char version[KERNEL_COMPILER_BYTES]; /* "nvrtc 13.0"; of nvcc "" until it compiles */
    char identity[PATH_MAX + 128];       /* of nvcc path, size and time of the file; else the version */
};

/* The part that is the same for all sources. */
struct kernel_options {
    char **words; /* options of the user, NULL last */
    size_t word_count;
    uint32_t architecture; /* 90 for sm_90 */
};

/* Texts of the headers of kernel files: cbank.cuh and cbank_case.h. */
extern const char cbank_header_tables[], cbank_header_case[];

/* Finds a compiler: see struct kernel_request. STATUS_ENVIRONMENT, logged, if there is none. */
enum status kernel_compiler_find(const char *name, struct kernel_compiler *out);

/* Compiles the sources that are not made yet, as many at a time as there are processors. STATUS_ENVIRONMENT if the
 * compiler cannot run, which is logged, or after a signal. A source that does not compile is no error here. */
enum status kernel_compile(struct kernel_compiler *compiler, const struct kernel_options *options,
                           struct kernel_object *objects, size_t count);

/* Looks in messages of a compiler for a static_assert of cbank.cuh, or for a limit of the assembler, and writes the
 * reason that it gives. False: the messages are about other errors. */
bool kernel_reason(const char *messages, char reason[KERNEL_REASON_BYTES]);

/* Opens NVRTC. Compiles a source by it. */
bool kernel_nvrtc_open(struct kernel_compiler *out);
void kernel_nvrtc_compile(const struct kernel_compiler *compiler, const struct kernel_options *options,
                          struct kernel_object *object);

#endif
