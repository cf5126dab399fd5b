/* SPDX-License-Identifier: MIT */
#include "probe_source.h"

const char *const probe_kind_names[PROBE_KIND_COUNT] = {
    [PROBE_WALK] = "walk", [PROBE_CHAIN] = "chain", [PROBE_STREAM] = "stream", [PROBE_SHARING] = "sharing"};

const char *const probe_before_names[PROBE_BEFORE_COUNT] = {
    [PROBE_BEFORE_NOTHING] = "nothing", [PROBE_BEFORE_LAUNCH] = "launch", [PROBE_BEFORE_COPY] = "copy",
    [PROBE_BEFORE_MODULE] = "module",   [PROBE_BEFORE_FLUSH] = "flush"};

size_t probe_answer_count(const struct probe_request *request)
{
    switch (request->kind) {
    case PROBE_WALK:
        return request->count * request->timed;
    case PROBE_SHARING:
        return 2 * (size_t)request->blocks;
    default:
        return request->repeats;
    }
}
