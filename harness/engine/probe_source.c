/* SPDX-License-Identifier: MIT
 * What follows from the kind of a probe: its name, that of what comes before it, and how many
 * numbers it answers. */
#include "probe_source.h"

const char *const probe_kind_names[PROBE_KIND_COUNT + 1] =
    {[PROBE_CHASE] = "chase",     [PROBE_CHAIN] = "chain", [PROBE_STREAM] = "stream",
     [PROBE_SHARING] = "sharing", [PROBE_RELAY] = "relay", [PROBE_TRANSFER] = "transfer",
     [PROBE_CELL] = "cell"};

const char *const probe_before_names[PROBE_BEFORE_COUNT] = {[PROBE_BEFORE_NOTHING] = "nothing",
                                                            [PROBE_BEFORE_LAUNCH] = "launch",
                                                            [PROBE_BEFORE_COPY] = "copy",
                                                            [PROBE_BEFORE_MODULE] = "module",
                                                            [PROBE_BEFORE_FLUSH] = "flush"};

bool probe_is_single(enum probe_kind kind)
{
    return kind == PROBE_SHARING || kind == PROBE_RELAY || kind == PROBE_TRANSFER;
}

size_t probe_answer_count(const struct probe_request *request)
{
    switch (request->kind) {
    case PROBE_CHASE:
    case PROBE_RELAY:
        return request->count * request->timed;
    case PROBE_SHARING:
        return 2 * (size_t)request->blocks;
    case PROBE_CELL:
        return PROBE_CELL_VALUES;
    default:
        return request->repeats;
    }
}
