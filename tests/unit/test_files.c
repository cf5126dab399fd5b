/* SPDX-License-Identifier: MIT
 * Tests of replacing files: whole or not at all, with their mode and links. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "cells.h"
#include "file_lock.h"
#include "files.h"
#include "log.h"
#include "result_file.h"
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

    assert_int_equal(symlink("there.json", folder->link), 0);
    assert_int_equal(symlink(folder->link, folder->file), 0); /* to a link that dangles */
    assert_int_equal(file_write(folder->file, write_text, "one"), STATUS_OK);
    expect_text(folder->there, "one");
    assert_int_equal(lstat(folder->file, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat(folder->link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
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

/* Makes a file beside folder->file. Returns its descriptor. */
static int leave(const struct folder *folder, const char *ending, char name[128])
{
    snprintf(name, 128, "%s%s", folder->file, ending);
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

TEST_WITH(temporaries_of_the_dead_are_removed, open_folder, close_folder)
{
    const struct folder *folder = *state;
    char dead[128], living[128], lock[128], other[128];
    const int held = leave(folder, ".cbank-2-0.tmp", living);

    close(leave(folder, ".cbank-1-0.tmp", dead));
    close(leave(folder, ".cbank-lock.tmp", lock));
    close(leave(folder, ".mine.tmp", other));
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(file_write(folder->there, write_text, "new"), STATUS_OK);
    assert_int_not_equal(access(dead, F_OK), 0);
    assert_int_equal(access(lock, F_OK), 0); /* whoever takes a lock cleans locks */
    file_clean(folder->file, FILE_LEFT_OVER);
    assert_int_not_equal(access(lock, F_OK), 0);
    assert_int_equal(access(living, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    close(held);
    unlink(living);
    unlink(other);
}

TEST_WITH(a_temporary_is_locked_while_it_is_written, open_folder, close_folder)
{
    const struct folder *folder = *state;
    char name[128];
    const int descriptor = leave(folder, ".cbank-1-0.tmp", name);

    assert_true(file_lock_own(descriptor));
    file_clean(folder->file, FILE_LEFT_OVER);
    assert_int_equal(access(name, F_OK), 0);
    unlink(name);
    assert_false(file_lock_own(descriptor)); /* who was cleaned before it could lock sees that */
    close(descriptor);
}
