/* SPDX-License-Identifier: MIT
 * The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Behind 6 bytes of magic and 2 of
 * version stands the length of the header, in 2 bytes in version 1 and in 4 later; the header is a literal of Python,
 * {'descr': '<i4', 'fortran_order': False, 'shape': (4, 1024), }, with blanks to its end, a line feed. */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

enum { MAGIC_BYTES = 6, VERSION_AT = 6, LENGTH_AT = 8, HEADER_MAX = 65536, WORD_BYTES = 32 };

/* The header, as far as it is read. */
struct header {
    const char *name; /* of the file */
    const char *at, *end;
    char type[WORD_BYTES]; /* "<i4" */
    bool has_type, has_order, has_shape, fortran;
    uint32_t dimensions;
    uint64_t shape[2];
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

/* -- words of the header ------------------------------------------------------------------------------- */

static void skip_blanks(struct header *header)
{
    while (header->at < header->end && (*header->at == ' ' || *header->at == '\t' || *header->at == '\n'))
        header->at++;
}

/* Takes a character, and blanks before it. */
static bool take(struct header *header, char wanted)
{
    skip_blanks(header);
    if (header->at == header->end || *header->at != wanted)
        return false;
    header->at++;
    return true;
}

static bool take_word(struct header *header, const char *word)
{
    const size_t length = strlen(word);

    skip_blanks(header);
    if ((size_t)(header->end - header->at) < length || memcmp(header->at, word, length) != 0)
        return false;
    header->at += length;
    return true;
}

/* A string in ' or ", without escapes. */
static bool take_string(struct header *header, char out[WORD_BYTES])
{
    const char quote = take(header, '\'') ? '\'' : '"';
    size_t length = 0;

    if (quote == '"' && !take(header, '"'))
        return false;
    for (; header->at < header->end && *header->at != quote; header->at++) {
        if (length == WORD_BYTES - 1 || (unsigned char)*header->at < ' ' || *header->at == '\\')
            return false;
        out[length++] = *header->at;
    }
    out[length] = '\0';
    return take(header, quote);
}

static bool take_number(struct header *header, uint64_t *out)
{
    uint64_t value = 0;
    const char *first;

    skip_blanks(header);
    for (first = header->at; header->at < header->end && *header->at >= '0' && *header->at <= '9'; header->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*header->at - '0'), &value))
            return false;
    *out = value;
    return header->at > first;
}

/* (4, 1024) or (4096,). Of more than two sizes the others are counted. */
static bool take_shape(struct header *header)
{
    uint64_t size;

    if (!take(header, '('))
        return false;
    while (!take(header, ')')) {
        if (!take_number(header, &size))
            return false;
        if (header->dimensions < 2)
            header->shape[header->dimensions] = size;
        header->dimensions++;
        if (take(header, ','))
            continue;
        if (header->dimensions < 2) /* (4096) is no tuple */
            return false;
        return take(header, ')');
    }
    return true;
}

/* -- the header ---------------------------------------------------------------------------------------- */

/* One of the three keys, once, with its value. */
static bool take_item(struct header *header)
{
    char key[WORD_BYTES];
    bool *seen;

    if (!take_string(header, key) || !take(header, ':'))
        return false;
    seen = strcmp(key, "descr") == 0           ? &header->has_type
           : strcmp(key, "fortran_order") == 0 ? &header->has_order
           : strcmp(key, "shape") == 0         ? &header->has_shape
                                               : NULL;
    if (!seen || *seen)
        return false;
    *seen = true;
    if (seen == &header->has_type)
        return take_string(header, header->type);
    if (seen == &header->has_shape)
        return take_shape(header);
    header->fortran = take_word(header, "True");
    return header->fortran || take_word(header, "False");
}

static enum status read_header(struct header *header)
{
    bool good = take(header, '{');

    while (good && !take(header, '}')) {
        good = take_item(header);
        if (good && !take(header, ',')) {
            good = take(header, '}');
            break;
        }
    }
    skip_blanks(header);
    if (!good || header->at != header->end || !header->has_type || !header->has_order || !header->has_shape)
        return refuse(header->name, "its header is none of integers in one or two dimensions");
    return STATUS_OK;
}

/* "<i4", "|u1": the type into *out. */
static enum status read_type(const struct header *header, struct npy *out)
{
    const char *type = header->type, *widths = "1248";
    char shown[TEXT_SHOWN_BYTES];
    const char *width = strlen(type) == 3 ? strchr(widths, type[2]) : NULL;

    if (!width || (type[1] != 'i' && type[1] != 'u'))
        return refuse(header->name, "its values are '%s', no integers of 1, 2, 4 or 8 bytes", text_shown(type, shown));
    if (type[0] != '<' && !(type[0] == '|' && type[2] == '1'))
        return refuse(header->name, "its values are '%s', not little-endian", text_shown(type, shown));
    out->bytes = (uint32_t)(type[2] - '0');
    out->is_signed = type[1] == 'i';
    return STATUS_OK;
}

static enum status read_shape(const struct header *header, struct npy *out)
{
    if (header->fortran)
        return refuse(header->name, "it is in Fortran order");
    if (header->dimensions < 1 || header->dimensions > 2)
        return refuse(header->name, "it has %" PRIu32 " dimensions", header->dimensions);
    out->dimensions = header->dimensions;
    out->shape[0] = header->shape[0];
    out->shape[1] = header->dimensions > 1 ? header->shape[1] : 1;
    if (out->shape[0] == 0 || out->shape[1] == 0)
        return refuse(header->name, "it is empty");
    if (__builtin_mul_overflow(out->shape[0], out->shape[1], &out->count) || out->count > INT64_MAX / 8)
        return refuse(header->name, "its shape is %" PRIu64 " x %" PRIu64, out->shape[0], out->shape[1]);
    return STATUS_OK;
}

/* Where the header begins and ends. */
static enum status find_header(const char *name, const unsigned char *data, size_t bytes, struct header *out)
{
    const size_t begin = bytes > VERSION_AT && data[VERSION_AT] > 1 ? LENGTH_AT + 4 : LENGTH_AT + 2;
    size_t length = 0;

    if (bytes == 0)
        return refuse(name, "it is empty");
    if (bytes < MAGIC_BYTES || memcmp(data, "\x93NUMPY", MAGIC_BYTES) != 0)
        return refuse(name, "it is no .npy file");
    if (bytes < begin)
        return refuse(name, "it is cut short");
    if (data[VERSION_AT] < 1 || data[VERSION_AT] > 3 || data[VERSION_AT + 1] != 0)
        return refuse(name, "its version is %u.%u, not 1.0, 2.0 or 3.0", data[VERSION_AT], data[VERSION_AT + 1]);
    for (size_t at = begin; at-- > LENGTH_AT;)
        length = length << 8 | data[at];
    if (length > HEADER_MAX)
        return refuse(name, "its header has %zu bytes", length);
    if (length > bytes - begin)
        return refuse(name, "it is cut short");
    *out = (struct header){.name = name, .at = (const char *)data + begin, .end = (const char *)data + begin + length};
    return STATUS_OK;
}

enum status npy_parse(const char *name, const void *data, size_t bytes, struct npy *out)
{
    struct header header = {0};
    struct npy array = {0};
    enum status status = find_header(name, data, bytes, &header);
    uint64_t has;

    if (status == STATUS_OK)
        status = read_header(&header);
    if (status == STATUS_OK)
        status = read_type(&header, &array);
    if (status == STATUS_OK)
        status = read_shape(&header, &array);
    if (status != STATUS_OK)
        return status;
    array.values = header.end;
    has = bytes - (uint64_t)(header.end - (const char *)data);
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
