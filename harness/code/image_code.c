/* SPDX-License-Identifier: MIT
 * The code of the kernels in an image. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cubin.h"
#include "image.h"
#include "launch_path.h"
#include "parameter_index.h"
#include "sha256.h"

bool image_function(const void *cubin, size_t bytes, const char *prefix, struct kernel_sass *out)
{
    struct cubin_function function;

    if (!cubin_find(cubin, bytes, prefix, &function))
        return false;
    out->symbol = function.symbol;
    out->code = function.code;
    out->bytes = function.bytes;
    sha256_hex(function.code, function.bytes, out->sha256);
    sass_read(function.code, function.bytes, function.architecture, out);
    return true;
}

/* Itanium C++ ABI name of launched<bytes>, or of the kernel that shows what a constant bank holds.
 * False: the cell has another kernel. */
static bool launch_symbol(const struct cell *cell, char prefix[256])
{
    const struct launch_path *launch = cell_launch_path(cell);

    if (!launch)
        return false;
    if (launch->work == WORK_KERNEL)
        snprintf(prefix, 256, "_Z8launchedILj%" PRIu32 "EE",
                 cell->parameters[PARAMETER_parameter_bytes]);
    else
        snprintf(prefix, 256, "launch_held");
    return true;
}

bool image_kernel(const void *cubin, size_t bytes, const struct cell *cell, struct kernel_sass *out)
{
    const bool loaded = cell->workload->index == INDEX_LOADED;
    const char *pattern = loaded ? "source" : cell->pattern->name;
    char prefix[256], path[64], sized[96] = "";

    if (launch_symbol(cell, prefix))
        return image_function(cubin, bytes, prefix, out);

    /* Itanium C++ ABI name of kernel<workload_W<variant>, path_P, pattern_T>, or sized<path_P,
     * width> in place of path_P. */
    snprintf(path, sizeof(path), "%zupath_%s", strlen("path_") + strlen(cell->path->name),
             cell->path->name);
    if (loaded || !table_is_whole(cell->parameters))
        snprintf(sized, sizeof(sized), "5sizedI%sLj%" PRIu32 "EE", path,
                 table_width(cell->parameters));
    snprintf(prefix, sizeof(prefix), "_Z6kernelI%zuworkload_%sILj%" PRIu32 "EE%s%zupattern_%sE",
             strlen("workload_") + strlen(cell->workload->name), cell->workload->name,
             workload_variant(cell->parameters), sized[0] ? sized : path,
             strlen("pattern_") + strlen(pattern), pattern);
    if (!image_function(cubin, bytes, prefix, out))
        return false;
    /* The number of rounds is known only for loops of a grid-stride kernel. */
    out->counted = out->counted && (out->loops > 0) == loaded;
    return true;
}
