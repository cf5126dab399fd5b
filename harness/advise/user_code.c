/* SPDX-License-Identifier: MIT
 * The kernels of a file, read, and as a document. */
#include "user_code.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "fatbin.h"
#include "instruction.h"
#include "kernel_name.h"
#include "log.h"
#include "memory.h"
#include "schema.h"
#include "text.h"
#include "user_table.h"

/* -- reading ----------------------------------------------------------------------------------- */

static const char *const variation_words[VARIATION_COUNT] = {
    [VARIATION_CONSTANT] = "constant", [VARIATION_GRID] = "grid",
    [VARIATION_BLOCK] = "block",       [VARIATION_WARP] = "warp",
    [VARIATION_AFFINE] = "affine",     [VARIATION_DATA] = "data",
    [VARIATION_UNEVEN] = "uneven",     [VARIATION_UNKNOWN] = "unknown",
    [VARIATION_THREAD] = "thread",
};
const struct names variation_names = NAMES(variation_words, VARIATION_COUNT, NULL);

/* A symbol as C++ has it, or as it is. NULL when out of memory. */
static char *readable_name(const struct user_code *code, const char *symbol)
{
    int failed;
    const char *mangled = kernel_mangled(symbol);
    char *readable = code->demangle && strncmp(mangled, "_Z", 2) == 0
                         ? code->demangle(mangled, NULL, NULL, &failed)
                         : NULL;

    return readable ? readable : strdup(symbol);
}

static void close_kernel(struct cubin_kernel *kernel)
{
    free(kernel->name);
    free(kernel->readable);
    free(kernel->doubt);
    free(kernel->loads);
    free(kernel->accesses);
    texts_close(&kernel->texts);
    texts_close(&kernel->evidence);
    free(kernel->tables);
    free(kernel->compared);
}

/* Writes the kinds of loads that a kernel has, in words. */
static enum status list_loads(const struct kernel_loads *loads, struct cubin_kernel *kernel)
{
    static const char *const widths[SASS_WIDTH_COUNT] = {".U8", ".U16", "", ".64", ".128"};

    for (size_t i = 0; i < (size_t)LOAD_ROWS * SASS_WIDTH_COUNT; i++) {
        const struct load_row *row = &load_rows[i / SASS_WIDTH_COUNT];
        const uint32_t width = i % SASS_WIDTH_COUNT;
        struct user_load *load;

        if (!loads->all[row->kind][width])
            continue;
        if (!memory_grow(&kernel->loads, kernel->load_count, sizeof(*kernel->loads)))
            return log_memory("the loads of %s", kernel->name);
        load = &kernel->loads[kernel->load_count++];
        *load =
            (struct user_load){.means = row->means,
                               .bytes = 1u << width,
                               .count = loads->all[row->kind][width],
                               .in_loops = {loads->loops_known, loads->in_loops[row->kind][width]}};
        snprintf(load->name, sizeof(load->name), "%s%s%s", row->before, widths[width], row->behind);
    }
    return STATUS_OK;
}

/* Names the tables of a kernel as C++ has them. */
static enum status name_tables(const struct user_code *code, struct cubin_kernel *kernel)
{
    for (size_t i = 0; i < kernel->access_count; i++) {
        struct user_access *access = &kernel->accesses[i];
        char *name;

        access->readable = access->table;
        if (strncmp(access->table, "_Z", 2) != 0)
            continue;
        name = readable_name(code, access->table);
        access->readable = name ? texts_share(&kernel->texts, name) : NULL;
        free(name);
        if (!access->readable)
            return log_memory("the tables of %s", kernel->name);
    }
    return STATUS_OK;
}

/* A cubin that is read. */
struct source {
    struct cubin cubin;
    struct cubin_index index;
    struct cubin_facts facts;
    struct kernel_usages usages;
};

/* Reads the loads of a kernel that has its names. */
static enum status read_kernel(const struct source *source, const struct cubin_function *function,
                               const uint32_t block[3], const struct user_code *code,
                               struct cubin_kernel *kernel)
{
    struct kernel_loads loads;
    enum status status;

    kernel_usage_read(&source->cubin, &source->usages, function, &kernel->usage);
    status = user_accesses_read(&source->facts, function, block, kernel, &loads);
    if (status == STATUS_OK)
        status = list_loads(&loads, kernel);
    return status == STATUS_OK ? name_tables(code, kernel) : status;
}

static enum status add_kernel(const struct source *source, const struct cubin_function *function,
                              const struct code_choice *choice, struct user_code *out)
{
    struct cubin_kernel *kernel;

    if (!memory_grow(&out->kernels, out->count, sizeof(*out->kernels)))
        return log_memory("the kernels of %s", out->path);
    kernel = &out->kernels[out->count++];
    *kernel = (struct cubin_kernel){.name = strdup(function->symbol)};
    if (!kernel->name)
        return log_memory("the name of %s", function->symbol);
    text_clean(kernel->name, 0);
    kernel->readable = readable_name(out, kernel->name);
    if (!kernel->readable)
        return log_memory("the name of %s", function->symbol);
    if (!choice->kernel_name ||
        kernel_name_matches(choice->kernel_name, kernel->name, kernel->readable))
        return read_kernel(source, function, choice->block, out, kernel);
    close_kernel(kernel);
    out->count--;
    out->left_out++;
    return STATUS_OK;
}

static void close_source(struct source *source)
{
    kernel_usages_close(&source->usages);
    cubin_facts_close(&source->facts);
    cubin_index_close(&source->index);
}

/* Reads what the kernels of a cubin share. */
static enum status open_source(const struct cubin_image *image, const char *path,
                               struct source *out)
{
    char reason[CUBIN_REASON_BYTES];
    enum status status;

    *out = (struct source){.index = {0}};
    if (!cubin_open(image->data, image->bytes, &out->cubin, reason))
        return log_error(STATUS_USAGE, "%s: %s", path, reason);
    if (!cubin_index_open(&out->cubin, &out->index))
        return log_memory("the names of %s", path);
    status = cubin_facts_open(&out->cubin, &out->facts);
    if (status == STATUS_OK)
        status = kernel_usages_open(&out->cubin, &out->usages);
    if (status != STATUS_OK)
        close_source(out);
    return status;
}

/* Adds the kernels of a cubin. */
static enum status add_kernels(const struct cubin_image *image, const struct code_choice *choice,
                               struct user_code *out)
{
    struct source source;
    struct cubin_function function;
    uint64_t code_bytes = 0;
    enum status status = open_source(image, out->path, &source);

    if (status != STATUS_OK)
        return status;
    for (uint64_t place = 0; cubin_next(&source.cubin, &place, &function);)
        code_bytes += function.kernel ? function.bytes : 0;
    /* Each kernel has its own section. */
    if (code_bytes > image->bytes)
        status = log_error(STATUS_USAGE,
                           "%s: a cubin that is damaged: its kernels are larger than the file; "
                           "copy it again",
                           out->path);
    for (uint64_t place = 0; status == STATUS_OK && cubin_next(&source.cubin, &place, &function);)
        if (function.kernel)
            status = add_kernel(&source, &function, choice, out);
    close_source(&source);
    return status;
}

enum status user_code_parse(const char *path, const void *data, size_t bytes,
                            const struct code_choice *choice, struct user_code *out)
{
    struct cubin_images images;
    enum status status = cubin_images_open(path, data, bytes, choice->architecture, &images);
    void *symbol;

    *out = (struct user_code){.path = path, .architecture = images.architecture};
    out->library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    symbol = out->library ? dlsym(out->library, "__cxa_demangle") : NULL;
    memcpy(&out->demangle, &symbol, sizeof(symbol));
    memcpy(out->others, images.others, sizeof(out->others));
    if (status == STATUS_OK && !architecture_known(images.architecture))
        status = log_error(STATUS_ENVIRONMENT,
                           "%s: code of sm_%" PRIu32
                           ", which cannot be read here; compile the kernel for sm_70 to sm_121, "
                           "or look at what nvdisasm prints of this one",
                           path, images.architecture);
    /* One at a time: together, those of a library take more memory than all that is said of them.
     */
    while (status == STATUS_OK) {
        struct cubin_image image;
        bool end;

        status = cubin_images_next(&images, &image, &end);
        if (status != STATUS_OK || end)
            break;
        status = add_kernels(&image, choice, out);
        free(image.unpacked);
    }
    cubin_images_close(&images);
    if (status == STATUS_OK && out->count == 0)
        status = log_error(STATUS_USAGE,
                           "%s: none of %zu kernels of sm_%" PRIu32
                           " is named %s; without --kernel-name, the answer names them",
                           path, out->left_out, out->architecture, choice->kernel_name);
    if (status != STATUS_OK)
        user_code_close(out);
    return status;
}

void user_code_close(struct user_code *code)
{
    for (size_t i = 0; i < code->count; i++)
        close_kernel(&code->kernels[i]);
    free(code->kernels);
    if (code->library)
        dlclose(code->library);
    *code = (struct user_code){0};
}

/* -- document ---------------------------------------------------------------------------------- */

static const struct field load_fields[] = {
    {FIELD(field_text, struct user_load, "load", name, REQUIRED),
     .about = "kind and width of the loads"},
    {FIELD(field_uint32, struct user_load, "count", count, REQUIRED),
     .about = "of instructions, without those that are never executed"},
    {FIELD(field_optional, struct user_load, "in_loops", in_loops, NULLABLE),
     .about = "of them; null where the target of a jump is not known",
     .rules = "\"type\": [\"integer\", \"null\"], " AT_LEAST(0)},
    {FIELD(field_uint32, struct user_load, "width_bytes", bytes, REQUIRED)},
    {FIELD(field_reference, struct user_load, "means", means, REQUIRED),
     .about = "the same for people"},
};
static const struct objects loads_list =
    OBJECTS_OF(load_fields, struct user_load, struct cubin_kernel, load_count);

static void write_stride(cJSON *object, const struct field *field, const void *base)
{
    const struct user_access *access = base;

    json_add_double(object, field->key,
                    access->stride_bytes ? (double)access->stride_bytes : (double)NAN);
}

static const struct field_kind field_stride = {.write = write_stride};

static const struct field access_fields[] = {
    {FIELD(field_uint32, struct user_access, "address", address, REQUIRED),
     .about = "of the instruction, in the kernel's code"},
    {FIELD(field_reference, struct user_access, "instruction", instruction, REQUIRED)},
    {FIELD(field_reference, struct user_access, "table", table, NULLABLE),
     .about = "a symbol; \"parameter 0\": behind a pointer"},
    {FIELD(field_name, struct user_access, "variation", variation, REQUIRED),
     .names = &variation_names, .about = VARIATION_ABOUT},
    {FIELD(field_stride, struct user_access, "stride_bytes", stride_bytes, NULLABLE),
     .about = "from a thread to the next, of affine", .rules = "\"type\": [\"number\", \"null\"]"},
    {FIELD(field_optional, struct user_access, "addresses", addresses, NULLABLE),
     .about = "distinct, of a warp"},
    {FIELD(field_uint32, struct user_access, "depth", depth, REQUIRED),
     .about = "of loops around it"},
    {FIELD(field_bool, struct user_access, "copied", copied, REQUIRED),
     .about = "the kernel stores what it loads in shared memory, as it is"},
    {FIELD(field_reference, struct user_access, "file", file, NULLABLE)},
    {FIELD(field_optional, struct user_access, "line", line, NULLABLE)},
    {FIELD(field_reference, struct user_access, "reason", reason, NULLABLE),
     .about = "why no more is proven"},
    {FIELD(field_reference, struct user_access, "condition", condition, NULLABLE),
     .about = "under which the answer holds"},
    {FIELD(field_reference, struct user_access, "memory", memory, REQUIRED)},
    {FIELD(field_uint32, struct user_access, "width_bytes", width_bytes, REQUIRED)},
    {FIELD(field_number, struct user_access, "wavefronts", counts.wavefronts, NULLABLE)},
    {FIELD(field_number, struct user_access, "sectors", counts.sectors, NULLABLE),
     .about = "of 32 bytes, from global memory"},
    {FIELD(field_number, struct user_access, "sectors_least", sectors_least, NULLABLE)},
    {FIELD(field_word_list, struct user_access, "evidence", evidence, REQUIRED),
     .about = "place in the code and name: the load, then the chain of instructions that decided "
              "its address",
     .rules = "\"minItems\": 1, \"items\": {\"type\": \"string\", " PATTERN(
         "^0x[0-9a-f]+:[A-Z0-9.]+$") "}"},
};
static const struct objects accesses_list = {OBJECTS(access_fields, struct user_access,
                                                     struct cubin_kernel, access_count),
                                             .line = true};

static const struct field compared_fields[] = {
    {FIELD(field_reference, struct compared_array, "memory", memory, REQUIRED),
     .about = "code: its numbers are in the instructions",
     .rules = "\"enum\": [\"code\", \"param\"]"},
    {FIELD(field_reference, struct compared_array, "table", table, NULLABLE),
     .about = "\"parameter 2\"; null: of the code, or not known"},
    {FIELD(field_uint32, struct compared_array, "address", address, REQUIRED),
     .about = "of the first move, in the kernel's code"},
    {FIELD(field_uint32, struct compared_array, "entries", entries, REQUIRED),
     .about = "that the index is compared with"},
    {FIELD(field_uint32, struct compared_array, "width_bytes", width_bytes, REQUIRED),
     .about = "that are read of an entry"},
    {FIELD(field_uint32, struct compared_array, "stride_bytes", stride_bytes, REQUIRED),
     .about = "from an entry to the next"},
    {FIELD(field_uint32, struct compared_array, "depth", depth, REQUIRED),
     .about = "of loops around it"},
    {FIELD(field_reference, struct compared_array, "file", file, NULLABLE)},
    {FIELD(field_optional, struct compared_array, "line", line, NULLABLE)},
};
static const struct objects compared_list =
    OBJECTS_OF(compared_fields, struct compared_array, struct cubin_kernel, compared_count);

static const struct field kernel_fields[] = {
    {FIELD(field_reference, struct cubin_kernel, "name", name, REQUIRED)},
    {FIELD(field_reference, struct cubin_kernel, "readable_name", readable, REQUIRED),
     .about = "as C++ has it; the same as name where libstdc++ is not installed"},
    {FIELD(field_list, struct cubin_kernel, "kinds", loads, REQUIRED), .elements = &loads_list},
    {FIELD(field_list, struct cubin_kernel, "loads", accesses, REQUIRED),
     .elements = &accesses_list},
    {FIELD(field_list, struct cubin_kernel, "tables", tables, REQUIRED),
     .elements = &user_tables_list},
    {FIELD(field_list, struct cubin_kernel, "compared_arrays", compared, REQUIRED),
     .elements = &compared_list,
     .about = "small arrays that the compiler made compares and moves of, without a load"},
    {FIELD(field_bool, struct cubin_kernel, "calls_out", calls_out, REQUIRED),
     .about = "it calls functions whose code is elsewhere: their loads are not counted"},
    {FIELD(field_optional, struct cubin_kernel, "registers", usage.registers, NULLABLE),
     .about = "of a thread", .rules = "\"type\": [\"integer\", \"null\"], " AT_LEAST(0)},
    {FIELD(field_optional, struct cubin_kernel, "stack_bytes", usage.stack_bytes, NULLABLE),
     .about = "of a thread, in local memory, without those of the functions that it calls",
     .rules = "\"type\": [\"integer\", \"null\"], " AT_LEAST(0)},
    {FIELD(field_uint32, struct cubin_kernel, "local_loads", usage.local_loads, REQUIRED),
     .about = "instructions that load from local memory"},
    {FIELD(field_uint32, struct cubin_kernel, "local_stores", usage.local_stores, REQUIRED)},
    {FIELD(field_optional, struct cubin_kernel, "constant_bytes", usage.constant_bytes, NULLABLE),
     .about = "in use of the bank of __constant__ variables, by all kernels of the cubin",
     .rules = "\"type\": [\"integer\", \"null\"], " AT_LEAST(0)},
    {FIELD(field_optional, struct cubin_kernel, "parameter_bytes", usage.parameter_bytes, NULLABLE),
     .about = "in use of the bank of parameters, with what the driver keeps there",
     .rules = "\"type\": [\"integer\", \"null\"], " AT_LEAST(0)},
};
static const struct objects kernels =
    OBJECTS_OF(kernel_fields, struct cubin_kernel, struct user_code, count);

static const struct field code_fields[] = {
    {FIELD(field_reference, struct user_code, "file", path, REQUIRED)},
    {FIELD(field_uint32, struct user_code, "architecture", architecture, REQUIRED)},
    {FIELD(field_list, struct user_code, "kernels", kernels, REQUIRED), .elements = &kernels},
};
const struct fields user_code_fields = FIELDS(code_fields);
