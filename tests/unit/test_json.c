/* SPDX-License-Identifier: MIT
 * Tests of reading JSON strictly and writing it exactly. */
#include <float.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "capture.h"
#include "json.h"
#include "size.h"
#include "test.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Texts, and a part of the message where they are refused, or the whole value printed again. */
static const struct {
    const char *text;
    size_t bytes;
    const char *message, *value;
} rows[] = {
#define REFUSED(text, message)  {text, sizeof(text) - 1, "t.json" message, NULL}
#define ACCEPTED(text, printed) {text, sizeof(text) - 1, NULL, printed}
    REFUSED("", ":1:1: the file is empty"),
    REFUSED("{\"a\": 1", ":1:7: unexpected text"),
    REFUSED("{\n  \"a\": \"b", ":2:10: the text ends in a string"),
    REFUSED("{\"a\": \"b\\", ":1:10: the text ends in a string"),
    REFUSED("{\"a\": \"\\u12", ":1:12: the text ends in a string"),
    REFUSED("{\"a\": tru, 1", ":1:7: unexpected text"),
    REFUSED("{\"a\": 1} x", ":1:10: text after the end"),
    REFUSED("{\"a\": 1}\n{}", ":2:1: text after the end"),
    REFUSED("{\"a\": 1}\0", ":1:9: not a JSON value"),
    REFUSED("{\"a\": 1,}", ":1:9: unexpected text"),
    REFUSED("[1,]", ":1:4: unexpected text"),
    REFUSED("[1}", ":1:3: unexpected text"),
    REFUSED("{\"a\" 1}", ":1:6: unexpected text"),
    REFUSED("{\"a\": 1 \"b\": 2}", ":1:9: unexpected text"),
    REFUSED("}", ":1:1: unexpected text"),
    REFUSED("# A page\n\n1-2", ":1:1: unexpected text"), /* not where a number is malformed */
    REFUSED("{'a': 1}", ":1:3: unexpected text"),
    REFUSED("[NaN]", ":1:2: unexpected text"),
    REFUSED("[-Infinity]", ":1:2: malformed number"),
    REFUSED("[01]", ":1:2: malformed number"),
    REFUSED("[1.]", ":1:2: malformed number"),
    REFUSED("[.5]", ":1:2: unexpected text"),
    REFUSED("[1e]", ":1:2: malformed number"),
    REFUSED("[0x10]", ":1:3: unexpected text"),
    REFUSED("[0123456789012345678901234567890123456789012345678901234567890123]",
            ":1:2: malformed number"),
    REFUSED("[truely]", ":1:6: unexpected text"),
    REFUSED("[0, 1e999]", ": [1]: the number is too large for a double"),
    REFUSED("{\"a\": {\"b\": 1e99999999999999999999}}", ": a.b: the number is too large"),
    REFUSED("{\"a\": 1, \"b\": 2, \"a\": 3}", ": key \"a\" is twice in the outermost object"),
    REFUSED("{\"x\": [0, {\"a\": 1, \"\\u0061\": 2}]}", ": key \"a\" is twice in x[1];"),
    REFUSED("{\"x\": {\"y\": [[{\"\": 1, \"\": 2}]]}}", ": key \"\" is twice in x.y[0][0];"),
    REFUSED("{\"\\n\\u001b\": 1, \"\\n\\u001b\": 2}", ": key \"??\" is twice"),
    REFUSED("[\"a\tb\"]", ":1:4: control character in a string"),
    REFUSED("[\"a\\u0000b\"]", ":1:4: NUL character"),
    REFUSED("[\"a\\u00g0b\"]", ":1:4: \\u without four"),
    REFUSED("[\"\\x41\"]", ":1:3: unexpected text"),
    REFUSED("[\"\\ud83d\"]", ":1:3: unexpected text"),
    REFUSED("[\"\\ude00\"]", ":1:3: unexpected text"),
    REFUSED("[\"\\ud83d\\u0041\"]", ":1:3: unexpected text"),
    REFUSED("[\"\xff\"]", ":1:3: not UTF-8"),
    REFUSED("[\"\xc3\xa4\xc3\"]", ":1:4: not UTF-8"), /* columns count characters */
    REFUSED("[\"\xc0\x80\"]", ":1:3: not UTF-8"),     /* overlong */
    REFUSED("[\"\xe0\x80\x80\"]", ":1:3: not UTF-8"),
    REFUSED("[\"\xed\xa0\x80\"]", ":1:3: not UTF-8"),     /* surrogate */
    REFUSED("[\"\xf4\x90\x80\x80\"]", ":1:3: not UTF-8"), /* beyond U+10FFFF */
    REFUSED("{\"\\u00e4\\n\": x}", ":1:14: unexpected text"),
    REFUSED("[1] \x01", ":1:5: not a JSON value"),
    REFUSED("[1,\v2]", ":1:4: not a JSON value"),
    REFUSED("\xef\xbb\xbf[]", ":1:1: not a JSON value"), /* byte order mark */
    ACCEPTED("0", "0"),
    ACCEPTED("-0", "-0"),
    ACCEPTED("-1.5e-300", "-1.5e-300"),
    ACCEPTED("1E+2", "100"),
    ACCEPTED("1e-999", "0"),
    ACCEPTED("\"\"", "\"\""),
    ACCEPTED("null", "null"),
    ACCEPTED("[]", "[]"),
    ACCEPTED("{}", "{}"),
    ACCEPTED(" [1 , true,\tfalse]\r\n", "[1,true,false]"),
    ACCEPTED("{\"a\":1,\"A\":2,\"\":3}", "{\"a\":1,\"A\":2,\"\":3}"),
    ACCEPTED("[{\"a\":1},{\"a\":1}]", "[{\"a\":1},{\"a\":1}]"),
    ACCEPTED("[\"\\ud83d\\uDe00 \\\" \\\\ \\/ \\u0041\\u20aC \xf0\x9f\x98\x80 \xed\x9f\xbf\"]",
             "[\"\xf0\x9f\x98\x80 \\\" \\\\ / A\xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf\"]"),
    ACCEPTED("{\"\\b\\u001b\":\"\\f\\n\\r\\t\x7f\\u202e\"}", "{\"??\":\"????????\"}"),
};

static enum status parse(const char *text, size_t bytes, cJSON **out, struct capture *capture)
{
    enum status status;

    capture_begin(capture, stderr);
    status = json_parse("t.json", text, bytes, out);
    capture_end(capture);
    return status;
}

TEST(texts_are_read_or_refused_with_the_line_or_path)
{
    struct capture capture;

    for (size_t i = 0; i < COUNT(rows); i++) {
        /* Exactly as long as the text, so that a sanitizer sees what is read behind it. */
        char *text = memcpy(malloc(rows[i].bytes ? rows[i].bytes : 1), rows[i].text, rows[i].bytes),
             *printed;
        cJSON *value = NULL;
        const enum status status = parse(text, rows[i].bytes, &value, &capture);

        free(text);
        if (rows[i].message) {
            assert_int_equal(status, STATUS_USAGE);
            assert_null(value);
            if (!strstr(capture.text, rows[i].message))
                fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].text, capture.text, rows[i].message);
            /* one line */
            assert_ptr_equal(strchr(capture.text, '\n'), capture.text + strlen(capture.text) - 1);
            continue;
        }
        assert_string_equal(capture.text, "");
        assert_int_equal(status, STATUS_OK);
        /* The library prints both texts: its versions print some numbers, as -0, differently. */
        cJSON *wanted = cJSON_Parse(rows[i].value);
        char *expected = cJSON_PrintUnformatted(wanted);

        printed = cJSON_PrintUnformatted(value);
        assert_non_null(expected);
        assert_string_equal(printed, expected);
        cJSON_free(printed);
        cJSON_free(expected);
        cJSON_Delete(wanted);
        json_free(value);
    }
}

TEST(depth_is_limited)
{
    static const struct {
        size_t depth;
        enum status status;
    } depths[] = {{JSON_DEPTH_MAX, STATUS_OK},
                  {JSON_DEPTH_MAX + 1, STATUS_USAGE},
                  {100000, STATUS_USAGE}};
    static char text[200000];
    struct capture capture;

    for (size_t i = 0; i < COUNT(depths); i++) {
        cJSON *value;

        memset(text, '[', depths[i].depth);
        memset(text + depths[i].depth, ']', depths[i].depth);
        assert_int_equal(parse(text, 2 * depths[i].depth, &value, &capture), depths[i].status);
        assert_true((depths[i].status == STATUS_OK) ==
                    !strstr(capture.text, "t.json:1:65: nested too deeply"));
        json_free(value);
    }
}

/* Objects of few and of many keys, which are looked through in two ways; of 50,000 a quadratic way
 * would take minutes. */
TEST(a_repeated_key_is_found_in_objects_of_any_size)
{
    static const int counts[] = {1, 2, 31, 32, 33, 50000};
    char *text = malloc(50000 * 16);
    struct capture capture;
    cJSON *value;

    assert_non_null(text);
    for (size_t i = 0; i < COUNT(counts); i++) {
        size_t bytes = (size_t)sprintf(text, "{");

        for (int k = 0; k < counts[i]; k++)
            bytes += (size_t)sprintf(text + bytes, "%s\"k%d\":0", k ? "," : "", k);
        strcpy(text + bytes, "}");
        assert_int_equal(parse(text, bytes + 1, &value, &capture), STATUS_OK);
        json_free(value);
        bytes += (size_t)sprintf(text + bytes, ",\"k0\":0}");
        assert_int_equal(parse(text, bytes, &value, &capture), STATUS_USAGE);
        assert_non_null(strstr(capture.text, "\"k0\" is twice"));
    }
    free(text);
}

/* The outcome of reading a file in a process of its own. */
struct trial {
    enum status status;
    long mib; /* the most memory that the process had */
    struct capture capture;
};

static void try_file(const char *path, struct trial *trial)
{
    struct rusage usage;
    int how;
    pid_t pid;

    capture_begin(&trial->capture, stderr);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        cJSON *tree;

        _exit((int)json_read_file(path, &tree));
    }
    assert_int_equal(wait4(pid, &how, 0, &usage), pid);
    capture_end(&trial->capture);
    assert_true(WIFEXITED(how));
    trial->status = (enum status)WEXITSTATUS(how);
    trial->mib = usage.ru_maxrss >> 10;
}

/* Writes a file of `count` members or elements, and returns what came of reading it. */
static void try_members(const char *path, const char *brackets, size_t count, const char *format,
                        struct trial *trial)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    fputc(brackets[0], file);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", file);
        fprintf(file, format, i);
    }
    fputc(brackets[1], file);
    assert_int_equal(fclose(file), 0);
    try_file(path, trial);
}

TEST(any_file_takes_less_than_256_mib)
{
    const long mib_max = (long)sanitized(8192, 256); /* a sanitizer's own memory counts */
    char path[] = "/tmp/cbank-test-XXXXXX";
    const int fd = mkstemp(path);
    struct trial trial;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 100 << 20), 0);
    close(fd);
    try_file(path, &trial);
    assert_int_equal(trial.status, STATUS_USAGE);
    assert_non_null(strstr(trial.capture.text, ": larger than 64 MiB"));
    assert_true(trial.mib < 64);

    try_file("/dev/zero", &trial); /* without an end, and no file */
    assert_int_equal(trial.status, STATUS_USAGE);
    assert_non_null(strstr(trial.capture.text, "/dev/zero: it is a device, not a file"));
    assert_true(trial.mib < 64);

    try_members(path, "[]", JSON_FILE_BYTES_MAX / 2 - 1, "0", &trial);
    assert_int_equal(trial.status, STATUS_USAGE);
    assert_non_null(strstr(trial.capture.text, ":1:3999999: more than 2000000 values;"));
    assert_true(trial.mib < mib_max);

    /* As many values as may be in a file as long as may be, each with a key and a string. One value
     * is the object. */
    try_members(path, "{}",
                repetitions(JSON_VALUES_MAX, sanitized(JSON_VALUES_MAX / 10, JSON_VALUES_MAX)) - 2,
                "\"%zx\":\"012345678901234567890\"", &trial);
    print_message("# the largest tree takes %ld MiB\n", trial.mib);
    assert_string_equal(trial.capture.text, "");
    assert_int_equal(trial.status, STATUS_OK);
    assert_true(trial.mib < mib_max);
    unlink(path);
}

TEST(integers_are_exact_or_refused)
{
    static const char text[] = "[7, 9007199254740992, \"18446744073709551615\", \"0\", "
                               "9007199254740994, 1.5, -1, \"x\", true, "
                               "\"18446744073709551616\", \"-1\", \"007\", \"\", null]";
    static const uint64_t integers[] = {7, (uint64_t)1 << 53, UINT64_MAX, 0};
    struct capture capture;
    cJSON *value, *item;
    size_t i = 0;

    assert_int_equal(parse(text, strlen(text), &value, &capture), STATUS_OK);
    cJSON_ArrayForEach (item, value) {
        uint64_t integer = 5;

        assert_int_equal(json_integer(item, &integer), i < COUNT(integers));
        assert_true(integer == (i < COUNT(integers) ? integers[i] : 5));
        i++;
    }
    assert_int_equal(i, 14);
    assert_false(json_integer(NULL, NULL));
    json_free(value);
}

/* Every double comes back as it was; what is no number becomes null. */
TEST(numbers_are_printed_exactly)
{
    cJSON *object = cJSON_CreateObject();
    char *text;

    json_add_double(object, "third", 1.0 / 3);
    json_add_double(object, "tenth", 0.1);
    json_add_double(object, "nan", NAN);
    json_add_double(object, "inf", -INFINITY);
    json_add_integer(object, "exact", (uint64_t)1 << 53);
    json_add_integer(object, "large", ((uint64_t)1 << 53) + 1);
    json_add(object, "samples", json_doubles((double[]){-DBL_MIN, 0.1, NAN, -DBL_MAX}, 4));
    json_add(object, "no_samples", json_doubles(NULL, 0));
    json_add_text(object, "none", NULL);
    json_add_text(object, "bytes", "a\xff\xc3\xa4\xc3");
    text = cJSON_PrintUnformatted(object);
    assert_string_equal(text,
                        "{\"third\":0.3333333333333333,\"tenth\":0.1,\"nan\":null,"
                        "\"inf\":null,\"exact\":9007199254740992,\"large\":\"9007199254740993\","
                        "\"samples\":[-2.2250738585072014e-308,0.1,null,"
                        "-1.7976931348623157e+308],\"no_samples\":[],"
                        "\"none\":null,\"bytes\":\"a?\xc3\xa4?\"}");
    cJSON_free(text);
    cJSON_Delete(object);
}

/* A tree is printed as cJSON prints it; one that lost a member is not. */
TEST(a_tree_is_printed_as_cjson_does)
{
    cJSON *root = cJSON_CreateObject(), *list = json_add(root, "list", cJSON_CreateArray());
    cJSON *inner = json_append(list, cJSON_CreateObject());
    char *text = NULL, *expected;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    json_add(root, "nothing", cJSON_CreateObject());
    json_add(root, "none", cJSON_CreateArray());
    json_add_text(inner, "a \"key\" \\", "a\"b\\");
    json_add(inner, "deeper", cJSON_CreateArray());
    json_append(list, json_doubles((double[]){1, NAN}, 2));
    json_append(list, cJSON_CreateTrue());
    json_append(list, cJSON_CreateNull());
    expected = cJSON_Print(root);
    assert_int_equal(json_put(stream, root), STATUS_OK);
    fclose(stream);
    assert_int_equal(text[bytes - 1], '\n');
    text[bytes - 1] = '\0';
    assert_string_equal(text, expected);
    json_add(inner, "lost", NULL);
    stream = fopen("/dev/null", "w");
    assert_int_equal(json_put(stream, root), STATUS_ENVIRONMENT);
    fclose(stream);
    free(text);
    cJSON_free(expected);
    cJSON_Delete(root);
}

/* A message shows text of a file in one line, without control of the terminal, not too long. */
TEST(text_from_files_is_shown_harmless_and_short)
{
    static struct {
        char text[40];
        const char *shown;
    } texts[] = {
        {"", ""},
        {"a \xc3\xa4 \xf0\x9f\x98\x80", "a \xc3\xa4 \xf0\x9f\x98\x80"},
        {"\n\x1b[2J\x7f", "\\x0a\\x1b[2J\\x7f"},
        {"\xc2\x9b \xc2\xa0", "\\xc2\\x9b \xc2\xa0"}, /* C1's CSI */
        {"\xff\xc3", "\\xff\\xc3"},
    };
    char text[200], out[TEXT_SHOWN_BYTES];

    for (size_t i = 0; i < COUNT(texts); i++)
        assert_string_equal((text_clean(texts[i].text, sizeof(texts[i].text)), texts[i].text),
                            texts[i].shown);
    text_clean(strcpy(text, "a\n"), 5); /* an escape has no room */
    assert_string_equal(text, "a?");
    /* Cut between characters, each of two bytes here. */
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = i % 2 ? '\xa4' : '\xc3';
    text[sizeof(text) - 2] = '\0';
    assert_int_equal(strlen(text_shown(text, out)), TEXT_SHOWN_BYTES - 1);
    assert_string_equal(out + strlen(out) - 5, "\xc3\xa4...");
}
