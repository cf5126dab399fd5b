/* SPDX-License-Identifier: MIT
 * nvcc as a child: found, asked what it reads, and run for several builds at once. It reads more
 * than it says beforehand (options can name files of options), so a compilation is checked: the
 * files that it read must be those that were hashed.
 *
 *   nvcc -E  ->  files, hash  ->  in the cache?  ->  nvcc -cubin -keep  ->  the same files? */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "files.h"
#include "kernel_parts.h"
#include "log.h"

enum { NAME_BYTES = SCRATCH_BYTES + 32 };

/* Their texts: kernel_headers.S. */
extern const char cbank_header_tables[], cbank_header_shared[], cbank_header_case[];

const struct kernel_header kernel_headers[KERNEL_HEADERS] = {
    {"cbank.cuh", cbank_header_tables},
    {"cbank_shared.cuh", cbank_header_shared},
    {"cbank_case.h", cbank_header_case},
};

static const double say_seconds = 30; /* between two lines that say what is waited for */
static const double version_seconds = 60; /* for nvcc --version, at most */

/* -- finding ----------------------------------------------------------------------------------- */

enum { WHY_BYTES = 2 * KERNEL_REASON_BYTES };

/* Says that a version is waited for. */
static void say_no_version(void *context, const struct child_job *job, double seconds)
{
    log_note(false, "%s has not said its version for %.0f s; it is ended after %.0f s",
             job->words[0], seconds, *(const double *)context);
}

/* Takes an nvcc: its version is "nvcc 13.0.88" where --version says "..., V13.0.88". False if it
 * does not run: then `why` says how it ended, by no fault of who named it; "": it is no nvcc. */
static bool take_nvcc(const char *path, struct kernel_compiler *out, char why[WHY_BYTES])
{
    char output[NAME_BYTES], *words[] = {out->path, "--version", NULL}, *text, *version;
    struct child_job job = {.words = words, .output = output, .folder = out->scratch.path};
    double most = out->seconds > 0 ? fmin(out->seconds, version_seconds) : version_seconds;
    const struct child_patience patience = {.seconds = most,
                                            .each = most / 3,
                                            .still = say_no_version,
                                            .context = &most};
    size_t bytes;
    bool ran;

    snprintf(out->path, sizeof(out->path), "%s", path);
    snprintf(output, sizeof(output), "%s/version", out->scratch.path);
    ran = children_run(&job, 1, 1, &patience);
    text = ran ? kernel_read(output, &bytes) : NULL;
    why[0] = '\0';
    if (ran && job.late)
        snprintf(why, WHY_BYTES, "did not end in %.0f s, and was ended; name another nvcc", most);
    else if (ran && job.code != 0 &&
             !(WIFEXITED(job.code) && WEXITSTATUS(job.code) == CHILD_NOT_STARTED))
        kernel_not_at_fault(text ? text : "", job.code, true, out->scratch.path, why);
    version = text && job.code == 0 ? strstr(text, ", V") : NULL;
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
    static const char *const usual[] = {"nvcc", "/usr/local/cuda/bin/nvcc"};
    const bool named = asked && asked[0], nvrtc = named && strcmp(asked, "nvrtc") == 0;
    const enum status status = scratch_open(&out->scratch);
    char unsafe[KERNEL_WHY_BYTES], why[WHY_BYTES];

    if (status != STATUS_OK)
        return status;
    if (!kernel_folder_is_safe(out->scratch.path, unsafe))
        return log_error(STATUS_ENVIRONMENT,
                         "%s: no kernel is compiled there; TMPDIR=FOLDER names another folder",
                         unsafe);
    if (kernel_disk_full(out->scratch.path))
        return log_error(STATUS_ENVIRONMENT,
                         "no room is left on the disk of %s, for what a compiler writes; make room "
                         "there, or name another folder by TMPDIR",
                         out->scratch.path);
    for (size_t i = 0; !nvrtc && i < (named ? 1 : sizeof(usual) / sizeof(usual[0])); i++) {
        const char *const path = named ? asked : usual[i];

        if (take_nvcc(path, out, why))
            return STATUS_OK;
        if (interrupted())
            return STATUS_ENVIRONMENT;
        if (named && why[0])
            return log_error(STATUS_ENVIRONMENT, "%s --version %s", path, why);
        if (named)
            return log_error(STATUS_ENVIRONMENT,
                             "cannot run %s, or it is no nvcc; name an nvcc, or nvrtc", path);
        if (why[0])
            log_warning("%s --version %s; another compiler is looked for", path, why);
    }
    if (kernel_nvrtc_open(out))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT,
                     "a kernel file needs a compiler, and here is neither nvcc nor NVRTC; install "
                     "the "
                     "CUDA toolkit, or name an nvcc by --compiler or CBANK_NVCC");
}

void kernel_compiler_close(struct kernel_compiler *compiler)
{
    scratch_close(&compiler->scratch);
    texts_close(&compiler->words);
    *compiler = (struct kernel_compiler){0};
}

/* -- messages ---------------------------------------------------------------------------------- */

/* Says of ptxas' limit on constant memory what it is about. The sum that the header checks leaves
 * the gaps between tables out: they depend on the order in which a kernel reads them. */
static void explain_limit(char reason[KERNEL_REASON_BYTES])
{
    static const char limit[] = "too much global constant data (";
    const char *const found = strstr(reason, limit);
    unsigned bytes, most;

    if (found && sscanf(found + strlen(limit), "%x bytes, %x max", &bytes, &most) == 2)
        snprintf(reason, KERNEL_REASON_BYTES,
                 "constant memory has %u bytes, and what lies there has %u with the gaps between "
                 "tables",
                 most, bytes);
}

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
        explain_limit(reason);
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

/* A build while nvcc preprocesses or compiles it. */
struct nvcc_run {
    const struct kernel_build *build;
    size_t number;
    bool reading; /* it is asked what it reads, and makes nothing */
    char source[NAME_BYTES], output[NAME_BYTES], messages[NAME_BYTES], kept[NAME_BYTES];
};

/* The runs of one call. */
struct nvcc_runs {
    struct kernel_compiler *compiler;
    struct nvcc_run *runs;
    struct child_job *jobs;
    char **words, arch[32];
    size_t count, word_count;
};

enum { OWN_WORDS = 12 };

static bool open_runs(struct kernel_compiler *compiler, size_t count, struct nvcc_runs *out)
{
    *out = (struct nvcc_runs){.compiler = compiler,
                              .runs = calloc(count, sizeof(*out->runs)),
                              .jobs = calloc(count, sizeof(*out->jobs)),
                              .word_count = OWN_WORDS + compiler->user_words + 2};
    out->words = calloc(count * out->word_count, sizeof(*out->words));
    snprintf(out->arch, sizeof(out->arch), "-arch=sm_%u", (unsigned)compiler->architecture);
    return out->runs && out->jobs && out->words;
}

static void close_runs(struct nvcc_runs *runs)
{
    free(runs->words);
    free(runs->jobs);
    free(runs->runs);
}

/* Adds the run of a build. What nvcc keeps of it is the text that it compiles. */
static bool add_run(struct nvcc_runs *runs, const struct kernel_build *build, size_t number,
                    bool reading)
{
    struct kernel_compiler *const compiler = runs->compiler;
    const char *const folder = compiler->scratch.path;
    struct nvcc_run *const run = &runs->runs[runs->count];
    char **const to = runs->words + runs->count * runs->word_count;
    char *const makes = reading ? "-M" : build->on_cpu ? "-shared" : "-cubin";
    char *const how = build->on_cpu ? "-Xcompiler=-fPIC,-O2" : "-lineinfo";
    char *const own[OWN_WORDS] = {compiler->path, runs->arch,  "-I",      compiler->scratch.path,
                                  makes,          how,         "-o",      run->output,
                                  "-keep",        "-keep-dir", run->kept, "-DCBANK_MEASURE"};
    char name[32];

    run->build = build;
    run->number = number;
    run->reading = reading;
    snprintf(name, sizeof(name), "%zu.cu", number);
    snprintf(run->source, NAME_BYTES, "%s/%s", folder, name);
    snprintf(run->output, NAME_BYTES, "%s/%zu.%s", folder, number, reading ? "d" : "cubin");
    snprintf(run->messages, NAME_BYTES, "%s/%zu.txt", folder, number);
    snprintf(run->kept, NAME_BYTES, "%s/%s%zu", folder, reading ? "read" : "made", number);
    memcpy(to, own, sizeof(own));
    memcpy(to + OWN_WORDS, compiler->words.items, compiler->user_words * sizeof(*to));
    to[OWN_WORDS + compiler->user_words] = run->source;
    runs->jobs[runs->count++] =
        (struct child_job){.words = to, .output = run->messages, .folder = compiler->scratch.path};
    return (mkdir(run->kept, 0700) == 0 || errno == EEXIST) &&
           write_text(folder, name, build->source);
}

static bool write_headers(const struct kernel_compiler *compiler)
{
    bool written = true;

    for (size_t i = 0; written && i < KERNEL_HEADERS; i++)
        written =
            write_text(compiler->scratch.path, kernel_headers[i].name, kernel_headers[i].text);
    return written;
}

/* Says what is waited for. */
static void say_still(void *context, const struct child_job *job, double seconds)
{
    const struct nvcc_runs *const runs = context;
    const struct nvcc_run *const run = &runs->runs[job - runs->jobs];
    const char *const spaces = run->build->kernel.spaces;

    log_note(false,
             "%s has been compiling %s%s for %.0f s; it is ended after %.0f s (--compiler-seconds)",
             runs->compiler->path, spaces[0] ? "with tables in " : "the tables as written", spaces,
             seconds, runs->compiler->seconds);
}

/* Says why a run of nvcc failed, where that is no fault of the source. */
static enum status check_ended(const struct nvcc_runs *runs, size_t index, const char *kernel)
{
    const struct nvcc_run *const run = &runs->runs[index];
    const struct child_job *const job = &runs->jobs[index];
    struct stat about = {0};
    char *messages, cause[2 * KERNEL_REASON_BYTES];
    size_t bytes;
    bool faulty;

    if (job->late)
        return log_error(STATUS_ENVIRONMENT,
                         "%s: %s did not end in %.0f s, and was ended; --compiler-seconds N waits "
                         "longer",
                         kernel, runs->compiler->path, runs->compiler->seconds);
    messages = kernel_read(run->messages, &bytes);
    faulty =
        kernel_not_at_fault(messages ? messages : "", job->code,
                            run->reading || (stat(run->output, &about) == 0 && about.st_size > 0),
                            runs->compiler->scratch.path, cause);
    free(messages);
    return faulty ? log_error(STATUS_ENVIRONMENT, "%s: %s %s", kernel, runs->compiler->path, cause)
                  : STATUS_OK;
}

/* Runs all, each as long as it may. `kernel`: the file that they compile. */
static enum status run_all(struct nvcc_runs *runs, const char *kernel)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const double seconds = runs->compiler->seconds;
    const struct child_patience patience = {.seconds = seconds,
                                            .each = fmin(say_seconds, seconds / 3),
                                            .still = seconds > 0 ? say_still : NULL,
                                            .context = runs};
    enum status status = STATUS_OK;

    if (children_run(runs->jobs, runs->count, processors < 1 ? 1 : (size_t)processors, &patience)) {
        for (size_t i = 0; status == STATUS_OK && i < runs->count; i++)
            status = check_ended(runs, i, kernel);
        return status;
    }
    return interrupted()
               ? STATUS_ENVIRONMENT
               : log_error(STATUS_ENVIRONMENT,
                           "cannot run %s in %s: %s; name another nvcc, or a folder by TMPDIR",
                           runs->compiler->path, runs->compiler->scratch.path, strerror(errno));
}

/* -- what is read ------------------------------------------------------------------------------ */

static int is_preprocessed(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);

    return length > 3 && strcmp(entry->d_name + length - 3, ".ii") == 0;
}

/* The next of the preprocessed texts of a folder, in the order of their names: NULL after the last,
 * and when out of memory. *position begins with 0. */
static char *next_kept(const char *folder, size_t *position, size_t *bytes)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_preprocessed, alphasort);
    char path[NAME_BYTES + 256], *text = NULL;

    if (count > 0 && *position < (size_t)count) {
        snprintf(path, sizeof(path), "%s/%s", folder, entries[(*position)++]->d_name);
        text = kernel_read(path, bytes);
        if (text)
            kernel_blank(text, *bytes);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return text;
}

/* Takes what a run of nvcc read. False when out of memory. */
static bool take_read(const struct nvcc_run *run, struct kernel_reads *reads)
{
    size_t count = 0, bytes;
    bool taken = true;

    for (char *text; taken && (text = next_kept(run->kept, &count, &bytes));) {
        taken = kernel_reads_take(reads, text, bytes);
        free(text);
    }
    return taken;
}

/* Files that options name: a compiler reads more options there. */
static bool read_option_files(const struct texts *words, struct kernel_reads *reads)
{
    static const char *const names[] = {"@", "-optf", "--options-file"};
    bool added = true;

    for (size_t i = 0; added && i < words->count; i++)
        for (size_t k = 0; added && k < sizeof(names) / sizeof(names[0]); k++) {
            const char *value = words->items[i] + strlen(names[k]);

            if (strncmp(words->items[i], names[k], strlen(names[k])) != 0)
                continue;
            kernel_unfollowed(reads, "more options are in a file:", words->items[i]);
            value += *value == '=';
            if (!*value && i + 1 < words->count)
                value = words->items[i + 1];
            added = kernel_reads_add(reads, value, false);
        }
    return added;
}

static enum status cannot_write(const struct kernel_compiler *compiler)
{
    return log_error(STATUS_ENVIRONMENT, "cannot write into %s: %s; TMPDIR=FOLDER names another",
                     compiler->scratch.path, strerror(errno));
}

static enum status no_memory(const struct kernel_reads *reads)
{
    return log_memory("what %s reads", reads->kernel);
}

/* Runs nvcc for each build, and takes what it read. A compiler that fails says why when it
 * compiles. */
static enum status read_by_nvcc(struct kernel_compiler *compiler, const struct kernel_build *builds,
                                size_t count, struct kernel_reads *reads)
{
    struct nvcc_runs runs;
    enum status status = STATUS_OK;

    if (!open_runs(compiler, count, &runs)) {
        status = no_memory(reads);
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        if (!add_run(&runs, &builds[i], i, true)) {
            status = cannot_write(compiler);
            goto out;
        }
    status = run_all(&runs, reads->kernel);
    if (status != STATUS_OK)
        goto out;
    for (size_t i = 0; i < runs.count; i++)
        if (runs.jobs[i].code == 0 && !take_read(&runs.runs[i], reads)) {
            status = no_memory(reads);
            goto out;
        }
out:
    close_runs(&runs);
    return status;
}

/* STATUS_USAGE, logged, where a directive can mean a pipe, a socket or a device: a compiler would
 * wait for it. */
static enum status refuse_pipes(const struct kernel_compiler *compiler, const char *kernel)
{
    struct kernel_reads found = {.kernel = kernel};
    const bool scanned = kernel_reads_scan(&found, &compiler->words, compiler->scratch.path);
    enum status status = STATUS_OK;
    struct stat about;
    const char *why;
    int descriptor;

    if (!scanned) {
        status = no_memory(&found);
    } else if (found.pipe[0]) {
        descriptor = file_open(found.pipe, &about, &why);
        if (descriptor < 0)
            status = log_error(STATUS_USAGE, "cannot read %s, which %s may include: %s", found.pipe,
                               kernel, why);
        else
            close(descriptor);
    }
    kernel_reads_close(&found);
    return status;
}

enum status kernel_preprocess(struct kernel_compiler *compiler, const struct kernel_build *builds,
                              size_t count, struct kernel_reads *reads)
{
    enum status status;

    if (!read_option_files(&compiler->words, reads))
        return no_memory(reads);
    if (!write_headers(compiler))
        return cannot_write(compiler);
    status = refuse_pipes(compiler, reads->kernel);
    if (status != STATUS_OK)
        return status;
    if (compiler->path[0])
        status = read_by_nvcc(compiler, builds, count, reads);
    else if (!kernel_reads_scan(reads, &compiler->words, compiler->scratch.path))
        status = no_memory(reads);
    if (status != STATUS_OK || kernel_reads_know(reads, reads->kernel))
        return status;
    kernel_unfollowed(reads, "the compiler does not say what it reads", NULL);
    return kernel_reads_add(reads, reads->kernel, false) ? STATUS_OK : no_memory(reads);
}

/* Whether a build read another file than is known. */
static enum status check_read(const struct nvcc_run *run, const struct kernel_reads *reads)
{
    const char *const spaces = run->build->kernel.spaces;
    size_t count = 0, bytes;
    char path[PATH_MAX];

    for (char *text; (text = next_kept(run->kept, &count, &bytes));) {
        const bool lacks = !reads->unfollowed[0] && kernel_reads_lack(reads, text, path);

        free(text);
        if (lacks)
            return log_error(STATUS_USAGE,
                             "%s: it reads %s %s%s, which its hash does not cover; run again if "
                             "files change, and include the same files in every memory space",
                             reads->kernel, path, spaces[0] ? "with its tables in " : "",
                             spaces[0] ? spaces : "now");
    }
    return STATUS_OK;
}

/* -- what is made ------------------------------------------------------------------------------ */

/* Takes the outcome of a run. False when out of memory. */
static bool take_made(const struct nvcc_run *run, int code, struct kernel_build *build)
{
    const char *error;
    char ptx[NAME_BYTES + 32];
    size_t bytes;

    errno = 0;
    build->messages = kernel_read(run->messages, &bytes);
    if (code == 0) {
        snprintf(ptx, sizeof(ptx), "%s/%zu.ptx", run->kept, run->number);
        build->cubin = kernel_read(run->output, &build->cubin_bytes);
        build->ptx = kernel_read(ptx, &build->ptx_bytes);
    } else if (build->messages && !kernel_reason(build->messages, build->reason))
        build->status =
            strstr(build->messages, "nvcc fatal") && !strstr(build->messages, " option '")
                ? STATUS_ENVIRONMENT
                : STATUS_USAGE;
    error = build->on_cpu && build->status == STATUS_USAGE ? strstr(build->messages, "): error: ")
                                                           : NULL;
    if (error) /* in the source: it stays */
        snprintf(build->reason, sizeof(build->reason), "%.*s", (int)strcspn(error + 3, "\n"),
                 error + 3);
    return errno != ENOMEM;
}

static enum status run_nvcc(struct kernel_compiler *compiler, struct kernel_build *builds,
                            size_t count, const struct kernel_reads *reads)
{
    struct nvcc_runs runs;
    enum status status = STATUS_OK;

    if (!open_runs(compiler, count, &runs)) {
        status = log_memory("compiling a kernel file");
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        if (!kernel_build_made(&builds[i]) && !add_run(&runs, &builds[i], i, false)) {
            status = cannot_write(compiler);
            goto out;
        }
    status = run_all(&runs, reads->kernel);
    if (status != STATUS_OK)
        goto out;
    for (size_t i = 0; i < runs.count; i++) {
        const struct nvcc_run *const run = &runs.runs[i];

        status = take_made(run, runs.jobs[i].code, &builds[run->number])
                     ? check_read(run, reads)
                     : log_memory("what %s made", compiler->path);
        if (status != STATUS_OK)
            goto out;
    }
out:
    close_runs(&runs);
    return status;
}

enum status kernel_compile(struct kernel_compiler *compiler, struct kernel_build *builds,
                           size_t count, const struct kernel_reads *reads)
{
    if (compiler->path[0])
        return run_nvcc(compiler, builds, count, reads);
    for (size_t i = 0; i < count && !interrupted(); i++)
        if (!kernel_build_made(&builds[i]))
            kernel_nvrtc_compile(compiler, &builds[i]);
    return interrupted() ? STATUS_ENVIRONMENT : STATUS_OK;
}
