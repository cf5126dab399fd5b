/* SPDX-License-Identifier: MIT
 * What `cbank run` says at the end: the table, and how to go on. */
#ifndef CBANK_RUN_REPORT_H
#define CBANK_RUN_REPORT_H

#include "run.h"

/* Prints the table of a run that has ended, as far as there is one, and what there is to say: why counters were not
 * read, where the result is, which cells failed, how to resume. `written`: what writing the result ended with; `verdict`:
 * what the result says. Returns `written`, or worse where the table could not be printed. */
enum status run_report(const struct run *run, enum status written, enum status verdict);

#endif
