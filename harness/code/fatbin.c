/* SPDX-License-Identifier: MIT
 * Finds the cubins in a file. It opens, from the outside in:
 *
 *   archive                     a static library: objects
 *   program, library, object  (ELF of the host)
 *     .nv_fatbin, or __nv_relfatbin before it is linked
 *       fatbin   header, entries, zeros up to the next fatbin
 *         entry  header, payload: a cubin or PTX, as it is or packed by LZ4 or zstd */
#include "fatbin.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "cubin.h"
#include "instruction.h"
#include "library.h"
#include "log.h"
#include "memory.h"
#include "text.h"

static const uint32_t fatbin_magic = 0xba55ed50;

enum { KIND_CUBIN = 2, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };
enum { UNPACKED_BYTES_MAX = 1 << 28, UNPACKED_RATIO_MAX = 1024, ARCHITECTURES = 256 };
enum { ARCHIVE_LABEL_BYTES = 512 }; /* "lib.a(object.o)" */

/* A fatbin: its entries follow. */
struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t entry_bytes; /* of all entries */
};

/* An entry: its payload follows. */
struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;    /* with padding */
    uint32_t compressed_bytes; /* without; 0: it is not compressed */
    uint32_t options, version_of_kind, architecture, name_offset, name_bytes;
    uint64_t flags, reserved, unpacked_bytes;
};

struct bytes {
    const unsigned char *data;
    size_t count;
};

/* Copies a header, which need not be aligned. False where it is cut off. */
static bool take(struct bytes from, uint64_t offset, void *out, size_t bytes)
{
    if (offset > from.count || bytes > from.count - offset)
        return false;
    memcpy(out, from.data + offset, bytes);
    return true;
}

/* -- where code is ----------------------------------------------------------------------------- */

struct cubin_found {
    struct fatbin_entry entry;
    struct bytes payload;
};

/* The cubins of a file, of all architectures. */
struct search {
    const char *path;
    struct cubin_found *all; /* owned */
    size_t count;
};

/* Reads fatbins, which follow each other with zeros between. */
static enum status read_fatbins(struct search *search, struct bytes from)
{
    size_t offset = 0;

    while (offset < from.count) {
        struct fatbin_header header;
        struct bytes entries;

        if (from.data[offset] == 0) {
            offset++;
            continue;
        }
        if (!take(from, offset, &header, sizeof(header)) || header.magic != fatbin_magic ||
            header.header_bytes < sizeof(header) || header.header_bytes > from.count - offset ||
            header.entry_bytes > from.count - offset - header.header_bytes)
            return log_error(STATUS_USAGE, "%s: a fatbin that is cut off or damaged; copy it again",
                             search->path);
        offset += header.header_bytes;
        entries = (struct bytes){from.data, offset + (size_t)header.entry_bytes};
        while (offset < entries.count) {
            struct cubin_found found = {0};

            if (!take(entries, offset, &found.entry, sizeof(found.entry)) ||
                found.entry.header_bytes < sizeof(found.entry) ||
                found.entry.header_bytes > entries.count - offset ||
                found.entry.payload_bytes > entries.count - offset - found.entry.header_bytes)
                return log_error(STATUS_USAGE, "%s: a fatbin with a damaged entry; copy it again",
                                 search->path);
            offset += found.entry.header_bytes;
            found.payload = (struct bytes){from.data + offset, (size_t)found.entry.payload_bytes};
            offset += found.payload.count;
            if (found.entry.kind != KIND_CUBIN)
                continue;
            if (!memory_grow(&search->all, search->count, sizeof(*search->all)))
                return log_memory("the cubins of %s", search->path);
            search->all[search->count++] = found;
        }
    }
    return STATUS_OK;
}

/* Reads the fatbins in the sections of an ELF file that have a name. */
static enum status read_sections(struct search *search, const struct cubin *file, const char *name)
{
    struct cubin_section section;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < file->sections.bytes / sizeof(Elf64_Shdr); i++)
        if (!cubin_section_at(file, i, &section))
            status =
                log_error(STATUS_USAGE, "%s: an ELF file that is cut off or damaged; copy it again",
                          search->path);
        else if (section.data && strcmp(section.name, name) == 0)
            status = read_fatbins(search, (struct bytes){section.data, section.bytes});
    return status;
}

/* Unpacks what was found, where it is compressed, by a library that is opened for it.
 * *unpacked_bytes are of all. */
static enum status unpack(const char *path, const struct cubin_found *found,
                          uint64_t *unpacked_bytes, struct cubin_image *out)
{
    struct unpackers {
        /* errors are negative */
        int (*lz4)(const char *from, char *out, int bytes, int room);
        /* errors are huge */
        size_t (*zstd)(void *out, size_t room, const void *from, size_t bytes);
    } unpackers;
    static const struct library_symbol symbols[] = {{"ZSTD_decompress",
                                                     offsetof(struct unpackers, zstd)},
                                                    {"LZ4_decompress_safe",
                                                     offsetof(struct unpackers, lz4)}};
    const bool lz4 = found->entry.flags & FLAG_LZ4;
    const struct bytes packed = {found->payload.data, found->entry.compressed_bytes};
    const uint64_t bytes = found->entry.unpacked_bytes;
    const char *missing;
    void *library;
    bool right;

    *out = (struct cubin_image){.data = found->payload.data, .bytes = found->payload.count};
    if (!(found->entry.flags & (FLAG_LZ4 | FLAG_ZSTD)))
        return STATUS_OK;
    *unpacked_bytes += bytes;
    if (packed.count > found->payload.count ||
        bytes > UNPACKED_RATIO_MAX * (uint64_t)packed.count || *unpacked_bytes > UNPACKED_BYTES_MAX)
        return log_error(STATUS_USAGE,
                         "%s: a damaged fatbin: the sizes of compressed code are impossible", path);
    out->data = out->unpacked = malloc(bytes + 1);
    out->bytes = (size_t)bytes;
    if (!out->unpacked)
        return log_memory("a cubin of %zu bytes", out->bytes);
    library = dlopen(lz4 ? "liblz4.so.1" : "libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library || !library_bind(library, &symbols[lz4], 1, &unpackers, &missing))
        return log_error(STATUS_ENVIRONMENT,
                         "%s: code compressed by %s, and there is no %s; install it, or: "
                         "cuobjdump -xelf all FILE takes the cubins out of it",
                         path, lz4 ? "LZ4" : "zstd", lz4 ? "liblz4.so.1" : "libzstd.so.1");
    if (lz4)
        right = unpackers.lz4((const char *)packed.data, out->unpacked, (int)packed.count,
                              (int)out->bytes) == (int)out->bytes;
    else
        right = unpackers.zstd(out->unpacked, out->bytes, packed.data, packed.count) == out->bytes;
    dlclose(library);
    return right ? STATUS_OK
                 : log_error(STATUS_USAGE,
                             "%s: a damaged fatbin: its compressed code cannot be unpacked", path);
}

/* -- the code of one architecture -------------------------------------------------------------- */

/* Whether a file in memory is an ELF file of the host: a program, a library, an object. */
static bool is_host_file(struct bytes file, Elf64_Ehdr *header)
{
    return take(file, 0, header, sizeof(*header)) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_machine != EM_CUDA;
}

static enum status search_host_file(struct search *search, struct bytes file,
                                    const Elf64_Ehdr *header)
{
    const struct cubin sections = {.data = file.data,
                                   .bytes = file.count,
                                   .sections = {header->e_shoff,
                                                header->e_shnum * sizeof(Elf64_Shdr)},
                                   .section_names = header->e_shstrndx};
    const size_t before = search->count;
    /* Code that is linked stands for the objects that it was linked of. */
    const enum status status = read_sections(search, &sections, ".nv_fatbin");

    return status == STATUS_OK && search->count == before
               ? read_sections(search, &sections, "__nv_relfatbin")
               : status;
}

/* A file that is a cubin has itself. */
static enum status search_cubin(struct search *search, struct bytes file)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin cubin;

    if (!cubin_open(file.data, file.count, &cubin, reason))
        return log_error(STATUS_USAGE, "%s: %s", search->path, reason);
    if (!memory_grow(&search->all, search->count, sizeof(*search->all)))
        return log_memory("the cubin of %s", search->path);
    search->all[search->count++] = (struct cubin_found){{.architecture = cubin.architecture}, file};
    return STATUS_OK;
}

/* Whether a file begins as a fatbin. */
static bool is_fatbin(struct bytes file)
{
    return file.count >= sizeof(fatbin_magic) &&
           memcmp(file.data, &fatbin_magic, sizeof(fatbin_magic)) == 0;
}

/* Searches a member of an archive, which may also be a file without code of a GPU. */
static enum status search_member(struct search *search, const struct archive_member *member)
{
    const struct bytes file = {member->data, member->bytes};
    struct search within = *search;
    Elf64_Ehdr header = {0};
    char name[ARCHIVE_LABEL_BYTES];
    enum status status = STATUS_OK;

    snprintf(name, sizeof(name), "%s(%.*s)", search->path, (int)member->name_bytes, member->name);
    within.path = name;
    if (is_fatbin(file))
        status = read_fatbins(&within, file);
    else if (is_host_file(file, &header))
        status = search_host_file(&within, file, &header);
    else if (header.e_machine == EM_CUDA && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
        status = search_cubin(&within, file);
    search->all = within.all;
    search->count = within.count;
    return status;
}

static enum status search_archive(struct search *search, struct archive *archive)
{
    struct archive_member member;
    enum archive_step step = ARCHIVE_END;
    enum status status = STATUS_OK;

    while (status == STATUS_OK && (step = archive_next(archive, &member)) == ARCHIVE_MEMBER)
        status = search_member(search, &member);
    if (status == STATUS_OK && step == ARCHIVE_DAMAGED)
        return log_error(STATUS_USAGE, "%s: an archive that is cut off or damaged; copy it again",
                         search->path);
    return status;
}

/* Says what a file of text is for. */
static enum status refuse_text(const char *path, struct bytes file)
{
    static const char version[] = ".version ", target[] = "\n.target ";
    const bool ptx = memmem(file.data, file.count, version, strlen(version)) &&
                     memmem(file.data, file.count, target, strlen(target));

    return ptx ? log_error(STATUS_USAGE,
                           "%s: PTX, no machine code; compile it: ptxas -arch=sm_90 FILE -o "
                           "FILE.cubin",
                           path)
               : log_error(STATUS_USAGE,
                           "%s: text, no machine code; if it is CUDA C++, compile it: nvcc -cubin "
                           "-arch=sm_90 -lineinfo FILE -o FILE.cubin",
                           path);
}

/* Whether the first bytes of a file are text. */
static bool is_text(struct bytes file)
{
    enum { LOOKED_AT = 256 };
    const size_t count = file.count < LOOKED_AT ? file.count : LOOKED_AT;

    for (size_t i = 0; i < count; i++)
        if (file.data[i] == 0x7f || (file.data[i] < ' ' && !strchr("\t\n\r\f\v", file.data[i])))
            return false;
    return count > 0;
}

static enum status search_file(struct search *search, struct bytes file)
{
    struct archive archive;
    Elf64_Ehdr header = {0};
    bool thin;
    enum status status;

    if (archive_open(file.data, file.count, &archive, &thin))
        status = thin ? log_error(STATUS_USAGE,
                                  "%s: a thin archive has the names of its objects alone; name "
                                  "the objects: ar t FILE lists them",
                                  search->path)
                      : search_archive(search, &archive);
    else if (is_fatbin(file))
        status = read_fatbins(search, file);
    else if (is_host_file(file, &header))
        status = search_host_file(search, file, &header);
    else if (is_text(file))
        status = refuse_text(search->path, file);
    else
        status = search_cubin(search, file);
    if (status != STATUS_OK || search->count > 0)
        return status;
    return log_error(STATUS_USAGE,
                     "%s: no machine code of a GPU; if it has PTX, cuobjdump -xptx all FILE "
                     "takes it out, and ptxas -arch=sm_90 FILE.ptx -o FILE.cubin compiles it",
                     search->path);
}

/* How well the code of an architecture can be read here: not, as far as it goes, or to proofs. */
static unsigned readable(uint32_t architecture)
{
    return architecture_known(architecture) + architecture_seen(architecture);
}

/* The newest of the architectures whose code can be read best. */
static uint32_t newest_of(const struct search *search)
{
    uint32_t newest = 0;

    for (size_t i = 0; i < search->count; i++) {
        const uint32_t architecture = search->all[i].entry.architecture;

        if (readable(architecture) != readable(newest) ? readable(architecture) > readable(newest)
                                                       : architecture > newest)
            newest = architecture;
    }
    return newest;
}

/* Whether a cubin has a kernel: programs also have code without. One that is damaged counts: it is
 * said where it is read. */
static bool has_kernel(const struct cubin_image *image)
{
    struct cubin_function function;
    char reason[CUBIN_REASON_BYTES];
    struct cubin cubin;

    if (!cubin_open(image->data, image->bytes, &cubin, reason))
        return true;
    for (uint64_t place = 0; cubin_next(&cubin, &place, &function);)
        if (function.kernel)
            return true;
    return false;
}

/* Names the other architectures of a file. Whether it has the one that was asked for. */
static bool list_others(struct cubin_images *images)
{
    bool there[ARCHITECTURES] = {false};

    for (size_t i = 0; i < images->count; i++) {
        const uint32_t architecture = images->found[i].entry.architecture;

        there[architecture < ARCHITECTURES ? architecture : 0] = true;
    }
    for (uint32_t i = 1; i < ARCHITECTURES; i++)
        if (there[i] && i != images->architecture)
            text_join(images->others, sizeof(images->others), " ", "sm_%" PRIu32, i);
    return there[images->architecture % ARCHITECTURES];
}

enum status cubin_images_open(const char *path, const void *data, size_t bytes,
                              uint32_t architecture, struct cubin_images *out)
{
    struct search search = {.path = path};
    enum status status = search_file(&search, (struct bytes){data, bytes});

    *out = (struct cubin_images){.path = path, .found = search.all, .count = search.count};
    if (status == STATUS_OK) {
        out->architecture = architecture ? architecture : newest_of(&search);
        if (!list_others(out))
            status = log_error(STATUS_USAGE, "%s: no machine code of sm_%" PRIu32 "; it has %s",
                               path, out->architecture, out->others);
    }
    if (status != STATUS_OK)
        cubin_images_close(out);
    return status;
}

enum status cubin_images_next(struct cubin_images *images, struct cubin_image *out, bool *end)
{
    *end = false;
    while (images->next < images->count) {
        const struct cubin_found *found = &images->found[images->next++];
        enum status status;

        if (found->entry.architecture != images->architecture)
            continue;
        status = unpack(images->path, found, &images->unpacked_bytes, out);
        if (status == STATUS_OK && has_kernel(out)) {
            images->taken++;
            return STATUS_OK;
        }
        free(out->unpacked);
        if (status != STATUS_OK)
            return status;
    }
    *end = true;
    return images->taken > 0 ? STATUS_OK
                             : log_error(STATUS_USAGE,
                                         "%s: code of sm_%" PRIu32
                                         " without kernels; name a file with a __global__ function",
                                         images->path, images->architecture);
}

void cubin_images_close(struct cubin_images *images)
{
    free(images->found);
    *images = (struct cubin_images){0};
}
