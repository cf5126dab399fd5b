/* SPDX-License-Identifier: MIT
 * Puts results, and calibrations, into a store. Files are read and parsed on all processors, some at a time; one thread writes. */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "files.h"
#include "log.h"
#include "noise.h"
#include "parallel.h"
#include "store.h"

/* Files that are in memory at a time, and those of a transaction. */
enum { FILES_AT_ONCE = 8, FILES_A_TRANSACTION = 64 };

struct ingest_options {
    bool list, quiet;
};

/* What became of a file: as the store answers, or nothing for it to answer. */
enum outcome { OTHER = STORE_REFUSED + 1, OUTCOMES };

static const char *const outcome_words[OUTCOMES] = {
    [STORE_NEW] = "new",         [STORE_KNOWN] = "known", [STORE_FORGOTTEN] = "forgotten",
    [STORE_REFUSED] = "refused", [OTHER] = "other",
};

struct file {
    const char *path;
    char *text; /* owned; NULL once it is parsed, and where it cannot be read */
    size_t bytes;
    char hash[SHA256_HEX_BYTES];
    struct result result;
    struct calibration calibration;
    bool calibrates; /* it is a calibration, else a result */
    int outcome;         /* enum store_answer or enum outcome */
    enum status status;  /* of reading it */
};

/* -- on all processors --------------------------------------------------------------------------------- */

static void read_files(void *context, uint64_t first, uint64_t count)
{
    struct file *files = context;

    for (struct file *file = files + first; file < files + first + count; file++) {
        file->status = file_read(file->path, JSON_FILE_BYTES_MAX, &file->text, &file->bytes);
        if (file->status == STATUS_OK)
            sha256_hex(file->text, file->bytes, file->hash);
    }
}

/* A calibration says something of a GPU that is known by its UUID. */
static void take_calibration(struct file *file, const cJSON *tree)
{
    file->calibrates = true;
    file->status = calibration_take(file->path, tree, &file->calibration);
    if (file->status == STATUS_OK && (file->calibration.modelled || !file->calibration.device.uuid[0]))
        file->outcome = OTHER;
}

/* Of those that the store does not know. */
static void parse_files(void *context, uint64_t first, uint64_t count)
{
    struct file *files = context;

    for (struct file *file = files + first; file < files + first + count; file++) {
        cJSON *tree;

        if (file->status != STATUS_OK || file->outcome != STORE_NEW)
            continue;
        file->status = json_parse(file->path, file->text, file->bytes, &tree);
        free(file->text);
        file->text = NULL;
        if (file->status != STATUS_OK)
            continue;
        if (result_is(tree)) {
            file->status = result_take(file->path, tree, &file->result);
            continue;
        }
        if (calibration_is(tree))
            take_calibration(file, tree);
        else
            file->outcome = OTHER;
        cJSON_Delete(tree);
    }
}

/* -- in turn ------------------------------------------------------------------------------------------- */

struct ingest {
    const struct ingest_options *options;
    struct store *store;
    struct file *files; /* owned: those of a transaction */
    size_t counts[OUTCOMES];
    enum status status; /* STATUS_USAGE where a file was refused */
};

/* Adds what was read. */
static enum store_answer add(struct store *store, const struct file *file)
{
    if (!file->calibrates)
        return store_add(store, &file->result, file->hash, file->path);
    /* One that is twice among the files of a transaction is known by now. */
    if (store_ask(store, file->hash) == STORE_KNOWN)
        return STORE_KNOWN;
    noise_write(store, &file->calibration, file->hash, file->path);
    return STORE_NEW;
}

/* Takes in up to FILES_AT_ONCE files. */
static void take(struct ingest *ingest, struct file *files, size_t count)
{
    parallel_ranges(count, 1, read_files, files);
    for (struct file *file = files; file < files + count; file++)
        if (file->status == STATUS_OK)
            file->outcome = store_ask(ingest->store, file->hash);
    parallel_ranges(count, 1, parse_files, files);
    for (struct file *file = files; file < files + count; file++) {
        if (file->status == STATUS_OK && file->outcome == STORE_NEW)
            file->outcome = add(ingest->store, file);
        else if (file->status == STATUS_USAGE)
            file->outcome = STORE_REFUSED;
        else
            sql_fail(store_sql(ingest->store), file->status); /* memory ran out: the transaction ends */
        if (file->outcome == STORE_REFUSED)
            ingest->status = STATUS_USAGE;
        result_close(&file->result);
        calibration_close(&file->calibration);
        free(file->text);
        file->text = NULL;
    }
}

static void write_defaults(struct store *store)
{
    sql_begin(store_sql(store));
    noise_write_defaults(store);
    sql_commit(store_sql(store));
}

/* Takes in the files of a transaction. What is said of them is said after it. */
static enum status take_all(struct ingest *ingest, char *const *paths, size_t count)
{
    struct sql *sql = store_sql(ingest->store);

    for (size_t i = 0; i < count; i++)
        ingest->files[i] = (struct file){.path = paths[i]};
    sql_begin(sql);
    for (size_t i = 0; i < count && sql_status(sql) == STATUS_OK; i += FILES_AT_ONCE)
        take(ingest, ingest->files + i, count - i < FILES_AT_ONCE ? count - i : FILES_AT_ONCE);
    if (sql_commit(sql) != STATUS_OK) {
        sql_rollback(sql);
        return sql_status(sql);
    }
    for (size_t i = 0; i < count; i++) {
        ingest->counts[ingest->files[i].outcome]++;
        if (ingest->options->list)
            printf("%-9s %s\n", outcome_words[ingest->files[i].outcome], ingest->files[i].path);
    }
    fflush(stdout);
    return STATUS_OK;
}

/* "12 new, 3 known, 0 refused", and the others where there are any. */
static void print_counts(const struct ingest *ingest)
{
    static const int order[OUTCOMES] = {STORE_NEW, STORE_KNOWN, STORE_REFUSED, STORE_FORGOTTEN, OTHER};
    enum { ALWAYS = 3 };

    for (size_t i = 0; i < OUTCOMES; i++)
        if (i < ALWAYS || ingest->counts[order[i]])
            printf("%s%zu %s", i ? ", " : "", ingest->counts[order[i]],
                   order[i] == OTHER ? "passed over, which are no results" : outcome_words[order[i]]);
    putchar('\n');
}

static enum status take_files(struct ingest *ingest, const char *store, const struct file_list *list)
{
    enum status status = store_open(store, SQL_WRITE, &ingest->store);

    ingest->files = calloc(FILES_A_TRANSACTION, sizeof(*ingest->files));
    if (!ingest->files)
        status = log_memory("%s", store);
    if (status == STATUS_OK)
        write_defaults(ingest->store);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i += FILES_A_TRANSACTION)
        status = take_all(ingest, list->paths + i,
                          list->count - i < FILES_A_TRANSACTION ? list->count - i : FILES_A_TRANSACTION);
    if (status == STATUS_OK && !ingest->options->quiet)
        print_counts(ingest);
    store_close(ingest->store);
    free(ingest->files);
    return status == STATUS_OK ? ingest->status : status;
}

static enum status ingest_run(const void *parsed, const struct invocation *invocation)
{
    struct ingest ingest = {.options = parsed};
    struct file_list list = {0};
    enum status status = STATUS_OK;

    for (size_t i = 1; status == STATUS_OK && i < invocation->argument_count; i++) {
        const size_t before = list.count;

        status = files_add_tree(&list, invocation->arguments[i]);
        if (status == STATUS_OK && list.count == before)
            status =
                log_error(STATUS_USAGE, "%s has no .json file; name a folder with results", invocation->arguments[i]);
    }
    if (status == STATUS_OK)
        status = take_files(&ingest, invocation->arguments[0], &list);
    files_close(&list);
    return status;
}

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "list", .help = "print what became of each file, once it is in",
     .kind = &option_flag, .offset = offsetof(struct ingest_options, list)},
    {.name = "quiet", .help = "print no counts",
     .kind = &option_flag, .offset = offsetof(struct ingest_options, quiet)},
};
/* clang-format on */

static const struct option_group groups[] = {OPTION_GROUP(rows, 0)};

const struct command ingest_command = {
    .name = "ingest",
    .summary = "Put results into a store, an SQLite file for questions over time",
    .arguments = "STORE PATH...",
    .arguments_min = 2,
    .arguments_max = 100000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct ingest_options),
    .details =
        "PATH is a result or a calibration, or a folder whose *.json files are taken, with those of the folders in it. Other\n"
        "documents of cbank are passed over. What is in already is known by the hash of its content, and changes nothing. The\n"
        "exit code is 2 when a file was refused; the others are in. Several commands may write to one store at once, on one host.",
    .run = ingest_run,
};
