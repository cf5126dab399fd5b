/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <ar.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "sha256.h"

/* images.S puts the archive between these. */
extern const char cbank_images_start[], cbank_images_end[];

/* -- the archive -------------------------------------------------------------------------------------- */

/* Resolves a member's name: "name/", or "/offset" into the table of long names, where "/\n" ends each. */
static void member_name(const struct ar_hdr *header, const struct image *long_names, struct image *out)
{
    const char *name = header->ar_name;
    size_t room = sizeof(header->ar_name);

    if (name[0] == '/' && name[1] >= '0' && name[1] <= '9' && long_names->data) {
        const size_t offset = strtoul(name + 1, NULL, 10);

        room = offset < long_names->bytes ? long_names->bytes - offset : 0;
        name = (const char *)long_names->data + (room ? offset : 0);
    }
    out->name = name;
    out->name_bytes = 0;
    while (out->name_bytes < room && name[out->name_bytes] != '/' && name[out->name_bytes] != '\n')
        out->name_bytes++;
}

bool image_at(size_t index, struct image *out)
{
    struct image long_names = {0}; /* the table of names that do not fit into a header */
    const char *at = cbank_images_start + SARMAG;

    while (cbank_images_end - at > (ptrdiff_t)sizeof(struct ar_hdr)) {
        const struct ar_hdr *header = (const struct ar_hdr *)at;
        const struct image member = {.data = at + sizeof(*header), .bytes = strtoul(header->ar_size, NULL, 10)};

        if (member.bytes > (size_t)(cbank_images_end - at) - sizeof(*header))
            return false;
        at += sizeof(*header) + member.bytes + member.bytes % 2;
        if (memcmp(header->ar_name, "//", 2) == 0) {
            long_names = member;
        } else if ((header->ar_name[0] != '/' || header->ar_name[1] != ' ') && index-- == 0) {
            *out = member;
            member_name(header, &long_names, out);
            return true;
        }
    }
    return false;
}

void image_architectures(char *list, size_t bytes)
{
    char first[64] = "", name[64];
    struct image image;

    list[0] = '\0';
    /* All modules are built for the same architectures: it is enough to look at the images of the first module. "sm_90"
     * is taken from "add.sm_90.cubin". */
    for (size_t i = 0; image_at(i, &image); i++) {
        const size_t used = strlen(list);
        char *rest = name, *module;

        snprintf(name, sizeof(name), "%.*s", (int)image.name_bytes, image.name);
        module = strsep(&rest, ".");
        if (i == 0)
            snprintf(first, sizeof(first), "%s", module);
        if (rest && strcmp(module, first) == 0)
            snprintf(list + used, bytes - used, "%s%.*s", used ? " " : "", (int)strcspn(rest, "."), rest);
    }
}

/* The image "module.kind_NN.suffix" of the highest architecture NN from `lowest` to `highest`. */
static bool find_image(const char *module, const char *kind, const char *suffix, uint32_t lowest, uint32_t highest,
                       struct image *out)
{
    char name[64];

    for (uint32_t architecture = highest; architecture >= lowest && architecture > 0; architecture--) {
        snprintf(name, sizeof(name), "%s.%s_%" PRIu32 ".%s", module, kind, architecture, suffix);
        for (size_t i = 0; image_at(i, out); i++)
            if (strlen(name) == out->name_bytes && memcmp(name, out->name, out->name_bytes) == 0)
                return true;
    }
    return false;
}

bool image_for_chip(const char *module, uint32_t major, uint32_t minor, struct image *out)
{
    return find_image(module, "sm", "cubin", 10 * major, 10 * major + minor, out);
}

bool image_ptx(const char *module, uint32_t major, uint32_t minor, struct image *out)
{
    return find_image(module, "compute", "ptx", 1, 10 * major + minor, out);
}

/* -- what is in an image ------------------------------------------------------------------------------ */

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

bool image_kernel(const void *cubin, size_t bytes, const struct cell *cell, struct kernel_sass *out)
{
    const bool loaded = cell->workload->index == INDEX_LOADED;
    const char *pattern = loaded ? "source" : cell->pattern->name;
    char prefix[256], path[64], sized[96] = "";

    /* Itanium C++ ABI name of kernel<workload_W<variant>, path_P, pattern_T>, or sized<path_P, width> in place of path_P. */
    snprintf(path, sizeof(path), "%zupath_%s", strlen("path_") + strlen(cell->path->name), cell->path->name);
    if (loaded || !table_is_whole(cell->parameters))
        snprintf(sized, sizeof(sized), "5sizedI%sLj%" PRIu32 "EE", path, table_width(cell->parameters));
    snprintf(prefix, sizeof(prefix), "_Z6kernelI%zuworkload_%sILj%" PRIu32 "EE%s%zupattern_%sE",
             strlen("workload_") + strlen(cell->workload->name), cell->workload->name,
             workload_variant(cell->parameters), sized[0] ? sized : path, strlen("pattern_") + strlen(pattern),
             pattern);
    if (!image_function(cubin, bytes, prefix, out))
        return false;
    /* The number of rounds is known only for loops of a grid-stride kernel. */
    out->counted = out->counted && (out->loops > 0) == loaded;
    return true;
}
