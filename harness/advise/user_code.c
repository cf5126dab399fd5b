/* SPDX-License-Identifier: MIT */
#include "user_code.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "files.h"
#include "log.h"
#include "text.h"

/* -- kinds of loads ------------------------------------------------------------------------------------ */

enum load_of { OF_NONE, OF_ANY, OF_DOUBT, OF_TABLE };

static const struct load_row {
    unsigned kind;
    const char *before, *behind;
    enum load_of of;
    const char *means;
} load_rows[] = {
#define LOAD(kind, before, behind, of, means) {kind, before, behind, OF_##of, means},
#include "loads.def"
#include "text_print.h"
};

enum { LOAD_ROWS = sizeof(load_rows) / sizeof(load_rows[0]) };

static const struct load_row *row_of(const struct user_load *load)
{
    const struct load_row *row = load_rows;

    while (row->kind != load->kind)
        row++;
    return row;
}

/* -- reading ------------------------------------------------------------------------------------------- */

static enum status read_kernel(const struct cubin_function *function, struct user_kernel *out)
{
    static const char *const widths[SASS_WIDTH_COUNT] = {".U8", ".U16", "", ".64", ".128"};
    struct kernel_loads loads;
    enum status status = kernel_loads_read(function->code, function->bytes, function->architecture, &loads);

    *out = (struct user_kernel){.name = strdup(function->symbol),
                                .calls_out = loads.calls_out,
                                .loads = calloc(LOAD_ROWS * SASS_WIDTH_COUNT, sizeof(*out->loads))};
    if (!out->name || !out->loads)
        return log_memory("the loads of %s", function->symbol);
    text_clean(out->name);
    for (const struct load_row *row = load_rows; status == STATUS_OK && row < load_rows + LOAD_ROWS; row++)
        for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++) {
            struct user_load *load = &out->loads[out->load_count];

            if (!loads.all[row->kind][width])
                continue;
            *load = (struct user_load){.means = row->means,
                                       .said = out->load_count++ && load[-1].means == row->means,
                                       .relative = NAN,
                                       .kind = row->kind,
                                       .bytes = 1u << width,
                                       .count = loads.all[row->kind][width],
                                       .in_loops = loads.in_loops[row->kind][width],
                                       .loops_known = loads.loops_known};
            snprintf(load->name, sizeof(load->name), "%s%s%s", row->before, widths[width], row->behind);
        }
    return status;
}

/* Whether the kernel has this name: the symbol, or the function's name, which follows its length in the symbol. */
static bool is_called(const struct cubin_function *function, const char *name)
{
    char mangled[32];
    int prefix;

    if (!name || strcmp(function->symbol, name) == 0)
        return true;
    prefix = snprintf(mangled, sizeof(mangled), "_Z%zu", strlen(name));
    return strncmp(function->symbol, mangled, (size_t)prefix) == 0 &&
           strncmp(function->symbol + prefix, name, strlen(name)) == 0;
}

/* Makes room, and reads each kernel of that name. */
static enum status read_kernels(const struct cubin *cubin, const char *name, struct user_code *out)
{
    enum { NAMES_BYTES = 600, NAMES_MAX = 20 };
    char names[NAMES_BYTES] = "", shown[TEXT_SHOWN_BYTES];
    struct cubin_function function;
    enum status status = STATUS_OK;
    uint64_t bytes = 0;
    size_t count = 0, called = 0;

    for (uint64_t at = 0; cubin_next(cubin, &at, &function);) {
        if (!function.kernel)
            continue;
        if (count++ < NAMES_MAX)
            text_join(names, sizeof(names), ", ", "%s", text_shown(function.symbol, shown));
        called += is_called(&function, name);
        bytes += function.bytes;
    }
    /* Each kernel has its own section. */
    if (bytes > cubin->bytes)
        return log_error(STATUS_USAGE,
                         "%s: a cubin that is damaged: its kernels are larger than the file; copy it again", out->path);
    if (count == 0)
        return log_error(STATUS_USAGE, "%s: a cubin without kernels; name one that has a __global__ function",
                         out->path);
    if (called == 0)
        return log_error(STATUS_USAGE, "%s: no kernel is called %s; it has %zu: %s%s", out->path,
                         text_shown(name, shown), count, names, count > NAMES_MAX ? ", ..." : "");
    out->kernels = calloc(called, sizeof(*out->kernels));
    if (!out->kernels)
        return log_memory("%zu kernels", called);
    for (uint64_t at = 0; status == STATUS_OK && cubin_next(cubin, &at, &function);)
        if (function.kernel && is_called(&function, name))
            status = read_kernel(&function, &out->kernels[out->count++]);
    return status;
}

enum status user_code_parse(const char *path, const void *data, size_t bytes, const char *function,
                            struct user_code *out)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin cubin;
    enum status status;

    *out = (struct user_code){.path = path};
    if (!cubin_open(data, bytes, &cubin, reason))
        return log_error(STATUS_USAGE, "%s: %s", path, reason);
    out->architecture = cubin.architecture;
    if (!kernel_loads_known(cubin.architecture))
        return log_error(STATUS_ENVIRONMENT,
                         "%s: code of sm_%" PRIu32
                         ", which cannot be read here; compile the kernel for sm_35 to sm_121, "
                         "or look at what nvdisasm prints of this one",
                         path, cubin.architecture);
    status = read_kernels(&cubin, function, out);
    if (status != STATUS_OK)
        user_code_close(out);
    return status;
}

enum status user_code_open(const char *path, const char *function, struct user_code *out)
{
    enum { BYTES_MAX = 1 << 28 };
    char *data;
    size_t bytes;
    enum status status = file_read(path, BYTES_MAX, &data, &bytes);

    if (status != STATUS_OK)
        return status;
    status = user_code_parse(path, data, bytes, function, out);
    free(data);
    return status;
}

void user_code_close(struct user_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        free(code->kernels[i].name);
        free(code->kernels[i].loads);
    }
    free(code->kernels);
    *code = (struct user_code){0};
}

/* -- judging ------------------------------------------------------------------------------------------- */

/* The fastest place whose loads are of that kind. */
static const struct advised_place *find_place(const struct user_load *load, const struct advice *advice)
{
    for (size_t i = 0; load->kind < SASS_CLASS_COUNT && i < advice->count; i++)
        if (image_class(advice->places[i].path) == (enum sass_class)load->kind)
            return &advice->places[i];
    return NULL;
}

static const struct user_load *find_load(const struct user_kernel *kernel, enum load_of of)
{
    for (size_t i = 0; i < kernel->load_count; i++)
        if (row_of(&kernel->loads[i])->of == of)
            return &kernel->loads[i];
    return NULL;
}

static const char *const verdicts[ADVISE_STANDING_COUNT] = {
    [ADVISE_FIRST] = "as advised",
    [ADVISE_ALIKE_FIRST] = "as good as advised",
    [ADVISE_TOO_CLOSE] = "too close to call",
    [ADVISE_SLOWER] = "not as advised",
    [ADVISE_UNKNOWN] = "not known by this card",
};

/* Says whether the kernel is as advised. The slowest of the places with its tables decides. Where no load is of a table
 * for sure, the fastest of those that may be does. */
static void judge_kernel(struct user_kernel *kernel, const struct advice *advice)
{
    const struct user_load *table = find_load(kernel, OF_TABLE), *doubt = find_load(kernel, OF_DOUBT), *found = NULL;
    const enum load_of of = table ? OF_TABLE : OF_ANY;
    char *text = kernel->verdict;

    for (const struct user_load *load = kernel->loads; load < kernel->loads + kernel->load_count; load++)
        if (load->place && row_of(load)->of == of &&
            (!found || (table ? load->relative > found->relative : load->relative < found->relative)))
            found = load;
    text[0] = '\0';
    if (!found) {
        text_join(text, USER_VERDICT_BYTES, "", "%s",
                  table ? "its tables are read at an index that the compiler knows, or that all threads of a "
                          "warp share: nothing is serialized, and the places above are of other indices"
                  : find_load(kernel, OF_ANY) ? "none of its loads is of a place above"
                                              : "it loads from no table by a place above");
    } else {
        const struct advised_place *best = &advice->places[0], *place = find_place(found, advice);
        const struct place_code *code = place_code_of(best->path);

        kernel->standing = found->standing;
        text_join(text, USER_VERDICT_BYTES, "", "%s%s: %s%s is of %s",
                  table ? "" : "if that is the table: ", verdicts[place->standing], row_of(found)->before,
                  row_of(found)->behind, found->place);
        if (place != best && isfinite(found->relative))
            text_join(text, USER_VERDICT_BYTES, "", ", which takes %s the time of %s",
                      text_of(text_ratio, found->relative).text, best->path->name);
        if (place->standing == ADVISE_SLOWER && code)
            text_join(text, USER_VERDICT_BYTES, "; ", "write: %s %s", code->declaration, code->load);
    }
    if (doubt)
        text_join(text, USER_VERDICT_BYTES, "; ", "%s may be of a table, too: see there", row_of(doubt)->before);
}

void user_code_judge(struct user_code *code, const struct advice *advice)
{
    for (struct user_kernel *kernel = code->kernels; kernel < code->kernels + code->count; kernel++) {
        for (struct user_load *load = kernel->loads; load < kernel->loads + kernel->load_count; load++) {
            const struct advised_place *place = find_place(load, advice);

            if (!place)
                continue;
            load->place = place->path->name;
            load->standing = advise_standing_names[place->standing];
            load->relative = place->relative;
        }
        judge_kernel(kernel, advice);
    }
}
