/* SPDX-License-Identifier: MIT
 * A library to preload: calls on files that fail.
 *
 * CBANK_IO_FAIL=CALL:N:ERRNO  the Nth time (from 1) that the program makes a call, it fails with
 *                             this number
 * CBANK_IO_SLOW=MS            every fsync takes so long
 * CBANK_IO_LOG=FILE           a line "CALL TIMES" for each call goes there when the process ends
 *
 * The program's output goes through these calls, too. A process that it starts has no faults. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

enum call { OPEN, CLOSE, WRITE, FSYNC, RENAME, FLOCK, READ, CALLS };

static const char *const names[CALLS] = {
    [OPEN] = "open",     [CLOSE] = "close", [WRITE] = "write", [FSYNC] = "fsync",
    [RENAME] = "rename", [FLOCK] = "flock", [READ] = "read",
};

static unsigned times[CALLS], fails_at;
static enum call fails = CALLS;
static int fault;
static useconds_t slow_us; /* an fsync */
static char log_path[4096];

/* Counts a call. True, with errno, where it is to fail. */
static bool is_to_fail(enum call call)
{
    /* Several files may be read at the same time. */
    const unsigned now = __atomic_add_fetch(&times[call], 1, __ATOMIC_RELAXED);

    if (call != fails || now != fails_at)
        return false;
    errno = fault;
    return true;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    int mode;

    va_start(arguments, flags);
    mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return is_to_fail(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    int mode;

    va_start(arguments, flags);
    mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return is_to_fail(OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* The descriptor is closed all the same, as Linux does it. */
int close(int descriptor)
{
    const bool failed = is_to_fail(CLOSE);
    const int code = (int)syscall(SYS_close, descriptor);

    if (failed)
        errno = fault;
    return failed ? -1 : code;
}

ssize_t write(int descriptor, const void *data, size_t bytes)
{
    return is_to_fail(WRITE) ? -1 : syscall(SYS_write, descriptor, data, bytes);
}

ssize_t read(int descriptor, void *data, size_t bytes)
{
    return is_to_fail(READ) ? -1 : syscall(SYS_read, descriptor, data, bytes);
}

int fsync(int descriptor)
{
    usleep(slow_us);
    return is_to_fail(FSYNC) ? -1 : (int)syscall(SYS_fsync, descriptor);
}

int rename(const char *from, const char *to)
{
    return is_to_fail(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int flock(int descriptor, int operation)
{
    return is_to_fail(FLOCK) ? -1 : (int)syscall(SYS_flock, descriptor, operation);
}

/* The C library's own streams do not make their calls where they could be seen: this one does. */
static ssize_t print(void *unused, const char *data, size_t bytes)
{
    const ssize_t written = write(STDOUT_FILENO, data, bytes);

    (void)unused;
    return written < 0 ? 0 : written;
}

static void begin(void) __attribute__((constructor));
static void end(void) __attribute__((destructor));

static void begin(void)
{
    const char *fail = getenv("CBANK_IO_FAIL"), *log = getenv("CBANK_IO_LOG"),
               *slow = getenv("CBANK_IO_SLOW");
    FILE *printed = fopencookie(NULL, "w", (cookie_io_functions_t){.write = print});
    char name[16];

    if (fail && sscanf(fail, "%15[a-z]:%u:%d", name, &fails_at, &fault) == 3)
        for (fails = 0; fails < CALLS && strcmp(name, names[fails]) != 0; fails++) {}
    slow_us = slow ? 1000 * (useconds_t)atoi(slow) : 0;
    if (log)
        snprintf(log_path, sizeof(log_path), "%s", log);
    if (printed)
        stdout = printed;
    unsetenv("LD_PRELOAD");
}

static void end(void)
{
    FILE *file = log_path[0] ? fopen(log_path, "we") : NULL;

    for (int i = 0; file && i < CALLS; i++)
        fprintf(file, "%s %u\n", names[i], times[i]);
    if (file)
        fclose(file);
}
