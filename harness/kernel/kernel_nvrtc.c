/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kernel_compiler.h"
#include "library.h"

enum { COMPILATION_FAILED = 6, OWN_WORDS = 3 };

static const struct library_symbol symbols[] = {
    {"nvrtcVersion", offsetof(struct nvrtc, version)},
    {"nvrtcCreateProgram", offsetof(struct nvrtc, create)},
    {"nvrtcCompileProgram", offsetof(struct nvrtc, compile)},
    {"nvrtcGetCUBINSize", offsetof(struct nvrtc, cubin_bytes)},
    {"nvrtcGetCUBIN", offsetof(struct nvrtc, cubin)},
    {"nvrtcGetProgramLogSize", offsetof(struct nvrtc, log_bytes)},
    {"nvrtcGetProgramLog", offsetof(struct nvrtc, log)},
    {"nvrtcDestroyProgram", offsetof(struct nvrtc, destroy)},
};

bool kernel_nvrtc_open(struct kernel_compiler *out)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    const char *missing;
    int major, minor;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *const library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (library && library_bind(library, symbols, sizeof(symbols) / sizeof(symbols[0]), &out->nvrtc, &missing) &&
            out->nvrtc.version(&major, &minor) == 0) {
            snprintf(out->version, sizeof(out->version), "nvrtc %d.%d", major, minor);
            snprintf(out->identity, sizeof(out->identity), "%s", out->version);
            return true;
        }
        if (library)
            dlclose(library);
    }
    return false;
}

void kernel_nvrtc_compile(const struct kernel_compiler *compiler, const struct kernel_options *options,
                          struct kernel_object *object)
{
    static const char *const header_names[] = {"cbank.cuh", "cbank_case.h"};
    const char *const headers[] = {cbank_header_tables, cbank_header_case};
    const char **const words = calloc(OWN_WORDS + options->word_count, sizeof(*words));
    const struct nvrtc *nvrtc = &compiler->nvrtc;
    const double began = clock_seconds();
    void *program = NULL;
    size_t bytes = 0;
    char arch[40];
    int error;

    snprintf(object->compiler, sizeof(object->compiler), "%s", compiler->version);
    snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%u", (unsigned)options->architecture);
    object->status = STATUS_ENVIRONMENT;
    if (words && nvrtc->create(&program, object->text, "kernel.cu", 2, headers, header_names) == 0) {
        words[0] = arch, words[1] = "-DCBANK_MEASURE", words[2] = "-lineinfo";
        memcpy(words + OWN_WORDS, options->words, options->word_count * sizeof(*words));
        error = nvrtc->compile(program, (int)(OWN_WORDS + options->word_count), words);
        if (nvrtc->log_bytes(program, &bytes) == 0 && (object->messages = calloc(bytes + 1, 1)))
            nvrtc->log(program, object->messages);
        if (error == COMPILATION_FAILED)
            object->status =
                object->messages && kernel_reason(object->messages, object->reason) ? STATUS_OK : STATUS_USAGE;
        if (error == 0 && nvrtc->cubin_bytes(program, &object->cubin_bytes) == 0 &&
            (object->cubin = malloc(object->cubin_bytes)) && nvrtc->cubin(program, object->cubin) == 0)
            object->status = STATUS_OK;
        nvrtc->destroy(&program);
    }
    object->seconds = clock_seconds() - began;
    free(words);
}
