/* SPDX-License-Identifier: MIT
 * Fuzz targets: each takes any bytes, does with them what a user's commands do, and aborts where
 * that is wrong. They are functions of one program, which CBANK_FUZZ names one of; scripts/fuzz.sh
 * runs it. */
#ifndef CBANK_FUZZ_H
#define CBANK_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "memory.h"
#include "status.h"

/* Targets. A document is read, used, written and read again. */
typedef void fuzz_target(const char *text, size_t bytes);

fuzz_target fuzz_result, fuzz_calibration, fuzz_card, fuzz_characterization;
fuzz_target fuzz_compare; /* two results with a NUL between, or one with itself */
fuzz_target fuzz_batch; /* questions about times, one a line */
fuzz_target fuzz_command; /* words of a command line, one a line */
fuzz_target fuzz_npy; /* a file of indices */
fuzz_target fuzz_cubin; /* kernels of a user */

/* The name of the text in messages. */
#define FUZZ_FILE "fuzz.json"

/* A stream that goes to memory for a while. There is one for each of stdout and stderr, used again
 * and again, so that an execution opens nothing. libFuzzer and the sanitizers write to descriptors
 * and keep standard error. */
struct capture {
    struct memory memory; /* what was written, with a NUL at the end */
    FILE *stream;
};

extern struct capture fuzz_stdout, fuzz_stderr;

/* Between the two stdout, or stderr, goes to memory, whose old text goes at the beginning. */
void capture_begin(struct capture *capture);
void capture_end(struct capture *capture);

/* The text, without what is in memory then: the caller's to free. */
char *capture_take(struct capture *capture);

/* Aborts, and says what should have held, and for what text. */
void require(bool holds, const char *what, const char *shown);

/* Requires that fuzz_stderr has nothing when all is well, else one line of printable text that
 * names the file, and the status of bad input. */
void require_said(enum status status);

#endif
