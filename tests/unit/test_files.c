/* SPDX-License-Identifier: MIT
 * Tests of replacing files: whole or not at all, with their mode and links. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "file_lock.h"
#include "files.h"
#include "test.h"

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

static void expect_text(const char *path, const char *expected)
{
    char *text = file_text(path);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

TEST_WITH(a_new_file_has_the_mode_of_the_umask, open_folder, close_folder)
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

TEST_WITH(a_chain_of_links_is_followed, open_folder, close_folder)
{
    const struct folder *folder = *state;
    struct stat about;

    assert_int_equal(file_write(folder->there, write_text, "old"), STATUS_OK);
    assert_int_equal(chmod(folder->there, 0604), 0);
    assert_int_equal(symlink("there.json", folder->link), 0);
    assert_int_equal(symlink(folder->link, folder->file), 0);
    assert_int_equal(file_write(folder->file, write_text, "one"), STATUS_OK);
    expect_text(folder->there, "one");
    assert_int_equal(stat(folder->there, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0604);
    assert_true(lstat(folder->file, &about) == 0 && S_ISLNK(about.st_mode));
    assert_true(lstat(folder->link, &about) == 0 && S_ISLNK(about.st_mode));
}

TEST_WITH(links_in_a_circle_are_an_error, open_folder, close_folder)
{
    const struct folder *folder = *state;
    struct capture capture;

    assert_int_equal(symlink("link.json", folder->link), 0);
    capture_begin(&capture, stderr);
    assert_int_equal(file_write(folder->link, write_text, "x"), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "Too many levels of symbolic links"));
}

TEST_WITH(what_the_dead_left_is_taken, open_folder, close_folder)
{
    const struct folder *folder = *state;
    char temporary[128], lock[128];
    struct file_lock held;
    int left;

    snprintf(temporary, sizeof(temporary), "%s.cbank.tmp", folder->file);
    snprintf(lock, sizeof(lock), "%s.cbank-lock.tmp", folder->file);
    left = file_open_locked(temporary, 0666, false);
    assert_int_equal(write(left, "long and old", 12), 12);
    assert_int_equal(file_open_locked(temporary, 0666, false), -1); /* alive */
    assert_int_equal(errno, EWOULDBLOCK);
    close(left);
    close(file_open_locked(lock, 0666, false));
    assert_int_equal(file_lock_take(folder->file, &held), STATUS_OK);
    assert_int_equal(file_lock_try(folder->file, &(struct file_lock){0}), EWOULDBLOCK);
    assert_int_equal(file_write(folder->file, write_text, "new"), STATUS_OK);
    expect_text(folder->file, "new");
    file_lock_release(&held);
}

TEST_WITH(a_file_goes_with_what_lies_next_to_it, open_folder, close_folder)
{
    const struct folder *folder = *state;
    struct file_lock held;

    assert_int_equal(file_write(folder->file, write_text, "one"), STATUS_OK);
    assert_int_equal(file_lock_take(folder->file, &held), STATUS_OK);
    file_discard(folder->file); /* the folder must be empty now */
    file_lock_release(&held);
}
