/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file_lock.h"
#include "log.h"
#include "memory.h"
#include "store_parts.h"

/* "cbnk" in ASCII, the application_id of the file. */
enum { APPLICATION = 0x63626e6b };

/* Of store_text.S. A step that was released is never changed: what follows is a step of its own. */
extern const char store_step_1[], store_step_2[];

static const char *const steps[] = {store_step_1, store_step_2};

enum { VERSION = sizeof(steps) / sizeof(steps[0]) };

bool store_is(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char begin[sizeof(magic)] = "";
    const int descriptor = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
    const bool is = descriptor >= 0 && TEMP_FAILURE_RETRY(read(descriptor, begin, sizeof(begin))) == sizeof(begin) &&
                    memcmp(begin, magic, sizeof(magic)) == 0;

    if (descriptor >= 0)
        close(descriptor);
    return is;
}

enum status store_check(const char *path)
{
    errno = 0;
    if (store_is(path))
        return STATUS_OK;
    if (errno)
        return log_error(file_failed(errno), "cannot read %s: %s", path, strerror(errno));
    return log_error(STATUS_USAGE, "%s is no store; name one that cbank ingest made", path);
}

/* The table of flags is this program's. */
static void write_flags(struct sql *sql)
{
    struct sql_statement *add = sql_prepare(sql, "INSERT OR REPLACE INTO flags VALUES (?1, ?2, ?3)");

    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++) {
        sql_set_integer(add, 1, (int64_t)1 << bit);
        sql_set_text(add, 2, cell_flag_names[bit]);
        sql_set_text(add, 3, cell_flag_reasons[bit]);
        sql_change(add);
    }
    sql_finish(add);
}

static void prepare(struct store *store)
{
    static const char *const texts[STORE_STATEMENTS] = {
#define STATEMENT(name, text) [STORE_##name] = text,
#include "store_statements.def"
    };

    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        store->statements[i] = sql_prepare(store->sql, texts[i]);
}

static enum status migrate(struct sql *sql)
{
    return sql_migrate(sql, APPLICATION, steps, VERSION);
}

/* A store of an older version that is open for reading is brought up by another door. */
static enum status bring_up(struct sql *reading)
{
    const bool older = sql_integer_of(reading, "PRAGMA application_id") == APPLICATION &&
                       sql_integer_of(reading, "PRAGMA user_version") < VERSION;
    enum status status = sql_status(reading);
    struct sql *sql = NULL;

    if (status == STATUS_OK && older)
        status = sql_open(sql_path(reading), SQL_WRITE, &sql);
    if (sql)
        status = migrate(sql);
    sql_close(sql);
    return status;
}

enum status store_open(const char *path, enum sql_access access, struct store **out)
{
    struct store *store = calloc(1, sizeof(*store));
    enum status status = store ? sql_open(path, access, &store->sql) : log_memory("%s", path);

    *out = NULL;
    if (status == STATUS_OK && access == SQL_READ)
        status = bring_up(store->sql);
    if (status == STATUS_OK)
        status = migrate(store->sql);
    if (status == STATUS_OK && access == SQL_WRITE) {
        sql_write_ahead(store->sql);
        sql_begin(store->sql);
        write_flags(store->sql);
        sql_commit(store->sql);
        prepare(store);
        status = sql_status(store->sql);
    }
    if (status == STATUS_OK)
        *out = store;
    else
        store_close(store);
    return status;
}

void store_know_counter(struct store *store, const struct counter_value *of, int64_t id)
{
    const struct store_counter counter = {strdup(of->name), strdup(of->unit), of->kind, id};

    if (counter.name && counter.unit && memory_grow(&store->counters, store->counter_count, sizeof(counter))) {
        store->counters[store->counter_count++] = counter;
        return;
    }
    free(counter.name);
    free(counter.unit);
    sql_no_memory(store->sql);
}

void store_forget_counters(struct store *store)
{
    for (size_t i = 0; i < store->counter_count; i++) {
        free(store->counters[i].name);
        free(store->counters[i].unit);
    }
    free(store->counters);
    store->counters = NULL;
    store->counter_count = 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        sql_finish(store->statements[i]);
    for (size_t i = 0; i < STORE_READING; i++)
        sql_finish(store->reading[i]);
    sql_close(store->sql);
    store_forget_counters(store);
    free(store);
}

struct sql *store_sql(const struct store *store)
{
    return store->sql;
}

enum store_answer store_ask(struct store *store, const char hash[SHA256_HEX_BYTES])
{
    struct sql_statement *find = store->statements[STORE_FIND_HASH];
    enum store_answer answer = STORE_NEW;

    sql_set_text(find, 1, hash);
    if (sql_row(find)) {
        answer = sql_integer(find, 0) ? STORE_KNOWN : STORE_FORGOTTEN;
        sql_reset(find);
    }
    return answer;
}

/* Runs a statement whose first value is a run. */
static void with_run(struct store *store, enum store_statement name, int64_t run_id)
{
    sql_set_integer(store->statements[name], 1, run_id);
    sql_change(store->statements[name]);
}

void store_remove(struct store *store, int64_t run_id)
{
    with_run(store, STORE_DELETE_COUNTERS, run_id);
    with_run(store, STORE_DELETE_TIMES, run_id);
    with_run(store, STORE_DELETE_RUN, run_id);
}

void store_forget(struct store *store, int64_t run_id, const char *why)
{
    struct sql_statement *add = store->statements[STORE_ADD_FORGOTTEN];

    sql_set_integer(add, 2, time(NULL));
    sql_set_text(add, 3, why);
    with_run(store, STORE_ADD_FORGOTTEN, run_id);
    store_remove(store, run_id);
}
