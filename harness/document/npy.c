/* SPDX-License-Identifier: MIT
 * The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. 6 bytes of magic and 2 of version
 * precede the length of the header, in 2 bytes in version 1 and in 4 later. The header is a literal of Python,
 * {'descr': '<i4', 'fortran_order': False, 'shape': (4, 1024), }, with blanks to its end, a line feed. */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

enum { MAGIC_BYTES = 6, VERSION_AT = 6, LENGTH_AT = 8, HEADER_BYTES = 256, WORD_BYTES = 32 };

struct header {
    char type[WORD_BYTES];  /* "<i4" */
    char order[WORD_BYTES]; /* "True" for Fortran's */
    uint32_t dimensions;
    uint64_t shape[2]; /* the first two */
};

__attribute__((format(printf, 2, 3))) static enum status refuse(const char *name, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return log_error(STATUS_USAGE,
                     "%s: %s; wanted is a .npy file of little-endian integers in C order, as "
                     "numpy.save writes an array of [step][thread] or of one dimension",
                     name, text);
}

/* Reads the header as NumPy lays it out: other layouts of the same dictionary are refused. (4096) is no tuple. */
static bool read_header(const char *text, struct header *header)
{
    int length = 0;
    bool comma = false;
    const char *at;

    sscanf(text, "{'descr': '%31[^'\\]', 'fortran_order': %31[A-Za-z], 'shape': (%n", header->type, header->order,
           &length);
    if (length == 0 || (strcmp(header->order, "True") != 0 && strcmp(header->order, "False") != 0))
        return false;
    for (at = text + length; *at >= '0' && *at <= '9'; at += *at == ' ') {
        char *end;
        uint64_t size;

        errno = 0;
        size = strtoull(at, &end, 10);
        if (errno)
            return false;
        if (header->dimensions < 2)
            header->shape[header->dimensions] = size;
        header->dimensions++;
        comma = *end == ',';
        at = end + comma;
    }
    return (comma || header->dimensions != 1) && strcmp(at, "), }") == 0;
}

enum status npy_parse(const char *name, const void *data, size_t bytes, struct npy *out)
{
    const unsigned char *file = data;
    const size_t begin = bytes > VERSION_AT && file[VERSION_AT] > 1 ? LENGTH_AT + 4 : LENGTH_AT + 2;
    char text[HEADER_BYTES], shown[TEXT_SHOWN_BYTES];
    struct header header = {.shape = {0, 1}};
    struct npy array = {0};
    size_t length = 0;
    uint64_t has;

    if (bytes == 0)
        return refuse(name, "it is empty");
    if (bytes < MAGIC_BYTES || memcmp(file, "\x93NUMPY", MAGIC_BYTES) != 0)
        return refuse(name, "it is no .npy file");
    if (bytes < begin)
        return refuse(name, "it is cut short");
    if (file[VERSION_AT] < 1 || file[VERSION_AT] > 3 || file[VERSION_AT + 1] != 0)
        return refuse(name, "its version is %u.%u, not 1.0, 2.0 or 3.0", file[VERSION_AT], file[VERSION_AT + 1]);
    for (size_t at = begin; at-- > LENGTH_AT;)
        length = length << 8 | file[at];
    if (length > bytes - begin)
        return refuse(name, "it is cut short");
    array.values = file + begin + length;
    while (length > 0 && (file[begin + length - 1] == ' ' || file[begin + length - 1] == '\n'))
        length--;
    snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : sizeof(text)),
             (const char *)file + begin);
    if (strlen(text) != length || !read_header(text, &header))
        return refuse(name, "its header is none of integers in one or two dimensions");
    if (strlen(header.type) != 3 || !strchr("iu", header.type[1]) || !strchr("1248", header.type[2]))
        return refuse(name, "its values are '%s', no integers of 1, 2, 4 or 8 bytes", text_shown(header.type, shown));
    if (header.type[0] != '<' && !(header.type[0] == '|' && header.type[2] == '1'))
        return refuse(name, "its values are '%s', not little-endian", header.type);
    if (strcmp(header.order, "False") != 0)
        return refuse(name, "it is in Fortran order");
    if (header.dimensions < 1 || header.dimensions > 2)
        return refuse(name, "it has %" PRIu32 " dimensions", header.dimensions);
    if (header.shape[0] == 0 || header.shape[1] == 0)
        return refuse(name, "it is empty");
    array.bytes = (uint32_t)(header.type[2] - '0');
    array.is_signed = header.type[1] == 'i';
    array.dimensions = header.dimensions;
    memcpy(array.shape, header.shape, sizeof(array.shape));
    if (__builtin_mul_overflow(array.shape[0], array.shape[1], &array.count) || array.count > INT64_MAX / 8)
        return refuse(name, "its shape is %" PRIu64 " x %" PRIu64, array.shape[0], array.shape[1]);
    has = bytes - (uint64_t)((const unsigned char *)array.values - file);
    if (has != array.count * array.bytes)
        return refuse(name, "it is %s: it has %" PRIu64 " bytes of values, its shape takes %" PRIu64,
                      has < array.count * array.bytes ? "cut short" : "too long", has, array.count * array.bytes);
    *out = array;
    return STATUS_OK;
}

/* -- files --------------------------------------------------------------------------------------------- */

enum status npy_open(const char *path, struct npy_file *out)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct npy_file file = {0};
    struct stat about = {0};
    enum status status = STATUS_OK;

    if (descriptor < 0 || fstat(descriptor, &about) != 0)
        status = log_error(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status = refuse(path, "it is no file that can be mapped");
    else if (about.st_size > 0)
        file.mapping = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (file.mapping == MAP_FAILED) {
        file.mapping = NULL;
        status = log_error(STATUS_USAGE, "cannot map %s: %s", path, strerror(errno));
    }
    if (descriptor >= 0)
        close(descriptor);
    if (status == STATUS_OK) {
        file.bytes = file.mapping ? (size_t)about.st_size : 0;
        status = npy_parse(path, file.mapping, file.bytes, &file.array);
    }
    if (status == STATUS_OK)
        *out = file;
    else
        npy_close(&file);
    return status;
}

void npy_close(struct npy_file *file)
{
    if (file->mapping)
        munmap(file->mapping, file->bytes);
    *file = (struct npy_file){0};
}
