/* SPDX-License-Identifier: MIT
 * The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. 6 bytes of
 * magic and 2 of version precede the length of the header, in 2 bytes in version 1 and in 4 later.
 * The header is a literal of Python, {'descr': '<i4', 'fortran_order': False, 'shape': (4, 1024),
 * }, with blanks to its end, a line feed. */
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "log.h"
#include "text.h"

enum { MAGIC_BYTES = 6, VERSION_AT = 6, LENGTH_AT = 8, HEADER_BYTES = 256, WORD_BYTES = 32 };

__attribute__((format(printf, 3, 4))) static enum status
refuse(const char *name, const char *wanted, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return log_error(STATUS_USAGE,
                     "%s: %s; wanted is a .npy file of little-endian %s in C order, as "
                     "numpy.save writes an array of [step][thread] or of one dimension",
                     name, text, wanted);
}

/* Finds the header: its first byte and its length. STATUS_USAGE, logged, if there is none. */
static enum status find_header(const char *name, const char *wanted, const unsigned char *file,
                               size_t bytes, size_t *begin, size_t *length)
{
    *begin = bytes > VERSION_AT && file[VERSION_AT] > 1 ? LENGTH_AT + 4 : LENGTH_AT + 2;
    *length = 0;
    if (bytes == 0)
        return refuse(name, wanted, "it is empty");
    if (bytes < MAGIC_BYTES || memcmp(file, "\x93NUMPY", MAGIC_BYTES) != 0)
        return refuse(name, wanted, "it is no .npy file");
    if (bytes < *begin)
        return refuse(name, wanted, "it is cut short");
    if (file[VERSION_AT] < 1 || file[VERSION_AT] > 3 || file[VERSION_AT + 1] != 0)
        return refuse(name, wanted, "its version is %u.%u, not 1.0, 2.0 or 3.0", file[VERSION_AT],
                      file[VERSION_AT + 1]);
    for (size_t i = *begin; i-- > LENGTH_AT;)
        *length = *length << 8 | file[i];
    if (*length > bytes - *begin)
        return refuse(name, wanted, "it is cut short");
    return STATUS_OK;
}

/* Reads a header as NumPy lays it out: other layouts of the same dictionary are refused. (4096) is
 * no tuple. */
static enum status parse_header(const char *name, const char *wanted, bool floats, const char *text,
                                struct npy *array)
{
    char type[WORD_BYTES], order[WORD_BYTES], shape[WORD_BYTES], shown[TEXT_SHOWN_BYTES];
    int end = 0, shape_end = 0;

    sscanf(text, "{'descr': '%31[^'\n]', 'fortran_order': %31[A-Za-z], 'shape': (%31[0-9, ]), } %n",
           type, order, shape, &end);
    if (end > 0 && !text[end])
        array->dimensions = (uint32_t)sscanf(shape, "%" SCNu64 ", %" SCNu64 "%n", &array->shape[0],
                                             &array->shape[1], &shape_end);
    if (array->dimensions < 1 || array->dimensions > 2 ||
        strcmp(array->dimensions == 2 ? shape + shape_end : shape + strspn(shape, "0123456789"),
               array->dimensions == 2 ? "" : ",") != 0)
        return refuse(name, wanted, "its header is none of %s in one or two dimensions", wanted);
    if (strlen(type) != 3 || !strchr(floats ? "iuf" : "iu", type[1]) || !strchr("1248", type[2]))
        return refuse(name, wanted, "its values are '%s', no %s of 1, 2, 4 or 8 bytes",
                      text_shown(type, shown), wanted);
    if (type[0] != '<' && !(type[0] == '|' && type[2] == '1'))
        return refuse(name, wanted, "its values are '%s', not little-endian",
                      text_shown(type, shown));
    if (strcmp(order, "False") != 0)
        return refuse(name, wanted, "it is in Fortran order");
    array->bytes = (uint32_t)(type[2] - '0');
    array->is_signed = type[1] == 'i';
    array->is_float = type[1] == 'f';
    return STATUS_OK;
}

enum status npy_parse(const char *name, const void *data, size_t bytes, bool floats,
                      struct npy *out)
{
    const char *const wanted = floats ? "numbers" : "integers";
    struct npy array = {.shape = {0, 1}};
    const unsigned char *file = data;
    char text[HEADER_BYTES] = "";
    size_t begin, length;
    uint64_t has;
    enum status status = find_header(name, wanted, file, bytes, &begin, &length);

    if (status != STATUS_OK)
        return status;
    if (length < sizeof(text))
        memcpy(text, file + begin, length);
    status = parse_header(name, wanted, floats, text, &array);
    if (status != STATUS_OK)
        return status;
    if (array.shape[0] == 0 || array.shape[1] == 0)
        return refuse(name, wanted, "it is empty");
    if (__builtin_mul_overflow(array.shape[0], array.shape[1], &array.count) ||
        array.count > INT64_MAX / 8)
        return refuse(name, wanted, "its shape is %" PRIu64 " x %" PRIu64, array.shape[0],
                      array.shape[1]);
    has = bytes - begin - length;
    if (has != array.count * array.bytes)
        return refuse(name, wanted,
                      "it is %s: it has %" PRIu64 " bytes of values, its shape takes %" PRIu64,
                      has < array.count * array.bytes ? "cut short" : "too long", has,
                      array.count * array.bytes);
    array.values = file + begin + length;
    *out = array;
    return STATUS_OK;
}

enum status npy_open(const char *path, bool floats, struct npy_file *out)
{
    struct npy_file file = {0};
    struct stat about;
    const char *why;
    const int descriptor = file_open(path, &about, &why);
    enum status status;

    if (descriptor < 0)
        return log_error(STATUS_USAGE, "cannot read %s: %s", path, why);
    if (about.st_size > 0)
        file.mapping = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (file.mapping == MAP_FAILED) {
        status = log_error(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
        goto out;
    }
    file.bytes = (size_t)about.st_size;
    status = npy_parse(path, file.mapping, file.bytes, floats, &file.array);
    if (status != STATUS_OK) {
        npy_close(&file);
        goto out;
    }
    *out = file;
out:
    close(descriptor);
    return status;
}

void npy_close(struct npy_file *file)
{
    if (file->mapping)
        munmap(file->mapping, file->bytes);
    *file = (struct npy_file){0};
}
