/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

/* Largest integer up to which every integer is a double. */
#define EXACT_INTEGER_MAX ((uint64_t)1 << 53)

#define QUOTE(text)       #text
#define DIGITS_OF(number) QUOTE(number)

/* Text that is being parsed. */
struct text {
    const char *name;
    const unsigned char *bytes; /* a NUL follows the last */
    size_t count;
    size_t values;              /* so far */
};

/* Bytes of the UTF-8 character at text, of at most `left` bytes; 0 when there is none: a stray or missing
 * continuation, an overlong form, a surrogate, beyond U+10FFFF. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const size_t length = forms[i].length;

        if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
            continue;
        if (length > left || (length > 1 && (text[1] < forms[i].second_low || text[1] > forms[i].second_high)))
            return 0;
        for (size_t k = 2; k < length; k++)
            if (text[k] < 0x80 || text[k] > 0xbf)
                return 0;
        return length;
    }
    return 0;
}

/* The same, and 0 for a control character too: C0, DEL, and C1, which begin with c2. */
static size_t shown_length(const unsigned char *text, size_t left)
{
    const size_t length = utf8_length(text, left);
    const bool control = length == 1 ? *text < 0x20 || *text == 0x7f : *text == 0xc2 && text[1] < 0xa0;

    return control ? 0 : length;
}

const char *json_shown(const char *text, char out[JSON_SHOWN_BYTES])
{
    static const char cut[] = "...";
    const size_t room = JSON_SHOWN_BYTES - sizeof(cut);
    size_t left = strlen(text);
    size_t used = 0;

    while (left > 0) {
        const size_t length = shown_length((const unsigned char *)text, left);
        const size_t bytes = length ? length : 1;

        if (used + bytes > room)
            break;
        memcpy(out + used, length ? text : "?", bytes);
        used += bytes;
        text += bytes;
        left -= bytes;
    }
    memcpy(out + used, left ? cut : "", left ? sizeof(cut) : 1);
    return out;
}

void json_place_text(const struct json_place *place, char *out, size_t room)
{
    char shown[JSON_SHOWN_BYTES];
    size_t used;

    if (!place->parent) {
        *out = '\0';
        return;
    }
    json_place_text(place->parent, out, room);
    used = strlen(out);
    if (place->key)
        snprintf(out + used, room - used, "%s%s", used ? "." : "", json_shown(place->key, shown));
    else
        snprintf(out + used, room - used, "[%zu]", place->index);
}

/* Logs what is wrong at byte `at`, by line and by column in characters, from 1. */
static enum status malformed(const struct text *text, size_t at, const char *what)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < text->count; i++) {
        if (text->bytes[i] == '\n') {
            line++;
            column = 1;
        } else if ((text->bytes[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return log_error(STATUS_USAGE, "%s:%zu:%zu: %s; the file is not JSON that cbank can read", text->name, line, column,
                     what);
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(unsigned char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Steps over the escape whose backslash is at *at. NULL, or what is wrong with it. The text ends in a NUL,
 * which is no part of any escape. */
static const char *scan_escape(const struct text *text, size_t *at)
{
    const unsigned char *escape = text->bytes + *at + 1;

    if (*escape == 'u') {
        for (int i = 1; i <= 4; i++)
            if (!is_hex(escape[i]))
                return "\\u without four hexadecimal digits";
        /* cJSON's strings are C strings: the rest would be lost. */
        if (memcmp(escape + 1, "0000", 4) == 0)
            return "NUL character in a string";
        *at += 6;
        return NULL;
    }
    if (*escape == '\0' || !strchr("\"\\/bfnrt", *escape))
        return "unknown escape in a string";
    *at += 2;
    return NULL;
}

/* A character of a string that stands for itself and is one byte, as most are. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Steps over the string that begins at *at. NULL, or what is wrong at *at. */
static const char *scan_string(const struct text *text, size_t *at)
{
    for (*at += 1; *at < text->count;) {
        const unsigned char c = text->bytes[*at];
        size_t length;

        if (is_plain(c)) {
            *at += 1;
            continue;
        }
        if (c == '"') {
            *at += 1;
            return NULL;
        }
        if (c < 0x20)
            return "control character in a string";
        length = utf8_length(text->bytes + *at, text->count - *at);
        if (length == 0)
            return "not UTF-8";
        if (c == '\\') {
            const char *wrong = scan_escape(text, at);

            if (wrong)
                return wrong;
        } else {
            *at += length;
        }
    }
    return "the text ends within a string";
}

static size_t scan_digits(const unsigned char *from)
{
    size_t count = 0;

    while (is_digit(from[count]))
        count++;
    return count;
}

/* Steps over the number that begins at *at, by the grammar of RFC 8259: strtod, and with it cJSON, takes
 * more. NULL, or what is wrong at *at. The NUL at the end of the text stops every loop. */
static const char *scan_number(const struct text *text, size_t *at)
{
    const unsigned char *p = text->bytes + *at;
    bool may_be_large;
    size_t digits;

    p += *p == '-';
    digits = scan_digits(p);
    if (digits == 0 || (digits > 1 && *p == '0'))
        return "malformed number";
    /* Without an exponent that takes more than 300 digits. */
    may_be_large = digits > 300;
    p += digits;
    if (*p == '.') {
        digits = scan_digits(p + 1);
        if (digits == 0)
            return "malformed number";
        p += 1 + digits;
    }
    if (*p == 'e' || *p == 'E') {
        may_be_large = true;
        p++;
        p += *p == '+' || *p == '-';
        digits = scan_digits(p);
        if (digits == 0)
            return "malformed number";
        p += digits;
    }
    if (may_be_large && !isfinite(strtod((const char *)text->bytes + *at, NULL)))
        return "number too large for a double";
    *at = (size_t)(p - text->bytes);
    return NULL;
}

static const char *scan_literal(const struct text *text, size_t *at)
{
    static const char *const literals[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        const size_t length = strlen(literals[i]);

        if (strncmp((const char *)text->bytes + *at, literals[i], length) == 0) {
            *at += length;
            return NULL;
        }
    }
    return "not a JSON value";
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Steps over blanks. Returns the byte that follows, NUL at the end of the text. */
static unsigned char skip_blanks(const struct text *text, size_t *at)
{
    while (is_blank(text->bytes[*at]))
        *at += 1;
    return text->bytes[*at];
}

static const char *scan_value(struct text *text, size_t *at, int depth);

/* Steps over the key of a member and the colon after it. */
static const char *scan_key(const struct text *text, size_t *at)
{
    const char *wrong;

    if (skip_blanks(text, at) != '"')
        return "expected a key in quotes";
    wrong = scan_string(text, at);
    if (wrong)
        return wrong;
    if (skip_blanks(text, at) != ':')
        return "expected ':'";
    *at += 1;
    return NULL;
}

/* Steps over the object or array that begins at *at, `depth` levels deep. */
static const char *scan_list(struct text *text, size_t *at, int depth)
{
    const bool object = text->bytes[*at] == '{';
    const unsigned char close = object ? '}' : ']';
    const char *wrong = NULL;

    if (depth > JSON_DEPTH_MAX)
        return "nested too deeply";
    *at += 1;
    if (skip_blanks(text, at) == close) {
        *at += 1;
        return NULL;
    }
    for (;;) {
        if (object)
            wrong = scan_key(text, at);
        if (!wrong)
            wrong = scan_value(text, at, depth);
        if (wrong)
            return wrong;
        if (skip_blanks(text, at) == close)
            break;
        if (text->bytes[*at] != ',')
            return object ? "expected ',' or '}'" : "expected ',' or ']'";
        *at += 1;
    }
    *at += 1;
    return NULL;
}

/* Steps over the value at *at, within `depth` objects and arrays. NULL, or what is wrong at *at. */
static const char *scan_value(struct text *text, size_t *at, int depth)
{
    const unsigned char c = skip_blanks(text, at);

    if (++text->values > JSON_VALUES_MAX)
        return "more than " DIGITS_OF(JSON_VALUES_MAX) " values";
    if (c == '{' || c == '[')
        return scan_list(text, at, depth + 1);
    if (c == '"')
        return scan_string(text, at);
    if (c == '-' || is_digit(c))
        return scan_number(text, at);
    return scan_literal(text, at);
}

/* Checks the whole text by the grammar of RFC 8259, so that cJSON, which takes more, sees no other. */
static enum status scan(struct text *text)
{
    const char *wrong;
    size_t at = 0;

    if (skip_blanks(text, &at) == '\0' && at == text->count)
        return log_error(STATUS_USAGE, "%s: the file is empty", text->name);
    wrong = scan_value(text, &at, 0);
    if (!wrong) {
        skip_blanks(text, &at);
        if (at == text->count)
            return STATUS_OK;
        wrong = "text after the end of the value";
    } else if (at == text->count) {
        wrong = "the text ends too early: truncated";
    }
    return malformed(text, at, wrong);
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Of an object with few members: a key that comes twice, or NULL. */
static const char *repeated_of_few(const cJSON *object)
{
    for (const cJSON *member = object->child; member; member = member->next)
        for (const cJSON *later = member->next; later; later = later->next)
            if (member->string[0] == later->string[0] && strcmp(member->string, later->string) == 0)
                return later->string;
    return NULL;
}

/* Of `count` keys, which it sorts: one that comes twice, or NULL. */
static const char *repeated_of_many(const char **keys, size_t count)
{
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            return keys[i];
    return NULL;
}

/* A value in a file that is being checked. */
struct checked {
    const char *file;
    const cJSON *value;
    struct json_place place;
};

static enum status repeated(const struct checked *object, const char *key)
{
    char place[JSON_PLACE_BYTES], shown[JSON_SHOWN_BYTES];

    json_place_text(&object->place, place, sizeof(place));
    return log_error(STATUS_USAGE, "%s: key \"%s\" is twice in %s; remove one of the two", object->file,
                     json_shown(key, shown), *place ? place : "the outermost object");
}

/* Refuses a key that comes twice in this object. */
static enum status check_keys(const struct checked *object)
{
    enum { FEW = 24 };
    const size_t count = (size_t)cJSON_GetArraySize(object->value);
    const char *key, **keys;
    const cJSON *member;
    size_t i = 0;

    if (count <= FEW) {
        key = repeated_of_few(object->value);
        return key ? repeated(object, key) : STATUS_OK;
    }
    keys = malloc(count * sizeof(*keys));
    if (!keys)
        return log_error(STATUS_ENVIRONMENT, "%s: out of memory", object->file);
    cJSON_ArrayForEach (member, object->value)
        keys[i++] = member->string;
    key = repeated_of_many(keys, count);
    free(keys);
    return key ? repeated(object, key) : STATUS_OK;
}

/* The same for every object within value; scan() has bounded the depth of the recursion. */
static enum status check_all_keys(const struct checked *checked)
{
    enum status status = cJSON_IsObject(checked->value) ? check_keys(checked) : STATUS_OK;
    const cJSON *value;
    size_t index = 0;

    cJSON_ArrayForEach (value, checked->value) {
        if (status != STATUS_OK)
            break;
        if (value->child)
            status = check_all_keys(&(struct checked){
                .file = checked->file,
                .value = value,
                .place = {.parent = &checked->place, .key = value->string, .index = index},
            });
        index++;
    }
    return status;
}

/* Parses text->bytes[0 .. count - 1], which a NUL follows. */
static enum status parse(struct text *text, cJSON **out)
{
    const char *begin = (const char *)text->bytes;
    const char *end = begin;
    enum status status;
    cJSON *value;

    status = scan(text);
    if (status != STATUS_OK)
        return status;
    value = cJSON_ParseWithLengthOpts(begin, text->count + 1, &end, 1);
    if (!value)
        return malformed(text, (size_t)(end - begin),
                         "half of a surrogate pair, or a number of more than 63 characters");
    status = check_all_keys(&(struct checked){.file = text->name, .value = value});
    if (status != STATUS_OK) {
        cJSON_Delete(value);
        return status;
    }
    *out = value;
    return STATUS_OK;
}

enum status json_parse(const char *name, const char *text, size_t bytes, cJSON **out)
{
    char *copy = malloc(bytes + 1);
    enum status status;

    if (!copy)
        return log_error(STATUS_ENVIRONMENT, "%s: out of memory", name);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    status = parse(&(struct text){.name = name, .bytes = (unsigned char *)copy, .count = bytes}, out);
    free(copy);
    return status;
}

static enum status too_large(const char *path)
{
    return log_error(STATUS_USAGE,
                     "%s: larger than %zu MiB, the most that cbank reads; if it is a result, take fewer samples "
                     "or measure fewer cells at a time",
                     path, JSON_FILE_BYTES_MAX >> 20);
}

/* Room to read a file into at first: all of it, where its size is known. 0 when it is too large. */
static size_t first_room(FILE *file)
{
    enum { UNKNOWN_BYTES = 1 << 16 };
    struct stat about;

    if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0)
        return UNKNOWN_BYTES;
    /* One more than there is, to see the end. */
    return (uintmax_t)about.st_size > JSON_FILE_BYTES_MAX ? 0 : (size_t)about.st_size + 1;
}

/* Reads all of file, from wherever it comes (it may be a pipe), and adds a NUL. *text is the caller's, to
 * free, on failure too. */
static enum status read_all(const char *path, FILE *file, char **text, size_t *bytes)
{
    size_t room = first_room(file);
    size_t count = 0;

    if (room == 0)
        return too_large(path);
    for (;;) {
        char *larger = realloc(*text, room + 1);

        if (!larger)
            return log_error(STATUS_ENVIRONMENT, "%s: out of memory", path);
        *text = larger;
        count += fread(*text + count, 1, room - count, file);
        if (ferror(file))
            return log_error(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
        if (count > JSON_FILE_BYTES_MAX)
            return too_large(path);
        if (count < room)
            break;
        room = room < JSON_FILE_BYTES_MAX / 2 ? 2 * room : JSON_FILE_BYTES_MAX + 1;
    }
    (*text)[count] = '\0';
    *bytes = count;
    return STATUS_OK;
}

enum status json_read_file(const char *path, cJSON **out)
{
    FILE *file = fopen(path, "rb");
    enum status status;
    char *text = NULL;
    size_t bytes = 0;

    if (!file)
        return log_error(STATUS_USAGE, "cannot open %s: %s", path, strerror(errno));
    status = read_all(path, file, &text, &bytes);
    fclose(file);
    if (status == STATUS_OK)
        status = parse(&(struct text){.name = path, .bytes = (unsigned char *)text, .count = bytes}, out);
    free(text);
    return status;
}

/* Writes everything to fd, and to the disk where it is a file. Returns 0, or -1 with errno. */
static int write_all(int fd, const char *text, size_t bytes, bool sync)
{
    while (bytes > 0) {
        const ssize_t written = write(fd, text, bytes);

        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            text += written;
            bytes -= (size_t)written;
        }
    }
    return sync ? fsync(fd) : 0;
}

/* Writes to fd as write_all and closes it. Keeps the errno of what failed first. */
static int write_and_close(int fd, const char *text, size_t bytes, bool sync)
{
    const int written = write_all(fd, text, bytes, sync);
    const int saved = errno;
    const int closed = close(fd);

    if (written != 0)
        errno = saved;
    return written != 0 ? written : closed;
}

/* Writes to a device, pipe or the like, which cannot be replaced. */
static int write_in_place(const char *path, const char *text, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -1 : write_and_close(fd, text, bytes, false);
}

/* Opens a new file beside path, with its name in *temporary, the caller's to free. open, unlike mkstemp,
 * leaves the mode to the umask. */
static int open_temporary(const char *path, char **temporary)
{
    int fd = -1;

    for (int attempt = 0; attempt < 100; attempt++) {
        free(*temporary);
        *temporary = NULL;
        if (asprintf(temporary, "%s.%ld-%d.tmp", path, (long)getpid(), attempt) < 0) {
            *temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* Replaces the file at path as a whole. Returns 0, or -1 with errno and nothing left behind. */
static int replace(const char *path, const char *text, size_t bytes)
{
    char *temporary = NULL;
    int result = -1;
    const int fd = open_temporary(path, &temporary);

    if (fd >= 0) {
        result = write_and_close(fd, text, bytes, true);
        if (result == 0)
            result = rename(temporary, path);
        if (result != 0) {
            const int saved = errno;

            unlink(temporary);
            errno = saved;
        }
    }
    free(temporary);
    return result;
}

/* Text of value with a newline at its end; the caller's to free. NULL when memory ran out, here or when a
 * member was added. */
static char *print(const cJSON *value, size_t *bytes)
{
    char *text = value ? cJSON_Print(value) : NULL;
    char *larger;

    if (!text)
        return NULL;
    *bytes = strlen(text);
    larger = realloc(text, *bytes + 2);
    if (!larger) {
        free(text);
        return NULL;
    }
    larger[(*bytes)++] = '\n';
    larger[*bytes] = '\0';
    return larger;
}

enum status json_write_file(const char *path, const cJSON *value)
{
    /* A link stays a link: what it points to is replaced. NULL where there is no such file yet. */
    char *target = realpath(path, NULL);
    const char *where = target ? target : path;
    enum status status = STATUS_OK;
    struct stat about;
    size_t bytes;
    char *text = print(value, &bytes);
    int result;

    if (!text) {
        free(target);
        return log_error(STATUS_ENVIRONMENT, "cannot write %s: out of memory", path);
    }
    if (stat(where, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        result = write_in_place(where, text, bytes);
    else
        result = replace(where, text, bytes);
    if (result != 0)
        status = log_error(STATUS_USAGE, "cannot write %s: %s; give a path in a directory you can write to", path,
                           strerror(errno));
    free(text);
    free(target);
    return status;
}

enum status json_print(const cJSON *value)
{
    enum status status = STATUS_OK;
    size_t bytes;
    char *text = print(value, &bytes);

    if (!text)
        return log_error(STATUS_ENVIRONMENT, "cannot write standard output: out of memory");
    if (fwrite(text, 1, bytes, stdout) != bytes || fflush(stdout) != 0) {
        status = log_error(STATUS_USAGE, "cannot write standard output: %s", strerror(errno));
        /* Whoever looks at stdout at the end must not find the error again and say it twice. */
        __fpurge(stdout);
        clearerr(stdout);
    }
    free(text);
    return status;
}

cJSON *json_add(cJSON *object, const char *key, cJSON *item)
{
    if (object && item && cJSON_AddItemToObject(object, key, item))
        return item;
    /* What lost a member must not be printed as if it were whole. The low byte is the kind: none is
     * cJSON_Invalid, which cJSON refuses to print. */
    cJSON_Delete(item);
    if (object)
        object->type &= ~0xff;
    return NULL;
}

cJSON *json_append(cJSON *array, cJSON *item)
{
    if (array && item && cJSON_AddItemToArray(array, item))
        return item;
    cJSON_Delete(item);
    if (array)
        array->type &= ~0xff;
    return NULL;
}

cJSON *json_double(double value)
{
    char text[40];

    if (!isfinite(value))
        return cJSON_CreateNull();
    snprintf(text, sizeof(text), "%.17g", value);
    return cJSON_CreateRaw(text);
}

cJSON *json_doubles(const double *values, size_t count)
{
    enum { NUMBER_BYTES = 26 }; /* "-2.2250738585072014e-308, " */
    const size_t room = 3 + count * NUMBER_BYTES;
    char *text = malloc(room);
    cJSON *item;
    size_t used = 1;

    if (!text)
        return NULL;
    text[0] = '[';
    for (size_t i = 0; i < count; i++) {
        const char *separator = i ? ", " : "";

        if (isfinite(values[i]))
            used += (size_t)snprintf(text + used, room - used, "%s%.17g", separator, values[i]);
        else
            used += (size_t)snprintf(text + used, room - used, "%snull", separator);
    }
    snprintf(text + used, room - used, "]");
    item = cJSON_CreateRaw(text);
    free(text);
    return item;
}

void json_add_double(cJSON *object, const char *key, double value)
{
    json_add(object, key, json_double(value));
}

void json_add_integer(cJSON *object, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    json_add(object, key, value <= EXACT_INTEGER_MAX ? cJSON_CreateRaw(text) : cJSON_CreateString(text));
}

void json_add_nonzero(cJSON *object, const char *key, uint64_t value)
{
    if (value)
        json_add_integer(object, key, value);
}

void json_add_text(cJSON *object, const char *key, const char *value)
{
    cJSON *item = value ? cJSON_CreateString(value) : cJSON_CreateNull();
    unsigned char *text = item ? (unsigned char *)item->valuestring : NULL;

    /* Names from drivers and command lines are any bytes; JSON is UTF-8. One byte for one: no length grows.
     */
    for (size_t left = text ? strlen((char *)text) : 0; left > 0;) {
        const size_t length = utf8_length(text, left);

        if (length == 0)
            *text = '?';
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    json_add(object, key, item);
}

const cJSON *json_get(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool json_get_double(const cJSON *object, const char *key, double *out)
{
    const cJSON *item = json_get(object, key);

    if (!cJSON_IsNumber(item))
        return false;
    *out = item->valuedouble;
    return true;
}

/* An integer as a decimal string: digits alone. */
static bool parse_integer(const char *text, uint64_t *out)
{
    const size_t digits = scan_digits((const unsigned char *)text);
    unsigned long long value;

    if (digits == 0 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
        return false;
    errno = 0;
    value = strtoull(text, NULL, 10);
    if (errno != 0)
        return false;
    *out = value;
    return true;
}

bool json_get_integer(const cJSON *object, const char *key, uint64_t *out)
{
    const cJSON *item = json_get(object, key);

    if (cJSON_IsString(item))
        return parse_integer(item->valuestring, out);
    /* A number above 2^53 may have been rounded on its way here. */
    if (!cJSON_IsNumber(item) || signbit(item->valuedouble) || item->valuedouble > (double)EXACT_INTEGER_MAX ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

bool json_get_bool(const cJSON *object, const char *key, bool *out)
{
    const cJSON *item = json_get(object, key);

    if (!cJSON_IsBool(item))
        return false;
    *out = cJSON_IsTrue(item);
    return true;
}

bool json_get_text(const cJSON *object, const char *key, const char **out)
{
    const cJSON *item = json_get(object, key);

    if (!cJSON_IsString(item))
        return false;
    *out = item->valuestring;
    return true;
}

const char *json_kind(const cJSON *item)
{
    if (!item)
        return "missing";
    if (cJSON_IsNull(item))
        return "null";
    if (cJSON_IsBool(item))
        return "true or false";
    if (cJSON_IsNumber(item))
        return "this number";
    if (cJSON_IsString(item))
        return "this string";
    return cJSON_IsArray(item) ? "an array" : "an object";
}
