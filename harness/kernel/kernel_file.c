/* SPDX-License-Identifier: MIT */
#include "kernel_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cubin.h"
#include "kernel_parts.h"
#include "log.h"
#include "memory.h"
#include "text_print.h"

/* Options after which a compiler finds includes that this program does not, by their beginnings. */
static const char *const unknown_options[] =
    {"-i", "--i", "--pre-include", "-optf", "--options-file", "@"};

/* A file while it is compiled. */
struct opening {
    const struct kernel_request *request;
    char path[PATH_MAX]; /* absolute */
    struct kernel_compiler compiler;
    /* all files are known that the compiler reads, but for those of the toolkit and the system */
    bool whole;
    char *cache; /* owned; NULL: none */
    struct memory hashes; /* of those files, a line each, while they are read */
    FILE *stream; /* writes them */
    bool out_of_memory;
};

/* -- options ----------------------------------------------------------------------------------- */

static enum status read_options(struct opening *opening)
{
    const char *const own = opening->request->options ? opening->request->options : "";
    const char *const texts[] = {strstr(own, "-std") ? "" : "-std=c++17", own,
                                 getenv("NVCC_PREPEND_FLAGS"), getenv("NVCC_APPEND_FLAGS")};
    struct kernel_compiler *compiler = &opening->compiler;

    compiler->architecture = opening->request->architecture;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *const text = strdup(texts[i] ? texts[i] : ""), *at = text;
        bool taken = text != NULL;

        for (char *word; taken && (word = strsep(&at, " \t\n"));)
            taken = !word[0] || texts_take(&compiler->words, strdup(word));
        free(text);
        if (!taken)
            return log_memory("the compiler's options");
        if (texts[i] == own)
            compiler->user_words = compiler->words.count;
    }
    return STATUS_OK;
}

/* -- hashes ------------------------------------------------------------------------------------ */

/* Adds the hash of a file, and those that it includes: next to it, or in a folder that is an option
 * or stands behind -I, whatever #if says. A file that is not there is the system's or the
 * toolkit's. */
static void add_source(const char *path, struct opening *opening)
{
    const int folder_bytes = (int)(strrchr(path, '/') + 1 - path);
    const struct texts *words = &opening->compiler.words;
    char hex[SHA256_HEX_BYTES], *text;
    size_t bytes;
    bool known;

    text = kernel_read(path, &bytes);
    if (!text) {
        opening->out_of_memory = opening->out_of_memory || errno == ENOMEM;
        return;
    }
    sha256_hex(text, bytes, hex);
    known = strstr(opening->hashes.text, hex);
    if (!known)
        fprintf(opening->stream, "%s\n", hex);
    fflush(opening->stream);
    for (char *at = text, *line; !known && (line = strsep(&at, "\n"));) {
        char name[PATH_MAX], file[2 * PATH_MAX];

        line += strspn(line, " \t");
        if (line[0] != '#' || strncmp(line + 1 + strspn(line + 1, " \t"), "include", 7) != 0)
            continue;
        if (sscanf(line + 1, " include %*1[\"<]%4095[^\">]", name) != 1) {
            opening->whole = false; /* a macro's name */
            continue;
        }
        snprintf(file, sizeof(file), "%.*s%s", name[0] == '/' ? 0 : folder_bytes, path, name);
        add_source(file, opening);
        for (size_t i = 0; i < words->count; i++) {
            const char *const word = words->items[i];

            snprintf(file, sizeof(file), "%s/%s", word + (strncmp(word, "-I", 2) == 0 ? 2 : 0),
                     name);
            add_source(file, opening);
        }
    }
    free(text);
}

/* Hashes the file, its includes and the options. Paths do not count: two copies have the same
 * hash. */
static enum status hash_file(struct opening *opening, char hex[SHA256_HEX_BYTES])
{
    enum status status = STATUS_OK;

    opening->whole = !getenv("CPATH") && !getenv("CPLUS_INCLUDE_PATH");
    opening->stream = memory_open(&opening->hashes);
    if (!opening->stream)
        return log_memory("the hash of %s", opening->request->path);
    add_source(opening->path, opening);
    if (!opening->out_of_memory && opening->hashes.bytes == 0)
        status =
            log_error(STATUS_USAGE, "cannot read %s: %s", opening->request->path, strerror(errno));
    for (size_t i = 0; i < opening->compiler.words.count; i++) {
        const char *const word = opening->compiler.words.items[i];
        const bool folder = strncmp(word, "-I", 2) == 0, host = strncmp(word, "-ccbin", 6) == 0;

        for (size_t k = 0; k < sizeof(unknown_options) / sizeof(unknown_options[0]); k++)
            opening->whole = opening->whole &&
                             strncmp(word, unknown_options[k], strlen(unknown_options[k])) != 0;
        if (folder || host)
            i += !word[folder ? 2 : 6]; /* the path is a word of its own */
        else
            fprintf(opening->stream, "%s\n", word);
    }
    if (opening->request->against)
        fputs("against\n", opening->stream);
    if ((!memory_close(&opening->hashes, opening->stream) || opening->out_of_memory) &&
        status == STATUS_OK)
        status = log_memory("the hash of %s", opening->request->path);
    if (status == STATUS_OK)
        sha256_hex(opening->hashes.text, opening->hashes.bytes, hex);
    free(opening->hashes.text);
    return status;
}

/* The name of a source in the cache. */
static bool make_key(const struct kernel_compiler *compiler, const char *text, const char *hash,
                     char key[SHA256_HEX_BYTES])
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    if (stream) {
        fprintf(stream, "%s\n%s\n%s\n%s%s\n%s\nsm_%u\n", compiler->path, compiler->version, hash,
                cbank_header_tables, cbank_header_case, text, (unsigned)compiler->architecture);
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

static void print_messages(const struct kernel_build *build)
{
    char *at = build->messages;

    for (char *line; (line = strsep(&at, "\n")) && (line[0] || at);) {
        text_put(stderr, escapes_none, line);
        fputc('\n', stderr);
    }
}

/* Compiles builds, unless they are made or in the cache. STATUS_USAGE, logged after the compiler's
 * messages, if one does not compile. */
static enum status make_builds(struct opening *opening, const struct kernel_file *file,
                               struct kernel_build *builds, size_t count)
{
    char(*const keys)[SHA256_HEX_BYTES] = calloc(count, sizeof(*keys)), hash[SHA256_HEX_BYTES];
    const bool keeps = opening->cache && opening->whole;
    enum status status = keys ? STATUS_OK : log_memory("compiling %s", file->path);

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        if (kernel_build_made(&builds[i]))
            continue;
        builds[i].source = build_source(opening, file, &builds[i]);
        if (!builds[i].source ||
            !make_key(&opening->compiler, builds[i].source, file->sha256, keys[i]))
            status = log_memory("compiling %s", file->path);
        else
            builds[i].cached = keeps && kernel_cache_get(opening->cache, keys[i], &builds[i]);
    }
    if (status == STATUS_OK)
        status = kernel_compile(&opening->compiler, builds, count);
    /* A file that changed while it was compiled is kept under neither hash. */
    if (status == STATUS_OK && keeps)
        status = hash_file(opening, hash);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const char *const spaces = builds[i].kernel.spaces;

        /* The file as it is written must compile, but for the processor. */
        if (builds[i].cubin || (builds[i].reason[0] && (spaces[0] || builds[i].on_cpu))) {
            if (keeps && keys[i][0] && !builds[i].cached && strcmp(hash, file->sha256) == 0)
                kernel_cache_put(opening->cache, keys[i], &builds[i]);
            continue;
        }
        if (builds[i].on_cpu)
            continue;
        print_messages(&builds[i]);
        if (builds[i].status == STATUS_ENVIRONMENT)
            status = log_error(STATUS_ENVIRONMENT, "%s: %s cannot compile for sm_%u, see above",
                               file->path, opening->compiler.version,
                               (unsigned)opening->compiler.architecture);
        else
            status = log_error(STATUS_USAGE, "%s does not compile with its tables %s%s%s%s%s",
                               file->path, spaces[0] ? "in " : "as they are written", spaces,
                               builds[i].reason[0] ? ": " : ", see above", builds[i].reason,
                               builds[i].reason[0] ? "; write another memory space" : "");
    }
    free(keys);
    return status;
}

/* Compiles the file as it is, by nvcc for the processor too, reads what it says, and compiles all
 * builds. */
static enum status open_builds(struct opening *opening, struct kernel_build written[2],
                               struct kernel_file *file)
{
    const bool nvcc = opening->compiler.path[0] != '\0';
    enum status status = make_builds(opening, file, written, nvcc ? 2 : 1);
    const struct kernel_build *const on_cpu = &written[1];
    char reason[KERNEL_REASON_BYTES];

    if (status == STATUS_OK)
        print_messages(written); /* warnings */
    if (status == STATUS_OK && nvcc && !on_cpu->cubin)
        log_note(false,
                 "%s: the check cannot be compiled for the processor, and runs on the GPU%s%s",
                 file->path, on_cpu->reason[0] ? ": " : "", on_cpu->reason);
    file->reference = on_cpu->cubin;
    file->reference_bytes = on_cpu->cubin_bytes;
    if (status == STATUS_OK)
        status = kernel_info_read(written->cubin, written->cubin_bytes, file);
    if (status == STATUS_OK)
        status = kernel_choices_read(opening->request->spaces, file);
    for (size_t i = 0; status == STATUS_OK && i < file->build_count; i++)
        if (file->builds[i].as_written) {
            file->builds[i].cubin = written->cubin;
            file->builds[i].cubin_bytes = written->cubin_bytes;
            file->builds[i].cached = written->cached;
            written->cubin = NULL;
        }
    if (status == STATUS_OK)
        status = make_builds(opening, file, file->builds, file->build_count);
    for (size_t i = 0; status == STATUS_OK && i < file->build_count; i++) {
        struct kernel_build *build = &file->builds[i];

        sscanf(file->sha256, "%16" SCNx64, &build->kernel.hash);
        if (build->cubin && !kernel_symbol(build, reason))
            status =
                log_error(STATUS_USAGE, "%s:%u: %s", file->path, (unsigned)file->info.line, reason);
    }
    return status;
}

static void close_build(struct kernel_build *build)
{
    free(build->cubin);
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
    status = read_options(&opening);
    if (status == STATUS_OK)
        status = hash_file(&opening, out->sha256);
    if (status == STATUS_OK)
        status = kernel_compiler_open(request->compiler, &opening.compiler);
    if (status == STATUS_OK) {
        const double start = clock_seconds();

        opening.cache = kernel_cache_folder();
        status = open_builds(&opening, written, out);
        for (size_t i = 0; i < out->build_count; i++)
            if (out->builds[i].cubin && !out->builds[i].cached)
                out->compile_seconds = clock_seconds() - start;
    }
    memcpy(out->compiler, opening.compiler.version, sizeof(out->compiler));
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
    *file = (struct kernel_file){0};
}

/* -- symbols ----------------------------------------------------------------------------------- */

/* Whether a mangled name is that of a function called `name`: the last name of
 * "_ZN5outer5inner4nameI...". */
static bool is_named(const char *symbol, const char *name)
{
    if (strncmp(symbol, "_Z", 2) != 0)
        return strcmp(symbol, name) == 0;
    for (symbol += 2;;) {
        unsigned long bytes;
        char *end;

        symbol += strspn(symbol, "NKL"); /* nested, const, of this file alone */
        bytes = strtoul(symbol, &end, 10);
        if (end == symbol || bytes > strlen(end))
            return false;
        symbol = end + bytes;
        if (bytes == strlen(name) && strncmp(end, name, bytes) == 0 &&
            !(symbol[0] >= '0' && symbol[0] <= '9'))
            return true;
    }
}

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
    for (uint64_t at = 0; cubin_next(&cubin, &at, &function);) {
        if (!function.kernel || strcmp(function.symbol, "cbank_case_call") == 0)
            continue;
        only = function.symbol;
        count++;
        if (is_named(function.symbol, build->kernel.name)) {
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
    for (uint64_t at = 0; cubin_next_variable(&cubin, &at, &variable);)
        if (strstr(variable.symbol, tag) && strcmp(variable.section, ".nv.constant3") == 0)
            return variable.symbol;
    return NULL;
}
