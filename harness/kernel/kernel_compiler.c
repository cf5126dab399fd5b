/* SPDX-License-Identifier: MIT */
#include "kernel_compiler.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "log.h"
#include "parallel.h"

enum { FOLDER_BYTES = 128, NAME_BYTES = FOLDER_BYTES + 32, OWN_WORDS = 11 /* and the source, and NULL */ };

/* -- finding ------------------------------------------------------------------------------------------- */

/* The program of this name as a path, from PATH if it has no slash. */
static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *folders = strchr(name, '/') ? NULL : getenv("PATH");

    if (!folders)
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && access(path, X_OK) == 0;
    for (const char *end; *folders; folders = *end ? end + 1 : end) {
        end = strchrnul(folders, ':');
        if (end > folders && snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - folders), folders, name) < PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    }
    return false;
}

enum status kernel_compiler_find(const char *name, struct kernel_compiler *out)
{
    const char *const asked = name ? name : getenv("CBANK_NVCC");
    char target[PATH_MAX];
    struct stat about;
    bool nvrtc = asked && strcmp(asked, "nvrtc") == 0;

    *out = (struct kernel_compiler){0};
    if (!nvrtc && asked && asked[0] && !find_program(asked, out->path))
        return log_error(STATUS_ENVIRONMENT, "cannot run %s: %s; name an nvcc, or nvrtc", asked, strerror(errno));
    nvrtc = nvrtc ||
            (!out->path[0] && !find_program("nvcc", out->path) && !find_program("/usr/local/cuda/bin/nvcc", out->path));
    if (nvrtc) {
        out->path[0] = '\0';
        if (kernel_nvrtc_open(out))
            return STATUS_OK;
        return log_error(STATUS_ENVIRONMENT,
                         "a kernel file needs a compiler, and here is neither nvcc nor NVRTC; install the "
                         "CUDA toolkit, or name an nvcc by --compiler or CBANK_NVCC");
    }
    if (!realpath(out->path, target) || stat(target, &about) != 0)
        return log_error(STATUS_ENVIRONMENT, "cannot read %s: %s; name another nvcc", out->path, strerror(errno));
    snprintf(out->identity, sizeof(out->identity), "%s %lld %lld.%09ld", target, (long long)about.st_size,
             (long long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
    return STATUS_OK;
}

/* -- messages ------------------------------------------------------------------------------------------ */

bool kernel_reason(const char *messages, char reason[KERNEL_REASON_BYTES])
{
    static const char *const limits[] = {"too much", "overflowed"};

    for (const char *line = messages, *end; *line; line = *end ? end + 1 : end) {
        char text[1024];
        const char *found;

        end = strchrnul(line, '\n');
        snprintf(text, sizeof(text), "%.*s", (int)(end - line), line);
        /* nvcc and NVRTC: static assertion failed with "cbank: ..."; gcc and clang: static assertion failed: cbank: ... */
        found = strstr(text, "cbank: ");
        if (found && found - text > 1 && (found[-1] == '"' || found[-1] == ' ') && strstr(text, "static") &&
            strstr(text, "assert")) {
            snprintf(reason, KERNEL_REASON_BYTES, "%s", found + strlen("cbank: "));
            reason[strcspn(reason, "\"")] = '\0';
            return true;
        }
        found = strncmp(text, "ptxas", 5) == 0 ? strchr(text, ':') : NULL;
        for (size_t i = 0; found && i < sizeof(limits) / sizeof(limits[0]); i++)
            if (strstr(found, limits[i])) {
                snprintf(reason, KERNEL_REASON_BYTES, "%s", found + 1 + strspn(found + 1, " "));
                return true;
            }
    }
    return false;
}

/* -- nvcc ---------------------------------------------------------------------------------------------- */

/* The files of a source while nvcc compiles it. */
struct nvcc_files {
    char source[NAME_BYTES], cubin[NAME_BYTES], messages[NAME_BYTES];
};

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

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about, (void)type, (void)at;
    return remove(path);
}

/* Makes a folder with the headers. Its name is one that a shell leaves as it is: nvcc starts programs by a shell. */
static bool make_folder(char folder[FOLDER_BYTES])
{
    static const char plain[] = "/._-+0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *const base = getenv("TMPDIR");
    const bool fits = base && base[0] == '/' && strlen(base) < FOLDER_BYTES / 2 && !base[strspn(base, plain)];

    snprintf(folder, FOLDER_BYTES, "%s/cbank-XXXXXX", fits ? base : "/tmp");
    return mkdtemp(folder) && write_text(folder, "cbank.cuh", cbank_header_tables) &&
           write_text(folder, "cbank_case.h", cbank_header_case);
}

/* Takes the outcome of a source. False when out of memory. */
static bool take_outcome(const struct kernel_compiler *compiler, const struct nvcc_files *files,
                         const struct child_job *job, struct kernel_object *object)
{
    size_t bytes;

    errno = 0;
    object->messages = kernel_read(files->messages, &bytes);
    object->seconds = job->seconds;
    snprintf(object->compiler, sizeof(object->compiler), "%s", compiler->version);
    if (WIFEXITED(job->code) && WEXITSTATUS(job->code) == 0)
        object->cubin = kernel_read(files->cubin, &object->cubin_bytes);
    else if (object->messages)
        kernel_reason(object->messages, object->reason);
    if (!kernel_object_made(object))
        object->status = object->messages && strstr(object->messages, "nvcc fatal") ? STATUS_ENVIRONMENT : STATUS_USAGE;
    return kernel_object_made(object) || errno != ENOMEM;
}

/* Reads "nvcc 13.0.88" from the output of nvcc --version, "..., V13.0.88". */
static void read_version(const char *path, struct kernel_compiler *compiler)
{
    size_t bytes;
    char *const text = kernel_read(path, &bytes), *version = text ? strstr(text, ", V") : NULL;

    if (version)
        version[strcspn(version, "\n")] = '\0';
    snprintf(compiler->version, sizeof(compiler->version), "nvcc %s", version ? version + 3 : "of an unknown version");
    free(text);
}

static enum status run_nvcc(struct kernel_compiler *compiler, const struct kernel_options *options,
                            struct kernel_object *objects, size_t count, char folder[FOLDER_BYTES])
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t word_count = OWN_WORDS + options->word_count;
    struct nvcc_files *const files = calloc(count, sizeof(*files));
    struct child_job *const jobs = calloc(count + 1, sizeof(*jobs));
    char **const words = calloc(count * word_count, sizeof(*words)), arch[32], version[NAME_BYTES], name[32];
    char *version_words[] = {compiler->path, "--version", NULL};
    enum status status = STATUS_OK;
    size_t job_count = 0;
    bool whole = true;

    if (!files || !jobs || !words)
        status = log_memory("compiling a kernel file");
    snprintf(arch, sizeof(arch), "-arch=sm_%u", (unsigned)options->architecture);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        char **const to = words + i * word_count;
        char *const own[] = {compiler->path, "-I", folder, "-DCBANK_MEASURE", "-cubin",
                             "-lineinfo",    arch, "-o",   files[i].cubin};

        if (kernel_object_made(&objects[i]))
            continue;
        snprintf(name, sizeof(name), "%zu.cu", i);
        snprintf(files[i].source, NAME_BYTES, "%s/%zu.cu", folder, i);
        snprintf(files[i].cubin, NAME_BYTES, "%s/%zu.cubin", folder, i);
        snprintf(files[i].messages, NAME_BYTES, "%s/%zu.txt", folder, i);
        whole = whole && write_text(folder, name, objects[i].text);
        memcpy(to, own, sizeof(own));
        memcpy(to + sizeof(own) / sizeof(own[0]), options->words, options->word_count * sizeof(*to));
        to[sizeof(own) / sizeof(own[0]) + options->word_count] = files[i].source;
        jobs[job_count++] = (struct child_job){.words = to, .output = files[i].messages, .folder = folder};
    }
    snprintf(version, sizeof(version), "%s/version", folder);
    if (status == STATUS_OK) {
        jobs[job_count] = (struct child_job){.words = version_words, .output = version, .folder = folder};
        whole = whole && children_run(jobs, job_count + !compiler->version[0], processors < 1 ? 1 : (size_t)processors);
        if (whole && WIFEXITED(jobs[0].code) && WEXITSTATUS(jobs[0].code) == CHILD_NOT_STARTED)
            whole = !(errno = ENOEXEC);
    }
    if (status == STATUS_OK && !whole)
        status = interrupted() ? STATUS_ENVIRONMENT
                               : log_error(STATUS_ENVIRONMENT,
                                           "cannot run %s in %s: %s; name another nvcc, or a folder by TMPDIR",
                                           compiler->path, folder, strerror(errno));
    if (status == STATUS_OK && !compiler->version[0])
        read_version(version, compiler);
    for (size_t i = 0, job = 0; status == STATUS_OK && i < count; i++)
        if (!kernel_object_made(&objects[i]) && !take_outcome(compiler, &files[i], &jobs[job++], &objects[i]))
            status = log_memory("what %s made", compiler->path);
    free(words);
    free(jobs);
    free(files);
    return status;
}

/* -- either ------------------------------------------------------------------------------------------- */

struct nvrtc_work {
    const struct kernel_compiler *compiler;
    const struct kernel_options *options;
    struct kernel_object *objects;
};

static void run_nvrtc(void *context, uint64_t first, uint64_t count)
{
    const struct nvrtc_work *work = context;

    for (uint64_t i = first; i < first + count; i++)
        if (!kernel_object_made(&work->objects[i]) && !interrupted())
            kernel_nvrtc_compile(work->compiler, work->options, &work->objects[i]);
}

enum status kernel_compile(struct kernel_compiler *compiler, const struct kernel_options *options,
                           struct kernel_object *objects, size_t count)
{
    char folder[FOLDER_BYTES];
    enum status status;
    bool missing = false;

    for (size_t i = 0; i < count; i++)
        missing = missing || !kernel_object_made(&objects[i]);
    if (!missing)
        return STATUS_OK;
    if (!compiler->path[0]) {
        parallel_ranges(count, 1, run_nvrtc, &(struct nvrtc_work){compiler, options, objects});
        return interrupted() ? STATUS_ENVIRONMENT : STATUS_OK;
    }
    if (make_folder(folder))
        status = run_nvcc(compiler, options, objects, count, folder);
    else
        status = log_error(STATUS_ENVIRONMENT, "cannot write a temporary folder %s: %s; TMPDIR=FOLDER names another",
                           folder, strerror(errno));
    /* A program that nvcc started may have written until it was killed. */
    for (int i = 0; i < 2 && access(folder, F_OK) == 0; i++)
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}
