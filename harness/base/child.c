/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by the signal handler: the received signal. Read by it: the processes to pass it on to; 0: none. */
static volatile sig_atomic_t received, running[CHILDREN_MAX];

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* A signal from a terminal, which the kernel sends, also reaches the child: passing it on would kill the child. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;

    (void)context;
    received = number;
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (running[i] > 0 && info->si_code != SI_KERNEL)
            kill((pid_t)running[i], number);
    errno = saved;
}

static void set_actions(const struct sigaction *action)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction now;

        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], action, NULL);
    }
}

void child_signals_catch(void)
{
    set_actions(&(struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART});
}

int child_signal(void)
{
    return (int)received;
}

void child_signals_end(void)
{
    set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
    if (!received)
        return;
    fflush(stdout);
    raise((int)received);
}

/* Blocks signals until the process that they are passed on to is known. */
static void hold_signals(sigset_t *before)
{
    sigset_t held;

    sigemptyset(&held);
    for (size_t i = 0; i < NUMBERS; i++)
        sigaddset(&held, numbers[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

/* The child's side. */
static _Noreturn void become(const struct child *child, pid_t parent, const sigset_t *signals)
{
    set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(child->output, STDOUT_FILENO);
    dup2(child->messages, STDERR_FILENO);
    sigprocmask(SIG_SETMASK, signals, NULL);
    /* Otherwise a parent that ended before this request would go unnoticed. */
    if (getppid() == parent)
        execvp(child->program ? child->program : "/proc/self/exe", child->words);
    _exit(CHILD_NOT_STARTED);
}

/* The slot that holds a process for the signal handler; CHILDREN_MAX if there is none. */
static size_t find_running(pid_t id)
{
    size_t i = 0;

    while (i < CHILDREN_MAX && running[i] != id)
        i++;
    return i;
}

bool child_start(struct child *child)
{
    const pid_t parent = getpid();
    const size_t free_place = find_running(0);
    sigset_t before;

    child->id = -1;
    fflush(stdout);
    hold_signals(&before);
    errno = received ? EINTR : EAGAIN;
    if (!received && free_place < CHILDREN_MAX)
        child->id = fork();
    if (child->id == 0)
        become(child, parent, &before);
    if (child->id > 0)
        running[free_place] = child->id;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child->id > 0;
}

/* Stop passing on signals before the child's number can be used again. */
bool child_wait(const struct child *child, int *code)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)child->id, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    running[find_running(child->id)] = 0;
    return waitpid(child->id, code, 0) == child->id;
}

bool child_run(const char *program, char *const words[], int *code)
{
    struct child child = {.program = program, .words = words, .output = STDERR_FILENO, .messages = STDERR_FILENO};

    return child_start(&child) && child_wait(&child, code);
}
