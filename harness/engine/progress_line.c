/* SPDX-License-Identifier: MIT */
#include "progress_line.h"

#include <stdio.h>

#include "clock.h"

void progress_line_show(struct progress_line *line, const char *phase, size_t done, size_t total)
{
    const double now = clock_seconds();

    if (line->phase != phase)
        *line = (struct progress_line){.live = line->live, .phase = phase, .phase_start = now};
    if (!line->live || now - line->last <= 0.1)
        return;
    fprintf(stderr, "\r\033[K%s: %zu of %zu cells", phase, done, total);
    if (done > 0 && done < total)
        fprintf(stderr, ", %.1f s left", (now - line->phase_start) / (double)done * (double)(total - done));
    line->last = now;
}

void progress_line_clear(const struct progress_line *line)
{
    if (line->live)
        fputs("\r\033[K", stderr);
}
