/* SPDX-License-Identifier: MIT */
#include "path.h"

const struct path paths[] = {
#define PATH(name, summary, home, unit, sass, ptx, load) {#name, summary, home, unit, sass, ptx},
#include "paths.def"
};

const size_t path_count = sizeof(paths) / sizeof(paths[0]);
