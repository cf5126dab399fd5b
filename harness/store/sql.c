/* SPDX-License-Identifier: MIT
 * The only file that sees SQLite's header. */
#include "sql.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

enum { WAIT_MS = 60000, BUSY_MS = 5 };

struct sql {
    sqlite3 *database;
    char *path;
    enum status status;
};

struct sql_statement {
    struct sql *sql;
    sqlite3_stmt *statement;
};

/* -- errors -------------------------------------------------------------------------------------------- */

/* Logs what a code of SQLite means, unless something went wrong before. */
static void failed(struct sql *sql, int code)
{
    const char *said = sqlite3_errmsg(sql->database);
    const int system = sqlite3_system_errno(sql->database);

    if (sql->status != STATUS_OK)
        return;
    if ((code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
        sql->status = log_memory("%s", sql->path);
    else if ((code & 0xff) == SQLITE_NOTADB)
        sql->status = log_error(STATUS_USAGE, "%s is no SQLite file; name a store that cbank ingest made", sql->path);
    else if ((code & 0xff) == SQLITE_CORRUPT)
        sql->status =
            log_error(STATUS_USAGE, "%s is damaged: %s; restore a copy, or ingest the results into a new store",
                      sql->path, said);
    else if ((code & 0xff) == SQLITE_BUSY)
        sql->status = log_error(STATUS_USAGE, "%s: another process has written to it for more than %d s; try again",
                                sql->path, WAIT_MS / 1000);
    else
        sql->status =
            log_error(STATUS_USAGE, "%s: %s%s%s", sql->path, said, system ? ": " : "", system ? strerror(system) : "");
}

/* Whether a call did what it should. */
static bool good(struct sql *sql, int code)
{
    if (code != SQLITE_OK)
        failed(sql, code);
    return code == SQLITE_OK;
}

enum status sql_status(const struct sql *sql)
{
    return sql->status;
}

void sql_fail(struct sql *sql, enum status status)
{
    sql->status = sql->status == STATUS_OK ? status : sql->status;
}

void sql_no_memory(struct sql *sql)
{
    sql_fail(sql, log_memory("%s", sql->path));
}

const char *sql_path(const struct sql *sql)
{
    return sql->path;
}

/* -- databases ----------------------------------------------------------------------------------------- */

enum status sql_open(const char *path, enum sql_access access, struct sql **out)
{
    const int flags = access == SQL_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    struct sql *sql = calloc(1, sizeof(*sql));
    enum status status;
    int code;

    *out = NULL;
    if (!sql || !(sql->path = strdup(path))) {
        free(sql);
        return log_memory("%s", path);
    }
    code = sqlite3_open_v2(path, &sql->database, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (!sql->database)
        sql->status = log_memory("%s", path);
    else if (good(sql, code) && good(sql, sqlite3_busy_timeout(sql->database, WAIT_MS)))
        sql_run(sql, "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; SELECT count(*) FROM sqlite_schema");
    status = sql->status;
    if (status == STATUS_OK)
        *out = sql;
    else
        sql_close(sql);
    return status;
}

void sql_close(struct sql *sql)
{
    if (!sql)
        return;
    sqlite3_close(sql->database);
    free(sql->path);
    free(sql);
}

void sql_run(struct sql *sql, const char *text)
{
    if (sql->status == STATUS_OK)
        good(sql, sqlite3_exec(sql->database, text, NULL, NULL, NULL));
}

void sql_write_ahead(struct sql *sql)
{
    int code = SQLITE_BUSY, waited = 0;

    /* SQLite does not wait for others here by itself. */
    while (sql->status == STATUS_OK && (code & 0xff) == SQLITE_BUSY && waited < WAIT_MS) {
        code = sqlite3_exec(sql->database, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        waited += code == SQLITE_OK ? 0 : sqlite3_sleep(BUSY_MS);
    }
    if (sql->status == STATUS_OK)
        good(sql, code);
}

int64_t sql_integer_of(struct sql *sql, const char *text)
{
    struct sql_statement *statement = sql_prepare(sql, text);
    const int64_t value = sql_row(statement) ? sql_integer(statement, 0) : 0;

    sql_finish(statement);
    return value;
}

void sql_begin(struct sql *sql)
{
    sql_run(sql, "BEGIN IMMEDIATE");
}

enum status sql_commit(struct sql *sql)
{
    sql_run(sql, "COMMIT");
    return sql->status;
}

void sql_rollback(struct sql *sql)
{
    if (!sqlite3_get_autocommit(sql->database))
        sqlite3_exec(sql->database, "ROLLBACK", NULL, NULL, NULL);
}

int64_t sql_added(const struct sql *sql)
{
    return sqlite3_last_insert_rowid(sql->database);
}

/* -- statements ---------------------------------------------------------------------------------------- */

struct sql_statement *sql_prepare(struct sql *sql, const char *text)
{
    struct sql_statement *statement = sql->status == STATUS_OK ? calloc(1, sizeof(*statement)) : NULL;

    if (!statement) {
        if (sql->status == STATUS_OK)
            sql_no_memory(sql);
        return NULL;
    }
    statement->sql = sql;
    if (good(sql, sqlite3_prepare_v3(sql->database, text, -1, SQLITE_PREPARE_PERSISTENT, &statement->statement, NULL)))
        return statement;
    free(statement);
    return NULL;
}

void sql_finish(struct sql_statement *statement)
{
    if (statement)
        sqlite3_finalize(statement->statement);
    free(statement);
}

/* A statement that can go on. */
static bool alive(const struct sql_statement *statement)
{
    return statement && statement->sql->status == STATUS_OK;
}

void sql_set_integer(struct sql_statement *statement, int index, int64_t value)
{
    if (alive(statement))
        good(statement->sql, sqlite3_bind_int64(statement->statement, index, value));
}

void sql_set_number(struct sql_statement *statement, int index, double value)
{
    /* SQLite takes NaN for NULL. */
    if (alive(statement))
        good(statement->sql, sqlite3_bind_double(statement->statement, index, value));
}

void sql_set_text(struct sql_statement *statement, int index, const char *value)
{
    if (alive(statement))
        good(statement->sql, sqlite3_bind_text(statement->statement, index, value, -1, SQLITE_STATIC));
}

bool sql_row(struct sql_statement *statement)
{
    int code;

    if (!alive(statement))
        return false;
    code = sqlite3_step(statement->statement);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        failed(statement->sql, code);
    sqlite3_reset(statement->statement);
    return false;
}

void sql_reset(struct sql_statement *statement)
{
    if (statement)
        sqlite3_reset(statement->statement);
}

bool sql_change(struct sql_statement *statement)
{
    sql_row(statement);
    return alive(statement) && sqlite3_changes(statement->sql->database) > 0;
}

int64_t sql_integer(struct sql_statement *statement, int column)
{
    return sqlite3_column_int64(statement->statement, column);
}

double sql_number(struct sql_statement *statement, int column)
{
    return sqlite3_column_type(statement->statement, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(statement->statement, column);
}

const char *sql_text(struct sql_statement *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement->statement, column);

    /* Of what is not NULL it is NULL where memory ran out. */
    if (!text && sqlite3_column_type(statement->statement, column) != SQLITE_NULL)
        failed(statement->sql, SQLITE_NOMEM);
    return text ? text : "";
}

/* -- versions ------------------------------------------------------------------------------------------ */

/* The version of the database's schema; -1, logged, where it is another program's or a newer one. */
static int64_t version_of(struct sql *sql, int32_t application, int count)
{
    /* The owner comes last: who makes the store meanwhile commits all three at once, and one who saw tables sees whose. */
    const int64_t tables = sql_integer_of(sql, "SELECT count(*) FROM sqlite_schema");
    const int64_t version = sql_integer_of(sql, "PRAGMA user_version");
    const int64_t owner = sql_integer_of(sql, "PRAGMA application_id");

    if (sql->status == STATUS_OK && owner != application && (owner || version || tables))
        sql->status = log_error(STATUS_USAGE,
                                "%s is a database of another program; name a store that cbank ingest made", sql->path);
    else if (sql->status == STATUS_OK && (version < 0 || version > count))
        sql->status = log_error(STATUS_USAGE,
                                "%s is a store of version %" PRId64
                                ", and this cbank knows those up to %d; take the cbank that made it, or a newer one",
                                sql->path, version, count);
    return sql->status == STATUS_OK ? version : -1;
}

enum status sql_migrate(struct sql *sql, int32_t application, const char *const *steps, int count)
{
    char *marks = NULL;
    int64_t version = version_of(sql, application, count);

    while (version >= 0 && version < count) {
        sql_begin(sql);
        /* Somebody else may have made the step meanwhile. */
        version = version_of(sql, application, count);
        if (version >= 0 && version < count) {
            marks =
                sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, (int)version + 1);
            if (!marks)
                failed(sql, SQLITE_NOMEM);
            sql_run(sql, steps[version]);
            sql_run(sql, marks ? marks : "");
            sqlite3_free(marks);
        }
        if (sql_commit(sql) != STATUS_OK)
            sql_rollback(sql);
        version = version_of(sql, application, count);
    }
    return sql->status;
}
