/* SPDX-License-Identifier: MIT
 * The archive of images that the build puts into the program, and which of them a chip runs. */
#include "image.h"

#include <ar.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* images.S puts the archive between these. */
extern const char cbank_images_start[], cbank_images_end[];

bool image_at(size_t index, struct image *out)
{
    struct image long_names = {0}; /* the table of names that do not fit into a header */
    const char *place = cbank_images_start + SARMAG;

    while (cbank_images_end - place > (ptrdiff_t)sizeof(struct ar_hdr)) {
        const struct ar_hdr *header = (const struct ar_hdr *)place;
        const struct image member = {.data = place + sizeof(*header),
                                     .bytes = strtoul(header->ar_size, NULL, 10)};

        if (member.bytes > (size_t)(cbank_images_end - place) - sizeof(*header))
            return false;
        place += sizeof(*header) + member.bytes + member.bytes % 2;
        if (memcmp(header->ar_name, "//", 2) == 0) {
            long_names = member;
        } else if ((header->ar_name[0] != '/' || header->ar_name[1] != ' ') && index-- == 0) {
            const char *name = header->ar_name;
            size_t room = sizeof(header->ar_name);

            /* "name/", or "/offset" into the table of long names, where "/\n" ends each. */
            if (name[0] == '/' && name[1] >= '0' && name[1] <= '9' && long_names.data) {
                const size_t offset = strtoul(name + 1, NULL, 10);

                room = offset < long_names.bytes ? long_names.bytes - offset : 0;
                name = (const char *)long_names.data + (room ? offset : 0);
            }
            *out = member;
            out->name = name;
            while (out->name_bytes < room && name[out->name_bytes] != '/' &&
                   name[out->name_bytes] != '\n')
                out->name_bytes++;
            return true;
        }
    }
    return false;
}

/* The image "module.kind_NN.suffix" of the highest architecture NN from `lowest` to `highest`. */
static bool find_image(const char *module, const char *kind, const char *suffix, uint32_t lowest,
                       uint32_t highest, struct image *out)
{
    char name[64];

    for (uint32_t architecture = highest; architecture >= lowest && architecture > 0;
         architecture--) {
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
