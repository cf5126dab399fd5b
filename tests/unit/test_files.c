/* SPDX-License-Identifier: MIT
 * Tests of replacing files: whole or not at all, with their mode and links. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture.h"
#include "files.h"
#include "log.h"

/* A folder of a test's own. */
struct folder {
    char path[64];
    char file[96], link[96], there[96];
};

static int open_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));

    strcpy(folder->path, "/tmp/cbank-test-XXXXXX");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof(folder->file), "%s/a.json", folder->path);
    snprintf(folder->link, sizeof(folder->link), "%s/link.json", folder->path);
    snprintf(folder->there, sizeof(folder->there), "%s/there.json", folder->path);
    *state = folder;
    return 0;
}

static int close_folder(void **state)
{
    struct folder *folder = *state;

    unlink(folder->file);
    unlink(folder->link);
    unlink(folder->there);
    rmdir(folder->path); /* fails where a temporary file was left: the next check sees that */
    assert_int_not_equal(access(folder->path, F_OK), 0);
    free(folder);
    return 0;
}

static enum status write_text(FILE *stream, const void *context)
{
    fputs(context, stream);
    return STATUS_OK;
}

static enum status write_half(FILE *stream, const void *context)
{
    fputs(context, stream);
    return log_error(STATUS_ENVIRONMENT, "out of memory, says the test");
}

static void expect_text(const char *path, const char *expected)
{
    char *text = file_text(path);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void a_new_file_has_the_mode_of_the_umask(void **state)
{
    const struct folder *folder = *state;
    const mode_t mask = umask(027);
    struct stat about;

    assert_int_equal(file_write(folder->file, write_text, "one"), STATUS_OK);
    umask(mask);
    expect_text(folder->file, "one");
    assert_int_equal(stat(folder->file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void a_file_that_is_replaced_keeps_its_mode(void **state)
{
    const struct folder *folder = *state;
    struct stat about;

    file_put(folder->file, "old", 3);
    assert_int_equal(chmod(folder->file, 0600), 0);
    assert_int_equal(file_write(folder->file, write_text, "new"), STATUS_OK);
    expect_text(folder->file, "new");
    assert_int_equal(stat(folder->file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

static void a_link_stays_a_link(void **state)
{
    const struct folder *folder = *state;
    struct stat about;

    assert_int_equal(symlink("there.json", folder->link), 0); /* dangles */
    assert_int_equal(file_write(folder->link, write_text, "one"), STATUS_OK);
    expect_text(folder->there, "one");
    assert_int_equal(file_write(folder->link, write_text, "two"), STATUS_OK);
    expect_text(folder->there, "two");
    assert_int_equal(lstat(folder->link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
}

static void what_fails_leaves_the_old_file(void **state)
{
    const struct folder *folder = *state;
    struct capture capture;

    file_put(folder->file, "old", 3);
    capture_begin(&capture, stderr);
    assert_int_equal(file_write(folder->file, write_half, "ne"), STATUS_ENVIRONMENT);
    assert_int_equal(file_write(folder->path, write_text, "x"), STATUS_USAGE);
    assert_int_equal(file_write("/nowhere/x.json", write_text, "x"), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "cannot write /nowhere/x.json: No such file or directory; give a path"));
    expect_text(folder->file, "old");
}

static void a_device_is_written_in_place(void **state)
{
    struct stat about;
    struct capture capture;

    (void)state;
    assert_int_equal(file_write("/dev/null", write_text, "x"), STATUS_OK);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    capture_begin(&capture, stderr);
    assert_int_equal(file_write("/dev/full", write_text, "x"), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "cannot write /dev/full: No space left on device"));
}

static void what_is_read_is_limited(void **state)
{
    const struct folder *folder = *state;
    struct capture capture;
    char *text;
    size_t bytes;

    file_put(folder->file, "12345", 5);
    assert_int_equal(file_read(folder->file, 5, &text, &bytes), STATUS_OK);
    assert_int_equal(bytes, 5);
    assert_string_equal(text, "12345");
    free(text);
    capture_begin(&capture, stderr);
    assert_int_equal(file_read(folder->file, 4, &text, &bytes), STATUS_USAGE);
    capture_end(&capture);
    assert_null(text);
    assert_non_null(strstr(capture.text, "larger than"));
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_new_file_has_the_mode_of_the_umask),
        FOLDER_TEST(a_file_that_is_replaced_keeps_its_mode),
        FOLDER_TEST(a_link_stays_a_link),
        FOLDER_TEST(what_fails_leaves_the_old_file),
        FOLDER_TEST(a_device_is_written_in_place),
        FOLDER_TEST(what_is_read_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
