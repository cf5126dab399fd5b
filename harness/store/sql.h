/* SPDX-License-Identifier: MIT
 * SQL, over SQLite: what the store and what asks it need of it, and the only door to it. A build without the library
 * has sql_absent.c in place of sql.c, where opening says what is missing.
 *
 * A database keeps the first error, which was logged with the file's name: what is asked of it afterwards does nothing,
 * and what it answers means nothing. So a row of calls is followed by one look at sql_status. A database and its
 * statements are used by one thread at a time. */
#ifndef CBANK_SQL_H
#define CBANK_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

struct sql;           /* an open database */
struct sql_statement; /* of it, prepared once and run often */

enum sql_access { SQL_READ, SQL_WRITE /* makes the file where there is none */ };

/* Opens a database. Who writes waits for others that do, for a minute. STATUS_USAGE for what is no such file, or is not
 * there to be read; STATUS_ENVIRONMENT out of memory, and in a build without SQLite. The caller closes *out, which is
 * NULL on an error. */
enum status sql_open(const char *path, enum sql_access access, struct sql **out);

/* Closes it; NULL is accepted. Its statements are closed before. */
void sql_close(struct sql *sql);

/* Of the first error; STATUS_OK when there was none. Errors of a file are STATUS_USAGE: that it is damaged, that the
 * disk is full, that somebody else writes to it for longer than a minute. */
enum status sql_status(const struct sql *sql);

/* Keeps an error of the caller's, which logged it. */
void sql_fail(struct sql *sql, enum status status);

/* Likewise where memory ran out, which it logs. */
void sql_no_memory(struct sql *sql);

/* The path by which it was opened. */
const char *sql_path(const struct sql *sql);

/* Runs statements that have no values and whose rows nobody wants, with semicolons between. */
void sql_run(struct sql *sql, const char *text);

/* Has changes written ahead (WAL), so that readers and a writer do not wait for each other. Waits for other processes that
 * open the database now. */
void sql_write_ahead(struct sql *sql);

/* The integer that is the first column of the first row of a statement without values; 0 where there is none. */
int64_t sql_integer_of(struct sql *sql, const char *text);

/* Begins a transaction in which nobody else writes; ends it: what it did is in the file when sql_commit returns
 * STATUS_OK, and after any kill then; as long as it does not, nothing is. A rollback does nothing outside of one, and
 * works after an error, too. */
void sql_begin(struct sql *sql);
enum status sql_commit(struct sql *sql);
void sql_rollback(struct sql *sql);

/* Makes a statement of text with values ?1, ?2 ... NULL after an error, which the other functions accept. The caller
 * closes it, before its database. */
struct sql_statement *sql_prepare(struct sql *sql, const char *text);
void sql_finish(struct sql_statement *statement);

/* Values of a statement, by number from 1, for the time that it begins to run: NaN, and text that is NULL, are NULL.
 * Text has to live until the statement ran. Those that are not set are what they were the time before, at first NULL. */
void sql_set_integer(struct sql_statement *statement, int index, int64_t value);
void sql_set_number(struct sql_statement *statement, int index, double value);
void sql_set_text(struct sql_statement *statement, int index, const char *value);

/* Goes on to the next row: true while there is one. After the last it can be run again. sql_reset ends it before. */
bool sql_row(struct sql_statement *statement);
void sql_reset(struct sql_statement *statement);

/* Columns of the row, from 0: NULL is 0, NaN, and "". Text lives until the next row. */
int64_t sql_integer(struct sql_statement *statement, int column);
double sql_number(struct sql_statement *statement, int column);
const char *sql_text(struct sql_statement *statement, int column);

/* Runs a statement that gives no rows. True when it changed a row. */
bool sql_change(struct sql_statement *statement);

/* The key of the row that was added last. */
int64_t sql_added(const struct sql *sql);

/* Brings a database up to the version that has `count` steps: step i leads from version i to i + 1, each in a
 * transaction of its own with the version's number. STATUS_USAGE, logged, for a newer version, and for a database with
 * tables that is of another program; its file is then as it was. */
enum status sql_migrate(struct sql *sql, int32_t application, const char *const *steps, int count);

#endif
