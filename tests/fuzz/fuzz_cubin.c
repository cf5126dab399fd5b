/* SPDX-License-Identifier: MIT
 * Machine code: any bytes as a cubin, with all that is said of it. No kernel has more loads than
 * its section has instructions, and a proof fits its addresses. scripts/fuzz_reach.sh requires that
 * this target reaches each function of the analysis. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code_change.h"
#include "code_print.h"
#include "cubin.h"
#include "estimate.h"
#include "fuzz.h"
#include "kernel_parts.h"
#include "sass.h"
#include "sass_code.h"
#include "user_table.h"

/* A proven class has its addresses, and any other a reason. Those of a ring are known, too. */
static void require_access(const struct user_access *access)
{
    const bool on_ring = access->variation == VARIATION_THREAD && access->addresses.known &&
                         access->addresses.value >= 2;

    require(access->variation < VARIATION_AFFINE    ? access->addresses.value == 1
            : access->variation == VARIATION_AFFINE ? access->addresses.value != 1
            : access->variation == VARIATION_UNEVEN
                ? access->addresses.value >= 2
                : access->reason != NULL && (!access->addresses.known || on_ring),
            "a class that does not fit its addresses", variation_names.names[access->variation]);
    require(!(access->counts.wavefronts < 1 || access->counts.wavefronts > 32),
            "wavefronts of a warp", access->instruction);
    require(!(access->counts.tag_wavefronts < 0.5 || access->counts.tag_wavefronts > 32),
            "lines of a warp", access->instruction);
    require(!(access->counts.sectors < access->sectors_least * (1 - 1e-9)),
            "fewer sectors than hold what is read", access->instruction);
}

/* A verdict has a reason, and a gain a space that takes less. */
static void require_table(const struct user_table *table)
{
    require(table->verdict && table->why[0], "no verdict on a table", table->load.table);
    require(table->loads > 0 && table->loads <= table->count, "loads of a table",
            table->load.table);
    require(!verdict_is_gain(table) || table->better, "a gain in no space", table->load.table);
    require(!(table->low > table->high), "an interval whose ends changed places",
            table->load.table);
}

/* The loads of each kernel are no more than its instructions. Code may be compressed, by 1,024 at
 * most. */
static void require_loads(const struct user_code *code, size_t bytes)
{
    enum { COMPRESSED_MAX = 128 };

    for (size_t i = 0; i < code->count; i++) {
        const struct cubin_kernel *kernel = &code->kernels[i];
        uint64_t sum = 0;

        for (size_t k = 0; k < kernel->load_count; k++) {
            sum += kernel->loads[k].count;
            require(kernel->loads[k].in_loops.value <= kernel->loads[k].count,
                    "more in loops than there are", kernel->loads[k].name);
        }
        for (size_t k = 0; k < kernel->access_count; k++)
            require_access(&kernel->accesses[k]);
        require(sum <= bytes * COMPRESSED_MAX, "more loads than instructions", kernel->name);
    }
}

/* Counts of lookups that a user may describe. */
static enum status count_any(const void *context, uint64_t bytes, uint32_t width,
                             struct described *out)
{
    (void)context;
    *out = (struct described){.counts = {1 + (double)(bytes % 32), 1 + (double)(bytes % 8),
                                         1 + (double)(width % 8), 1 + (double)(bytes % 32)}};
    return STATUS_OK;
}

/* The kernels, as text and as a document. */
static void show_code(struct user_code *code, size_t bytes)
{
    const struct print_style look = {.width = 80};
    const struct user_indices indices = {.count = count_any,
                                         .table_bytes = {true, 256},
                                         .of_threads = bytes % 2};
    struct card card = {0};
    cJSON *json = cJSON_CreateObject();

    for (size_t key = 0; key < CARD_NUMBERS; key++)
        card.number[key] = (struct card_number){1, 1, 1};
    require(code->count > 0, "neither a kernel nor a message", "");
    require_loads(code, bytes);
    capture_begin(&fuzz_stdout);
    require(json && user_tables_judge(code, &card, bytes % 4 ? &indices : NULL) == STATUS_OK &&
                user_code_print(stdout, code, &card, bytes % 2, &look) == STATUS_OK,
            "no verdict", "");
    capture_end(&fuzz_stdout);
    for (size_t i = 0; i < code->count; i++)
        for (size_t t = 0; t < code->kernels[i].table_count; t++)
            require_table(&code->kernels[i].tables[t]);
    user_code_largest(code, "constant");
    capture_begin(&fuzz_stderr);
    require(user_code_fail(code, &card, 1) <= STATUS_FINDING, "tables that fail are not told", "");
    capture_end(&fuzz_stderr);
    fields_write(json, &user_code_fields, code);
    json_free(json);
}

/* The code of each function, as that of a kernel of this program, beside that of the one before. */
static void compare_code(const char *data, size_t bytes)
{
    enum { OPCODES_SHOWN = 64, CHANGE_BYTES = 4096 };
    char reason[CUBIN_REASON_BYTES], loads[CELL_REASON_BYTES];
    struct cubin_function function;
    struct kernel_sass sass;
    struct sass_code code;
    struct cubin cubin;
    char *text, *before = NULL, change[CHANGE_BYTES];

    cubin_find(data, bytes, "crc", &function);
    if (!cubin_open(data, bytes, &cubin, reason))
        return;
    for (uint64_t place = 0; cubin_next(&cubin, &place, &function);) {
        sass_read(function.code, function.bytes, function.architecture, &sass);
        sass_classes_text(&sass, loads);
        if (!sass.known)
            continue;
        text = sass_code_text(function.code, function.bytes, function.architecture);
        if (text && text[0]) {
            require(sass_code_parse(text, &code), "a text of code is refused", text);
            for (size_t i = 0; i < OPCODES_SHOWN && sass_code_opcode(&code, i)[0]; i++)
                ;
            require(!code_moved(text, text), "code differs from itself", text);
            code_change(before ? before : text, text, change, sizeof(change));
        }
        free(before);
        before = text;
    }
    free(before);
}

void fuzz_cubin(const char *text, size_t bytes)
{
    const struct kernel_build build = {.kernel = {.name = "crc32"},
                                       .cubin = (void *)text,
                                       .cubin_bytes = bytes};
    struct kernel_file file = {.path = FUZZ_FILE};
    char reason[KERNEL_REASON_BYTES];
    struct user_code code;
    const struct code_choice choice = {
        .block = {bytes % 3 ? (uint32_t)(bytes % 65) : 0, 1 + bytes % 7, 1 + bytes % 2}};
    enum status status;

    /* The same cubin as one of a kernel file. */
    kernel_symbol(&build, reason);
    kernel_constant_symbol(&build, "grid");
    capture_begin(&fuzz_stderr);
    status = kernel_info_read(text, bytes, &file);
    capture_end(&fuzz_stderr);
    require_said(status);
    compare_code(text, bytes);
    capture_begin(&fuzz_stderr);
    status = user_code_parse(FUZZ_FILE, text, bytes, &choice, &code);
    capture_end(&fuzz_stderr);
    /* An architecture that cannot be read is 3. */
    require_said(status == STATUS_ENVIRONMENT ? STATUS_USAGE : status);
    if (status != STATUS_OK)
        return;
    show_code(&code, bytes);
    user_code_close(&code);
}
