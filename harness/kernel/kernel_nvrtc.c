/* SPDX-License-Identifier: MIT
 * Kernel files compiled by NVRTC. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kernel_compiler.h"
#include "library.h"
#include "log.h"
#include "parallel.h"

enum { COMPILATION_FAILED = 6, OWN_OPTIONS = 4 };

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

/* -- includes ------------------------------------------------------------------------------------------ */

/* Adds a file, and what it includes by "name" next to it or by a folder of the options' -I: NVRTC does not tell. A line
 * that is left out by #if counts, too. False when out of memory. */
static bool scan(const char *path, const struct kernel_options *options, struct texts *list)
{
    const char *slash = strrchr(path, '/');
    char *include = kernel_include(path);
    bool whole = true;
    size_t bytes;
    char *text;

    if (!include)
        return errno != ENOMEM; /* a file of the compiler's, or none */
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], include, SHA256_HEX_BYTES) == 0) {
            free(include);
            return true;
        }
    if (!texts_take(list, include) || !(text = kernel_read(path, &bytes)))
        return false;
    for (char *line = text, *end; whole && *line; line = *end ? end + 1 : end) {
        char name[PATH_MAX], file[2 * PATH_MAX], *at = line + strspn(line, " \t");

        end = strchrnul(line, '\n');
        at += *at == '#' ? 1 + strspn(at + 1, " \t") : 0;
        if (strncmp(at, "include", 7) != 0 || sscanf(at + 7, " %*[\"<]%4095[^\">\n]", name) != 1)
            continue;
        snprintf(file, sizeof(file), "%.*s%s", name[0] == '/' ? 0 : (int)(slash - path + 1), path, name);
        whole = scan(file, options, list);
        for (size_t i = 0; whole && i < options->word_count; i++)
            if (strncmp(options->words[i], "-I", 2) == 0) {
                const char *const folder = options->words[i][2] ? options->words[i] + 2 : options->words[i + 1];

                snprintf(file, sizeof(file), "%s/%s", folder ? folder : "", name);
                whole = scan(file, options, list);
            }
    }
    free(text);
    return whole;
}

/* -- compiling ----------------------------------------------------------------------------------------- */

struct work {
    const struct kernel_compiler *compiler;
    const struct kernel_options *options;
    struct kernel_source *sources;
};

static void compile(const struct work *work, struct kernel_source *source)
{
    static const char *const header_names[] = {"cbank.cuh", "cbank_case.h"};
    const char *const headers[] = {cbank_header_tables, cbank_header_case};
    const struct nvrtc *nvrtc = &work->compiler->nvrtc;
    struct kernel_object *object = &source->object;
    const size_t count = work->options->word_count;
    const char **const words = calloc(OWN_OPTIONS + count + 1, sizeof(*words));
    const double began = clock_seconds();
    void *program = NULL;
    size_t bytes = 0;
    int error = 1;
    char arch[40];

    snprintf(object->compiler, sizeof(object->compiler), "%s", work->compiler->version);
    source->status = STATUS_ENVIRONMENT;
    if (words && nvrtc->create(&program, source->text, "kernel.cu", 2, headers, header_names) == 0) {
        snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%u", (unsigned)work->options->architecture);
        words[0] = arch, words[1] = "-DCBANK_MEASURE", words[2] = "-std=c++17", words[3] = "-lineinfo";
        memcpy(words + OWN_OPTIONS, work->options->words, count * sizeof(*words));
        error = nvrtc->compile(program, (int)(OWN_OPTIONS + count), words);
        if (nvrtc->log_bytes(program, &bytes) == 0 && (source->messages = calloc(bytes + 1, 1)))
            nvrtc->log(program, source->messages);
        if (error == 0 && nvrtc->cubin_bytes(program, &bytes) == 0 && (object->cubin = malloc(bytes)) &&
            nvrtc->cubin(program, object->cubin) == 0) {
            object->cubin_bytes = bytes;
            source->status = STATUS_OK;
        } else if (error == COMPILATION_FAILED) {
            source->status =
                source->messages && kernel_reason(source->messages, object->reason) ? STATUS_OK : STATUS_USAGE;
        }
        nvrtc->destroy(&program);
    }
    source->unsettled = !scan(work->options->path, work->options, &object->includes);
    object->seconds = clock_seconds() - began;
    free(words);
}

static void compile_range(void *context, uint64_t first, uint64_t count)
{
    const struct work *work = context;

    for (uint64_t i = first; i < first + count; i++)
        compile(work, &work->sources[i]);
}

enum status kernel_nvrtc_compile(const struct kernel_compiler *compiler, const struct kernel_options *options,
                                 struct kernel_source *sources, size_t count)
{
    parallel_ranges(count, 1, compile_range, &(struct work){compiler, options, sources});
    return STATUS_OK;
}
