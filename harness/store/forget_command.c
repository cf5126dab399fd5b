/* SPDX-License-Identifier: MIT
 * Takes a run out of a store. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "command.h"
#include "log.h"
#include "store.h"

struct forget_options {
    const char *why;
};

/* A run that is to go. */
struct found {
    int64_t run_id, started;
    char hash[SHA256_HEX_BYTES], file[4096];
};

enum { PREFIX_LEAST = 6 };

/* Finds the one run that is named so: by its file's name, the name without folders, or how its hash begins. */
static enum status find_run(struct store *store, const char *name, struct found *found)
{
    struct sql *sql = store_sql(store);
    struct sql_statement *find = sql_prepare(
        sql,
        "SELECT run_id, started_utc, hash, file FROM runs WHERE file = ?1 OR substr(file, -length(?1) - 1) = '/' || ?1"
        " OR (length(?1) >= ?2 AND substr(hash, 1, length(?1)) = ?1) ORDER BY run_id LIMIT 2");
    size_t count = 0;

    sql_set_text(find, 1, name);
    sql_set_integer(find, 2, PREFIX_LEAST);
    while (sql_row(find)) {
        char first[SHA256_HEX_BYTES];

        memcpy(first, found->hash, sizeof(first));
        found->run_id = sql_integer(find, 0);
        found->started = sql_integer(find, 1);
        snprintf(found->hash, sizeof(found->hash), "%s", sql_text(find, 2));
        snprintf(found->file, sizeof(found->file), "%s", sql_text(find, 3));
        if (++count == 2)
            sql_fail(sql, log_error(STATUS_USAGE,
                                    "%s: several runs are named %s: %.12s and %.12s, and perhaps more; give a hash",
                                    sql_path(sql), name, first, found->hash));
    }
    sql_finish(find);
    if (sql_status(sql) == STATUS_OK && count == 0)
        return log_error(STATUS_USAGE,
                         "%s: no run is named %s; give the name of its file, or at least %d digits of its hash, which "
                         "cbank history --json prints",
                         sql_path(sql), name, PREFIX_LEAST);
    return sql_status(sql);
}

static enum status forget(const void *parsed, const struct invocation *invocation)
{
    const struct forget_options *options = parsed;
    struct store *store = NULL;
    struct found found = {0};
    char when[CLOCK_UTC_BYTES];
    enum status status = store_check(invocation->arguments[0]);

    if (status == STATUS_OK)
        status = store_open(invocation->arguments[0], SQL_WRITE, &store);
    if (status != STATUS_OK)
        return status;
    sql_begin(store_sql(store));
    status = find_run(store, invocation->arguments[1], &found);
    if (status == STATUS_OK) {
        store_forget(store, found.run_id, options->why);
        status = sql_commit(store_sql(store));
    }
    if (status == STATUS_OK) {
        clock_write_utc(found.started, when);
        printf("forgotten: %s of %s, hash %.12s\n", found.file, when, found.hash);
    }
    store_close(store);
    return status;
}

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "why", .argument = "TEXT", .help = "the reason, which the store keeps",
     .kind = &option_text, .offset = offsetof(struct forget_options, why)},
};
/* clang-format on */

static const struct option_group groups[] = {OPTION_GROUP(rows, 0)};

const struct command forget_command = {
    .name = "forget",
    .summary = "Take a run out of a store, for good",
    .arguments = "STORE RUN",
    .arguments_min = 2,
    .arguments_max = 2,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct forget_options),
    .details =
        "RUN is the name of its file, or how its hash begins. Its times and counters are deleted. The store keeps which run\n"
        "it was, when and why it went, cbank history says so, and cbank ingest does not take the file again.",
    .run = forget,
};
