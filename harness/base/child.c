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

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    bool alone = true;

    (void)context;
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        alone = alone && running[i] == 0;
        /* A signal from a terminal, which the kernel sends, also reaches the child: passing it on would kill the child. */
        if (running[i] > 0 && info->si_code != SI_KERNEL)
            kill((pid_t)running[i], number);
    }
    /* A second signal is blocked while it is handled, and kills the process after that. */
    if (received && alone) {
        signal(number, SIG_DFL);
        raise(number);
    }
    received = number;
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

void interrupt_catch(void)
{
    set_actions(&(struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART});
}

bool interrupted(void)
{
    return received != 0;
}

void interrupt_end(void)
{
    set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
    if (!received)
        return;
    fflush(stdout);
    raise((int)received);
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
    const size_t free_slot = find_running(0);
    sigset_t before, held;

    child->id = -1;
    fflush(stdout);
    /* Block signals until the process that they are passed on to is known. */
    sigemptyset(&held);
    for (size_t i = 0; i < NUMBERS; i++)
        sigaddset(&held, numbers[i]);
    sigprocmask(SIG_BLOCK, &held, &before);
    errno = received ? EINTR : EAGAIN;
    if (!received && free_slot < CHILDREN_MAX)
        child->id = fork();
    if (child->id == 0) {
        set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(child->output, STDOUT_FILENO);
        dup2(child->messages, STDERR_FILENO);
        sigprocmask(SIG_SETMASK, &before, NULL);
        /* Otherwise a parent that ended before this request would go unnoticed. */
        if (getppid() == parent)
            execvp(child->program ? child->program : "/proc/self/exe", child->words);
        _exit(CHILD_NOT_STARTED);
    }
    if (child->id > 0)
        running[free_slot] = child->id;
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
