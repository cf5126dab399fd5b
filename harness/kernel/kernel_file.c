/* SPDX-License-Identifier: MIT */
#include "kernel_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cubin.h"
#include "files.h"
#include "kernel_compiler.h"
#include "kernel_info.h"
#include "log.h"
#include "memory.h"
#include "text_print.h"

enum { FILE_BYTES_MAX = 16 << 20 };

/* Variables of the environment that change what nvcc compiles. */
static const char *const variables[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH",
                                        "CPLUS_INCLUDE_PATH"};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]), FLAGS = 2 /* that count as options */ };

/* A file while it is compiled. */
struct opening {
    const struct kernel_request *request;
    char path[PATH_MAX];         /* absolute */
    char sha256[SHA256_HEX_BYTES];
    struct kernel_compiler compiler;
    struct kernel_options options;
    char *option_text;           /* owned: what options.words points to */
    char *cache;                 /* owned; NULL: none */
};

/* -- options ------------------------------------------------------------------------------------------- */

static enum status read_options(struct opening *opening)
{
    struct kernel_options *options = &opening->options;
    char *at;

    opening->option_text = at = strdup(opening->request->options ? opening->request->options : "");
    *options = (struct kernel_options){.path = opening->path, .architecture = opening->request->architecture};
    options->words = at ? calloc(strlen(at) / 2 + 2, sizeof(*options->words)) : NULL;
    if (!options->words)
        return log_memory("the compiler's options");
    for (char *word; (word = strsep(&at, " \t\n"));)
        if (word[0])
            options->words[options->word_count++] = word;
    return STATUS_OK;
}

/* The hash of the sources and options, without the path of any file: two copies in two folders have the same. */
static enum status hash_file(const struct opening *opening, const struct kernel_object *object,
                             struct kernel_file *file)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    if (stream) {
        fprintf(stream, "file %s\n", opening->sha256);
        /* They begin with their hashes, and are in their order. */
        for (size_t i = 0; i < object->includes.count; i++)
            fprintf(stream, "include %.64s\n", object->includes.items[i]);
        for (size_t i = 0; i < opening->options.word_count; i++) {
            const char *word = opening->options.words[i];

            i += strcmp(word, "-I") == 0; /* a folder: what is included from it counts above */
            if (strncmp(word, "-I", 2) != 0)
                fprintf(stream, "option %s\n", word);
        }
        for (size_t i = 0; opening->compiler.path[0] && i < FLAGS; i++)
            if (getenv(variables[i]))
                fprintf(stream, "option %s\n", getenv(variables[i]));
    }
    if (!memory_close(&memory, stream))
        return log_memory("the hash of %s", file->path);
    sha256_hex(memory.text, memory.bytes, file->sha256);
    free(memory.text);
    return STATUS_OK;
}

/* -- compiling ----------------------------------------------------------------------------------------- */

/* Prints what the compiler wrote, and adds what it means. */
static enum status does_not_compile(const struct opening *opening, const struct kernel_source *source,
                                    const char *spaces)
{
    char *at = source->messages;

    for (char *line; (line = strsep(&at, "\n")) && (line[0] || at);) {
        text_put(stderr, escapes_none, line);
        fputc('\n', stderr);
    }
    if (source->status == STATUS_ENVIRONMENT)
        return log_error(STATUS_ENVIRONMENT, "%s: %s cannot compile for sm_%u, see above", opening->request->path,
                         source->object.compiler, (unsigned)opening->options.architecture);
    return log_error(STATUS_USAGE, "%s does not compile with its tables %s%s, see above", opening->request->path,
                     spaces ? "in " : "as they are written", spaces ? spaces : "");
}

/* The name of a source with these options in the cache. */
static bool make_key(const struct opening *opening, const char *text, char key[SHA256_HEX_BYTES])
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    if (stream) {
        fprintf(stream, "%s\n%s\n%s%s\n%s\nsm_%u\n", opening->compiler.identity, opening->sha256, cbank_header_tables,
                cbank_header_case, text, (unsigned)opening->options.architecture);
        for (size_t i = 0; i < opening->options.word_count; i++)
            fprintf(stream, "%s\n", opening->options.words[i]);
        for (size_t i = 0; i < VARIABLES; i++)
            fprintf(stream, "%s=%s\n", variables[i], getenv(variables[i]) ? getenv(variables[i]) : "");
    }
    if (!memory_close(&memory, stream))
        return false;
    sha256_hex(memory.text, memory.bytes, key);
    free(memory.text);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes objects that are not there yet from the cache, and compiles the others. cached: which were in the cache. */
static enum status get_objects(struct opening *opening, struct kernel_source *sources, bool *cached, size_t count)
{
    struct kernel_source *const missing = calloc(count + 1, sizeof(*missing));
    char(*const keys)[SHA256_HEX_BYTES] = calloc(count + 1, sizeof(*keys));
    enum status status = STATUS_OK;
    size_t missing_count = 0, next = 0;

    if (!missing || !keys)
        status = log_memory("compiling %s", opening->request->path);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        if (sources[i].object.cubin)
            continue;
        if (!sources[i].text || !make_key(opening, sources[i].text, keys[i]))
            status = log_memory("compiling %s", opening->request->path);
        else if (!(cached[i] = kernel_cache_get(opening->cache, keys[i], &sources[i].object)))
            missing[missing_count++].text = sources[i].text;
    }
    if (status == STATUS_OK)
        status = kernel_compile(&opening->compiler, &opening->options, missing, missing_count);
    for (size_t i = 0; i < count && next < missing_count; i++) {
        struct kernel_source *source = &missing[next];

        if (sources[i].text != source->text)
            continue;
        if (source->object.includes.count > 0)
            qsort(source->object.includes.items, source->object.includes.count, sizeof(char *), by_text);
        if (status == STATUS_OK && !source->unsettled && (source->object.cubin || source->object.reason[0]))
            kernel_cache_put(opening->cache, keys[i], &source->object);
        sources[i] = *source;
        next++;
    }
    if (opening->cache && missing_count > 0)
        kernel_cache_clean(opening->cache);
    free(missing);
    free(keys);
    return status;
}

static void source_close(struct kernel_source *source)
{
    kernel_object_close(&source->object);
    free(source->messages);
    free(source->text);
}

/* Compiles the file as it is, and reads what it says. */
static enum status open_as_written(struct opening *opening, struct kernel_source *source, bool *cached,
                                   struct kernel_file *out)
{
    enum status status;

    if (asprintf(&source->text, "#include \"%s\"\n", opening->path) < 0)
        source->text = NULL;
    status = get_objects(opening, source, cached, 1);
    if (status == STATUS_OK && !source->object.cubin)
        return does_not_compile(opening, source, NULL);
    if (status == STATUS_OK && source->messages)
        fputs(source->messages, stderr); /* warnings */
    if (status == STATUS_OK)
        status = hash_file(opening, &source->object, out);
    if (status == STATUS_OK)
        status = kernel_info_read(source->object.cubin, source->object.cubin_bytes, out);
    snprintf(out->compiler, sizeof(out->compiler), "%s", source->object.compiler);
    return status;
}

/* The source of a build: definitions that give tables other spaces than they are written with. */
static char *build_text(const struct opening *opening, const struct kernel_file *file, const struct kernel_build *build)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    for (size_t i = 0; stream && i < file->table_count; i++)
        if (build->spaces[i] != file->tables[i].written)
            fprintf(stream, "#define CBANK_SPACE_%s ,%s\n", file->tables[i].name, kernel_space_names[build->spaces[i]]);
    if (stream)
        fprintf(stream, "#include \"%s\"\n", opening->path);
    return memory_close(&memory, stream) ? memory.text : NULL;
}

/* Compiles all builds but that of the file as it is written, which takes the cubin of `written`. */
static enum status open_builds(struct opening *opening, struct kernel_source *written, bool written_cached,
                               struct kernel_file *file)
{
    struct kernel_source *const sources = calloc(file->build_count + 1, sizeof(*sources));
    bool *const cached = calloc(file->build_count + 1, sizeof(*cached));
    enum status status = STATUS_OK;
    char reason[KERNEL_REASON_BYTES];

    if (!sources || !cached)
        status = log_memory("the builds of %s", file->path);
    for (size_t i = 0; status == STATUS_OK && i < file->build_count; i++)
        if (file->builds[i].as_written) {
            sources[i] = *written;
            cached[i] = written_cached;
            *written = (struct kernel_source){0};
        } else {
            sources[i].text = build_text(opening, file, &file->builds[i]);
        }
    if (status == STATUS_OK)
        status = get_objects(opening, sources, cached, file->build_count);
    for (size_t i = 0; status == STATUS_OK && i < file->build_count; i++) {
        struct kernel_build *build = &file->builds[i];
        struct kernel_object *object = &sources[i].object;

        if (!object->cubin && !object->reason[0])
            status = does_not_compile(opening, &sources[i], build->kernel.spaces);
        memcpy(build->reason, object->reason, sizeof(build->reason));
        build->cubin = object->cubin;
        build->cubin_bytes = object->cubin_bytes;
        build->cached = cached[i];
        build->seconds = object->seconds;
        build->kernel.hash = strtoull(strndupa(file->sha256, 16), NULL, 16);
        object->cubin = NULL;
        if (status == STATUS_OK && build->cubin && !kernel_symbol(build, reason))
            status = log_error(STATUS_USAGE, "%s:%u: %s", file->path, (unsigned)file->info.line, reason);
    }
    for (size_t i = 0; sources && i < file->build_count; i++)
        source_close(&sources[i]);
    free(sources);
    free(cached);
    return status;
}

/* The absolute path of a file. Its characters must be such that #include can have it. */
static enum status make_path(const char *path, char out[PATH_MAX])
{
    char cwd[PATH_MAX] = "";
    const bool absolute = path[0] == '/';

    if (path[strcspn(path, "\"\\\n")])
        return log_error(STATUS_USAGE,
                         "%s: a path with a quote, a backslash or an end of line cannot be included; rename it", path);
    if ((!absolute && !getcwd(cwd, sizeof(cwd))) ||
        snprintf(out, PATH_MAX, "%s%s%s", cwd, absolute ? "" : "/", path) >= PATH_MAX)
        return log_error(STATUS_USAGE,
                         "%s: the path of the current folder cannot be read, or is too long; move the file", path);
    return STATUS_OK;
}

enum status kernel_file_open(const struct kernel_request *request, struct kernel_file *out)
{
    struct opening opening = {.request = request};
    struct kernel_source written = {0};
    enum status status;
    char *text = NULL;
    bool cached = false;
    size_t bytes;

    *out = (struct kernel_file){.path = request->path};
    status = file_read(request->path, FILE_BYTES_MAX, &text, &bytes);
    if (status == STATUS_OK)
        sha256_hex(text, bytes, opening.sha256);
    free(text);
    if (status == STATUS_OK)
        status = make_path(request->path, opening.path);
    if (status == STATUS_OK)
        status = read_options(&opening);
    if (status == STATUS_OK)
        status = kernel_compiler_find(request->compiler, &opening.compiler);
    if (status == STATUS_OK) {
        opening.cache = kernel_cache_folder();
        status = open_as_written(&opening, &written, &cached, out);
    }
    if (status == STATUS_OK)
        status = kernel_choices_read(request->spaces, out);
    if (status == STATUS_OK)
        status = open_builds(&opening, &written, cached, out);
    source_close(&written);
    free(opening.cache);
    free(opening.options.words);
    free(opening.option_text);
    if (status != STATUS_OK)
        kernel_file_close(out);
    return status;
}

void kernel_file_close(struct kernel_file *file)
{
    for (size_t i = 0; i < file->build_count; i++)
        free(file->builds[i].cubin);
    free(file->builds);
    *file = (struct kernel_file){0};
}

/* -- symbols ------------------------------------------------------------------------------------------- */

/* Whether a mangled name is that of a function called `name`: the last name of "_ZN5outer5inner4nameI...". */
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
        if (bytes == strlen(name) && strncmp(end, name, bytes) == 0 && !(symbol[0] >= '0' && symbol[0] <= '9'))
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

const char *kernel_constant_symbol(const struct kernel_build *build, uint32_t offset)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin_variable variable;
    struct cubin cubin;

    if (!build->cubin || !cubin_open(build->cubin, build->cubin_bytes, &cubin, reason))
        return NULL;
    for (uint64_t at = 0; cubin_next_variable(&cubin, &at, &variable);)
        if (variable.offset == offset && strcmp(variable.section, ".nv.constant3") == 0)
            return variable.symbol;
    return NULL;
}
