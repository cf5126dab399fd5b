/* SPDX-License-Identifier: MIT
 * Signals, and this program or another as a child. A child never outlives its parent: signals are passed on, and the kernel
 * kills the child if the parent is killed. Only the main thread may start children. */
#ifndef CBANK_CHILD_H
#define CBANK_CHILD_H

#include <stdbool.h>

#include <sys/types.h>

/* From now on SIGINT, SIGTERM and SIGHUP are recorded and passed on to running children. A second one ends a process that
 * has no children. Ignored signals stay ignored. */
void interrupt_catch(void);

/* Whether a signal was received. */
bool interrupted(void);

/* Restores the default action of signals. If one was received, it ends this process now: call it after saving
 * everything. */
void interrupt_end(void);

enum {
    CHILD_NOT_STARTED = 127, /* the exit code if the program does not exist, as in a shell */
    CHILDREN_MAX = 64, /* at a time */
};

/* The start of a child. */
struct child {
    const char *program; /* as execvp finds it; NULL: this program */
    char *const *words; /* its argv, NULL last */
    int output, messages; /* descriptors for its stdout and stderr */
    pid_t id; /* set when it runs */
};

/* Starts a child, which the caller must wait for. False with errno on failure; EINTR after a signal. */
bool child_start(struct child *child);

/* Waits for the end of a child; *code is the status from waitpid. */
bool child_wait(const struct child *child, int *code);

/* Starts a child and waits for its end. Its output and messages go to stderr, since stdout belongs to the parent. */
bool child_run(const char *program, char *const words[], int *code);

#endif
