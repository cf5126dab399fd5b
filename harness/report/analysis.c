/* SPDX-License-Identifier: MIT
 * Commands of the analysis, each a module of the Python package. The process becomes that Python:
 * exit status, signals and terminal are its own. The package is found beside the program, and from
 * nowhere else. */
#include "analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "log.h"
#include "program.h"

/* The Python that the distribution's packages are for. */
static const char python[] = "/usr/bin/python3";

/* The package, relative to the folder of the program: installed; in build/, build/NAME/,
 * build/tests/NAME/. */
static const char *const folders[] = {"../share/cbank/python/cbank", "../scripts/cbank",
                                      "../../scripts/cbank", "../../../scripts/cbank", NULL};

/* Imports the package by its path, and nothing else from there. sys.argv: the path, then the words
 * of the command. */
static const char start[] =
    "import sys, importlib.util as u\n"
    "p = sys.argv.pop(1)\n"
    "s = u.spec_from_file_location('cbank', p + '/__init__.py', submodule_search_locations=[p])\n"
    "sys.modules['cbank'] = m = u.module_from_spec(s)\n"
    "s.loader.exec_module(m)\n"
    "from cbank.__main__ import main\n"
    "sys.exit(main(sys.argv[1:]))\n";

enum status analysis_start(size_t count, char **words)
{
    /* -I: no current folder, PYTHONPATH or user's packages; -B: no bytecode in the installed
     * folder. */
    const char *fixed[] = {python, "-I", "-B", "-c", start};
    const size_t fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    char program[PATH_MAX], package[PATH_MAX];
    enum status status;
    const char **line;

    status = program_find("the Python package cbank is", folders, program, package);
    if (status != STATUS_OK)
        return status;
    line = calloc(fixed_count + count + 2, sizeof(*line));
    /* Threads of OpenBLAS that find no memory try again without end. The analysis has no work for
     * them. */
    if (!line || setenv("CBANK_PROGRAM", program, 1) != 0 ||
        setenv("OPENBLAS_NUM_THREADS", "1", 0) != 0) {
        free(line);
        return log_memory("the command line of Python");
    }
    memcpy(line, fixed, sizeof(fixed));
    line[fixed_count] = package;
    memcpy(line + fixed_count + 1, words, count * sizeof(*words));
    execv(python, (char *const *)line);
    status = log_error(STATUS_ENVIRONMENT, "cannot run %s for cbank %s: %s; install python3",
                       python, words[0], strerror(errno));
    free(line);
    return status;
}

/* Declares a command of the analysis, which has its own options. */
#define ANALYSIS(row, takes, says)                                 \
    extern const struct command row##_command;                     \
    const struct command row##_command = {.name = #row,            \
                                          .arguments = takes,      \
                                          .summary = says,         \
                                          .start = analysis_start, \
                                          .details = "cbank " #row " --help lists its options."};

ANALYSIS(report, "-o DIR FILE|DIR...", "Write a static page of documents, with figures and tables")
ANALYSIS(plot, "FILE...", "Draw figures of documents, for papers, as SVG, PDF or PNG")
ANALYSIS(convert, "--to FORMAT FILE...", "Convert results to the formats of other tools")
ANALYSIS(atlas, "DIR...", "Compare what is known of several chips in one table")
ANALYSIS(contribute, "DIR", "Measure all that the folder of a chip holds, on the first GPU")
ANALYSIS(check, "FILE|DIR|STORE...", "Check documents, stores, or the folder of a chip")
ANALYSIS(ingest, "STORE [PATH...]",
         "Put results into a store, an SQLite file for questions over time")
ANALYSIS(fleet, "STORE",
         "Say of a store which GPUs became slower, since when, and which did not answer")
ANALYSIS(history, "PATH...",
         "Print one line a run, or the series of cells, and since when levels changed")
