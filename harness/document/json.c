/* SPDX-License-Identifier: MIT
 * JSON around cJSON, which reads more than JSON and allocates for each value. So a text passes
 * three stages: scan_text refuses what cJSON would take, and counts values and bytes; cJSON builds
 * the tree in one block of that size, through its hooks; check walks the tree for numbers beyond a
 * double and keys that come twice.
 *
 *   block   | cJSON | cJSON | ... ->        <- ... | "text" | "text" |
 *           front                                              back */
#include "json.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "log.h"
#include "neighbour.h"
#include "text.h"

#define QUOTE(text)       #text
#define DIGITS_OF(number) QUOTE(number)

/* Largest integer up to which every integer is a double. */
#define EXACT_INTEGER_MAX ((uint64_t)1 << 53)

/* -- reading ----------------------------------------------------------------------------------- */

void json_path_text(const struct json_path *path, char *out, size_t room)
{
    char shown[TEXT_SHOWN_BYTES];
    size_t used;

    if (!path->parent) {
        *out = '\0';
        return;
    }
    json_path_text(path->parent, out, room);
    used = strlen(out);
    if (path->key)
        snprintf(out + used, room - used, "%s%s", used ? "." : "", text_shown(path->key, shown));
    else
        snprintf(out + used, room - used, "[%zu]", path->index);
}

/* Text before cJSON parses it. The functions step over what begins at the cursor; they return NULL,
 * or what is wrong there. */
struct scan {
    const char *text, *cursor, *end;
    int depth;
    /* upper limit: a value is the outermost, or follows an opening bracket or a comma */
    size_t values;
    size_t text_bytes; /* of the strings with their quotes, and of the numbers with a NUL */
    bool odd; /* a string has characters other than printable ASCII or escapes */
};

static size_t span_digits(const struct scan *scan, const char *from)
{
    const char *first = from;

    while (from < scan->end && *from >= '0' && *from <= '9')
        from++;
    return (size_t)(from - first);
}

/* cJSON also takes 01, 1. and .5e, and splits numbers of more than 63 characters. */
static const char *scan_number(struct scan *scan)
{
    const char *from = scan->cursor + (*scan->cursor == '-');
    size_t digits = span_digits(scan, from);
    bool good = digits == 1 || (digits > 1 && *from != '0');

    from += digits;
    if (from < scan->end && *from == '.') {
        digits = span_digits(scan, ++from);
        good = good && digits > 0;
        from += digits;
    }
    if (from < scan->end && (*from == 'e' || *from == 'E')) {
        from += from + 1 < scan->end && (from[1] == '+' || from[1] == '-') ? 2 : 1;
        digits = span_digits(scan, from);
        good = good && digits > 0;
        from += digits;
    }
    if (!good || from - scan->cursor > 63)
        return "malformed number";
    scan->text_bytes += (size_t)(from - scan->cursor) + 1;
    scan->cursor = from;
    return NULL;
}

/* cJSON takes control characters, bytes that are not UTF-8, and \u with NUL or without digits. It
 * checks other escapes. */
static const char *scan_string(struct scan *scan)
{
    const char *quote = scan->cursor;

    for (scan->cursor++; scan->cursor < scan->end;) {
        unsigned char c = (unsigned char)*scan->cursor;
        size_t length = 1;

        while (c >= ' ' && c <= '~' && c != '"' && c != '\\' && ++scan->cursor < scan->end)
            c = (unsigned char)*scan->cursor;
        if (scan->cursor == scan->end)
            break;
        if (c == '"') {
            scan->cursor++;
            scan->text_bytes += (size_t)(scan->cursor - quote);
            return NULL;
        }
        if (c < ' ')
            return "control character in a string";
        if (c == '\\' && scan->end - scan->cursor >= 6 && scan->cursor[1] == 'u') {
            size_t digits = 0;

            while (digits < 4 && strchr("0123456789abcdefABCDEF", scan->cursor[2 + digits]))
                digits++;
            if (digits < 4)
                return "\\u without four hexadecimal digits";
            if (memcmp(scan->cursor + 2, "0000", 4) == 0)
                return "NUL character in a string";
        }
        if (c == '\\')
            length = 2;
        else if (c > '~')
            length = text_utf8(scan->cursor, (size_t)(scan->end - scan->cursor));
        if (length == 0)
            return "not UTF-8";
        scan->odd |= c == '\\' || c > '~';
        scan->cursor += length;
    }
    scan->cursor = scan->end;
    return "the text ends in a string";
}

/* Finds everything that cJSON would wrongly accept, except duplicate keys and numbers that are too
 * large. */
static const char *scan_text(struct scan *scan)
{
    const char *wrong = NULL;

    /* A file of another kind is refused where it begins. */
    if (scan->cursor < scan->end && *scan->cursor > ' ' && *scan->cursor <= '~' &&
        !strchr("{[\"-0123456789tfn", *scan->cursor))
        return "unexpected text";
    while (!wrong && scan->cursor < scan->end) {
        const unsigned char c = (unsigned char)*scan->cursor;

        if (c == '"') {
            wrong = scan_string(scan);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            wrong = scan_number(scan);
        } else if (c > '~' || (c < ' ' && c != '\n' && c != '\t' && c != '\r')) {
            wrong = "not a JSON value";
        } else {
            scan->depth += (c == '[' || c == '{') - (c == ']' || c == '}');
            scan->values += c == '[' || c == '{' || c == ',';
            if (scan->depth > JSON_DEPTH_MAX)
                wrong = "nested too deeply";
            else if (scan->values > JSON_VALUES_MAX)
                wrong = "more than " DIGITS_OF(JSON_VALUES_MAX) " values";
            else
                scan->cursor++;
        }
    }
    return wrong;
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Finds a key that the object has twice; NULL where there is none. STATUS_ENVIRONMENT when out of
 * memory. */
static enum status find_repeated(const cJSON *object, const char *name, const char **repeated)
{
    const size_t count = (size_t)cJSON_GetArraySize(object);
    const char **keys;
    /* a bit for each hash: two keys of one are rare, and only then is it worth to sort */
    uint64_t seen[64] = {0};
    bool maybe = false;
    const cJSON *member;
    size_t i = 0;

    *repeated = NULL;
    cJSON_ArrayForEach (member, object) {
        uint32_t hash = 0;

        for (const char *c = member->string; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619; /* as FNV-1a */
        maybe |= seen[hash % 64] >> (hash >> 26) & 1;
        seen[hash % 64] |= (uint64_t)1 << (hash >> 26);
    }
    if (!maybe)
        return STATUS_OK;
    keys = malloc(count * sizeof(*keys));
    if (!keys)
        return log_memory("%s", name);
    cJSON_ArrayForEach (member, object)
        keys[i++] = member->string;
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (i = 1; i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            *repeated = keys[i];
    free(keys);
    return STATUS_OK;
}

/* Refuses numbers beyond a double and keys that come twice, in the value at that path and all in
 * it. Makes the strings printable if `odd`. */
static enum status check(cJSON *value, const char *name, const struct json_path *path, bool odd)
{
    char where[JSON_PATH_BYTES], shown[TEXT_SHOWN_BYTES];
    enum status status = STATUS_OK;
    const char *repeated = NULL;
    size_t index = 0;
    cJSON *item;

    if (odd && value->string)
        text_clean(value->string, 0);
    if (odd && value->valuestring)
        text_clean(value->valuestring, 0);
    if (cJSON_IsNumber(value) && !isfinite(value->valuedouble)) {
        json_path_text(path, where, sizeof(where));
        return log_error(STATUS_USAGE, "%s: %s%sthe number is too large for a double", name, where,
                         *where ? ": " : "");
    }
    cJSON_ArrayForEach (item, value) {
        if (odd || item->child || cJSON_IsNumber(item))
            status = check(item, name,
                           &(struct json_path){.parent = path, .key = item->string, .index = index},
                           odd);
        if (status != STATUS_OK)
            return status;
        index++;
    }
    if (cJSON_IsObject(value))
        status = find_repeated(value, name, &repeated);
    if (!repeated)
        return status;
    json_path_text(path, where, sizeof(where));
    return log_error(STATUS_USAGE, "%s: key \"%s\" is twice in %s; remove one of the two", name,
                     text_shown(repeated, shown), *where ? where : "the outermost object");
}

#ifdef CBANK_SANITIZED
enum { ONE_BLOCK = 0 }; /* a sanitizer sees where each value ends, and which is used too late */
#else
enum { ONE_BLOCK = 1 };
#endif

/* The block that the tree being parsed goes into: values from its front, texts from its back.
 * malloc for each would take a third more memory and twice the time. */
struct arena {
    char *front, *back;
};
static _Thread_local struct arena *arena;

static void *allocate(size_t bytes)
{
    if (!arena)
        return malloc(bytes);
    if ((size_t)(arena->back - arena->front) < bytes) {
        errno = ENOMEM;
        return NULL;
    }
    if (bytes != sizeof(cJSON))
        return arena->back -= bytes;
    arena->front += bytes;
    return arena->front - bytes;
}

static void release(void *memory)
{
    if (!arena)
        free(memory);
}

__attribute__((constructor)) static void set_hooks(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = release});
}

static const char blanks[] = " \t\r\n";

/* Scans the text. Returns what is wrong with it; NULL: nothing. */
static const char *scan_file(struct scan *scan)
{
    const char *wrong = scan_text(scan);

    if (wrong)
        return wrong;
    while (scan->end > scan->text && strchr(blanks, scan->end[-1]))
        scan->end--;
    return scan->end == scan->text ? "the file is empty" : NULL;
}

/* Makes the tree of a scanned text, in one block where cJSON's allocator can be replaced. Sets
 * *wrong if the text is not one value. Returns NULL for that, and when out of memory. */
static cJSON *make_tree(struct scan *scan, const char **wrong)
{
    const size_t bytes = (scan->values + 1) * sizeof(cJSON) + scan->text_bytes;
    cJSON *block = ONE_BLOCK ? malloc(bytes) : NULL, *tree;
    struct arena room = {NULL, NULL};

    if (ONE_BLOCK && !block)
        return NULL;
    if (block)
        room = (struct arena){.front = (char *)(block + 1), .back = (char *)block + bytes};
    errno = 0;
    arena = ONE_BLOCK ? &room : NULL;
    tree = cJSON_ParseWithLengthOpts(scan->text, (size_t)(scan->end - scan->text), &scan->cursor,
                                     false);
    arena = NULL;
    if (tree && scan->cursor < scan->end) {
        scan->cursor += strspn(scan->cursor, blanks);
        *wrong = "text after the end of the value";
    } else if (!tree && errno != ENOMEM) {
        *wrong = "unexpected text";
    }
    if (!block)
        return tree;
    if (!tree) {
        free(block);
        return NULL;
    }
    *block = *tree; /* who frees the outermost value frees the block */
    return block;
}

/* Logs what is wrong where the scan stands: by line, and by column in characters, from 1. */
static enum status refuse_text(const char *name, const struct scan *scan, const char *wrong)
{
    const char *says = neighbour_of_text(scan->text, (size_t)(scan->end - scan->text));
    size_t line = 1, column = 1;

    if (says)
        return log_error(STATUS_USAGE, "%s is %s", name, says);
    for (const char *c = scan->text; c < scan->cursor; c++) {
        column = *c == '\n' ? 1 : column + ((*c & 0xc0) != 0x80);
        line += *c == '\n';
    }
    return log_error(STATUS_USAGE, "%s:%zu:%zu: %s; the file is not JSON that cbank can read", name,
                     line, column, wrong);
}

enum status json_parse(const char *name, const char *text, size_t bytes, cJSON **out)
{
    char *owned = NULL; /* freed as soon as the text is not needed */
    enum status status = text ? STATUS_OK : file_read(name, JSON_FILE_BYTES_MAX, &owned, &bytes);
    struct scan scan;
    const char *wrong;
    cJSON *tree = NULL;

    *out = NULL;
    if (status != STATUS_OK)
        return status;
    text = text ? text : owned;
    scan = (struct scan){.text = text, .cursor = text, .end = text + bytes, .values = 1};
    wrong = scan_file(&scan);
    if (!wrong)
        tree = make_tree(&scan, &wrong);
    if (wrong)
        status = refuse_text(name, &scan, wrong);
    else if (!tree)
        status = log_memory("%s", name);
    free(owned);
    if (status != STATUS_OK)
        goto out;
    status = check(tree, name, &(struct json_path){0}, scan.odd);
    if (status != STATUS_OK)
        goto out;
    *out = tree;
    return STATUS_OK;
out:
    json_free(tree);
    return status;
}

void json_free(cJSON *tree)
{
    if (ONE_BLOCK)
        free(tree);
    else
        cJSON_Delete(tree);
}

/* -- writing ----------------------------------------------------------------------------------- */

/* Whether no object has lost a member: see json_add. */
static bool is_whole(const cJSON *item)
{
    const cJSON *child;

    if ((item->type & 0xff) == cJSON_Invalid)
        return false;
    cJSON_ArrayForEach (child, item)
        if (!is_whole(child))
            return false;
    return true;
}

static void put_tabs(FILE *stream, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        putc('\t', stream);
}

static bool put_leaf(FILE *stream, const cJSON *item)
{
    char *text;

    if (cJSON_IsRaw(item)) {
        fputs(item->valuestring, stream);
        return true;
    }
    text = cJSON_PrintUnformatted(item);
    if (text)
        fputs(text, stream);
    cJSON_free(text);
    return text;
}

static bool put_key(FILE *stream, const char *key)
{
    cJSON *text = cJSON_CreateStringReference(key);
    const bool whole = text && put_leaf(stream, text);

    cJSON_Delete(text);
    return whole;
}

/* Prints as cJSON_Print does, which takes twice the text of a file in memory. */
static bool put_value(FILE *stream, const cJSON *item, unsigned depth)
{
    const bool keyed = cJSON_IsObject(item);
    const cJSON *child;

    if (!keyed && !cJSON_IsArray(item))
        return put_leaf(stream, item);
    fputs(keyed ? "{\n" : "[", stream);
    cJSON_ArrayForEach (child, item) {
        if (keyed) {
            put_tabs(stream, depth + 1);
            if (!put_key(stream, child->string))
                return false;
            fputs(":\t", stream);
        }
        if (!put_value(stream, child, depth + 1))
            return false;
        if (child->next)
            fputs(keyed ? "," : ", ", stream);
        if (keyed)
            putc('\n', stream);
    }
    if (keyed)
        put_tabs(stream, depth);
    putc(keyed ? '}' : ']', stream);
    return true;
}

enum status json_put(FILE *stream, const void *value)
{
    if (!value || !is_whole(value) || !put_value(stream, value, 0))
        return log_memory("JSON text");
    putc('\n', stream);
    return STATUS_OK;
}

enum status json_put_owned(FILE *stream, cJSON *value)
{
    const enum status status = json_put(stream, value);

    cJSON_Delete(value);
    return status;
}

cJSON *json_add(cJSON *object, const char *key, cJSON *item)
{
    if (object && item &&
        (key ? cJSON_AddItemToObject(object, key, item) : cJSON_AddItemToArray(object, item)))
        return item;
    /* An object that lost a member must not be printed as a whole one. The low byte is the kind: 0
     * is cJSON_Invalid, which cJSON refuses to print. */
    cJSON_Delete(item);
    if (object)
        object->type &= ~0xff;
    return NULL;
}

/* A number with the fewest of 15 to 17 digits that are read back exactly; null if it is not
 * finite. */
static cJSON *json_double(double value)
{
    char text[32]; /* "-2.2250738585072014e-308" */
    int digits = DBL_DIG;

    if (!isfinite(value))
        return cJSON_CreateNull();
    do
        snprintf(text, sizeof(text), "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < DBL_DECIMAL_DIG);
    return cJSON_CreateRaw(text);
}

cJSON *json_line(cJSON *value)
{
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;
    cJSON *line = text ? cJSON_CreateRaw(text) : NULL;

    cJSON_free(text);
    cJSON_Delete(value);
    return line;
}

cJSON *json_doubles(const double *values, size_t count)
{
    cJSON *array = cJSON_CreateArray();

    for (size_t i = 0; i < count; i++)
        json_append(array, json_double(values[i]));
    return json_line(array);
}

void json_add_double(cJSON *object, const char *key, double value)
{
    json_add(object, key, json_double(value));
}

void json_add_integer(cJSON *object, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    json_add(object, key,
             value <= EXACT_INTEGER_MAX ? cJSON_CreateRaw(text) : cJSON_CreateString(text));
}

void json_add_text(cJSON *object, const char *key, const char *value)
{
    cJSON *item = value ? cJSON_CreateString(value) : cJSON_CreateNull();

    /* Names from drivers and command lines are arbitrary bytes, but JSON is UTF-8. Each bad byte is
     * replaced by one byte: no length grows. */
    if (item && item->valuestring)
        text_clean(item->valuestring, 0);
    json_add(object, key, item);
}

/* -- getters ----------------------------------------------------------------------------------- */

const cJSON *json_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

bool json_integer(const cJSON *item, uint64_t *out)
{
    if (cJSON_IsString(item)) {
        const char *text = item->valuestring;
        const size_t digits = strspn(text, "0123456789");

        unsigned long long value;

        if (digits == 0 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
            return false;
        errno = 0;
        value = strtoull(text, NULL, 10);
        *out = errno ? *out : value;
        return !errno;
    }
    /* A number above 2^53 may already have been rounded. */
    if (!cJSON_IsNumber(item) || signbit(item->valuedouble) ||
        item->valuedouble > (double)EXACT_INTEGER_MAX ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

const char *json_kind(const cJSON *item)
{
    /* By the bit of cJSON's type. */
    static const char *const kinds[] = {"true or false", "true or false", "null",     "this number",
                                        "this string",   "an array",      "an object"};

    return item ? kinds[__builtin_ctz((unsigned)item->type)] : "missing";
}
