/* SPDX-License-Identifier: MIT
 * The kernels of a file, as text and as a document. */
#include "user_code.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "fatbin.h"
#include "instruction.h"
#include "log.h"
#include "memory.h"
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
    char *readable = code->demangle && strncmp(symbol, "_Z", 2) == 0
                         ? code->demangle(symbol, NULL, NULL, &failed)
                         : NULL;

    return readable ? readable : strdup(symbol);
}

/* Writes the kinds of loads that a kernel has, in words. */
static void list_loads(const struct kernel_loads *loads, struct cubin_kernel *kernel)
{
    static const char *const widths[SASS_WIDTH_COUNT] = {".U8", ".U16", "", ".64", ".128"};

    for (size_t i = 0; i < (size_t)LOAD_ROWS * SASS_WIDTH_COUNT; i++) {
        const struct load_row *row = &load_rows[i / SASS_WIDTH_COUNT];
        const uint32_t width = i % SASS_WIDTH_COUNT;
        struct user_load *load = &kernel->loads[kernel->load_count];

        if (!loads->all[row->kind][width])
            continue;
        *load =
            (struct user_load){.means = row->means,
                               .bytes = 1u << width,
                               .count = loads->all[row->kind][width],
                               .in_loops = {loads->loops_known, loads->in_loops[row->kind][width]}};
        snprintf(load->name, sizeof(load->name), "%s%s%s", row->before, widths[width], row->behind);
        kernel->load_count++;
    }
}

/* Names the tables of a kernel as C++ has them. */
static enum status name_tables(const struct user_code *code, struct cubin_kernel *kernel)
{
    for (size_t i = 0; i < kernel->access_count; i++) {
        struct user_access *access = &kernel->accesses[i];
        char *name = readable_name(code, access->table);

        if (!name)
            return log_memory("the tables of %s", kernel->name);
        snprintf(access->readable, sizeof(access->readable), "%s", name);
        free(name);
    }
    return STATUS_OK;
}

static enum status add_kernel(const struct cubin *cubin, const struct cubin_function *function,
                              const uint32_t block[3], struct user_code *out)
{
    struct cubin_kernel *kernel;
    struct kernel_loads loads;
    enum status status;

    if (!memory_grow(&out->kernels, out->count, sizeof(*out->kernels)))
        return log_memory("the kernels of %s", out->path);
    kernel = &out->kernels[out->count++];
    *kernel = (struct cubin_kernel){.name = strdup(function->symbol),
                                    .loads = calloc(LOAD_ROWS * SASS_WIDTH_COUNT,
                                                    sizeof(*kernel->loads))};
    if (!kernel->name || !kernel->loads)
        return log_memory("the loads of %s", function->symbol);
    text_clean(kernel->name, 0);
    kernel->readable = readable_name(out, kernel->name);
    if (!kernel->readable)
        return log_memory("the name of %s", function->symbol);
    status = user_accesses_read(cubin, function, block, kernel, &loads);
    if (status != STATUS_OK)
        return status;
    list_loads(&loads, kernel);
    return name_tables(out, kernel);
}

/* Adds the kernels of a cubin. */
static enum status add_kernels(const struct cubin_image *image, const uint32_t block[3],
                               struct user_code *out)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin cubin;
    struct cubin_function function;
    uint64_t code_bytes = 0;

    if (!cubin_open(image->data, image->bytes, &cubin, reason))
        return log_error(STATUS_USAGE, "%s: %s", out->path, reason);
    for (uint64_t place = 0; cubin_next(&cubin, &place, &function);)
        code_bytes += function.kernel ? function.bytes : 0;
    /* Each kernel has its own section. */
    if (code_bytes > image->bytes)
        return log_error(STATUS_USAGE,
                         "%s: a cubin that is damaged: its kernels are larger than the file; copy "
                         "it again",
                         out->path);
    for (uint64_t place = 0; cubin_next(&cubin, &place, &function);) {
        const enum status status =
            function.kernel ? add_kernel(&cubin, &function, block, out) : STATUS_OK;

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status user_code_parse(const char *path, const void *data, size_t bytes, uint32_t architecture,
                            const uint32_t block[3], struct user_code *out)
{
    struct cubin_images images;
    enum status status = cubin_images_open(path, data, bytes, architecture, &images);
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
    for (size_t i = 0; status == STATUS_OK && i < images.count; i++)
        status = add_kernels(&images.all[i], block, out);
    cubin_images_close(&images);
    if (status != STATUS_OK)
        user_code_close(out);
    return status;
}

void user_code_close(struct user_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        free(code->kernels[i].name);
        free(code->kernels[i].readable);
        free(code->kernels[i].doubt);
        free(code->kernels[i].loads);
        free(code->kernels[i].accesses);
        free(code->kernels[i].tables);
    }
    free(code->kernels);
    if (code->library)
        dlclose(code->library);
    *code = (struct user_code){0};
}

/* -- text -------------------------------------------------------------------------------------- */

#define LOAD(kind, name) .value = kind, .member = GRID_MEMBER(struct user_load, name)

static const struct grid_column columns[] = {
    {.key = "load", .heading = "load", LOAD(grid_array, name), .head = true},
    {.key = "count", .heading = "number", .format = text_count, LOAD(grid_integer, count)},
    {.key = "in_loops", .heading = "in loops", .format = text_count, LOAD(grid_optional, in_loops)},
    {.key = "means", .heading = "of", LOAD(grid_text, means), .below = true},
};

/* Loads of one line that are alike. */
struct access_row {
    uint32_t count;
    char line[96], table[sizeof(((struct user_access *)0)->table)], varies[96];
};

#define ACCESS(kind, name) .value = kind, .member = GRID_MEMBER(struct access_row, name)

static const struct grid_column access_columns[] = {
    {.key = "line", .heading = "load", ACCESS(grid_array, line), .head = true},
    {.key = "table", .heading = "table", ACCESS(grid_array, table)},
    {.key = "varies", .heading = "address", ACCESS(grid_array, varies)},
    {.key = "count", .heading = "number", .format = text_count, ACCESS(grid_integer, count)},
};

enum status user_code_print(FILE *stream, const struct user_code *code,
                            const struct print_style *look)
{
    enum { NEAR = 64 }; /* rows: loads of unrolled rounds alternate */
    enum status status = STATUS_OK;

    fputs("\ncode: ", stream);
    text_put(stream, escapes_none, code->path);
    fprintf(stream, ", sm_%" PRIu32, code->architecture);
    fprintf(stream, code->others[0] ? "; the file also has %s, which --arch chooses\n" : "\n",
            code->others);
    for (size_t i = 0; status == STATUS_OK && i < code->count; i++) {
        const struct cubin_kernel *kernel = &code->kernels[i];
        const struct grid grid = {GRID_COLUMNS(columns),
                                  GRID_ROWS(kernel->loads, kernel->load_count)};
        struct access_row *rows = calloc(kernel->access_count + 1, sizeof(*rows));
        struct grid accesses = {GRID_COLUMNS(access_columns), GRID_ROWS(rows, 0)};

        for (size_t k = 0; rows && k < kernel->access_count; k++) {
            const struct user_access *access = &kernel->accesses[k];
            struct access_row *row = &rows[accesses.row_count];
            struct access_row *like = accesses.row_count > NEAR ? row - NEAR : rows;

            row->count = 1;
            snprintf(row->line, sizeof(row->line), "%s", access->instruction);
            if (access->line.known)
                text_join(row->line, sizeof(row->line), ", ",
                          access->file[0] ? "%s:%" PRIu64 : "%sline %" PRIu64, access->file,
                          access->line.value);
            snprintf(row->table, sizeof(row->table), "%s",
                     access->table[0] ? access->readable : "-");
            snprintf(row->varies, sizeof(row->varies),
                     access->stride_bytes ? "%s, %" PRId64 " bytes apart" : "%s",
                     variation_words[access->variation], access->stride_bytes);
            /* That of one dimension is printed once for the kernel. */
            if (access->condition && access->condition != user_one_dimension)
                text_join(row->varies, sizeof(row->varies), ", ", "%s", access->condition);
            while (like < row &&
                   (strcmp(like->line, row->line) != 0 || strcmp(like->table, row->table) != 0 ||
                    strcmp(like->varies, row->varies) != 0))
                like++;
            like->count += like < row;
            accesses.row_count += like == row;
        }
        fprintf(stream, "\nkernel %s\n", kernel->readable);
        status =
            rows ? grid_print(stream, &grid, look) : log_memory("the loads of %s", kernel->name);
        if (status == STATUS_OK && kernel->access_count > 0) {
            fputs("\nhow the addresses of a warp vary:\n", stream);
            status = grid_print(stream, &accesses, look);
        }
        free(rows);
        if (status == STATUS_OK)
            status = user_tables_print(stream, kernel, look);
        if (kernel->calls_out)
            fputs("it calls functions whose code is elsewhere: their loads are not counted\n",
                  stream);
    }
    return status;
}

/* -- document ---------------------------------------------------------------------------------- */

static const struct field load_fields[] = {
    {FIELD(field_text, struct user_load, "load", name, REQUIRED)},
    {FIELD(field_uint32, struct user_load, "count", count, REQUIRED)},
    {FIELD(field_optional, struct user_load, "in_loops", in_loops, NULLABLE)},
    {FIELD(field_uint32, struct user_load, "width_bytes", bytes, REQUIRED)},
    {FIELD(field_reference, struct user_load, "means", means, REQUIRED)},
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
    {FIELD(field_uint32, struct user_access, "address", address, REQUIRED)},
    {FIELD(field_text, struct user_access, "instruction", instruction, REQUIRED)},
    {FIELD(field_text, struct user_access, "table", table, NULLABLE)},
    {FIELD(field_name, struct user_access, "variation", variation, REQUIRED),
     .names = &variation_names},
    {FIELD(field_stride, struct user_access, "stride_bytes", stride_bytes, NULLABLE)},
    {FIELD(field_optional, struct user_access, "addresses", addresses, NULLABLE)},
    {FIELD(field_uint32, struct user_access, "depth", depth, REQUIRED)},
    {FIELD(field_bool, struct user_access, "copied", copied, REQUIRED)},
    {FIELD(field_text, struct user_access, "file", file, NULLABLE)},
    {FIELD(field_optional, struct user_access, "line", line, NULLABLE)},
    {FIELD(field_reference, struct user_access, "reason", reason, NULLABLE)},
    {FIELD(field_reference, struct user_access, "condition", condition, NULLABLE)},
    {FIELD(field_reference, struct user_access, "memory", memory, REQUIRED)},
    {FIELD(field_uint32, struct user_access, "width_bytes", width_bytes, REQUIRED)},
    {FIELD(field_number, struct user_access, "wavefronts", counts.wavefronts, NULLABLE)},
    {FIELD(field_number, struct user_access, "sectors", counts.sectors, NULLABLE)},
    {FIELD(field_number, struct user_access, "sectors_least", sectors_least, NULLABLE)},
    {FIELD(field_words, struct user_access, "evidence", evidence, REQUIRED)},
};
static const struct objects accesses_list =
    OBJECTS_OF(access_fields, struct user_access, struct cubin_kernel, access_count);

static const struct field kernel_fields[] = {
    {FIELD(field_reference, struct cubin_kernel, "name", name, REQUIRED)},
    {FIELD(field_reference, struct cubin_kernel, "readable_name", readable, REQUIRED)},
    {FIELD(field_list, struct cubin_kernel, "kinds", loads, REQUIRED), .elements = &loads_list},
    {FIELD(field_list, struct cubin_kernel, "loads", accesses, REQUIRED),
     .elements = &accesses_list},
    {FIELD(field_list, struct cubin_kernel, "tables", tables, REQUIRED),
     .elements = &user_tables_list},
    {FIELD(field_bool, struct cubin_kernel, "calls_out", calls_out, REQUIRED)},
};
static const struct objects kernels =
    OBJECTS_OF(kernel_fields, struct cubin_kernel, struct user_code, count);

static const struct field code_fields[] = {
    {FIELD(field_reference, struct user_code, "file", path, REQUIRED)},
    {FIELD(field_uint32, struct user_code, "architecture", architecture, REQUIRED)},
    {FIELD(field_list, struct user_code, "kernels", kernels, REQUIRED), .elements = &kernels},
};
const struct fields user_code_fields = FIELDS(code_fields);
