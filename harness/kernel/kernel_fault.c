/* SPDX-License-Identifier: MIT
 * Whose fault it is that a compiler failed: the source's, or that of the machine. nvcc is several
 * programs, and one of them that is killed is a message of its parent:
 *
 *   the call itself was killed  ->  its signal          a message names a signal   ->  the message
 *   a message names the disk    ->  the message         nothing is written         ->  the disk, or
 *                                                                                      what it did
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "kernel_parts.h"

enum { ROOM_BYTES = 1 << 16 }; /* a disk with less is full */

static const char again[] = "free memory or give it more time, and run again",
                  room[] = "make room there, or name another folder by TMPDIR";

/* What messages say that are of no source: of nvcc, gcc and clang. */
static const struct {
    const char *words, *remedy;
} marks[] = {
    {"died due to signal", again},
    {"signal terminated program", again},
    {"internal compiler error", "name another compiler by --compiler"},
    {"PLEASE submit a bug report", "name another compiler by --compiler"},
    {"No space left on device", room},
    {"Disk quota exceeded", room},
    {"File too large", room},
    {"out of memory allocating", again},
    {"Cannot allocate memory", again},
};

/* The first line of messages that holds these words and is of no line of the source: NULL if there
 * is none. Lines of the source are shown with blanks before them, and errors in it with its name
 * and number. */
static const char *line_with(const char *messages, const char *words)
{
    for (const char *line = messages, *end; *line; line = *end ? end + 1 : end) {
        const char *const found = strstr(line, words), *const error = strstr(line, "): error");

        end = line + strcspn(line, "\n");
        if (found && found < end && *line != ' ' && *line != '\t' && !(error && error < found))
            return line;
    }
    return NULL;
}

bool kernel_disk_full(const char *folder)
{
    struct statvfs about;

    return statvfs(folder, &about) == 0 &&
           about.f_bavail < (ROOM_BYTES + about.f_frsize - 1) / about.f_frsize;
}

bool kernel_not_at_fault(const char *messages, int code, bool made, const char *folder,
                         char cause[2 * KERNEL_REASON_BYTES])
{
    enum { CAUSE_BYTES = 2 * KERNEL_REASON_BYTES, SHELL = 128 };
    /* A shell tells of a signal by an exit code. */
    const int exited = WIFEXITED(code) ? WEXITSTATUS(code) : 0,
              number = WIFSIGNALED(code)                       ? WTERMSIG(code)
                       : exited > SHELL && exited < SHELL + 65 ? exited - SHELL
                                                               : 0;

    if (code == 0 && made)
        return false;
    if (kernel_disk_full(folder)) {
        snprintf(cause, CAUSE_BYTES, "found no room on the disk of %s; %s", folder, room);
        return true;
    }
    if (number > 0) {
        snprintf(cause, CAUSE_BYTES, "was killed by signal %d (%s); %s", number, strsignal(number),
                 again);
        return true;
    }
    for (size_t i = 0; code != 0 && i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *const line = line_with(messages, marks[i].words);

        if (!line)
            continue;
        snprintf(cause, CAUSE_BYTES, "failed, by no fault of the file: %.*s; %s",
                 (int)strcspn(line, "\n"), line, marks[i].remedy);
        return true;
    }
    if (code == 0 || !messages[strspn(messages, " \n")]) {
        snprintf(cause, CAUSE_BYTES,
                 "exited with %d and wrote nothing; call it by hand to see why, or name another "
                 "compiler by --compiler",
                 exited);
        return true;
    }
    return false;
}
