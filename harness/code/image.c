/* SPDX-License-Identifier: MIT
 * The archive of images that the build puts into the program, and which of them a chip runs. */
#include "image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive.h"

/* images.S puts the archive between these. */
extern const char cbank_images_start[], cbank_images_end[];

bool image_at(size_t index, struct image *out)
{
    struct archive archive;
    struct archive_member member;
    bool thin;

    if (!archive_open(cbank_images_start, (size_t)(cbank_images_end - cbank_images_start), &archive,
                      &thin))
        return false;
    while (archive_next(&archive, &member) == ARCHIVE_MEMBER)
        if (index-- == 0) {
            *out = (struct image){member.name, member.name_bytes, member.data, member.bytes};
            return true;
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
