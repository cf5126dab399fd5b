/* SPDX-License-Identifier: MIT */
#include "path.h"

const struct path paths[] = {
#define PATH(name, summary, home, unit, scope, bytes, chosen, architecture, loads, sass, ptx, load) \
    {#name, summary, home, unit, scope, bytes, chosen, architecture, loads, sass, ptx},
#include "paths.def"
};

const size_t path_count = sizeof(paths) / sizeof(paths[0]);

uint32_t path_length(const struct path *path)
{
    return path->bytes / (uint32_t)sizeof(uint32_t);
}
