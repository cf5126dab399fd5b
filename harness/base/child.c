/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by the signal handler: the received signal. Read by it: the process to pass it on to; 0: none. */
static volatile sig_atomic_t received, running;

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;

    (void)context;
    /* A signal from a terminal, which the kernel sends, also reaches the child: passing it on would kill the child. */
    if (running > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)running, number);
    /* A second signal is blocked while it is handled, and kills the process after that. */
    if (running == 0 && received) {
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

bool child_run(const char *program, char *const words[], int *code)
{
    const pid_t parent = getpid();
    sigset_t before, held;
    siginfo_t info;
    pid_t child = -1;

    fflush(stdout);
    /* Block signals until the process that they are passed on to is known. */
    sigemptyset(&held);
    for (size_t i = 0; i < NUMBERS; i++)
        sigaddset(&held, numbers[i]);
    sigprocmask(SIG_BLOCK, &held, &before);
    errno = EINTR;
    if (!received)
        child = fork();
    if (child == 0) {
        set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        sigprocmask(SIG_SETMASK, &before, NULL);
        /* Otherwise a parent that ended before this request would go unnoticed. */
        if (getppid() == parent && program)
            execvp(program, words);
        else if (getppid() == parent && execv("/proc/self/exe", words) < 0)
            execv((const char *)getauxval(AT_EXECFN), words); /* without /proc: the path it was started by */
        _exit(CHILD_NOT_STARTED);
    }
    running = child > 0 ? child : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return false;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    running = 0; /* before the child's number can be used again */
    return waitpid(child, code, 0) == child;
}
