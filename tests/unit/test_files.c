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

TEST_WITH(a_file_that_is_replaced_keeps_its_mode, open_folder, close_folder)
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

TEST_WITH(a_link_stays_a_link, open_folder, close_folder)
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

TEST_WITH(what_fails_leaves_the_old_file, open_folder, close_folder)
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

TEST_WITH(a_device_is_written_in_place, open_folder, close_folder)
{
    struct stat about;
    struct capture capture;

    assert_int_equal(file_write("/dev/null", write_text, "x"), STATUS_OK);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    capture_begin(&capture, stderr);
    assert_int_equal(file_write("/dev/full", write_text, "x"), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "cannot write /dev/full: No space left on device"));
}

TEST_WITH(what_is_read_is_limited, open_folder, close_folder)
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

TEST_WITH(one_process_writes_a_file, open_folder, close_folder)
{
    const struct folder *folder = *state;
    struct file_lock lock = {0}, second = {0};
    struct capture capture;
    char who[64];

    assert_int_equal(symlink("there.json", folder->link), 0);
    assert_int_equal(file_lock_take(folder->there, &lock), STATUS_OK);
    /* The holder writes, and the lock stays; another way to the file is the same file. */
    assert_int_equal(file_write(folder->there, write_text, "new"), STATUS_OK);
    capture_begin(&capture, stderr);
    assert_int_equal(file_lock_take(folder->link, &second), STATUS_USAGE);
    capture_end(&capture);
    snprintf(who, sizeof(who), "is being written by process %ld on ", (long)getpid());
    assert_non_null(strstr(capture.text, who));
    assert_null(second.path);
    assert_int_equal(file_lock_take(folder->file, &second), STATUS_OK);
    file_lock_release(&second);
    file_lock_release(&lock);
    assert_int_equal(file_lock_take(folder->link, &lock), STATUS_OK);
    file_lock_release(&lock);
    file_lock_release(&lock);
}

TEST_WITH(a_lock_ends_with_its_process, open_folder, close_folder)
{
    const struct folder *folder = *state;
    struct file_lock lock = {0};
    const pid_t child = fork();

    if (child == 0)
        _exit(file_lock_take(folder->file, &lock) == STATUS_OK ? 0 : 1); /* and does not give it back */
    int code = -1;

    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_equal(file_lock_take(folder->file, &lock), STATUS_OK);
    file_lock_release(&lock);
}

TEST_WITH(what_is_no_file_needs_no_lock, open_folder, close_folder)
{
    struct file_lock lock = {0};

    assert_int_equal(file_lock_take("-", &lock), STATUS_OK);
    assert_int_equal(file_lock_take("/dev/null", &lock), STATUS_OK);
    assert_null(lock.path);
    file_lock_release(&lock);
}

/* A result of one cell with nothing measured. */
static void open_result(struct result *result)
{
    const struct cell cell = cell_of(0, 0);

    *result = (struct result){0};
    assert_int_equal(result_open(result, &cell, 1), STATUS_OK);
    result->engine = "model";
    result->device = device_unknown;
    strcpy(result->device.name, "a b/c");
    strcpy(result->device.uuid, "GPU-1a2b3c4d-5e6f");
    strcpy(result->started_utc, "2026-01-31T12:00:00Z");
}

TEST_WITH(a_made_up_name_is_taken_by_a_valid_result, open_folder, close_folder)
{
    const struct folder *folder = *state;
    char first_path[RESULT_PATH_BYTES], second_path[RESULT_PATH_BYTES];
    struct result_file first = {0}, second = {0};
    struct result result, read;

    open_result(&result);
    assert_int_equal(result_file_open(&first, folder->path, &result, 0, false, first_path), STATUS_OK);
    assert_non_null(strstr(first_path, "/cbank-model-a_b_c-"));
    assert_non_null(strstr(first_path, "-1a2b3c4d-20"));
    assert_int_equal(result_file_open(&second, folder->path, &result, 0, false, second_path), STATUS_OK);
    assert_string_not_equal(first_path, second_path);
    assert_int_equal(result_read(first_path, &read), STATUS_OK);
    assert_false(read.complete);
    assert_int_equal(read.cells[0].status, CELL_PENDING);
    result_close(&read);

    /* It goes where nothing came of it. */
    result_file_close(&first, first_path, &result, true);
    assert_int_not_equal(access(first_path, F_OK), 0);
    result.cells[0].status = CELL_FAILED;
    result_file_close(&second, second_path, &result, true);
    assert_int_equal(access(second_path, F_OK), 0);
    unlink(second_path);
    result_close(&result);
}

TEST_WITH(a_given_file_stays, open_folder, close_folder)
{
    const struct folder *folder = *state;
    struct result_file file = {0}, second = {0};
    char path[RESULT_PATH_BYTES];
    struct capture capture;
    struct result result;

    open_result(&result);
    file_put(folder->file, "old", 3);
    assert_int_equal(result_file_open(&file, folder->file, &result, 0, false, path), STATUS_OK);
    assert_string_equal(path, folder->file);
    capture_begin(&capture, stderr);
    assert_int_equal(result_file_open(&second, folder->file, &result, 0, false, path), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "is being written by process"));
    result_file_close(&second, path, &result, true);
    result_file_close(&file, folder->file, &result, true);
    expect_text(folder->file, "old");
    result_close(&result);
}
