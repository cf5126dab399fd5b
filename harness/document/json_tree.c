/* SPDX-License-Identifier: MIT
 * The grammar is checked first (json_grammar.h), and counts the values. So what follows knows that the text is right, and
 * takes memory once. */
#include "json_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json_grammar.h"
#include "log.h"
#include "text.h"

struct json_tree {
    char *text; /* owned; strings lie in it, each ended by a NUL */
    cJSON *values; /* owned; the first is the outermost */
};

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

/* The string that begins behind the quote at *at, printable and ended by a NUL, where it lies; moves *at behind it. */
static char *take_string(char **at)
{
    char *begin = *at + 1, *out = begin;
    const char *from = begin;

    while (*out >= ' ' && *out <= '~' && *out != '"' && *out != '\\')
        out++;
    if (*out == '"') { /* as most are */
        *out = '\0';
        *at = out + 1;
        return begin;
    }
    for (from = out; *from != '"';)
        if (*from == '\\') {
            from++;
            out = put_escape(out, &from);
        } else {
            *out++ = *from++;
        }
    *at = begin + (from - begin) + 1;
    *out = '\0';
    text_clean(begin);
    return begin;
}

/* -- values -------------------------------------------------------------------------------------------- */

/* Where building has come to. */
struct building {
    char *at;
    cJSON *next; /* value that is free */
};

static void skip_blanks(struct building *building)
{
    while (*building->at == ' ' || *building->at == '\t' || *building->at == '\n' || *building->at == '\r')
        building->at++;
}

static void build_number(struct building *building, cJSON *value)
{
    const double number = strtod(building->at, &building->at);

    value->type = cJSON_Number;
    value->valuedouble = number;
    value->valueint = number >= INT_MAX ? INT_MAX : number <= INT_MIN ? INT_MIN : (int)number;
}

static void build_literal(struct building *building, cJSON *value)
{
    const char first = *building->at;

    value->type = first == 't' ? cJSON_True : first == 'f' ? cJSON_False : cJSON_NULL;
    value->valueint = first == 't';
    building->at += first == 'f' ? strlen("false") : strlen("true");
}

static void build(struct building *building, cJSON *value);

/* The members or elements of the value whose bracket is at building->at. */
static void build_list(struct building *building, cJSON *value)
{
    const bool object = *building->at == '{';
    cJSON *last = NULL;

    value->type = object ? cJSON_Object : cJSON_Array;
    do {
        cJSON *item = building->next;
        char *key = NULL;

        building->at++; /* the bracket, or a comma */
        skip_blanks(building);
        if (*building->at == '}' || *building->at == ']')
            break; /* there are none */
        if (object) {
            key = take_string(&building->at);
            building->at = strchr(building->at, ':') + 1;
        }
        building->next++;
        build(building, item);
        item->string = key;
        item->prev = last;
        *(last ? &last->next : &value->child) = item;
        last = item;
        skip_blanks(building);
    } while (*building->at == ',');
    building->at++;
    if (value->child)
        value->child->prev = last; /* as cJSON has it */
}

/* The depth of the recursion was checked with the grammar. */
static void build(struct building *building, cJSON *value)
{
    skip_blanks(building);
    if (*building->at == '{' || *building->at == '[') {
        build_list(building, value);
    } else if (*building->at == '"') {
        value->type = cJSON_String;
        value->valuestring = take_string(&building->at);
    } else if (*building->at == '-' || (*building->at >= '0' && *building->at <= '9')) {
        build_number(building, value);
    } else {
        build_literal(building, value);
    }
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
    char place[JSON_PLACE_BYTES], shown[TEXT_SHOWN_BYTES];

    json_place_text(&object->place, place, sizeof(place));
    return log_error(STATUS_USAGE, "%s: key \"%s\" is twice in %s; remove one of the two", object->file,
                     text_shown(key, shown), *place ? place : "the outermost object");
}

/* Refuses a key that comes twice in this object, which has `count` members. */
static enum status check_keys(const struct checked *object, size_t count)
{
    enum { FEW = 24 };
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

/* Refuses such a key in every object within value. */
static enum status check_all(const struct checked *checked)
{
    enum status status = STATUS_OK;
    const cJSON *value;
    size_t index = 0;

    cJSON_ArrayForEach (value, checked->value) {
        if (value->child)
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

/* Logs what is wrong at byte `at`, by line and by column in characters, from 1. */
static enum status malformed(const struct json_text *text, size_t at, const char *what)
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

/* Checks the grammar of the text, which a NUL follows. */
static enum status check_text(struct json_text *text)
{
    const char *wrong;
    size_t at;

    if (strspn((const char *)text->bytes, " \t\r\n") == text->count)
        return log_error(STATUS_USAGE, "%s: the file is empty", text->name);
    wrong = json_scan(text, &at);
    return wrong ? malformed(text, at, wrong) : STATUS_OK;
}

/* Makes a tree of text, which is then the tree's, or released on an error. */
static enum status make(const char *name, char *bytes, size_t count, struct json_tree **out)
{
    struct json_text text = {.name = name, .bytes = (unsigned char *)bytes, .count = count};
    enum status status = check_text(&text);
    struct json_tree *tree = status == STATUS_OK ? calloc(1, sizeof(*tree)) : NULL;

    *out = NULL;
    if (!tree) {
        free(bytes);
        return status == STATUS_OK ? log_memory("%s", name) : status;
    }
    tree->text = bytes;
    tree->values = calloc(text.values, sizeof(*tree->values));
    if (tree->values) {
        build(&(struct building){.at = bytes, .next = tree->values + 1}, tree->values);
        status = check_all(&(struct checked){.file = name, .value = tree->values});
    } else {
        status = log_memory("%s", name);
    }
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
    return tree->values;
}

void json_tree_close(struct json_tree *tree)
{
    if (!tree)
        return;
    free(tree->text);
    free(tree->values);
    free(tree);
}
