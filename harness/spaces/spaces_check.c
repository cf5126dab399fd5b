/* SPDX-License-Identifier: MIT
 * A kernel file without a GPU. For each architecture it is compiled for every memory space, and the
 * machine code is read: registers, local and shared memory, and how the loads of the tables vary.
 * The case runs on the processor: see case_run.c. */
#include "spaces_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "case_run.h"
#include "code_groups.h"
#include "grid.h"
#include "image.h"
#include "log.h"
#include "optional.h"
#include "table_verdict.h"
#include "text.h"
#include "user_table.h"

enum { NOTES_MAX = CBANK_TABLES_MAX + 2 };

/* A memory space on an architecture. */
struct row {
    char space[USER_KERNEL_SPACES_BYTES + 16]; /* with a mark where the file has it */
    const char *outcome;
    struct optional registers, local_bytes, shared_bytes;
    char loads[96];
    char notes[NOTES_MAX][GRID_NOTE_BYTES];
    size_t note_count;
    const char *finding; /* what is wrong with its code; NULL: nothing that is seen */
};

/* The check of a kernel file for one architecture. */
struct checking {
    const struct kernel_file *file;
    const struct cbank_case_report *report; /* of the case; NULL: the processor cannot tell */
    struct card card;
    uint32_t architecture;
    enum status worst; /* STATUS_FINDING, or STATUS_OK */
};

__attribute__((format(printf, 2, 3))) static void add_note(struct row *row, const char *format, ...)
{
    va_list arguments;

    if (row->note_count == NOTES_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(row->notes[row->note_count++], GRID_NOTE_BYTES, format, arguments);
    va_end(arguments);
}

/* Logs the findings about memory spaces: one that several have, once. */
static void log_findings(struct checking *checking, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t first = 0, others = 0;

        if (!rows[i].finding)
            continue;
        while (!rows[first].finding || strcmp(rows[first].finding, rows[i].finding) != 0)
            first++;
        for (size_t k = i + 1; k < count; k++)
            others += rows[k].finding && strcmp(rows[k].finding, rows[i].finding) == 0;
        if (first < i)
            continue;
        checking->worst =
            log_message("finding: ", STATUS_FINDING, "%s, %s%s on sm_%" PRIu32 ": %s",
                        checking->file->path, rows[i].space, others ? " and others" : "",
                        checking->architecture, rows[i].finding);
    }
}

/* -- tables ------------------------------------------------------------------------------------ */

/* What the analysis calls the argument that has a table: "parameter 2"; "" where it is not known.
 */
static void name_argument(const struct checking *checking, size_t table, char out[32])
{
    out[0] = '\0';
    for (uint32_t i = 0; checking->report && i < checking->report->argument_count; i++) {
        const uint32_t number = checking->report->arguments[i].table;

        if (number && strcmp(checking->report->tables[number - 1].name,
                             checking->file->tables[table].name) == 0)
            snprintf(out, 32, "parameter %" PRIu32, i);
    }
}

/* Whether each block copies a table to its shared memory. */
static bool is_copied(enum cbank_space space)
{
    return space >= CBANK_SPACE_SHARED && space <= CBANK_SPACE_SHARED_COPIES;
}

/* Whether the analysis of a load means a table of the file, in the memory space of a build. */
static bool is_table(const struct checking *checking, const struct kernel_build *build,
                     size_t table, const struct user_access *load)
{
    const enum cbank_space space = build->spaces[table];
    char text[2 * CBANK_NAME_BYTES];

    if (space == CBANK_SPACE_CONSTANT) {
        snprintf(text, sizeof(text), "cbank_tag_%s", checking->file->tables[table].name);
        return strstr(load->table, text);
    }
    if (is_copied(space))
        return strcmp(load->memory, "shared") == 0;
    name_argument(checking, table, text);
    return text[0] && strcmp(load->table, text) == 0;
}

/* Says how the loads of the file's tables vary, and whether each should live there. */
static void note_tables(const struct checking *checking, const struct kernel_build *build,
                        const struct cubin_kernel *kernel, struct row *row)
{
    for (size_t k = 0; k < checking->file->table_count; k++)
        for (size_t t = 0; t < kernel->table_count; t++) {
            const struct user_table *table = &kernel->tables[t];

            if (!is_table(checking, build, k, &table->load))
                continue;
            if (isnan(table->counts.addresses))
                add_note(row, "%s: address %s: only a measurement tells what its loads cost",
                         checking->file->tables[k].name,
                         variation_names.names[table->load.variation]);
            else
                add_note(row, "%s: address %s; %s: %s", checking->file->tables[k].name,
                         variation_names.names[table->load.variation], table->verdict, table->why);
        }
}

/* -- builds ------------------------------------------------------------------------------------ */

/* Shared memory of a block: what the code has, what the launch adds for tables, and what the case
 * asks for. */
static struct optional shared_bytes(const struct checking *checking,
                                    const struct kernel_build *build,
                                    const struct kernel_usage *usage)
{
    uint64_t bytes = usage->shared_bytes + (checking->report ? checking->report->shared_bytes : 0);

    for (size_t k = 0; k < checking->file->table_count; k++) {
        const struct cbank_table_info *table = &checking->file->tables[k];
        const uint64_t entries = table->entries * table->entry_bytes;

        if (!is_copied(build->spaces[k]) || entries <= CBANK_STATIC_SHARED)
            continue;
        if (build->spaces[k] != CBANK_SPACE_SHARED)
            return (struct optional){0}; /* with what its copy needs beside the entries */
        bytes += entries;
    }
    return optional_of(bytes);
}

/* Finds mistakes that the code shows. */
static void find_mistakes(const struct checking *checking, const struct kernel_build *build,
                          const struct cubin_kernel *kernel, struct row *row)
{
    bool shared = false;

    for (size_t k = 0; k < checking->file->table_count; k++)
        shared = shared || is_copied(build->spaces[k]);
    if (kernel->usage.stores == 0)
        row->finding = "the kernel stores nothing in global memory; write its output";
    if (shared && kernel->usage.shared_loads > 0 && kernel->usage.shared_stores == 0)
        row->finding = "the kernel reads its table and never stages it; call table.stage() before "
                       "the first read";
}

/* Reads the machine code of a build. */
static enum status read_code(struct checking *checking, const struct kernel_build *build,
                             struct row *row)
{
    char reason[KERNEL_REASON_BYTES];
    struct code_choice choice = {.architecture = checking->architecture,
                                 .kernel_name = kernel_symbol(build, reason)};
    struct kernel_sass sass;
    struct user_code code;
    enum status status;

    if (checking->report)
        memcpy(choice.block, checking->report->block, sizeof(choice.block));
    if (choice.kernel_name &&
        image_function(build->cubin, build->cubin_bytes, choice.kernel_name, &sass) && sass.known)
        sass_classes_text(&sass, reason);
    else
        reason[0] = '\0';
    snprintf(row->loads, sizeof(row->loads), "%.95s", reason);
    status =
        user_code_parse(checking->file->path, build->cubin, build->cubin_bytes, &choice, &code);
    if (status != STATUS_OK)
        return status;
    status = user_tables_judge(&code, &checking->card, NULL);
    if (status == STATUS_OK && code.count > 0) {
        const struct cubin_kernel *const kernel = &code.kernels[0];

        row->registers = kernel->usage.registers;
        row->local_bytes = kernel->usage.stack_bytes;
        row->shared_bytes = shared_bytes(checking, build, &kernel->usage);
        if (kernel->usage.local_loads + kernel->usage.local_stores > 0)
            add_note(row,
                     "local memory: %" PRIu32 " loads and %" PRIu32
                     " stores of spilled registers or of arrays",
                     kernel->usage.local_loads, kernel->usage.local_stores);
        note_tables(checking, build, kernel, row);
        find_mistakes(checking, build, kernel, row);
    }
    user_code_close(&code);
    return status;
}

static enum status check_build(struct checking *checking, const struct kernel_build *build,
                               struct row *row)
{
    snprintf(row->space, sizeof(row->space), "%s%s", build->kernel.spaces,
             build->as_written ? " (as written)" : "");
    row->outcome = build->cubin ? "ok" : build->reason[0] ? "skipped" : "error";
    if (build->cubin)
        return read_code(checking, build, row);
    if (build->reason[0])
        add_note(row, "%s", build->reason);
    else
        row->finding = build->error;
    return STATUS_OK;
}

/* -- printing ---------------------------------------------------------------------------------- */

#define MEMBER(name) .member = GRID_MEMBER(struct row, name)

static const struct grid_column columns[] = {
    {.key = "memory_space",
     .heading = "memory space",
     .value = grid_array,
     MEMBER(space),
     .head = true},
    {.key = "outcome", .heading = "compiles", .value = grid_text, MEMBER(outcome)},
    {.key = "registers",
     .heading = "registers",
     .format = text_count,
     .value = grid_optional,
     MEMBER(registers)},
    {.key = "local_bytes",
     .heading = "local B",
     .format = text_count,
     .value = grid_optional,
     MEMBER(local_bytes)},
    {.key = "shared_bytes",
     .heading = "shared B",
     .format = text_count,
     .value = grid_optional,
     MEMBER(shared_bytes)},
    {.key = "loads", .heading = "loads", .value = grid_array, MEMBER(loads), .below = true},
};

static bool note_row(const void *row, size_t index, char *out, size_t bytes)
{
    const struct row *told = row;

    if (index >= told->note_count)
        return false;
    snprintf(out, bytes, "%s", told->notes[index]);
    return true;
}

/* -- all --------------------------------------------------------------------------------------- */

/* Checks the builds of an opened file. */
static enum status check_builds(struct checking *checking, const struct print_style *look)
{
    const struct kernel_file *const file = checking->file;
    struct row *const rows = calloc(file->build_count + 1, sizeof(*rows));
    char title[TEXT_PARAGRAPH_BYTES];
    const struct grid grid = {.title = title,
                              GRID_COLUMNS(columns),
                              GRID_ROWS(rows, file->build_count),
                              .note = note_row};
    enum status status = rows ? STATUS_OK : log_memory("memory spaces");

    for (size_t i = 0; status == STATUS_OK && i < file->build_count; i++)
        status = check_build(checking, &file->builds[i], &rows[i]);
    snprintf(title, sizeof(title), "\n%s, sm_%" PRIu32 ", %s", file->info.name,
             checking->architecture, file->compiler);
    if (status == STATUS_OK)
        status = grid_print(stdout, &grid, look);
    fflush(stdout);
    if (status == STATUS_OK)
        log_findings(checking, rows, file->build_count);
    free(rows);
    return status;
}

enum status spaces_check(const char *path, const struct kernel_options *options,
                         const struct integers *architectures, const char *card_path,
                         const struct print_style *look)
{
    struct checking checking = {.worst = STATUS_OK};
    enum status status = card_read(card_path, &checking.card);

    for (size_t i = 0; status == STATUS_OK && i < architectures->count; i++) {
        const struct kernel_request request = {.path = path,
                                               .spaces = options->spaces,
                                               .compiler = options->compiler,
                                               .options = options->compiler_options,
                                               .architecture = (uint32_t)architectures->values[i],
                                               .expected = options->expected,
                                               .seconds = options->compiler_seconds,
                                               .tolerant = true};
        struct cbank_case_report report;
        struct kernel_file file;
        bool described = false;

        status = kernel_file_open(&request, &file);
        if (status != STATUS_OK)
            break;
        checking.file = &file;
        checking.architecture = request.architecture;
        if (i == 0)
            status = case_run(&file, &options->sizes, &checking.worst);
        if (status == STATUS_OK)
            described = case_described(&file, &report);
        checking.report = described ? &report : NULL;
        if (status == STATUS_OK)
            status = check_builds(&checking, look);
        kernel_file_close(&file);
    }
    return status == STATUS_OK ? checking.worst : status;
}
