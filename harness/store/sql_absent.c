/* SPDX-License-Identifier: MIT
 * In place of sql.c, in a build without SQLite: there is no database, and so nobody asks one. */
#include <math.h>
#include <stddef.h>

#include "log.h"
#include "sql.h"

enum status sql_open(const char *path, enum sql_access access, struct sql **out)
{
    (void)access;
    *out = NULL;
    return log_error(STATUS_ENVIRONMENT,
                     "%s: this build has no SQLite, which stores need; install its library (Debian: libsqlite3-dev; "
                     "scripts/setup.sh store does) and run make again",
                     path);
}

/* clang-format off */
#define UNUSED_1(a) (void)(a)
#define UNUSED_2(a, b) (void)(a), (void)(b)
#define UNUSED_3(a, b, c) (void)(a), (void)(b), (void)(c)

void sql_close(struct sql *sql) { UNUSED_1(sql); }
enum status sql_status(const struct sql *sql) { UNUSED_1(sql); return STATUS_ENVIRONMENT; }
void sql_fail(struct sql *sql, enum status status) { UNUSED_2(sql, status); }
void sql_no_memory(struct sql *sql) { UNUSED_1(sql); }
const char *sql_path(const struct sql *sql) { UNUSED_1(sql); return ""; }
void sql_run(struct sql *sql, const char *text) { UNUSED_2(sql, text); }
void sql_write_ahead(struct sql *sql) { UNUSED_1(sql); }
int64_t sql_integer_of(struct sql *sql, const char *text) { UNUSED_2(sql, text); return 0; }
void sql_begin(struct sql *sql) { UNUSED_1(sql); }
enum status sql_commit(struct sql *sql) { UNUSED_1(sql); return STATUS_ENVIRONMENT; }
void sql_rollback(struct sql *sql) { UNUSED_1(sql); }
int64_t sql_added(const struct sql *sql) { UNUSED_1(sql); return 0; }
struct sql_statement *sql_prepare(struct sql *sql, const char *text) { UNUSED_2(sql, text); return NULL; }
void sql_finish(struct sql_statement *statement) { UNUSED_1(statement); }
void sql_set_integer(struct sql_statement *statement, int index, int64_t value) { UNUSED_3(statement, index, value); }
void sql_set_number(struct sql_statement *statement, int index, double value) { UNUSED_3(statement, index, value); }
void sql_set_text(struct sql_statement *statement, int index, const char *value) { UNUSED_3(statement, index, value); }
bool sql_row(struct sql_statement *statement) { UNUSED_1(statement); return false; }
void sql_reset(struct sql_statement *statement) { UNUSED_1(statement); }
int64_t sql_integer(struct sql_statement *statement, int column) { UNUSED_2(statement, column); return 0; }
double sql_number(struct sql_statement *statement, int column) { UNUSED_2(statement, column); return NAN; }
const char *sql_text(struct sql_statement *statement, int column) { UNUSED_2(statement, column); return ""; }
bool sql_change(struct sql_statement *statement) { UNUSED_1(statement); return false; }
enum status sql_migrate(struct sql *sql, int32_t application, const char *const *steps, int count)
{
    UNUSED_2(sql, application), UNUSED_2(steps, count);
    return STATUS_ENVIRONMENT;
}
/* clang-format on */
