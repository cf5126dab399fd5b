/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "kernel_parts.h"
#include "log.h"

enum { NAME_BYTES = KERNEL_FOLDER_BYTES + 32 };

/* -- finding ----------------------------------------------------------------------------------- */

/* Takes an nvcc: its version is "nvcc 13.0.88" where --version says "..., V13.0.88". False if it
 * does not run. */
static bool take_nvcc(const char *path, struct kernel_compiler *out)
{
    char output[NAME_BYTES], *words[] = {out->path, "--version", NULL}, *text, *version;
    struct child_job job = {.words = words, .output = output, .folder = out->folder};
    size_t bytes;

    snprintf(out->path, sizeof(out->path), "%s", path);
    snprintf(output, sizeof(output), "%s/version", out->folder);
    text = children_run(&job, 1, 1) && job.code == 0 ? kernel_read(output, &bytes) : NULL;
    version = text ? strstr(text, ", V") : NULL;
    if (version)
        snprintf(out->version, sizeof(out->version), "nvcc %.*s", (int)strcspn(version + 3, "\n"),
                 version + 3);
    else
        out->path[0] = '\0';
    free(text);
    return version;
}

enum status kernel_compiler_open(const char *name, struct kernel_compiler *out)
{
    const char *const asked = name ? name : getenv("CBANK_NVCC");
    const bool named = asked && asked[0], nvrtc = named && strcmp(asked, "nvrtc") == 0;
    /* The name of the folder is one that a shell leaves as it is: nvcc starts programs by a
     * shell. */
    static const char plain[] =
        "/._-+0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *const base = getenv("TMPDIR");
    const bool fits = base && base[0] == '/' && strlen(base) < KERNEL_FOLDER_BYTES / 2 &&
                      !base[strspn(base, plain)];

    snprintf(out->folder, sizeof(out->folder), "%s/cbank-XXXXXX", fits ? base : "/tmp");
    if (!mkdtemp(out->folder))
        return log_error(STATUS_ENVIRONMENT,
                         "cannot write a temporary folder %s: %s; TMPDIR=FOLDER names another",
                         out->folder, strerror(errno));
    if (!nvrtc && (named ? take_nvcc(asked, out)
                         : take_nvcc("nvcc", out) || take_nvcc("/usr/local/cuda/bin/nvcc", out)))
        return STATUS_OK;
    if (interrupted())
        return STATUS_ENVIRONMENT;
    if (named && !nvrtc)
        return log_error(STATUS_ENVIRONMENT,
                         "cannot run %s, or it is no nvcc; name an nvcc, or nvrtc", asked);
    if (kernel_nvrtc_open(out))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT,
                     "a kernel file needs a compiler, and here is neither nvcc nor NVRTC; install "
                     "the "
                     "CUDA toolkit, or name an nvcc by --compiler or CBANK_NVCC");
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about, (void)type, (void)at;
    return remove(path);
}

void kernel_compiler_close(struct kernel_compiler *compiler)
{
    /* A program that nvcc started may have written until it was killed. */
    for (int i = 0; i < 2 && compiler->folder[0] && access(compiler->folder, F_OK) == 0; i++)
        nftw(compiler->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    texts_close(&compiler->words);
    *compiler = (struct kernel_compiler){0};
}

/* -- messages ---------------------------------------------------------------------------------- */

bool kernel_reason(const char *messages, char reason[KERNEL_REASON_BYTES])
{
    /* Before the text of a static_assert: nvcc and NVRTC, gcc, clang, earlier clang. Before a
     * limit. */
    static const char *const marks[] = {"assertion failed with \"cbank: ",
                                        "assertion failed: cbank: ", "': cbank: ", "' \"cbank: ",
                                        "ptxas error   : "};

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *found = strstr(messages, marks[i]);

        if (!found)
            continue;
        found += strlen(marks[i]);
        snprintf(reason, KERNEL_REASON_BYTES, "%.*s", (int)strcspn(found, "\"\n"), found);
        return true;
    }
    return false;
}

/* -- compiling --------------------------------------------------------------------------------- */

static bool write_text(const char *folder, const char *name, const char *text)
{
    char path[NAME_BYTES];
    FILE *file;
    bool whole;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "we");
    whole = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && whole;
}

/* A build while nvcc compiles it. */
struct nvcc_run {
    struct kernel_build *build;
    char source[NAME_BYTES], cubin[NAME_BYTES], messages[NAME_BYTES];
};

static enum status run_nvcc(struct kernel_compiler *compiler, struct kernel_build *builds,
                            size_t count)
{
    enum { OWN_WORDS = 9 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t word_count = OWN_WORDS + compiler->user_words + 2;
    struct nvcc_run *const runs = calloc(count, sizeof(*runs));
    struct child_job *const jobs = calloc(count, sizeof(*jobs));
    char **const words = calloc(count * word_count, sizeof(*words)), arch[32], name[32];
    enum status status = runs && jobs && words ? STATUS_OK : log_memory("compiling a kernel file");
    bool whole = status == STATUS_OK &&
                 write_text(compiler->folder, "cbank.cuh", cbank_header_tables) &&
                 write_text(compiler->folder, "cbank_case.h", cbank_header_case);
    size_t run_count = 0;

    snprintf(arch, sizeof(arch), "-arch=sm_%u", (unsigned)compiler->architecture);
    for (size_t i = 0; whole && i < count; i++) {
        struct nvcc_run *run = &runs[run_count];
        char **const to = words + run_count * word_count;
        char *const makes = builds[i].on_cpu ? "-shared" : "-cubin";
        char *const how = builds[i].on_cpu ? "-Xcompiler=-fPIC,-O2" : "-lineinfo";
        char *const own[OWN_WORDS] = {compiler->path,    arch,  "-I", compiler->folder,
                                      "-DCBANK_MEASURE", makes, how,  "-o",
                                      run->cubin};

        if (kernel_build_made(&builds[i]))
            continue;
        run->build = &builds[i];
        snprintf(name, sizeof(name), "%zu.cu", i);
        snprintf(run->source, NAME_BYTES, "%s/%s", compiler->folder, name);
        snprintf(run->cubin, NAME_BYTES, "%s/%zu.cubin", compiler->folder, i);
        snprintf(run->messages, NAME_BYTES, "%s/%zu.txt", compiler->folder, i);
        whole = write_text(compiler->folder, name, builds[i].source);
        memcpy(to, own, sizeof(own));
        memcpy(to + OWN_WORDS, compiler->words.items, compiler->user_words * sizeof(*to));
        to[OWN_WORDS + compiler->user_words] = run->source;
        jobs[run_count++] =
            (struct child_job){.words = to, .output = run->messages, .folder = compiler->folder};
    }
    whole = whole && children_run(jobs, run_count, processors < 1 ? 1 : (size_t)processors);
    if (status == STATUS_OK && !whole)
        status =
            interrupted()
                ? STATUS_ENVIRONMENT
                : log_error(STATUS_ENVIRONMENT,
                            "cannot run %s in %s: %s; name another nvcc, or a folder by TMPDIR",
                            compiler->path, compiler->folder, strerror(errno));
    for (size_t i = 0; status == STATUS_OK && i < run_count; i++) {
        struct kernel_build *build = runs[i].build;
        const char *error;
        size_t bytes;

        errno = 0;
        build->messages = kernel_read(runs[i].messages, &bytes);
        if (jobs[i].code == 0)
            build->cubin = kernel_read(runs[i].cubin, &build->cubin_bytes);
        else if (build->messages && !kernel_reason(build->messages, build->reason))
            build->status =
                strstr(build->messages, "nvcc fatal") && !strstr(build->messages, " option '")
                    ? STATUS_ENVIRONMENT
                    : STATUS_USAGE;
        error = build->on_cpu && build->status == STATUS_USAGE
                    ? strstr(build->messages, "): error: ")
                    : NULL;
        if (error) /* in the source: it stays */
            snprintf(build->reason, sizeof(build->reason), "%.*s", (int)strcspn(error + 3, "\n"),
                     error + 3);
        if (errno == ENOMEM)
            status = log_memory("what %s made", compiler->path);
    }
    free(words);
    free(jobs);
    free(runs);
    return status;
}

enum status kernel_compile(struct kernel_compiler *compiler, struct kernel_build *builds,
                           size_t count)
{
    if (compiler->path[0])
        return run_nvcc(compiler, builds, count);
    for (size_t i = 0; i < count && !interrupted(); i++)
        if (!kernel_build_made(&builds[i]))
            kernel_nvrtc_compile(compiler, &builds[i]);
    return interrupted() ? STATUS_ENVIRONMENT : STATUS_OK;
}
