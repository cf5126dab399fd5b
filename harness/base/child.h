/* SPDX-License-Identifier: MIT
 * This program, or another, as a child of it. A child ends with its parent, whatever ends that: signals are passed on,
 * and where the parent is killed the kernel ends the child. Children are of the main thread. */
#ifndef CBANK_CHILD_H
#define CBANK_CHILD_H

#include <stdbool.h>

#include <sys/types.h>

/* From now on SIGINT, SIGTERM and SIGHUP end no parent: they are kept, and passed on to the children that run.
 * Ignored signals stay ignored. */
void child_signals_catch(void);

/* The last signal that came; 0: none did. */
int child_signal(void);

/* Signals do what they do by default again. One that came ends this process now. */
void child_signals_end(void);

enum {
    CHILD_NOT_STARTED = 127, /* the exit code where there is no such program, as a shell's */
    CHILDREN_MAX = 64, /* at a time */
};

/* The start of a child. */
struct child {
    const char *program; /* as execvp finds it; NULL: this one */
    char *const *words; /* its argv, NULL last */
    int output, messages; /* descriptors that it has as stdout and stderr */
    pid_t id; /* once it runs */
};

/* Starts a child, which the caller waits for. False with errno where there is none: EINTR after a signal. */
bool child_start(struct child *child);

/* Waits for the end of a child that was started; *code is what waitpid says. */
bool child_wait(const struct child *child, int *code);

/* Starts a child whose output and messages go to stderr, since stdout is the parent's, and waits for its end. */
bool child_run(const char *program, char *const words[], int *code);

#endif
