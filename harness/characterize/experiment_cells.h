/* SPDX-License-Identifier: MIT
 * Cells that `cbank characterize` measures in addition to its probes, as `cbank run` would. */
#pragma once

#include "probe_source.h"
#include "result.h"
#include "watchdog.h"

/* A source that answers PROBE_CELL from a result, and everything else from another source. */
struct cells_source {
    struct result result; /* owned */
    struct probe_source probes;
};

/* Measures the cells on a GPU, with their counters where those can be read. A GPU that is not there
 * is no error: then no cell is measured. The watchdog guards the calls. The caller closes the
 * result. */
enum status cells_measure(uint32_t ordinal, struct watchdog *watchdog, double watchdog_slack,
                          struct cells_source *out);

/* The source of both. It refers to *source, and to the context of `probes`. */
struct probe_source cells_source_with(struct cells_source *source,
                                      const struct probe_source *probes);
