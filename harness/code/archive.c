/* SPDX-License-Identifier: MIT
 * Reads archives:
 *
 *   "!<arch>\n"
 *     header, 60 bytes: name, size in decimal digits, "`\n"
 *     data, and a byte of padding behind an odd size
 *     header ...
 *
 * A name of more than 15 bytes is "/" and its offset in the member "//" (GNU), or "#1/" and its
 * length, and then it stands before the data (BSD). */
#include "archive.h"

#include <ar.h>
#include <string.h>

static const char thin_magic[] = "!<thin>\n";

bool archive_open(const void *data, size_t bytes, struct archive *out, bool *thin)
{
    *out = (struct archive){.data = data, .bytes = bytes, .place = SARMAG};
    *thin = bytes >= SARMAG && memcmp(data, thin_magic, SARMAG) == 0;
    return *thin || (bytes >= SARMAG && memcmp(data, ARMAG, SARMAG) == 0);
}

/* A number in a field of a header: digits, then blanks. False: it is none. */
static bool read_number(const char *field, size_t room, size_t *out)
{
    size_t digits = 0;

    *out = 0;
    while (digits < room && field[digits] >= '0' && field[digits] <= '9')
        *out = *out * 10 + (size_t)(field[digits++] - '0');
    for (size_t i = digits; i < room; i++)
        if (field[i] != ' ')
            return false;
    return digits > 0;
}

/* Names a member by its header, or by the table of long names. False: the name is damaged. */
static bool name_member(const struct archive *archive, const struct ar_hdr *header,
                        struct archive_member *out)
{
    const char *name = header->ar_name;
    size_t room = sizeof(header->ar_name), number;

    if (memcmp(name, "#1/", 3) == 0) {
        if (!read_number(name + 3, room - 3, &number) || number > out->bytes)
            return false;
        name = out->data;
        room = number;
        out->data = name + number;
        out->bytes -= number;
    } else if (name[0] == '/') {
        if (!read_number(name + 1, room - 1, &number) || number >= archive->long_names_bytes)
            return false;
        name = archive->long_names + number;
        room = archive->long_names_bytes - number;
    }
    out->name = name;
    while (out->name_bytes < room && !strchr("/\n", name[out->name_bytes]))
        out->name_bytes++;
    while (out->name_bytes > 0 && name[out->name_bytes - 1] == ' ')
        out->name_bytes--;
    return true;
}

/* Whether a name is that of a table, which the format needs. */
static bool has_name(const struct ar_hdr *header, const char *name)
{
    const size_t bytes = strlen(name);

    return memcmp(header->ar_name, name, bytes) == 0 && header->ar_name[bytes] == ' ';
}

enum archive_step archive_next(struct archive *archive, struct archive_member *out)
{
    while (archive->place < archive->bytes) {
        const struct ar_hdr *header = (const void *)(archive->data + archive->place);
        size_t left = archive->bytes - archive->place;

        *out = (struct archive_member){.data = header + 1};
        if (left < sizeof(*header))
            return ARCHIVE_DAMAGED;
        left -= sizeof(*header);
        if (memcmp(header->ar_fmag, ARFMAG, sizeof(header->ar_fmag)) != 0 ||
            !read_number(header->ar_size, sizeof(header->ar_size), &out->bytes) ||
            out->bytes > left)
            return ARCHIVE_DAMAGED;
        archive->place += sizeof(*header) + out->bytes;
        archive->place += out->bytes % 2 && archive->place < archive->bytes;
        if (has_name(header, "//")) {
            archive->long_names = out->data;
            archive->long_names_bytes = out->bytes;
        } else if (!has_name(header, "/") && !has_name(header, "/SYM64/")) {
            return name_member(archive, header, out) ? ARCHIVE_MEMBER : ARCHIVE_DAMAGED;
        }
    }
    return ARCHIVE_END;
}
