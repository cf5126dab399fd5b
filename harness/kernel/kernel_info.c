/* SPDX-License-Identifier: MIT
 * What a user's cubin says of its case and its tables, in variables that cbank.cuh puts there, and
 * the builds that a list of spaces chooses. A version that this program does not know is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "kernel_parts.h"
#include "log.h"
#include "table.h"
#include "text.h"

#define SPACE_NAME(name, NAME) #name,
const char *const kernel_space_names[CBANK_SPACE_COUNT] = {CBANK_SPACES(SPACE_NAME)};

/* -- what a cubin says ------------------------------------------------------------------------- */

#define TABLE_INFO "cbank_table_info_"

/* Copies a variable that begins with its version. */
static enum status read_variable(const char *path, const struct cubin_variable *variable, void *out,
                                 size_t bytes)
{
    uint32_t version = 0;

    if (variable->data && variable->bytes >= sizeof(version))
        memcpy(&version, variable->data, sizeof(version));
    if (version != CBANK_CASE_VERSION || variable->bytes != bytes)
        return log_error(STATUS_USAGE,
                         "%s: it includes a cbank.cuh of version %u, and this program has version "
                         "%u; remove the copy that it "
                         "includes: the program brings its own",
                         path, (unsigned)version, CBANK_CASE_VERSION);
    memcpy(out, variable->data, bytes);
    return STATUS_OK;
}

static bool is_name(const char text[CBANK_NAME_BYTES])
{
    return text[0] && memchr(text, '\0', CBANK_NAME_BYTES);
}

static int by_line(const void *a, const void *b)
{
    const struct cbank_table_info *first = a, *second = b;

    if (first->line != second->line)
        return first->line < second->line ? -1 : 1;
    return strcmp(first->name, second->name);
}

enum status kernel_info_read(const void *cubin, size_t bytes, struct kernel_file *out)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin_variable variable;
    enum status status = STATUS_OK;
    struct cubin elf;
    bool sound = true;

    if (!cubin_open(cubin, bytes, &elf, reason))
        return log_error(STATUS_USAGE, "%s: the compiler made no cubin of it: %s", out->path,
                         reason);
    for (uint64_t place = 0; cubin_next_variable(&elf, &place, &variable);) {
        if (strcmp(variable.symbol, "cbank_case_info") == 0)
            status = read_variable(out->path, &variable, &out->info, sizeof(out->info));
        if (status != STATUS_OK)
            return status;
        if (strncmp(variable.symbol, TABLE_INFO, strlen(TABLE_INFO)) != 0)
            continue;
        if (out->table_count == CBANK_TABLES_MAX)
            return log_error(STATUS_USAGE,
                             "%s: more than %d tables; measure some of them at a time", out->path,
                             CBANK_TABLES_MAX);
        status = read_variable(out->path, &variable, &out->tables[out->table_count],
                               sizeof(out->tables[0]));
        if (status != STATUS_OK)
            return status;
        out->table_count++;
    }
    if (out->info.version == 0)
        return log_error(STATUS_USAGE,
                         "%s: no CBANK_CASE(kernel, sizes ...) { ... }, which says how the kernel "
                         "is launched; "
                         "see examples/crc32.cu",
                         out->path);
    if (out->table_count == 0)
        return log_error(STATUS_USAGE,
                         "%s:%u: the file has no CBANK_TABLE(name, type, entries, space); see "
                         "examples/crc32.cu",
                         out->path, (unsigned)out->info.line);
    for (size_t i = 0; i < out->table_count; i++)
        sound = sound && is_name(out->tables[i].name) && out->tables[i].space < CBANK_SPACE_COUNT &&
                out->tables[i].written < CBANK_SPACE_COUNT;
    if (!sound || !is_name(out->info.name) || out->info.size_count == 0 ||
        out->info.size_count > CBANK_SIZES_MAX)
        return log_error(STATUS_USAGE,
                         "%s:%u: its case or its tables are damaged; compile it with this "
                         "program's cbank.cuh",
                         out->path, (unsigned)out->info.line);
    qsort(out->tables, out->table_count, sizeof(out->tables[0]), by_line);
    return STATUS_OK;
}

/* -- choices ----------------------------------------------------------------------------------- */

/* Adds a build unless there is one with these spaces. It is called "shared" if all tables live
 * there, else "grid=shared+signs=constant". */
static enum status add_build(struct kernel_file *file, const enum cbank_space *spaces)
{
    struct kernel_build build = {.file = file, .as_written = true};
    bool same = true;
    size_t length = 0;

    for (size_t i = 0; i < file->table_count; i++) {
        build.spaces[i] = spaces[i];
        build.as_written = build.as_written && spaces[i] == file->tables[i].written;
        same = same && spaces[i] == spaces[0];
    }
    for (size_t i = 0; i < file->build_count; i++)
        if (memcmp(file->builds[i].spaces, build.spaces, sizeof(build.spaces)) == 0)
            return STATUS_OK;
    for (size_t i = 0; i < (same ? 1 : file->table_count) && length < USER_KERNEL_SPACES_BYTES; i++)
        length += (size_t)snprintf(build.kernel.spaces + length, USER_KERNEL_SPACES_BYTES - length,
                                   "%s%s%s%s", i ? "+" : "", same ? "" : file->tables[i].name,
                                   same ? "" : "=", kernel_space_names[spaces[i]]);
    if (length >= USER_KERNEL_SPACES_BYTES)
        return log_error(STATUS_USAGE,
                         "%s:%u: the names of its tables and of their memory spaces are longer "
                         "than %d bytes together; "
                         "give the tables shorter names",
                         file->path, (unsigned)file->tables[0].line, USER_KERNEL_SPACES_BYTES - 1);
    memcpy(build.kernel.name, file->info.name, sizeof(build.kernel.name));
    file->builds[file->build_count++] = build;
    return STATUS_OK;
}

/* Adds a build with all tables in one space, for each space. */
static enum status add_all(struct kernel_file *file)
{
    enum cbank_space spaces[CBANK_TABLES_MAX];

    for (size_t space = 0; space < CBANK_SPACE_COUNT; space++) {
        enum status status;

        for (size_t i = 0; i < file->table_count; i++)
            spaces[i] = (enum cbank_space)space;
        status = add_build(file, spaces);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Adds the builds of one choice of the list: it is changed. */
static enum status add_choice(struct kernel_file *file, char *text)
{
    static const size_t space_count = CBANK_SPACE_COUNT;
    static const struct table names = TABLE("memory space", kernel_space_names, space_count);
    char known[CBANK_TABLES_MAX * (CBANK_NAME_BYTES + 2)] = "", shown[TEXT_SHOWN_BYTES];
    enum cbank_space spaces[CBANK_TABLES_MAX];

    if (strcmp(text, "all") == 0)
        return add_all(file);
    for (size_t i = 0; i < file->table_count; i++)
        spaces[i] = (enum cbank_space)file->tables[i].written;
    if (strcmp(text, "written") == 0)
        return add_build(file, spaces);
    for (char *part; (part = strsep(&text, "+"));) {
        char *const equal = strchr(part, '='), *const name = equal ? equal + 1 : part;
        const char *const *const space = table_find(&names, name);
        bool found = false;

        if (!space)
            return table_unknown(&names, name);
        if (equal)
            *equal = '\0';
        for (size_t i = 0; i < file->table_count; i++) {
            text_join(known, sizeof(known), ", ", "%s", file->tables[i].name);
            if (equal && strcmp(file->tables[i].name, part) != 0)
                continue;
            spaces[i] = (enum cbank_space)(space - kernel_space_names);
            found = true;
        }
        if (!found)
            return log_error(STATUS_USAGE, "%s: unknown table '%s'; valid: %s", file->path,
                             text_shown(part, shown), known);
    }
    return add_build(file, spaces);
}

enum status kernel_choices_read(const char *spaces, struct kernel_file *file)
{
    char *const list = strdup(spaces ? spaces : "all,written"), *rest = list;
    enum status status = STATUS_OK;
    size_t count = CBANK_SPACE_COUNT + 1;

    for (const char *text = spaces; text && *text; text++)
        count += *text == ',';
    file->builds = calloc(count, sizeof(*file->builds));
    if (!list || !file->builds)
        status = log_memory("the builds of %s", file->path);
    for (char *choice; status == STATUS_OK && (choice = strsep(&rest, ","));)
        status = add_choice(file, choice);
    free(list);
    return status;
}
