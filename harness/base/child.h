/* SPDX-License-Identifier: MIT
 * Signals, and this program or others as children. A child never outlives its parent: signals are
 * passed on, and the kernel kills the child if the parent is killed. Only the main thread may run a
 * child. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* From now on SIGINT, SIGTERM and SIGHUP are recorded and passed on to the running child. A second
 * one ends a process that has no child. Ignored signals stay ignored. */
void interrupt_catch(void);

/* Whether a signal was received. */
bool interrupted(void);

/* The actions of signals before interrupt_release. */
struct interrupt_actions {
    struct sigaction before[3];
};

/* A signal ends this process at once, until interrupt_resume: while it waits for another program,
 * such as the reader of a pipe, and nothing would be lost. Ignored signals stay ignored. */
void interrupt_release(struct interrupt_actions *actions);
void interrupt_resume(const struct interrupt_actions *actions);

/* Restores the default action of signals. If one was received, it ends this process now: call it
 * after saving everything. */
void interrupt_end(void);

/* The exit code if the program does not exist, as in a shell. */
enum { CHILD_NOT_STARTED = 127 };

/* Runs a program as execvp finds it, or this program for NULL, with these words as argv, NULL last.
 * Its output and messages go to stderr, since stdout belongs to the parent. *code is the status
 * from waitpid. False with errno if it did not run; EINTR after a signal. */
bool child_run(const char *program, char *const words[], int *code);

/* Runs work(context) in a copy of this process, which ends after it with exit code 0, and with all
 * that it started. The rest as child_run. */
bool child_call(void (*work)(void *context), void *context, int *code);

/* A program that runs beside others. */
struct child_job {
    void (*work)(void *context); /* of child_call; else NULL, and the members below count */
    void *context;
    char *const *words; /* argv, NULL last; words[0] is the program, as execvp finds it */
    const char *output; /* path of a file for its output and its messages, which is created */
    const char *folder; /* for its temporary files: its TMPDIR */
    int code; /* the status from waitpid */
    bool late; /* it was ended, as it took longer than it may */
};

/* How long jobs may take. */
struct child_patience {
    double seconds; /* of one job, which is ended after that time; 0: they may take for ever */
    double each; /* seconds between two calls of `still`; not 0 */
    void (*still)(void *context, const struct child_job *job, double seconds); /* NULL: none */
    void *context;
};

/* Runs all jobs, at_a_time of them at once, which is at least 1. Their input is empty, and what
 * they started ends with them. patience NULL: they may take for ever. False with errno if one did
 * not run; EINTR after a signal. Those that were started have ended in every case. */
bool children_run(struct child_job *jobs, size_t count, size_t at_a_time,
                  const struct child_patience *patience);
