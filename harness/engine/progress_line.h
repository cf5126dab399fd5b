/* SPDX-License-Identifier: MIT
 * The line on a terminal that says what is done. */
#ifndef CBANK_PROGRESS_LINE_H
#define CBANK_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct progress_line {
    bool live;          /* stderr is a terminal and wants the line */
    const char *phase;  /* of the last call */
    double phase_start; /* seconds */
    double last;        /* when it was last printed */
};

/* Says how much of a phase (static text) is done, not too often. */
void progress_line_show(struct progress_line *line, const char *phase, size_t done, size_t total);

/* Takes the line away. */
void progress_line_clear(const struct progress_line *line);

#endif
