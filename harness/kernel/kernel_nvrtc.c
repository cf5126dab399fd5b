/* SPDX-License-Identifier: MIT
 * NVRTC, opened at run time, for machines without nvcc. It compiles for the GPU alone: a case that
 * is checked on the processor needs nvcc. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_parts.h"
#include "library.h"

enum { COMPILATION_FAILED = 6, OWN_WORDS = 3 };

#define SYMBOL(function, member, parameters) {#function, offsetof(struct nvrtc, member)},
static const struct library_symbol symbols[] = {NVRTC_FUNCTIONS(SYMBOL)};

bool kernel_nvrtc_open(struct kernel_compiler *out)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so"};
    const char *missing;
    int major, minor;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *const library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (library &&
            library_bind(library, symbols, sizeof(symbols) / sizeof(symbols[0]), &out->nvrtc,
                         &missing) &&
            out->nvrtc.version(&major, &minor) == 0) {
            snprintf(out->version, sizeof(out->version), "nvrtc %d.%d", major, minor);
            return true;
        }
        if (library)
            dlclose(library);
    }
    return false;
}

/* The text that the cubin was made of, whose size counts a NUL. */
static void take_ptx(const struct nvrtc *nvrtc, void *program, struct kernel_build *build)
{
    size_t bytes = 0;

    if (nvrtc->ptx_bytes(program, &bytes) != 0 || bytes < 2 || !(build->ptx = calloc(1, bytes + 1)))
        return;
    build->ptx_bytes = bytes - 1;
    if (nvrtc->ptx(program, build->ptx) == 0)
        return;
    free(build->ptx);
    build->ptx = NULL;
}

void kernel_nvrtc_compile(const struct kernel_compiler *compiler, struct kernel_build *build)
{
    const char *names[KERNEL_HEADERS], *headers[KERNEL_HEADERS];
    const char **const words = calloc(OWN_WORDS + compiler->user_words, sizeof(*words));
    const struct nvrtc *nvrtc = &compiler->nvrtc;
    void *program = NULL;
    size_t bytes = 0;
    char arch[40];
    int error;

    for (size_t i = 0; i < KERNEL_HEADERS; i++) {
        names[i] = kernel_headers[i].name;
        headers[i] = kernel_headers[i].text;
    }
    snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%u", (unsigned)compiler->architecture);
    build->status = STATUS_ENVIRONMENT;
    if (words &&
        nvrtc->create(&program, build->source, "kernel.cu", KERNEL_HEADERS, headers, names) == 0) {
        words[0] = arch, words[1] = "-DCBANK_MEASURE", words[2] = "-lineinfo";
        memcpy(words + OWN_WORDS, compiler->words.items, compiler->user_words * sizeof(*words));
        error = nvrtc->compile(program, (int)(OWN_WORDS + compiler->user_words), words);
        if (nvrtc->log_bytes(program, &bytes) == 0 && (build->messages = calloc(bytes + 1, 1)))
            nvrtc->log(program, build->messages);
        if (error == COMPILATION_FAILED)
            build->status = build->messages && kernel_reason(build->messages, build->reason)
                                ? STATUS_OK
                                : STATUS_USAGE;
        if (error == 0 && nvrtc->cubin_bytes(program, &build->cubin_bytes) == 0 &&
            (build->cubin = malloc(build->cubin_bytes)) && nvrtc->cubin(program, build->cubin) == 0)
            build->status = STATUS_OK;
        if (build->cubin)
            take_ptx(nvrtc, program, build);
        nvrtc->destroy(&program);
    }
    free(words);
}
