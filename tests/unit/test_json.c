/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "capture.h"
#include "json_tree.h"
#include "random.h"
#include "size.h"
#include "text.h"

static enum status parse(const char *text, size_t bytes, cJSON **out, struct capture *capture)
{
    enum status status;

    capture_begin(capture, stderr);
    status = json_parse("t.json", text, bytes, out);
    capture_end(capture);
    return status;
}

/* Each of these is refused, with a message that says where (a part of it is given). */
static void test_refused_texts(void **state)
{
#define ROW(text, message) {text, sizeof(text) - 1, message}
    static const struct {
        const char *text;
        size_t bytes;
        const char *message;
    } rows[] = {
        ROW("", "t.json: the file is empty"),
        ROW(" \n\t ", "t.json: the file is empty"),
        ROW("{\"a\": 1", "t.json:1:8: the text ends too early"),
        ROW("{\"a\": [1, 2,", "the text ends too early"),
        ROW("{\n  \"a\": \"b", "t.json:2:10: the text ends too early"),
        ROW("{\"a\": \"b\\", "t.json:1:9: unknown escape"),
        ROW("{\"a\": \"\\u12", "\\u without four"),
        ROW("{\"a\": tru", "t.json:1:7: not a JSON value"),
        ROW("{\"a\": 1} x", "t.json:1:10: text after the end"),
        ROW("{\"a\": 1}\n{}", "t.json:2:1: text after the end"),
        ROW("{\"a\": 1}\0", "t.json:1:9: text after the end"),
        ROW("{\"a\": 1,}", "t.json:1:9: expected a key in quotes"),
        ROW("[1,]", "t.json:1:4: not a JSON value"),
        ROW("[1}", "t.json:1:3: expected ',' or ']'"),
        ROW("{\"a\" 1}", "t.json:1:6: expected ':'"),
        ROW("{\"a\": 1 \"b\": 2}", "t.json:1:9: expected ',' or '}'"),
        ROW("}", "t.json:1:1: not a JSON value"),
        ROW("{'a': 1}", "t.json:1:2: expected a key in quotes"),
        ROW("[NaN]", "t.json:1:2: not a JSON value"),
        ROW("[Infinity]", "t.json:1:2: not a JSON value"),
        ROW("[01]", "t.json:1:2: malformed number"),
        ROW("[1.]", "malformed number"),
        ROW("[.5]", "not a JSON value"),
        ROW("[-]", "malformed number"),
        ROW("[+1]", "not a JSON value"),
        ROW("[1e]", "malformed number"),
        ROW("[0x10]", "t.json:1:3: expected ','"),
        ROW("[truely]", "expected ','"),
        ROW("[0, 1e999]", "t.json:1:5: number too large"),
        ROW("[-1e999]", "number too large"),
        ROW("[1e99999999999999999999]", "number too large"),
        ROW("{\"a\": 1, \"b\": 2, \"a\": 3}", "t.json: key \"a\" is twice in the outermost object"),
        ROW("{\"x\": [0, {\"a\": 1, \"\\u0061\": 2}]}", "t.json: key \"a\" is twice in x[1];"),
        ROW("{\"x\": {\"y\": [[{\"\": 1, \"\": 2}]]}}", "t.json: key \"\" is twice in x.y[0][0];"),
        ROW("{\"\\n\\u001b\": 1, \"\\n\\u001b\": 2}", "t.json: key \"??\" is twice"),
        ROW("[\"a\tb\"]", "control character in a string"),
        ROW("[\"a\\u0000b\"]", "NUL character"),
        ROW("[\"\\x41\"]", "unknown escape"),
        ROW("[\"\\ud800\"]", "half of a surrogate pair"),
        ROW("[\"\xff\"]", "t.json:1:3: not UTF-8"),
        ROW("[\"\xc3\xa4\xc3\"]", "t.json:1:4: not UTF-8"), /* columns count characters */
        ROW("[\"\xc0\x80\"]", "not UTF-8"),                 /* overlong */
        ROW("[\"\xe0\x80\x80\"]", "not UTF-8"),
        ROW("[\"\xed\xa0\x80\"]", "not UTF-8"),     /* surrogate */
        ROW("[\"\xf4\x90\x80\x80\"]", "not UTF-8"), /* beyond U+10FFFF */
        ROW("{\"\\u00e4\\n\": x", "t.json:1:14: not a JSON value"), /* and bytes as the file has them */
        ROW("[1] \x01", "text after the end"),
        ROW("\xef\xbb\xbf[]", "t.json:1:1: not a JSON value"), /* byte order mark */
    };
#undef ROW
    struct capture capture;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cJSON *value = NULL;

        assert_int_equal(parse(rows[i].text, rows[i].bytes, &value, &capture), STATUS_USAGE);
        assert_null(value);
        if (!strstr(capture.text, rows[i].message))
            fail_msg("row %zu: \"%s\" lacks \"%s\"", i, capture.text, rows[i].message);
        /* Said once. */
        assert_ptr_equal(strchr(capture.text, '\n'), capture.text + strlen(capture.text) - 1);
    }
}

static void test_accepted_texts(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1.5e-300",
        "\"\"",
        "null",
        "[]",
        "{}",
        " [1 , 2]\r\n",
        "{\"a\":1,\"A\":2}",
        "{\"\":0}",
        "[\"\\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\n\\r\\t \xf0\x9f\x98\x80 \xed\x9f\xbf\"]",
        "[{\"a\":1},{\"a\":1}]",
        "1e-999",
    };
    struct capture capture;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cJSON *value = NULL;

        assert_int_equal(parse(texts[i], strlen(texts[i]), &value, &capture), STATUS_OK);
        assert_non_null(value);
        assert_string_equal(capture.text, "");
        cJSON_Delete(value);
    }
}

/* A tree is what cJSON makes of the same text. */
static void test_trees(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[ ]",
        "-0.5e-3",
        "[1, -2147483648, 2147483648, 1e300, 0.1, 123456789012345678]",
        "{\"a\" : [true, false, null, {\"b\":{}, \"\":\"\"}], \"c\":\"d\"}",
        "[\"\\u0041\\u00e4\\u20aC\\uD83D\\uDe00 \\\" \\\\ \\/\", \"\xf0\x9f\x98\x80\"]",
        "{\"a\\/\\u0042\":\"x\\\\\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct json_tree *tree;
        cJSON *expected = cJSON_Parse(texts[i]), *copy = NULL;

        assert_non_null(expected);
        assert_int_equal(json_tree_parse("t.json", texts[i], strlen(texts[i]), &tree), STATUS_OK);
        assert_true(cJSON_Compare(json_tree_root(tree), expected, true));
        assert_true(json_tree_root(tree)->valueint == expected->valueint);
        json_tree_close(tree);
        assert_int_equal(json_parse("t.json", texts[i], strlen(texts[i]), &copy), STATUS_OK);
        assert_true(cJSON_Compare(copy, expected, true));
        cJSON_Delete(copy);
        cJSON_Delete(expected);
    }
}

static void test_halves_of_pairs(void **state)
{
    static const char *const texts[] = {"\"\\ud83d\"", "\"\\udc00\"", "\"\\ud83d\\u0041\"", "\"\\ud83d \\ude00\"",
                                        "\"\\ud83d\\ud83d\""};
    struct capture capture;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cJSON *value = NULL;

        assert_int_equal(parse(texts[i], strlen(texts[i]), &value, &capture), STATUS_USAGE);
        assert_non_null(strstr(capture.text, "t.json:1:2: half of a surrogate pair"));
    }
}

/* Text of `depth` arrays within one another. */
static size_t nest(char *text, size_t depth)
{
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return 2 * depth;
}

/* A number of `count` digits, the last `decimals` of them behind the point. */
static void write_number(char out[32], uint64_t *chance, size_t count, size_t decimals)
{
    out += sprintf(out, "%s%d", random_next(chance) % 2 ? "-" : "", 1 + (int)(random_next(chance) % 9));
    for (size_t left = count - 1; left > 0; left--)
        out += sprintf(out, "%s%d", left == decimals ? "." : "", (int)(random_next(chance) % 10));
}

static void require_as_strtod(const char *text)
{
    struct json_tree *tree;

    assert_int_equal(json_tree_parse("t.json", text, strlen(text), &tree), STATUS_OK);
    if (json_tree_root(tree)->valuedouble != strtod(text, NULL))
        fail_msg("%s is read as %.17g", text, json_tree_root(tree)->valuedouble);
    json_tree_close(tree);
}

/* Numbers are the doubles that are nearest to them, those in the middle of two among them. */
static void test_numbers(void **state)
{
    static const char *const texts[] = {
        "9007199254740993",
        "9007199254740993.0",
        "-9007199254740995.000",
        "4503599627370496.5",
        "4503599627370497.5",
        "0.5",
        "0.1",
        "18446744073709551615",
        "1844674407370955161.5",
        "9999999999999999999",
        "0.9999999999999999999",
        "0.0000000000000000001",
    };
    uint64_t chance = 1;
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        require_as_strtod(texts[i]);
    for (size_t i = 0; i < 200000; i++) {
        const size_t count = 1 + i % 21;

        write_number(text, &chance, count, random_next(&chance) % count);
        require_as_strtod(text);
    }
}

static void test_depth(void **state)
{
    static char text[200000];
    struct capture capture;
    cJSON *value = NULL;

    (void)state;
    assert_int_equal(parse(text, nest(text, JSON_DEPTH_MAX), &value, &capture), STATUS_OK);
    cJSON_Delete(value);
    assert_int_equal(parse(text, nest(text, JSON_DEPTH_MAX + 1), &value, &capture), STATUS_USAGE);
    assert_non_null(strstr(capture.text, "t.json:1:65: nested too deeply"));
    assert_int_equal(parse(text, nest(text, sizeof(text) / 2), &value, &capture), STATUS_USAGE);
}

/* 50,000 keys in one object: a quadratic check would take minutes under the sanitizers. */
static void test_many_keys(void **state)
{
    enum { KEYS = 50000 };
    char *text = malloc(KEYS * 16 + 64);
    struct capture capture;
    cJSON *value = NULL;
    size_t bytes = 0;

    (void)state;
    assert_non_null(text);
    bytes += (size_t)sprintf(text, "{");
    for (int i = 0; i < KEYS; i++)
        bytes += (size_t)sprintf(text + bytes, "%s\"k%d\":0", i ? "," : "", i);
    strcpy(text + bytes, "}");
    assert_int_equal(parse(text, bytes + 1, &value, &capture), STATUS_OK);
    cJSON_Delete(value);
    bytes += (size_t)sprintf(text + bytes, ",\"k77\":0}");
    assert_int_equal(parse(text, bytes, &value, &capture), STATUS_USAGE);
    assert_non_null(strstr(capture.text, "\"k77\" is twice"));
    free(text);
}

/* What a message shows of a text in a file: one line, no control of the terminal, not too long. */
static void test_shown_text(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"", ""},
        {"a \xc3\xa4 \xf0\x9f\x98\x80", "a \xc3\xa4 \xf0\x9f\x98\x80"},
        {"\n\x1b[2J\x7f", "??[2J?"},
        {"\xc2\x9b \xc2\xa0", "?? \xc2\xa0"}, /* C1's CSI */
        {"\xff\xc3", "??"},
    };
    char text[200], out[TEXT_SHOWN_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(text_shown(rows[i].text, out), rows[i].shown);
    /* Cut between characters, each of two bytes here. */
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = i % 2 ? '\xa4' : '\xc3';
    text[sizeof(text) - 2] = '\0';
    assert_int_equal(strlen(text_shown(text, out)), TEXT_SHOWN_BYTES - 1);
    assert_string_equal(out + strlen(out) - 5, "\xc3\xa4...");
}

/* What came of reading a file. */
struct trial {
    enum status status;
    long mib; /* the most memory that the process had */
    char message[300];
};

/* Reads the file in a process of its own. */
static void try_file(const char *path, struct trial *trial)
{
    struct capture capture;
    struct rusage usage;
    int how;
    pid_t pid;

    capture_begin(&capture, stderr);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct json_tree *tree;
        const enum status status = json_tree_read(path, &tree);

        json_tree_close(tree);
        _exit((int)status);
    }
    assert_int_equal(wait4(pid, &how, 0, &usage), pid);
    capture_end(&capture);
    assert_true(WIFEXITED(how));
    trial->status = (enum status)WEXITSTATUS(how);
    trial->mib = usage.ru_maxrss >> 10;
    snprintf(trial->message, sizeof(trial->message), "%.299s", capture.text);
}

/* Text of values that take the most memory, `count` of them: each with a key and a string of its own. */
static void put_members(const char *path, size_t count, size_t padding)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    fputc('{', file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s\"%zx\":\"%0*d\"", i ? "," : "", i, (int)padding, 0);
    fputc('}', file);
    assert_int_equal(fclose(file), 0);
}

static void put_zeros(const char *path, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    fputc('[', file);
    for (size_t i = 0; i < count; i++)
        fputs(i ? ",0" : "0", file);
    fputc(']', file);
    assert_int_equal(fclose(file), 0);
}

/* Whatever the file, reading it takes less than 256 MiB. */
static void test_bounded_memory(void **state)
{
#ifdef CBANK_SANITIZED
    enum { MIB_MAX = 8192 }; /* its own memory counts; what is read and refused is the same */
#else
    enum { MIB_MAX = 256 };
#endif
    char path[] = "/tmp/cbank-test-XXXXXX";
    const int fd = mkstemp(path);
    struct trial trial;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 100 << 20), 0);
    close(fd);
    try_file(path, &trial);
    assert_int_equal(trial.status, STATUS_USAGE);
    assert_non_null(strstr(trial.message, path));
    assert_non_null(strstr(trial.message, ": larger than 64 MiB"));
    assert_true(trial.mib < 64);

    try_file("/dev/zero", &trial); /* without an end, and without a size */
    assert_int_equal(trial.status, STATUS_USAGE);
    assert_non_null(strstr(trial.message, "/dev/zero: larger than 64 MiB"));
    assert_true(trial.mib < MIB_MAX);

    put_zeros(path, JSON_FILE_BYTES_MAX / 2 - 1);
    try_file(path, &trial);
    assert_int_equal(trial.status, STATUS_USAGE);
    assert_non_null(strstr(trial.message, ":1:4000000: more than 2000000 values;"));
    assert_true(trial.mib < MIB_MAX);

    /* One value is the object; the rest as long as the file may be. */
    put_members(path, repetitions(JSON_VALUES_MAX, sanitized(JSON_VALUES_MAX / 10, JSON_VALUES_MAX)) - 1, 21);
    try_file(path, &trial);
    print_message("# the largest tree takes %ld MiB\n", trial.mib);
    assert_string_equal(trial.message, "");
    assert_int_equal(trial.status, STATUS_OK);
    assert_true(trial.mib < MIB_MAX);
    unlink(path);
}

static void test_getters(void **state)
{
    static const char text[] = "{\"d\": 1.5, \"i\": 7, \"big\": \"18446744073709551615\", \"over\": "
                               "\"18446744073709551616\", \"inexact\": 9007199254740994, \"exact\": "
                               "9007199254740992, \"minus\": -1, \"sign\": \"-1\", \"zero\": \"007\", \"none\": "
                               "null, \"yes\": true, \"text\": \"x\", \"empty\": \"\"}";
    const char *string = "kept";
    struct capture capture;
    uint64_t integer = 42;
    double number = 42;
    bool yes = false;
    cJSON *value;

    (void)state;
    assert_int_equal(parse(text, strlen(text), &value, &capture), STATUS_OK);
    assert_true(json_get_double(value, "d", &number) && number == 1.5);
    assert_false(json_get_double(value, "D", &number));
    assert_false(json_get_double(value, "none", &number));
    assert_false(json_get_double(value, "text", &number));
    assert_true(number == 1.5);

    assert_false(json_get_integer(value, "d", &integer));
    assert_false(json_get_integer(value, "over", &integer));
    assert_false(json_get_integer(value, "inexact", &integer));
    assert_false(json_get_integer(value, "minus", &integer));
    assert_false(json_get_integer(value, "sign", &integer));
    assert_false(json_get_integer(value, "zero", &integer));
    assert_false(json_get_integer(value, "empty", &integer));
    assert_false(json_get_integer(value, "absent", &integer));
    assert_true(integer == 42);
    assert_true(json_get_integer(value, "i", &integer) && integer == 7);
    assert_true(json_get_integer(value, "big", &integer) && integer == UINT64_MAX);
    assert_true(json_get_integer(value, "exact", &integer) && integer == (uint64_t)1 << 53);

    assert_true(json_get_bool(value, "yes", &yes) && yes);
    assert_false(json_get_bool(value, "i", &yes));
    assert_false(json_get_text(value, "i", &string));
    assert_string_equal(string, "kept");
    assert_true(json_get_text(value, "text", &string));
    assert_string_equal(string, "x");
    assert_null(json_get(value, "YES"));
    assert_null(json_get(NULL, "a"));
    cJSON_Delete(value);
}

/* Every double comes back as it was; what is no number becomes null. */
static void test_printed_numbers(void **state)
{
    cJSON *object = cJSON_CreateObject();
    char *text;

    (void)state;
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
    assert_string_equal(text, "{\"third\":0.3333333333333333,\"tenth\":0.1,\"nan\":null,"
                              "\"inf\":null,\"exact\":9007199254740992,\"large\":\"9007199254740993\","
                              "\"samples\":[-2.2250738585072014e-308, 0.1, null, "
                              "-1.7976931348623157e+308],\"no_samples\":[],"
                              "\"none\":null,\"bytes\":\"a?\xc3\xa4?\"}");
    free(text);
    cJSON_Delete(object);
}

/* A lost member, here for want of an item, must not go unnoticed. */
static void test_incomplete_values_are_not_written(void **state)
{
    cJSON *object = cJSON_CreateObject();
    struct capture capture;

    (void)state;
    json_add_double(object, "a", 1);
    assert_null(json_add(object, "b", NULL));
    capture_begin(&capture, stderr);
    assert_int_equal(json_write("-", object), STATUS_ENVIRONMENT);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "out of memory"));
    cJSON_Delete(object);
}

static int count_entries(const char *directory)
{
    DIR *stream = opendir(directory);
    int count = 0;

    assert_non_null(stream);
    while (readdir(stream))
        count++;
    closedir(stream);
    return count - 2;
}

/* The file is replaced as a whole, with the mode of the umask, and nothing stays beside it; a link stays. */
static void test_write_file(void **state)
{
    char directory[] = "/tmp/cbank-test-XXXXXX";
    char path[64], link[64];
    cJSON *value = cJSON_CreateObject();
    struct capture capture;
    struct stat about;
    cJSON *back;
    char *text;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/a.json", directory);
    snprintf(link, sizeof(link), "%s/link.json", directory);
    umask(027);
    json_add_double(value, "a", 1);
    assert_int_equal(json_write(path, value), STATUS_OK);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    assert_int_equal(symlink("a.json", link), 0);
    json_add_double(value, "b", 2);
    assert_int_equal(json_write(link, value), STATUS_OK);
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    text = file_text(path);
    assert_string_equal(text, "{\n\t\"a\":\t1,\n\t\"b\":\t2\n}\n");
    free(text);
    assert_int_equal(count_entries(directory), 2);
    assert_int_equal(json_read_file(path, &back), STATUS_OK);
    assert_true(cJSON_IsNumber(json_get(back, "b")));
    cJSON_Delete(back);

    /* A directory in the way: said once, and no temporary file is left. */
    capture_begin(&capture, stderr);
    assert_int_equal(json_write(directory, value), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "Is a directory"));
    assert_int_equal(json_write("/dev/null", value), STATUS_OK);

    cJSON_Delete(value);
    unlink(path);
    unlink(link);
    assert_int_equal(rmdir(directory), 0);
}

static void test_files_that_cannot_be(void **state)
{
    cJSON *value = cJSON_CreateObject();
    struct capture capture;

    (void)state;
    capture_begin(&capture, stderr);
    assert_int_equal(json_write("/nonexistent/a.json", value), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "cannot write /nonexistent/a.json: No such file or directory"));
    capture_begin(&capture, stderr);
    assert_int_equal(json_read_file("/nonexistent/a.json", &value), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "cannot open /nonexistent/a.json: No such file or directory"));
    capture_begin(&capture, stderr);
    assert_int_equal(json_read_file("/tmp", &value), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "cannot read /tmp: Is a directory"));
    cJSON_Delete(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_accepted_texts),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_halves_of_pairs),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_shown_text),
        cmocka_unit_test(test_bounded_memory),
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_printed_numbers),
        cmocka_unit_test(test_incomplete_values_are_not_written),
        cmocka_unit_test(test_write_file),
        cmocka_unit_test(test_files_that_cannot_be),
        cmocka_unit_test(test_numbers), /* after the one that measures memory */
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
