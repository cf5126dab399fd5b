/* SPDX-License-Identifier: MIT */
#include "kernel_compiler.h"

#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "log.h"

enum { FOLDER_BYTES = 128, NAME_BYTES = FOLDER_BYTES + 32, OWN_WORDS = 16 };

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

/* The files of a source while nvcc compiles it, and nvcc's command line. */
struct nvcc_run {
    char source[NAME_BYTES], cubin[NAME_BYTES], messages[NAME_BYTES], includes[NAME_BYTES];
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

/* Whether a file is one of the compiler's own: below include, targets, lib or nvvm of its toolkit. */
static bool of_toolkit(const struct kernel_compiler *compiler, const char *path)
{
    static const char *const folders[] = {"include/", "targets/", "lib", "nvvm/"};
    char *const compiler_path = realpath(compiler->path, NULL), *const file = realpath(path, NULL);
    bool found = false;

    for (int up = 0; compiler_path && up < 2; up++)
        if (strrchr(compiler_path, '/'))
            *strrchr(compiler_path, '/') = '\0';
    if (compiler_path && file && strncmp(file, compiler_path, strlen(compiler_path)) == 0)
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
            found = found || strncmp(file + strlen(compiler_path) + 1, folders[i], strlen(folders[i])) == 0;
    free(compiler_path);
    free(file);
    return found;
}

/* Takes the next file from a rule "TARGET : FILE \ FILE" of make, in place. */
static char *next_dependency(char **at)
{
    char *from = *at + strspn(*at, " \\\n\t"), *name = from, *to = from;

    if (!*from)
        return NULL;
    for (; *from && !isspace((unsigned char)*from); from++) {
        if ((from[0] == '\\' && (from[1] == ' ' || from[1] == '#' || from[1] == '\\')) ||
            (from[0] == '$' && from[1] == '$'))
            from++;
        *to++ = *from;
    }
    *at = *from ? from + 1 : from;
    *to = '\0';
    return name;
}

/* Adds the files that a source includes, without those of the compiler and of its folder. */
static bool read_includes(const struct kernel_compiler *compiler, const struct nvcc_run *run, const char *folder,
                          struct texts *out)
{
    char cwd[PATH_MAX], *name, *path;
    size_t bytes;
    char *text = kernel_read(run->includes, &bytes), *at = text ? strstr(text, ": ") : NULL;
    bool whole = at && getcwd(cwd, sizeof(cwd));

    at = at ? at + 1 : NULL;
    while (whole && (name = next_dependency(&at))) {
        if (strncmp(name, folder, strlen(folder)) == 0 || of_toolkit(compiler, name))
            continue;
        whole = asprintf(&path, "%s%s%s", name[0] == '/' ? "" : cwd, name[0] == '/' ? "" : "/", name) > 0;
        if (whole) {
            whole = texts_take(out, kernel_include(path));
            free(path);
        }
    }
    free(text);
    return whole;
}

/* Takes what nvcc made of a source. */
static void take_result(const struct kernel_compiler *compiler, const struct nvcc_run *run, const char *folder,
                        const struct child_job *job, struct kernel_source *source)
{
    struct kernel_object *object = &source->object;
    size_t bytes;

    source->messages = kernel_read(run->messages, &bytes);
    object->seconds = job->seconds;
    snprintf(object->compiler, sizeof(object->compiler), "%s", compiler->version);
    source->unsettled = !read_includes(compiler, run, folder, &object->includes);
    if (WIFEXITED(job->code) && WEXITSTATUS(job->code) == 0)
        object->cubin = kernel_read(run->cubin, &object->cubin_bytes);
    else if (source->messages)
        kernel_reason(source->messages, object->reason);
    if (!object->cubin && !object->reason[0])
        source->status = source->messages && strstr(source->messages, "nvcc fatal") ? STATUS_ENVIRONMENT : STATUS_USAGE;
}

/* Reads "nvcc 13.0.88" from what nvcc --version prints: "..., V13.0.88". */
static void read_version(const char *path, struct kernel_compiler *compiler)
{
    size_t bytes;
    char *const text = kernel_read(path, &bytes), *version = text ? strstr(text, ", V") : NULL;

    if (version)
        version[strcspn(version, "\n")] = '\0';
    snprintf(compiler->version, sizeof(compiler->version), "nvcc %s", version ? version + 3 : "of an unknown version");
    free(text);
}

/* A new folder with the headers. Its name is one that a shell leaves as it is: nvcc starts programs by a shell. */
static enum status make_folder(char folder[FOLDER_BYTES])
{
    const char *const base = getenv("TMPDIR");
    static const char plain[] = "/._-+0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const bool fits = base && base[0] == '/' && strlen(base) < FOLDER_BYTES / 2 && !base[strspn(base, plain)];

    snprintf(folder, FOLDER_BYTES, "%s/cbank-XXXXXX", fits ? base : "/tmp");
    if (mkdtemp(folder) && write_text(folder, "cbank.cuh", cbank_header_tables) &&
        write_text(folder, "cbank_case.h", cbank_header_case))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot write a temporary folder in %s: %s; TMPDIR=FOLDER names another",
                     fits ? base : "/tmp", strerror(errno));
}

static enum status nvcc_failed(const struct kernel_compiler *compiler)
{
    if (interrupted())
        return STATUS_ENVIRONMENT;
    return log_error(STATUS_ENVIRONMENT, "cannot run %s: %s; name another nvcc, or nvrtc", compiler->path,
                     strerror(errno));
}

static enum status run_nvcc(struct kernel_compiler *compiler, const struct kernel_options *options,
                            struct kernel_source *sources, size_t count, const char *folder)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t word_count = OWN_WORDS + options->word_count;
    struct nvcc_run *const runs = calloc(count, sizeof(*runs));
    struct child_job *const jobs = calloc(count + 1, sizeof(*jobs));
    char **const words = calloc(count * word_count, sizeof(*words));
    char arch[32], version_path[NAME_BYTES], name[32];
    char *version_words[] = {compiler->path, "--version", NULL};
    enum status status = STATUS_OK;

    snprintf(arch, sizeof(arch), "-arch=sm_%u", (unsigned)options->architecture);
    snprintf(version_path, sizeof(version_path), "%s/version", folder);
    if (!runs || !jobs || !words)
        status = log_memory("compiling a kernel file");
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct nvcc_run *run = &runs[i];
        char **to = words + i * word_count;
        char *const before[] = {compiler->path, "-I",     (char *)folder, "-DCBANK_MEASURE",
                                "-std=c++17",   "-cubin", arch,           "-lineinfo",
                                "-MMD",         "-MF",    run->includes,  "-o",
                                run->cubin};

        snprintf(run->cubin, sizeof(run->cubin), "%s/%zu.cubin", folder, i);
        snprintf(run->messages, sizeof(run->messages), "%s/%zu.txt", folder, i);
        snprintf(run->includes, sizeof(run->includes), "%s/%zu.d", folder, i);
        snprintf(run->source, sizeof(run->source), "%s/%zu.cu", folder, i);
        snprintf(name, sizeof(name), "%zu.cu", i);
        if (!write_text(folder, name, sources[i].text))
            status = log_error(STATUS_ENVIRONMENT, "cannot write %s: %s; TMPDIR=FOLDER names another folder",
                               run->source, strerror(errno));
        memcpy(to, before, sizeof(before));
        to += sizeof(before) / sizeof(before[0]);
        memcpy(to, options->words, options->word_count * sizeof(*to));
        to[options->word_count] = run->source;
        jobs[i] = (struct child_job){.words = words + i * word_count, .output = run->messages, .folder = folder};
    }
    if (status == STATUS_OK) {
        jobs[count] = (struct child_job){.words = version_words, .output = version_path, .folder = folder};
        if (!children_run(jobs, count + !compiler->version[0], processors < 1 ? 1 : (size_t)processors))
            status = nvcc_failed(compiler);
    }
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        if (WIFEXITED(jobs[i].code) && WEXITSTATUS(jobs[i].code) == CHILD_NOT_STARTED) {
            errno = ENOEXEC;
            status = nvcc_failed(compiler);
        }
    if (status == STATUS_OK && !compiler->version[0])
        read_version(version_path, compiler);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        take_result(compiler, &runs[i], folder, &jobs[i], &sources[i]);
    free(words);
    free(jobs);
    free(runs);
    return status;
}

enum status kernel_compile(struct kernel_compiler *compiler, const struct kernel_options *options,
                           struct kernel_source *sources, size_t count)
{
    char folder[FOLDER_BYTES];
    struct timespec began;
    enum status status;
    struct stat about;

    if (count == 0)
        return STATUS_OK;
    clock_gettime(CLOCK_REALTIME_COARSE, &began); /* the clock of file times */
    if (compiler->path[0]) {
        status = make_folder(folder);
        if (status == STATUS_OK)
            status = run_nvcc(compiler, options, sources, count, folder);
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    } else {
        status = kernel_nvrtc_compile(compiler, options, sources, count);
    }
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        for (size_t k = 0; k < sources[i].object.includes.count; k++)
            if (stat(sources[i].object.includes.items[k] + SHA256_HEX_BYTES, &about) != 0 ||
                about.st_mtim.tv_sec > began.tv_sec ||
                (about.st_mtim.tv_sec == began.tv_sec && about.st_mtim.tv_nsec > began.tv_nsec))
                sources[i].unsettled = true;
    return status;
}
