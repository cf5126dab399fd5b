/* SPDX-License-Identifier: MIT
 * The commands. Each is the `run` of one row of the command table in main.c: it returns the exit code. */
#ifndef CBANK_COMMANDS_H
#define CBANK_COMMANDS_H

#include "options.h"
#include "status.h"

/* run: measures (or models) a plan, writes the result, prints its table. argv is recorded. */
enum status command_run(const struct options *options, int argc, char **argv);

/* show FILE...: prints the tables of results. */
enum status command_show(const struct options *options, int argc, char **argv);

/* explain FILE...: prints what a card predicts of the cells of results, beside what was measured. */
enum status command_explain(const struct options *options, int argc, char **argv);

/* compare BASE NEW: is NEW worse? Each is a file, a folder, or several of them with commas between. */
enum status command_compare(const struct options *options, int argc, char **argv);

/* calibrate: runs a plan in several processes and writes the noise of each cell between them. */
enum status command_calibrate(const struct options *options, int argc, char **argv);

/* characterize: finds out how the load paths of a GPU work and writes everything that was measured. */
enum status command_characterize(const struct options *options, int argc, char **argv);

/* export FILE...: prints results in the format of another tool. */
enum status command_export(const struct options *options, int argc, char **argv);

/* history PATH...: one line a run, or the series of one cell. */
enum status command_history(const struct options *options, int argc, char **argv);

/* report FILE...: writes a static page of what other commands wrote. Does not come back where it can. */
enum status command_report(const struct options *options, int argc, char **argv);

/* list [TABLE]: prints the rows of a table, of all tables without an argument. */
enum status command_list(const struct options *options, int argc, char **argv);

/* doctor: says what this machine can do and how to mend what it cannot. STATUS_ENVIRONMENT when a problem
 * keeps cbank from measuring on a GPU. */
enum status command_doctor(const struct options *options, int argc, char **argv);

#endif
