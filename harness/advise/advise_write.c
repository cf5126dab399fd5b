/* SPDX-License-Identifier: MIT
 * The kernel file of advice: kernel_file.txt with its values.
 *
 * A line `?NAME TEXT` is written if the value NAME is given; a line `*TEXT` once for each table, with its letter for @ and
 * its number for #. $NAME$ stands for a value. */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "cbank_case.h"
#include "files.h"
#include "log.h"
#include "source.h"
#include "text.h"

enum { VALUES_MAX = 40, VALUE_BYTES = 512 };

struct kernel_text {
    uint32_t tables;
    size_t count;
    struct {
        const char *name;
        char text[VALUE_BYTES];
    } values[VALUES_MAX];
};

extern const char cbank_advise_kernel[]; /* kernel_file.txt */

__attribute__((format(printf, 3, 4))) static void give(struct kernel_text *text, const char *name, const char *format,
                                                       ...)
{
    va_list arguments;

    va_start(arguments, format);
    text->values[text->count].name = name;
    vsnprintf(text->values[text->count].text, VALUE_BYTES, format, arguments);
    text_clean(text->values[text->count++].text, VALUE_BYTES);
    va_end(arguments);
}

/* NULL if it is not given. */
static const char *value_of(const struct kernel_text *text, const char *name, size_t length)
{
    for (size_t i = 0; i < text->count; i++)
        if (strlen(text->values[i].name) == length && strncmp(text->values[i].name, name, length) == 0)
            return text->values[i].text;
    return NULL;
}

/* Writes a part of a line, for a table unless that is NULL. Values are written as they are, but for the table's letter
 * and number. */
static void put_text(FILE *stream, const struct kernel_text *text, const char *from, size_t length,
                     const uint32_t *table, bool is_value)
{
    for (const char *at = from, *end = from + length; at < end; at++) {
        if (*at == '$' && !is_value) {
            const size_t name = strcspn(at + 1, "$");
            const char *value = value_of(text, at + 1, name);

            put_text(stream, text, value ? value : "", value ? strlen(value) : 0, table, true);
            at += name + 1;
        } else if (*at == '@' && table) {
            putc((int)('a' + *table), stream);
        } else if (*at == '#' && table) {
            fprintf(stream, "%" PRIu32, *table);
        } else {
            putc(*at, stream);
        }
    }
}

static enum status write_kernel(FILE *stream, const void *context)
{
    const struct kernel_text *text = context;
    size_t length;

    for (const char *line = cbank_advise_kernel; *line; line += length + 1) {
        const char *from = line;
        bool given = true;

        length = strcspn(line, "\n");
        if (*line == '?') {
            const size_t name = strcspn(line + 1, " \n");

            given = value_of(text, line + 1, name) != NULL;
            from += 1 + name + (line[1 + name] == ' ');
        }
        for (uint32_t table = 0; given && table < (*from == '*' ? text->tables : 1); table++) {
            const bool each = *from == '*';

            put_text(stream, text, from + each, length - (size_t)(from - line) - each, each ? &table : NULL, false);
            putc('\n', stream);
        }
    }
    return STATUS_OK;
}

/* A list of `each` for all tables, with the letter of a table for @. */
static void give_tables(struct kernel_text *text, const char *name, const char *each)
{
    char list[VALUE_BYTES] = "", item[32];

    for (uint32_t table = 0; table < text->tables; table++) {
        snprintf(item, sizeof(item), "%s", each);
        for (char *at = item; *at; at++)
            *at = *at == '@' ? (char)('a' + table) : *at;
        text_join(list, sizeof(list), ", ", "%s", item);
    }
    give(text, name, "%s", list);
}

/* The values that the cell's lookups determine. */
static void give_lookups(struct kernel_text *text, const struct cell *cell)
{
    static const char *const entries[] = {"unsigned char", "unsigned short", "unsigned", "uint2", "uint4"};
    static const char *const words[] = {"entry", "entry", "entry", "entry.x + entry.y",
                                        "entry.x + entry.y + entry.z + entry.w"};
    static const char *const indices[][2] = {{"unsigned char", "signed char"},
                                             {"unsigned short", "short"},
                                             {"unsigned", "int"},
                                             {"unsigned long long", "long long"}};
    const uint32_t *value = cell->parameters, width = table_width(value), tables = text->tables;
    const uint32_t entry_count = value[PARAMETER_table_bytes] / width;

    give(text, "entry", "%s", entries[__builtin_ctz(width)]);
    give(text, "words", "%s", words[__builtin_ctz(width)]);
    give(text, "index", "%s", indices[__builtin_ctz(cell->indices->bytes)][cell->indices->is_signed != 0]);
    give(text, "entry_count", "%" PRIu32, entry_count);
    give(text, "loads", "%" PRIu32, value[PARAMETER_loads]);
    give(text, "unroll", "%" PRIu32, value[PARAMETER_in_flight] > tables ? value[PARAMETER_in_flight] / tables : 1);
    give(text, "step", tables > 1 ? "load += %" PRIu32 : "load++", tables);
    give(text, "load", "%s", tables > 1 ? "(load + #)" : "load");
    if (value[PARAMETER_loads] % tables)
        give(text, "guard", "if (load + # < loads) ");
    if (entry_count <= CBANK_WARP_THREADS && cell->elements % CBANK_WARP_THREADS)
        give(text, "ragged", "yes");
    if (value[PARAMETER_polluter_bytes])
        give(text, "polluter", "%" PRIu32, value[PARAMETER_polluter_bytes] / 4);
    give(text, "elements", "%" PRIu64, cell->elements);
    give(text, "threads", "%" PRIu32, cell->block_size);
    give(text, "shared", "%" PRIu32, value[PARAMETER_extra_shared_bytes]);
}

enum status advise_write_check(const struct plan_options *options, const char *path)
{
    const struct pattern *source = options->sources.count ? options->sources.rows[0] : NULL;

    if (options->patterns.count || source == &sources[SOURCE_distinct] || source == &sources[SOURCE_unequal])
        return log_error(STATUS_USAGE,
                         "--write is for lookups; name --source random, zipf, sorted, runs or lockstep, or "
                         "--indices");
    if (access(path, F_OK) == 0)
        return log_error(STATUS_USAGE, "%s is there already and may have your changes; name a new file for --write",
                         path);
    return STATUS_OK;
}

enum status advise_write(const struct advice *advice, const char *path)
{
    const struct cell *cell = &advice->spaces[0].cell;
    const uint64_t taken = (uint64_t)cell->block_size * cell->parameters[PARAMETER_elements_per_thread];
    struct kernel_text text = {.tables = table_count(cell->parameters)};
    char file[PATH_MAX];
    uint32_t blocks = 0;

    give(&text, "path", "%s", path);
    /* Not every memory space has room for several tables. */
    give(&text, "space", "%s",
         advice->choice && text.tables == 1 ? space_code_of(advice->spaces[0].path)->space : "global");
    give_lookups(&text, cell);
    give_tables(&text, "classes", "class Table_@");
    give_tables(&text, "types", "table_@");
    for (size_t i = 0; i < advice->count; i++) /* memory spaces that take no shared memory have most */
        blocks = advice->spaces[i].cell.grid_blocks > blocks ? advice->spaces[i].cell.grid_blocks : blocks;
    give(&text, cell->parameters[PARAMETER_elements_per_thread] == 1 ? "one" : "strides", "yes");
    if (taken)
        give(&text, "blocks", "(elements + %" PRIu64 ") / %" PRIu64, taken - 1, taken);
    else
        give(&text, "blocks", "%" PRIu32 " /* that the %s runs at a time */", blocks, advice->card.name);
    if (!advice->indices_path) {
        give(&text, "made", "%s", cell->pattern->name);
        give(&text, cell->pattern->name, "yes");
        give(&text, "skew_percent", "%" PRIu32, cell->parameters[PARAMETER_skew_percent]);
        give(&text, "run_threads", "%" PRIu32, cell->parameters[PARAMETER_run_threads]);
        return file_write(path, write_kernel, &text);
    }
    if (!realpath(advice->indices_path, file) || strlen(file) >= CBANK_FILE_NAME_BYTES || strpbrk(file, "\"\\"))
        return log_error(STATUS_USAGE, "%s: a kernel file names files by %d bytes at most, without \" and \\",
                         advice->indices_path, CBANK_FILE_NAME_BYTES - 1);
    give(&text, "file", "%s", file);
    return file_write(path, write_kernel, &text);
}
