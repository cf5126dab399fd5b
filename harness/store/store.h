/* SPDX-License-Identifier: MIT
 * A store: an SQLite file that holds what many results say, for questions over time and over many GPUs. store_1.sql and
 * those that follow it are its schema, docs/fleet.md explains it. A run's key is the hash of its file's content, a cell's key is its identity.
 * Questions are SQL (sql.h), or the functions below. */
#ifndef CBANK_STORE_H
#define CBANK_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "result.h"
#include "sha256.h"
#include "sql.h"

struct store;

/* Whether a file is a database of SQLite, which a store is; false for what cannot be read, with
 * errno. */
bool store_is(const char *path);

/* STATUS_USAGE, logged, for what cannot be read or is none. */
enum status store_check(const char *path);

/* Opens a store, and brings it up to this version; with SQL_WRITE it is made where there is none. Errors are those of
 * sql_open and sql_migrate. The caller closes *out, which is NULL on an error. */
enum status store_open(const char *path, enum sql_access access, struct store **out);

/* Closes it; NULL is accepted. */
void store_close(struct store *store);

/* Its database, for statements; the store's to close. */
struct sql *store_sql(const struct store *store);

/* What became of a result. */
enum store_answer {
    STORE_NEW,       /* it was not known; it is in with the transaction */
    STORE_KNOWN,     /* it is in already */
    STORE_FORGOTTEN, /* cbank forget took it out, and it stays out */
    STORE_REFUSED,   /* logged: it cannot be right, or not beside another one */
};

/* Whether a run or calibration with this hash is new, known or forgotten. */
enum store_answer store_ask(struct store *store, const char hash[SHA256_HEX_BYTES]);

/* Adds a result, the content of whose file has that hash, within a transaction of the caller's. An interrupted
 * run is replaced by what was written of it later. Of what is not new nothing stays. An error is kept by the database: see sql_status. */
enum store_answer store_add(struct store *store, const struct result *result, const char hash[SHA256_HEX_BYTES],
                            const char *file);

/* The key of a cell, which is added where it is not known. Within a transaction of the caller's. */
int64_t store_identity(struct store *store, const struct cell *cell);

/* Takes the run of that number out, within a transaction of the caller's: its times and counters are deleted, and
 * `forgotten` keeps which it was and why (NULL: nobody said). */
void store_forget(struct store *store, int64_t run_id, const char *why);

/* The keys of all runs, by start. *out is the caller's to free, on an error, too. */
enum status store_runs(struct store *store, int64_t **out, size_t *count);

/* Reads a run as a result, without what a store does not keep: samples, model, metrics and reasons of counters, health,
 * the program. Names of its counters live as long as the store. The caller closes *out, which is empty on an error. */
enum status store_read_run(struct store *store, int64_t run_id, struct result *out);

/* Reads a cell from the column identities.cell. Errors are kept by the database. */
void store_read_cell(struct store *store, const char *text, struct cell *cell);

#endif
