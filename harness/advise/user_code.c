/* SPDX-License-Identifier: MIT */
#include "user_code.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "cubin.h"
#include "facts.h"
#include "fatbin.h"
#include "instruction.h"
#include "log.h"
#include "memory.h"
#include "text.h"
#include "user_table.h"

enum { STACK_POINTER = 1 };

/* -- reading ----------------------------------------------------------------------------------- */

static const char *const variation_words[VARIATION_COUNT] = {
    [VARIATION_CONSTANT] = "constant", [VARIATION_GRID] = "grid",
    [VARIATION_BLOCK] = "block",       [VARIATION_WARP] = "warp",
    [VARIATION_AFFINE] = "affine",     [VARIATION_DATA] = "data",
    [VARIATION_UNEVEN] = "uneven",     [VARIATION_UNKNOWN] = "unknown",
    [VARIATION_THREAD] = "thread",
};
const struct names variation_names = NAMES(variation_words, VARIATION_COUNT, NULL);

/* Read while the loads of a kernel are visited. */
struct accesses {
    const struct cubin *cubin;
    const struct flow *flow;
    const struct facts *facts;
    struct cubin_kernel *kernel;
    struct analysed_load before[8]; /* a ring: the last loads */
    bool full;
};

/* Constant memory is read by 8 bytes at most, shared memory by 16. A load of one half of entries of
 * 16 bytes has half the wavefronts of such entries, if the other half is loaded nearby. */
static void find_halves(struct accesses *all, const struct analysed_load *load)
{
    enum { NEAR = sizeof(all->before) / sizeof(all->before[0]), HALF = 8, WHOLE = 16 };
    const size_t count = all->kernel->access_count;
    bool whole = all->kernel->accesses[count - 1].width_bytes == HALF && load->bank == USER_BANK;

    for (unsigned i = 0; i < CBANK_WARP_THREADS; i++)
        whole &= load->lanes[i] % WHOLE == 0;
    all->before[(count - 1) % NEAR] = *load;
    for (size_t back = 1; whole && back < NEAR && back < count; back++) {
        const struct analysed_load *other = &all->before[(count - 1 - back) % NEAR];

        if (other->instruction * INSTRUCTION_BYTES ==
                all->kernel->accesses[count - 1 - back].address &&
            other->bank == USER_BANK && other->block == load->block &&
            (other->offset ^ load->offset) == HALF &&
            memcmp(other->lanes, load->lanes, sizeof(load->lanes)) == 0)
            all->kernel->accesses[count - 1].wavefronts =
                all->kernel->accesses[count - 1 - back].wavefronts =
                    access_warp_wavefronts(load->lanes, WHOLE) / 2.0;
    }
}

/* Whether the block of code stores what it loads in shared memory, as it is: kernels fill their
 * tables there so. */
static bool is_copied(const struct flow *flow, const struct analysed_load *load)
{
    enum { DATA = 2 }; /* the operand of a store */
    struct instruction of;

    instruction_decode(flow->code, load->instruction * INSTRUCTION_BYTES, flow->architecture, &of);
    const uint32_t loaded =
        of.transfer == TRANSFER_LOAD && of.results > 0 ? of.result[0].first : REGISTER_ZERO;

    for (size_t i = load->instruction + 1;
         loaded != REGISTER_ZERO && i <= flow->blocks[load->block].last; i++) {
        instruction_decode(flow->code, i * INSTRUCTION_BYTES, flow->architecture, &of);
        if (of.opcode == OPCODE_STS && of.source[DATA].number == loaded)
            return true;
        for (size_t k = 0; k < of.results; k++)
            if (loaded - of.result[k].first < of.result[k].count)
                return false;
    }
    return false;
}

/* Counts the addresses of a warp in 'table', and the wavefronts of the same addresses in shared
 * memory. */
static void add_addresses(struct accesses *all, const struct analysed_load *load,
                          const struct cubin_variable *table, struct user_access *access)
{
    const bool begins = ((uint64_t)load->offset & UINT16_MAX) == table->offset &&
                        table->bytes > access->width_bytes;
    struct analysed_load part = *load;
    uint32_t addresses = 0;

    if (load->addresses < 2)
        return;
    /* Threads that would read behind the table have no part in the load. */
    for (unsigned i = 0; i < CBANK_WARP_THREADS; i++) {
        const int64_t apart = (int64_t)(int32_t)load->lanes[i] - (int32_t)load->lanes[0];
        bool first = true;

        if (begins && (uint64_t)llabs(apart) + access->width_bytes > table->bytes)
            part.lanes[i] = part.lanes[0];
        for (unsigned k = 0; k < i; k++)
            first &= part.lanes[i] != part.lanes[k];
        addresses += first;
    }
    if (addresses > 1) {
        access->addresses = optional_of(addresses);
        access->wavefronts = access_warp_wavefronts(part.lanes, access->width_bytes);
    }
    find_halves(all, addresses > 1 ? &part : load);
}

static void add_access(const struct analysed_load *load, void *context)
{
    /* of sin(), say */
    static const char constants[] = ".nv.constant3", library_tables[] = "__cudart_";
    static const struct {
        const char *instruction, *memory;
    } memories[] = {{"LD", "generic"},
                    {"LDG", "global"},
                    {"LDS", "shared"},
                    {"LDL", "local"},
                    {"T", "texture"}};
    struct accesses *all = context;
    const char *file;
    const uint32_t line = facts_line(all->facts, load->instruction * INSTRUCTION_BYTES, &file);
    struct instruction instruction;

    instruction_decode(all->flow->code, load->instruction * INSTRUCTION_BYTES,
                       all->flow->architecture, &instruction);
    const bool word = instruction_takes_constant(&instruction);
    const enum sass_class class = instruction_class(&instruction, all->flow->architecture);
    const uint32_t width =
        1u << (word ? SASS_WORD
                    : instruction_width(&instruction, class < SASS_SEL ? class : SASS_LDC));
    struct cubin_variable variable, table = {0}, next = {0};
    struct user_access *access;
    size_t tables = 0;
    bool inside = false;
    const char *name;
    size_t bytes;

    if (!memory_grow(&all->kernel->accesses, all->kernel->access_count, sizeof(*access))) {
        all->full = true;
        return;
    }
    access = &all->kernel->accesses[all->kernel->access_count++];
    *access = (struct user_access){
        .variation = load->variation,
        .reason = load->reason,
        .condition = load->condition,
        .stride_bytes = load->stride_bytes,
        .line = optional_unless_zero(line),
        .addresses = optional_unless_zero(load->addresses),
        .address = load->instruction * INSTRUCTION_BYTES,
        .depth = flow_depth(all->flow, load->block),
        .copied = is_copied(all->flow, load),
        .width_bytes = width,
        .wavefronts = load->addresses ? access_warp_wavefronts(load->lanes, width) : (double)NAN,
        .memory = load->bank == PARAMETER_BANK ? "param"
                  : load->bank == USER_BANK    ? "constant"
                                               : "compiler",
    };
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        if (strncmp(load->name, "LDC", strlen("LDC")) != 0 &&
            strncmp(load->name, memories[i].instruction, strlen(memories[i].instruction)) == 0)
            access->memory = load->image ? "image" : memories[i].memory;
    /* The host has no addresses of shared memory to pass. */
    if (strcmp(access->memory, "generic") == 0)
        access->memory = load->origin >= ORIGIN_PARAMETER ? "global"
                         : load->origin == ORIGIN_SHARED  ? "shared"
                         : load->origin == ORIGIN_STACK   ? "local"
                                                          : "generic";
    for (size_t i = 0; i < load->evidence_count; i++) {
        struct instruction of;

        instruction_decode(all->flow->code, load->evidence[i] * INSTRUCTION_BYTES,
                           all->flow->architecture, &of);
        text_join(access->evidence, sizeof(access->evidence), " ", "0x%" PRIx32 ":%s",
                  load->evidence[i] * INSTRUCTION_BYTES, of.name);
    }
    snprintf(access->instruction, sizeof(access->instruction), "%s", load->name);
    snprintf(access->file, sizeof(access->file), "%s", file);
    text_clean(access->file, 0);
    for (uint64_t at = 0;
         load->bank == USER_BANK && cubin_next_variable(all->cubin, &at, &variable);) {
        /* The offset of an instruction has 16 bits. */
        const uint64_t behind = ((uint64_t)load->offset & UINT16_MAX) - variable.offset;
        const bool before = behind + width < width && load->variation != VARIATION_CONSTANT;

        if (strncmp(variable.section, constants, strlen(constants)) != 0)
            continue;
        tables++;
        inside |= behind < variable.bytes;
        if (behind < variable.bytes || tables == 1)
            table = variable;
        next = before ? variable : next;
    }
    /* One entry before a table: that one at an index less 1, or the one before it from its end. */
    if (next.bytes && load->stride_bytes >= 0) {
        inside = !inside || load->stride_bytes > 0;
        table = inside ? next : (struct cubin_variable){0};
    }
    /* The only table of a bank is the one that is read, also at an index less a number. */
    if (inside || tables == 1) {
        snprintf(access->table, sizeof(access->table), "%s", table.symbol);
        access->table_bytes = optional_of(table.bytes);
    }
    if (load->origin >= ORIGIN_SYMBOL &&
        cubin_symbol_at(all->cubin, load->origin - ORIGIN_SYMBOL, &name, &bytes)) {
        snprintf(access->table, sizeof(access->table), "%s", name);
        access->table_bytes = optional_unless_zero(bytes);
    } else if (load->origin >= ORIGIN_PARAMETER)
        snprintf(access->table, sizeof(access->table), "parameter %" PRIu32,
                 load->origin - ORIGIN_PARAMETER);
    if (strncmp(access->table, library_tables, strlen(library_tables)) == 0)
        access->memory = "compiler";
    text_clean(access->table, 0);
    add_addresses(all, load, &table, access);
}

/* Counts the loads of a kernel, and finds how they vary. */
static enum status add_accesses(const struct cubin *cubin, const struct cubin_function *function,
                                const uint32_t block[3], struct cubin_kernel *kernel,
                                struct kernel_loads *loads)
{
    struct facts facts;
    struct flow flow;
    struct accesses all = {.cubin = cubin, .flow = &flow, .facts = &facts, .kernel = kernel};
    enum status status = facts_read(cubin, function->symbol, &facts);

    if (status != STATUS_OK)
        return status;
    facts_set_block(&facts, block);
    status = flow_open(function->code, function->bytes, function->architecture, facts.jumps,
                       facts.jump_count, &flow);
    if (status == STATUS_OK) {
        kernel_loads_read(&flow, loads);
        kernel->calls_out = loads->calls_out;
        status = divergence_visit_loads(&flow, &facts.code, add_access, &all);
    }
    for (size_t i = 0; status == STATUS_OK && i < flow.instructions; i++) {
        struct instruction of;

        instruction_decode(function->code, i * INSTRUCTION_BYTES, function->architecture, &of);
        kernel->local_written |= of.opcode == OPCODE_STL && of.source[0].number != STACK_POINTER;
    }
    if (all.full)
        status = log_memory("the loads of %s", function->symbol);
    flow_close(&flow);
    facts_close(&facts);
    return status;
}

/* A symbol as C++ has it, or as it is. NULL when out of memory. */
static char *readable_name(const struct user_code *code, const char *symbol)
{
    int failed;
    char *readable = code->demangle && strncmp(symbol, "_Z", 2) == 0
                         ? code->demangle(symbol, NULL, NULL, &failed)
                         : NULL;

    return readable ? readable : strdup(symbol);
}

/* Adds the kernels of a cubin. */
static enum status add_kernels(const struct cubin_image *image, const uint32_t block[3],
                               struct user_code *out)
{
    static const char *const widths[SASS_WIDTH_COUNT] = {".U8", ".U16", "", ".64", ".128"};
    char reason[CUBIN_REASON_BYTES];
    struct cubin cubin;
    struct cubin_function function;
    enum status status = STATUS_OK;
    uint64_t code_bytes = 0;

    if (!cubin_open(image->data, image->bytes, &cubin, reason))
        return log_error(STATUS_USAGE, "%s: %s", out->path, reason);
    for (uint64_t at = 0; cubin_next(&cubin, &at, &function);)
        code_bytes += function.kernel ? function.bytes : 0;
    /* Each kernel has its own section. */
    if (code_bytes > image->bytes)
        return log_error(STATUS_USAGE,
                         "%s: a cubin that is damaged: its kernels are larger than the file; copy "
                         "it again",
                         out->path);
    for (uint64_t at = 0; status == STATUS_OK && cubin_next(&cubin, &at, &function);) {
        struct cubin_kernel *kernel;
        struct kernel_loads loads;

        if (!function.kernel)
            continue;
        if (!memory_grow(&out->kernels, out->count, sizeof(*out->kernels)))
            return log_memory("the kernels of %s", out->path);
        kernel = &out->kernels[out->count++];
        *kernel = (struct cubin_kernel){.name = strdup(function.symbol),
                                        .loads = calloc(LOAD_ROWS * SASS_WIDTH_COUNT,
                                                        sizeof(*kernel->loads))};
        if (!kernel->name || !kernel->loads)
            return log_memory("the loads of %s", function.symbol);
        text_clean(kernel->name, 0);
        kernel->readable = readable_name(out, kernel->name);
        if (!kernel->readable)
            return log_memory("the name of %s", function.symbol);
        status = add_accesses(&cubin, &function, block, kernel, &loads);
        for (size_t i = 0; status == STATUS_OK && i < kernel->access_count; i++) {
            char *name = readable_name(out, kernel->accesses[i].table);

            if (!name)
                return log_memory("the tables of %s", function.symbol);
            snprintf(kernel->accesses[i].readable, sizeof(kernel->accesses[i].readable), "%s",
                     name);
            free(name);
        }
        for (size_t i = 0; status == STATUS_OK && i < (size_t)LOAD_ROWS * SASS_WIDTH_COUNT; i++) {
            const struct load_row *row = &load_rows[i / SASS_WIDTH_COUNT];
            const uint32_t width = i % SASS_WIDTH_COUNT;
            struct user_load *load = &kernel->loads[kernel->load_count];

            if (!loads.all[row->kind][width])
                continue;
            *load = (struct user_load){.means = row->means,
                                       .bytes = 1u << width,
                                       .count = loads.all[row->kind][width],
                                       .in_loops = {loads.loops_known,
                                                    loads.in_loops[row->kind][width]}};
            kernel->load_count++;
            snprintf(load->name, sizeof(load->name), "%s%s%s", row->before, widths[width],
                     row->behind);
        }
    }
    return status;
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

#define LOAD(kind, member) .value = kind, .of = GRID_MEMBER(struct user_load, member)

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

#define ACCESS(kind, member) .value = kind, .of = GRID_MEMBER(struct access_row, member)

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
            if (access->condition)
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

static const struct field_kind field_stride = {write_stride, NULL};

static const struct field access_fields[] = {
    {FIELD(field_uint32, struct user_access, "address", address, REQUIRED)},
    {FIELD(field_text, struct user_access, "instruction", instruction, REQUIRED)},
    {FIELD(field_text, struct user_access, "table", table, NULLABLE)},
    {FIELD(field_name, struct user_access, "variation", variation, REQUIRED),
     .of = &variation_names},
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
    {FIELD(field_number, struct user_access, "wavefronts", wavefronts, NULLABLE)},
    {FIELD(field_words, struct user_access, "evidence", evidence, REQUIRED)},
};
static const struct objects accesses_list =
    OBJECTS_OF(access_fields, struct user_access, struct cubin_kernel, access_count);

static const struct field kernel_fields[] = {
    {FIELD(field_reference, struct cubin_kernel, "name", name, REQUIRED)},
    {FIELD(field_reference, struct cubin_kernel, "readable_name", readable, REQUIRED)},
    {FIELD(field_list, struct cubin_kernel, "kinds", loads, REQUIRED), .of = &loads_list},
    {FIELD(field_list, struct cubin_kernel, "loads", accesses, REQUIRED), .of = &accesses_list},
    {FIELD(field_list, struct cubin_kernel, "tables", tables, REQUIRED), .of = &user_tables_list},
    {FIELD(field_bool, struct cubin_kernel, "calls_out", calls_out, REQUIRED)},
};
static const struct objects kernels =
    OBJECTS_OF(kernel_fields, struct cubin_kernel, struct user_code, count);

static const struct field code_fields[] = {
    {FIELD(field_reference, struct user_code, "file", path, REQUIRED)},
    {FIELD(field_uint32, struct user_code, "architecture", architecture, REQUIRED)},
    {FIELD(field_list, struct user_code, "kernels", kernels, REQUIRED), .of = &kernels},
};
const struct fields user_code_fields = FIELDS(code_fields);
