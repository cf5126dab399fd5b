/* SPDX-License-Identifier: MIT
 * From a kernel file to its builds. The file is compiled as it is written first, since that cubin
 * says which tables there are; then once for each choice of spaces, with a definition of each
 * table's space in front. What is in the cache is not compiled. */
#include "kernel_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cubin.h"
#include "files.h"
#include "kernel_parts.h"
#include "log.h"
#include "memory.h"
#include "text_print.h"

/* A file while it is compiled. */
struct opening {
    const struct kernel_request *request;
    char path[PATH_MAX]; /* absolute */
    struct kernel_compiler compiler;
    char *cache; /* owned; NULL: none */
    struct kernel_reads reads;
};

/* -- options ----------------------------------------------------------------------------------- */

static enum status read_options(struct opening *opening)
{
    const char *const own = opening->request->options ? opening->request->options : "";
    const char *const texts[] = {strstr(own, "-std") ? "" : "-std=c++17", own,
                                 getenv("NVCC_PREPEND_FLAGS"), getenv("NVCC_APPEND_FLAGS")};
    static const char *const keeping[] = {"-keep", "--keep", "-save-temps", "--save-temps"};
    struct kernel_compiler *compiler = &opening->compiler;

    compiler->architecture = opening->request->architecture;
    compiler->seconds = opening->request->seconds;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *const text = strdup(texts[i] ? texts[i] : ""), *rest = text;
        bool taken = text != NULL;

        for (char *word; taken && (word = strsep(&rest, " \t\n"));)
            taken = !word[0] || texts_take(&compiler->words, strdup(word));
        free(text);
        if (!taken)
            return log_memory("the compiler's options");
        if (texts[i] == own)
            compiler->user_words = compiler->words.count;
    }
    for (size_t i = 0; i < compiler->words.count; i++)
        for (size_t k = 0; k < sizeof(keeping) / sizeof(keeping[0]); k++)
            if (strncmp(compiler->words.items[i], keeping[k], strlen(keeping[k])) == 0)
                return log_error(STATUS_USAGE,
                                 "%s: what nvcc keeps tells which files it read; leave the option "
                                 "out, and call nvcc to keep files",
                                 compiler->words.items[i]);
    return STATUS_OK;
}

/* -- hashes ------------------------------------------------------------------------------------ */

/* The name of a source in the cache. */
static bool make_key(const struct opening *opening, const char *text, const char *hash,
                     char key[SHA256_HEX_BYTES])
{
    const struct kernel_compiler *compiler = &opening->compiler;
    struct memory memory;
    FILE *stream = memory_open(&memory);

    if (stream) {
        fprintf(stream, "with PTX\n%s\n%s\n%s\n%s\n%s\n", compiler->path, compiler->version, hash,
                opening->reads.text_sha256, opening->reads.headers_sha256);
        for (size_t i = 0; i < KERNEL_HEADERS; i++)
            fputs(kernel_headers[i].text, stream);
        fprintf(stream, "\n%s\nsm_%u\n", text, (unsigned)compiler->architecture);
        for (size_t i = 0; i < compiler->words.count; i++)
            fprintf(stream, "%s\n", compiler->words.items[i]);
    }
    if (!memory_close(&memory, stream))
        return false;
    sha256_hex(memory.text, memory.bytes, key);
    free(memory.text);
    return true;
}

/* -- compiling --------------------------------------------------------------------------------- */

/* The source of a build: definitions that give tables other spaces than they are written with. */
static char *build_source(const struct opening *opening, const struct kernel_file *file,
                          const struct kernel_build *build)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    if (stream && build->on_cpu)
        fputs("#define CBANK_REFERENCE\n", stream);
    for (size_t i = 0; stream && i < file->table_count; i++)
        if (build->spaces[i] != file->tables[i].written)
            fprintf(stream, "#define CBANK_SPACE_%s ,%s\n", file->tables[i].name,
                    kernel_space_names[build->spaces[i]]);
    if (stream)
        fprintf(stream,
                "#include \"%s\"\n#ifndef CBANK_CASE\n#error the kernel file needs #include "
                "<cbank.cuh>\n#endif\n",
                opening->path);
    return memory_close(&memory, stream) ? memory.text : NULL;
}

enum status kernel_file_readable(const char *path)
{
    struct stat about;
    const char *why;
    const int descriptor = file_open(path, &about, &why);

    if (descriptor < 0)
        return log_error(STATUS_USAGE, "cannot read %s: %s", path, why);
    close(descriptor);
    return STATUS_OK;
}

/* Asks what the file reads, for the GPU and by nvcc for the processor, and hashes it. The hash must
 * be one of those that the request expects. */
static enum status identify(struct opening *opening, struct kernel_build written[2],
                            struct kernel_file *out)
{
    const char *const expected = opening->request->expected;
    const size_t count = opening->compiler.path[0] ? 2 : 1;
    enum status status;

    for (size_t i = 0; i < count; i++) {
        written[i].source = build_source(opening, out, &written[i]);
        if (!written[i].source)
            return log_memory("compiling %s", out->path);
    }
    status = kernel_preprocess(&opening->compiler, written, count, &opening->reads);
    if (status != STATUS_OK)
        return status;
    status = kernel_identity(&opening->reads, &opening->compiler.words, opening->request->against,
                             out->sha256);
    if (status != STATUS_OK)
        return status;
    if (expected && !strstr(expected, out->sha256))
        return log_error(STATUS_USAGE,
                         "%s is not the file that was measured: the SHA-256 with what it reads and "
                         "the compiler's options is %s, and should be %s; put the files back, give "
                         "--compiler-options as they were, or measure again",
                         out->path, out->sha256, expected);
    return STATUS_OK;
}

static void print_messages(const struct kernel_build *build)
{
    char *rest = build->messages;

    for (char *line; (line = strsep(&rest, "\n")) && (line[0] || rest);) {
        text_put(stderr, escapes_none, line);
        fputc('\n', stderr);
    }
}

/* Makes the sources and the keys of builds that are not made, and takes what the cache has. */
static enum status take_cached(const struct opening *opening, const struct kernel_file *file,
                               struct kernel_build *builds, size_t count,
                               char (*keys)[SHA256_HEX_BYTES], bool keeps)
{
    for (size_t i = 0; i < count; i++) {
        if (kernel_build_made(&builds[i]))
            continue;
        if (!builds[i].source)
            builds[i].source = build_source(opening, file, &builds[i]);
        if (!builds[i].source || !make_key(opening, builds[i].source, file->sha256, keys[i]))
            return log_memory("compiling %s", file->path);
        builds[i].cached = keeps && kernel_cache_get(opening->cache, keys[i], &builds[i]);
    }
    return STATUS_OK;
}

/* The file must still be what it was when it was hashed. */
static enum status check_unchanged(struct opening *opening, const struct kernel_file *file)
{
    char hash[SHA256_HEX_BYTES];
    const enum status status =
        kernel_identity(&opening->reads, &opening->compiler.words, opening->request->against, hash);

    if (status == STATUS_OK && strcmp(hash, file->sha256) != 0)
        return log_error(STATUS_USAGE,
                         "%s, or a file that it reads, changed while it was compiled; run again",
                         file->path);
    return status;
}

/* Says why a build that must compile did not. */
static enum status refuse_build(const struct opening *opening, const struct kernel_file *file,
                                const struct kernel_build *build)
{
    const char *const spaces = build->kernel.spaces;
    char error[KERNEL_REASON_BYTES];
    const bool known =
        !build->reason[0] && kernel_user_error(build->messages, opening->path, error);

    print_messages(build);
    if (build->status == STATUS_ENVIRONMENT)
        return log_error(STATUS_ENVIRONMENT, "%s: %s cannot compile for sm_%u, see above",
                         file->path, opening->compiler.version,
                         (unsigned)opening->compiler.architecture);
    if (known)
        return log_error(STATUS_USAGE, "%s%s%s%s", error, spaces[0] ? " (with its tables in " : "",
                         spaces, spaces[0] ? ")" : "");
    return log_error(STATUS_USAGE, "%s does not compile with its tables %s%s%s%s%s", file->path,
                     spaces[0] ? "in " : "as they are written", spaces,
                     build->reason[0] ? ": " : ", see above", build->reason,
                     build->reason[0] ? "; write another memory space" : "");
}

/* The file as it is written must compile, but for the processor; in a memory space it may have a
 * reason. */
static bool may_be_kept(const struct kernel_build *build)
{
    return build->cubin || (build->reason[0] && (build->kernel.spaces[0] || build->on_cpu));
}

/* Compiles builds, unless they are made or in the cache. STATUS_USAGE, logged after the compiler's
 * messages, if one does not compile. */
static enum status make_builds(struct opening *opening, const struct kernel_file *file,
                               struct kernel_build *builds, size_t count)
{
    char(*const keys)[SHA256_HEX_BYTES] = calloc(count, sizeof(*keys));
    const bool keeps = opening->cache && !opening->reads.unfollowed[0];
    enum status status;

    if (!keys)
        return log_memory("compiling %s", file->path);
    status = take_cached(opening, file, builds, count, keys, keeps);
    if (status != STATUS_OK)
        goto out;
    status = kernel_compile(&opening->compiler, builds, count, &opening->reads);
    if (status != STATUS_OK)
        goto out;
    status = check_unchanged(opening, file);
    if (status != STATUS_OK)
        goto out;
    for (size_t i = 0; i < count; i++) {
        if (may_be_kept(&builds[i])) {
            if (keeps && keys[i][0] && !builds[i].cached)
                kernel_cache_put(opening->cache, keys[i], &builds[i]);
        } else if (opening->request->tolerant && builds[i].kernel.spaces[0] &&
                   kernel_user_error(builds[i].messages, opening->path, builds[i].error)) {
            continue;
        } else if (!builds[i].on_cpu) {
            status = refuse_build(opening, file, &builds[i]);
            goto out;
        }
    }
out:
    free(keys);
    return status;
}

/* Says what is doubtful about the builds of the file as it is written. */
static void print_notes(const struct opening *opening, const struct kernel_build written[2],
                        const struct kernel_file *file)
{
    const struct kernel_build *const on_cpu = &written[1];

    print_messages(written); /* warnings */
    if (opening->reads.unfollowed[0])
        log_note(false,
                 "%s: it is compiled each time, and its hash may leave out what it reads: %s",
                 file->path, opening->reads.unfollowed);
    if (opening->compiler.path[0] && !on_cpu->cubin)
        log_note(false,
                 "%s: the check cannot be compiled for the processor, and runs on the GPU%s%s",
                 file->path, on_cpu->reason[0] ? ": " : "", on_cpu->reason);
}

/* Each build that has a cubin must launch a kernel. */
static enum status check_symbols(struct kernel_file *file)
{
    char reason[KERNEL_REASON_BYTES];

    for (size_t i = 0; i < file->build_count; i++) {
        struct kernel_build *build = &file->builds[i];

        sscanf(file->sha256, "%16" SCNx64, &build->kernel.hash);
        if (build->cubin && !kernel_symbol(build, reason))
            return log_error(STATUS_USAGE, "%s:%u: %s", file->path, (unsigned)file->info.line,
                             reason);
    }
    return STATUS_OK;
}

/* Compiles the file as it is, by nvcc for the processor too, reads what it says, and compiles all
 * builds. */
static enum status open_builds(struct opening *opening, struct kernel_build written[2],
                               struct kernel_file *file)
{
    enum status status =
        make_builds(opening, file, written, opening->compiler.path[0] != '\0' ? 2 : 1);

    file->reference = written[1].cubin;
    file->reference_bytes = written[1].cubin_bytes;
    if (status != STATUS_OK)
        return status;
    print_notes(opening, written, file);
    status = kernel_info_read(written->cubin, written->cubin_bytes, file);
    if (status != STATUS_OK)
        return status;
    status = kernel_choices_read(opening->request->spaces, file);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < file->build_count; i++)
        if (file->builds[i].as_written) {
            file->builds[i].cubin = written->cubin;
            file->builds[i].cubin_bytes = written->cubin_bytes;
            file->builds[i].ptx = written->ptx;
            file->builds[i].ptx_bytes = written->ptx_bytes;
            file->builds[i].cached = written->cached;
            written->cubin = NULL;
            written->ptx = NULL;
        }
    status = make_builds(opening, file, file->builds, file->build_count);
    if (status != STATUS_OK)
        return status;
    status = kernel_case_check(file);
    return status == STATUS_OK ? check_symbols(file) : status;
}

static void close_build(struct kernel_build *build)
{
    free(build->cubin);
    free(build->ptx);
    free(build->source);
    free(build->messages);
}

enum status kernel_file_open(const struct kernel_request *request, struct kernel_file *out)
{
    struct opening opening = {.request = request};
    struct kernel_build written[2] = {[1] = {.on_cpu = true}};
    const char *path = request->path;
    const bool absolute = path[0] == '/';
    char folder[PATH_MAX] = "";
    enum status status;
    double start;

    *out = (struct kernel_file){.path = path, .against = request->against};
    if (path[strcspn(path, "\"\\\n")])
        return log_error(STATUS_USAGE,
                         "%s: #include takes no path with a quote, a backslash or an end of line; "
                         "rename it",
                         path);
    if (!(absolute || getcwd(folder, sizeof(folder))) ||
        snprintf(opening.path, PATH_MAX, "%s%s%s", folder, absolute ? "" : "/", path) >= PATH_MAX)
        return log_error(STATUS_USAGE,
                         "%s: the path of the current folder cannot be read, or is too long; move "
                         "the file",
                         path);
    opening.reads.kernel = opening.path;
    status = read_options(&opening);
    if (status != STATUS_OK)
        goto out;
    status = kernel_file_readable(path);
    if (status != STATUS_OK)
        goto out;
    status = kernel_compiler_open(request->compiler, &opening.compiler);
    if (status != STATUS_OK)
        goto out;
    status = identify(&opening, written, out);
    if (status != STATUS_OK)
        goto out;
    start = clock_seconds();
    opening.cache = kernel_cache_folder();
    status = open_builds(&opening, written, out);
    for (size_t i = 0; i < out->build_count; i++)
        if (out->builds[i].cubin && !out->builds[i].cached)
            out->compile_seconds = clock_seconds() - start;
out:
    memcpy(out->compiler, opening.compiler.version, sizeof(out->compiler));
    memcpy(out->headers_sha256, opening.reads.headers_sha256, sizeof(out->headers_sha256));
    out->data = opening.reads.data;
    opening.reads.data = (struct texts){0};
    kernel_reads_close(&opening.reads);
    kernel_compiler_close(&opening.compiler);
    written[1].cubin = NULL; /* that is the file's */
    close_build(&written[0]);
    close_build(&written[1]);
    free(opening.cache);
    if (status != STATUS_OK)
        kernel_file_close(out);
    return status;
}

void kernel_file_close(struct kernel_file *file)
{
    for (size_t i = 0; i < file->build_count; i++)
        close_build(&file->builds[i]);
    free(file->reference);
    free(file->builds);
    texts_close(&file->data);
    *file = (struct kernel_file){0};
}

bool kernel_data_read(const struct kernel_file *file, const char *path, const void *data,
                      size_t bytes)
{
    char hex[SHA256_HEX_BYTES];

    sha256_hex(data, bytes, hex);
    for (size_t i = 0; i < file->data.count; i++)
        if (strncmp(file->data.items[i], hex, strlen(hex)) == 0 &&
            strcmp(file->data.items[i] + SHA256_HEX_BYTES, path) == 0)
            return true;
    return false;
}

/* -- symbols ----------------------------------------------------------------------------------- */

const char *kernel_symbol(const struct kernel_build *build, char reason[KERNEL_REASON_BYTES])
{
    const char *only = NULL, *named = NULL;
    struct cubin_function function;
    char why[CUBIN_REASON_BYTES];
    size_t count = 0, named_count = 0;
    struct cubin cubin;

    if (!build->cubin || !cubin_open(build->cubin, build->cubin_bytes, &cubin, why)) {
        snprintf(reason, KERNEL_REASON_BYTES, "%s", build->cubin ? why : "no cubin");
        return NULL;
    }
    for (uint64_t place = 0; cubin_next(&cubin, &place, &function);) {
        if (!function.kernel || strcmp(function.symbol, "cbank_case_call") == 0)
            continue;
        only = function.symbol;
        count++;
        if (kernel_is_named(function.symbol, build->kernel.name)) {
            named = function.symbol;
            named_count++;
        }
    }
    if (named_count == 1)
        return named;
    if (count == 1)
        return only;
    if (count == 0)
        snprintf(reason, KERNEL_REASON_BYTES,
                 "the case launches no kernel; call launch(kernel<tables>, blocks, threads)(...)");
    else
        snprintf(reason, KERNEL_REASON_BYTES,
                 "%zu kernels of the file are called %s; CBANK_CASE(kernel, ...) names one",
                 named_count ? named_count : (size_t)0, build->kernel.name);
    return NULL;
}

const char *kernel_constant_symbol(const struct kernel_build *build, const char *table)
{
    char reason[CUBIN_REASON_BYTES], tag[2 * CBANK_NAME_BYTES];
    struct cubin_variable variable;
    struct cubin cubin;

    if (!build->cubin || !cubin_open(build->cubin, build->cubin_bytes, &cubin, reason))
        return NULL;
    /* The tag of CBANK_TABLE, mangled: it is the last argument of a template. */
    snprintf(tag, sizeof(tag), "%zucbank_tag_%.*sE",
             strlen("cbank_tag_") + strnlen(table, CBANK_NAME_BYTES), CBANK_NAME_BYTES, table);
    for (uint64_t place = 0; cubin_next_variable(&cubin, &place, &variable);)
        if (strstr(variable.symbol, tag) && strcmp(variable.section, ".nv.constant3") == 0)
            return variable.symbol;
    return NULL;
}
