/* SPDX-License-Identifier: MIT
 * The text is read once: its values are made while its grammar is checked (json_grammar.h). Until all of it is known to
 * be right, nothing in it moves, so that an error can be said with its line and column. */
#include "json_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json_grammar.h"
#include "log.h"
#include "pool.h"
#include "text.h"

#define QUOTE(text)       #text
#define DIGITS_OF(number) QUOTE(number)

struct json_tree {
    char *text; /* owned; strings lie in it, each ended by a NUL */
    struct pool values;
    cJSON *root;
};

/* Bits of a value's type, beside cJSON's: its key, its string is not yet what it means, see make_plain; it is a list to look
 * into again, as all are but arrays of numbers and the like. */
enum { ODD_KEY = 1 << 16, ODD_STRING = 1 << 17, TO_CHECK = 1 << 18, ODD = ODD_KEY | ODD_STRING | TO_CHECK };

/* -- strings ------------------------------------------------------------------------------------------- */

static unsigned hex(const char *digits)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++)
        value = 16 * value + (unsigned)(digits[i] <= '9' ? digits[i] - '0' : (digits[i] | 0x20) - 'a' + 10);
    return value;
}

/* Writes a character as UTF-8; returns where the next one goes. */
static char *put_utf8(char *out, unsigned code)
{
    static const struct {
        unsigned below, mark, shift;
    } forms[] = {{0x80, 0, 0}, {0x800, 0xc0, 6}, {0x10000, 0xe0, 12}, {0x110000, 0xf0, 18}};
    size_t form = 0;
    unsigned shift;

    while (code >= forms[form].below)
        form++;
    shift = forms[form].shift;
    *out++ = (char)(forms[form].mark | code >> shift);
    while (shift > 0) {
        shift -= 6;
        *out++ = (char)(0x80 | (code >> shift & 0x3f));
    }
    return out;
}

/* Writes the character of the escape behind a backslash; moves *from behind it. */
static char *put_escape(char *out, const char **from)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *escape = *from, *letter = strchr(letters, *escape);
    unsigned code;

    if (*escape != 'u') {
        *from += 1;
        *out++ = (char)(letter ? meant[letter - letters] : *escape);
        return out;
    }
    code = hex(escape + 1);
    *from += 5;
    if (code >= 0xd800 && code < 0xdc00) {
        code = 0x10000 + ((code - 0xd800) << 10 | (hex(escape + 7) - 0xdc00));
        *from += 6;
    }
    return put_utf8(out, code);
}

/* Makes of a string that is not plain what it means, printable, where it lies. */
static void make_plain(char *string)
{
    const char *from = string;
    char *out = string;

    while (*from)
        if (*from == '\\') {
            from++;
            out = put_escape(out, &from);
        } else {
            *out++ = *from++;
        }
    *out = '\0';
    text_clean(string);
}

/* -- values -------------------------------------------------------------------------------------------- */

/* Where parsing has come to. Its functions step over what begins at `at`, and return NULL, or what is wrong there. */
struct parsing {
    struct json_text text;
    size_t at, values;
    struct json_tree *tree;
};

static const char out_of_memory[] = "memory ran out";

/* Steps over blanks. Returns the byte that follows, NUL at the end of the text. */
static unsigned char skip_blanks(struct parsing *parsing)
{
    const unsigned char *from = parsing->text.bytes + parsing->at;

    while (*from == ' ' || *from == '\t' || *from == '\n' || *from == '\r')
        from++;
    parsing->at = (size_t)(from - parsing->text.bytes);
    return *from;
}

static const char *parse_string(struct parsing *parsing, char **out, bool *plain)
{
    char *begin = (char *)parsing->text.bytes + parsing->at + 1;
    const char *wrong = json_scan_string(&parsing->text, &parsing->at, plain);

    if (wrong)
        return wrong;
    *out = begin;
    parsing->text.bytes[parsing->at - 1] = '\0'; /* the quote */
    return NULL;
}

static const char *parse_number(struct parsing *parsing, cJSON *value)
{
    const char *wrong = json_scan_number(&parsing->text, &parsing->at, &value->valuedouble);
    const double number = value->valuedouble;

    value->type = cJSON_Number;
    value->valueint = number >= INT_MAX ? INT_MAX : number <= INT_MIN ? INT_MIN : (int)number;
    return wrong;
}

/* The key of a member, and the colon after it. */
static const char *parse_key(struct parsing *parsing, char **key, bool *plain)
{
    const char *wrong;

    if (skip_blanks(parsing) != '"')
        return "expected a key in quotes";
    wrong = parse_string(parsing, key, plain);
    if (wrong)
        return wrong;
    if (skip_blanks(parsing) != ':')
        return "expected ':'";
    parsing->at++;
    return NULL;
}

static const char *parse_value(struct parsing *parsing, int depth, cJSON **out);

/* A member or element, `depth` levels deep, which goes behind the last one. */
static const char *parse_item(struct parsing *parsing, int depth, cJSON *list)
{
    cJSON *last = list->child ? list->child->prev : NULL, *item;
    const char *wrong = NULL;
    char *key = NULL;
    bool plain = true;

    if (cJSON_IsObject(list))
        wrong = parse_key(parsing, &key, &plain);
    if (!wrong)
        wrong = parse_value(parsing, depth, &item);
    if (wrong)
        return wrong;
    item->string = key;
    item->type |= plain ? 0 : ODD_KEY;
    list->type |= item->type & ODD ? TO_CHECK : 0;
    item->prev = last;
    *(last ? &last->next : &list->child) = item;
    list->child->prev = item; /* as cJSON has it */
    return NULL;
}

/* An object or array, `depth` levels deep. */
static const char *parse_list(struct parsing *parsing, int depth, cJSON *list)
{
    const bool object = parsing->text.bytes[parsing->at] == '{';
    const unsigned char close = object ? '}' : ']';
    const char *wrong;

    if (depth > JSON_DEPTH_MAX)
        return "nested too deeply";
    list->type = object ? cJSON_Object | TO_CHECK : cJSON_Array;
    parsing->at++;
    if (skip_blanks(parsing) == close) {
        parsing->at++;
        return NULL;
    }
    while (!(wrong = parse_item(parsing, depth, list))) {
        const unsigned char next = skip_blanks(parsing);

        if (next != ',' && next != close)
            return object ? "expected ',' or '}'" : "expected ',' or ']'";
        parsing->at++;
        if (next == close)
            break;
    }
    return wrong;
}

/* The value at `at`, within `depth` objects and arrays. */
static const char *parse_value(struct parsing *parsing, int depth, cJSON **out)
{
    const unsigned char first = skip_blanks(parsing);
    cJSON *value = *out = pool_take(&parsing->tree->values, sizeof(*value));
    const char *wrong;
    bool plain;

    if (!value)
        return out_of_memory;
    *value = (cJSON){0};
    if (++parsing->values > JSON_VALUES_MAX)
        return "more than " DIGITS_OF(JSON_VALUES_MAX) " values";
    if (first == '{' || first == '[')
        return parse_list(parsing, depth + 1, value);
    if (first == '-' || (first >= '0' && first <= '9'))
        return parse_number(parsing, value);
    if (first != '"') {
        wrong = json_scan_word(&parsing->text, &parsing->at, &value->type);
        value->valueint = value->type == cJSON_True;
        return wrong;
    }
    wrong = parse_string(parsing, &value->valuestring, &plain);
    value->type = cJSON_String | (plain ? 0 : ODD_STRING);
    return wrong;
}

/* The whole text. */
static const char *parse_text(struct parsing *parsing)
{
    const char *wrong = parse_value(parsing, 0, &parsing->tree->root);

    if (wrong && wrong != out_of_memory && parsing->at == parsing->text.count)
        return "the text ends too early: truncated";
    if (wrong)
        return wrong;
    skip_blanks(parsing);
    return parsing->at == parsing->text.count ? NULL : "text after the end of the value";
}

/* Makes the strings of a value what they mean. */
static void make_strings(cJSON *value)
{
    if (value->type & ODD_KEY)
        make_plain(value->string);
    if (value->type & ODD_STRING)
        make_plain(value->valuestring);
    value->type &= ~ODD;
}

/* -- keys ---------------------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Of an object with few members: a key that comes twice, or NULL. */
static const char *repeated_of_few(const cJSON *object)
{
    for (const cJSON *member = object->child; member; member = member->next)
        for (const cJSON *later = member->next; later; later = later->next)
            if (json_is_called(later, member->string))
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
    char place[JSON_PLACE_BYTES], shown[TEXT_SHOWN_BYTES];

    json_place_text(&object->place, place, sizeof(place));
    return log_error(STATUS_USAGE, "%s: key \"%s\" is twice in %s; remove one of the two", object->file,
                     text_shown(key, shown), *place ? place : "the outermost object");
}

/* Refuses a key that comes twice in this object, which has `count` members. */
static enum status check_keys(const struct checked *object, size_t count)
{
    enum { FEW = 64 };
    const char *key, **keys;
    const cJSON *member;
    size_t i = 0;

    if (count <= FEW) {
        key = repeated_of_few(object->value);
        return key ? repeated(object, key) : STATUS_OK;
    }
    keys = malloc(count * sizeof(*keys));
    if (!keys)
        return log_memory("%s", object->file);
    cJSON_ArrayForEach (member, object->value)
        keys[i++] = member->string;
    key = repeated_of_many(keys, count);
    free(keys);
    return key ? repeated(object, key) : STATUS_OK;
}

/* Makes the strings in value, and refuses such a key in every object. */
static enum status check_all(const struct checked *checked)
{
    enum status status = STATUS_OK;
    cJSON *value;
    size_t index = 0;

    cJSON_ArrayForEach (value, checked->value) {
        const bool deep = value->type & TO_CHECK;

        make_strings(value);
        if (deep)
            status = check_all(&(struct checked){
                .file = checked->file,
                .value = value,
                .place = {.parent = &checked->place, .key = value->string, .index = index},
            });
        if (status != STATUS_OK)
            return status;
        index++;
    }
    return cJSON_IsObject(checked->value) ? check_keys(checked, index) : STATUS_OK;
}

/* -- trees --------------------------------------------------------------------------------------------- */

/* Logs what is wrong where parsing has come to, by line and by column in characters, from 1. */
static enum status malformed(const struct parsing *parsing, const char *what)
{
    const struct json_text *text = &parsing->text;
    size_t line = 1, column = 1;

    for (size_t i = 0; i < parsing->at && i < text->count; i++) {
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

/* Fills a tree from its text. */
static enum status fill(const char *name, size_t count, struct json_tree *tree)
{
    struct parsing parsing = {.text = {name, (unsigned char *)tree->text, count}, .tree = tree};
    const char *wrong;

    if (strspn(tree->text, " \t\r\n") == count)
        return log_error(STATUS_USAGE, "%s: the file is empty", name);
    wrong = parse_text(&parsing);
    if (wrong == out_of_memory)
        return log_memory("%s", name);
    if (wrong)
        return malformed(&parsing, wrong);
    make_strings(tree->root);
    return check_all(&(struct checked){.file = name, .value = tree->root});
}

/* Makes a tree of text, which is then the tree's, or released on an error. */
static enum status make(const char *name, char *bytes, size_t count, struct json_tree **out)
{
    struct json_tree *tree = malloc(sizeof(*tree));
    enum status status;

    *out = NULL;
    if (!tree) {
        free(bytes);
        return log_memory("%s", name);
    }
    *tree = (struct json_tree){.text = bytes};
    status = fill(name, count, tree);
    if (status == STATUS_OK)
        *out = tree;
    else
        json_tree_close(tree);
    return status;
}

enum status json_tree_parse(const char *name, const char *text, size_t bytes, struct json_tree **out)
{
    char *copy = malloc(bytes + 1);

    *out = NULL;
    if (!copy)
        return log_memory("%s", name);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return make(name, copy, bytes, out);
}

enum status json_tree_read(const char *path, struct json_tree **out)
{
    char *text;
    size_t bytes;
    const enum status status = file_read(path, JSON_FILE_BYTES_MAX, &text, &bytes);

    *out = NULL;
    return status == STATUS_OK ? make(path, text, bytes, out) : status;
}

const cJSON *json_tree_root(const struct json_tree *tree)
{
    return tree->root;
}

void json_tree_close(struct json_tree *tree)
{
    if (!tree)
        return;
    pool_close(&tree->values);
    free(tree->text);
    free(tree);
}
