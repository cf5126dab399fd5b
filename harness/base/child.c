/* SPDX-License-Identifier: MIT
 * Children by fork and exec, with the signals of the parent. The handler can reach nothing but an
 * array of processes, so each running child has a slot of it:
 *
 *   slot     0: -4711     1: 0     2: -4712       negative: a job, which leads a group
 *
 * Signals are blocked from before the fork until the slot is filled, so none is lost between the
 * two. A job is killed with its group; PR_SET_PDEATHSIG does the same for a parent that was killed.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum { RUNNING_MAX = 64 };

/* Written by the signal handler: the received signal, and when, in tenths of a second. Read by it:
 * the processes to pass it on to; 0: none. A negative number is that of a process group, as kill
 * takes it. */
static volatile sig_atomic_t received, received_tenths, running[RUNNING_MAX];

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* The same signal within so many tenths is the same wish: GNU timeout sends one to the process, and
 * one to its group. */
enum { SAME_TENTHS = 3 };

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    const sig_atomic_t tenths = (sig_atomic_t)((int64_t)(10 * clock_seconds()) % INT32_MAX);
    const bool same = number == received && tenths - received_tenths <= SAME_TENTHS;
    bool any = false;

    (void)context;
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        any = any || running[i];
        /* A signal from a terminal, which the kernel sends, also reaches a child of this process's
         * own group: passing it on would kill the child. */
        if (running[i] < 0 || (running[i] > 0 && info->si_code != SI_KERNEL))
            kill((pid_t)running[i], number);
    }
    /* A second signal is blocked while it is handled, and kills the process after that. */
    if (!any && received && !same) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (!same)
        received_tenths = tenths;
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
    set_actions(
        &(struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART});
}

bool interrupted(void)
{
    return received != 0;
}

void interrupt_release(struct interrupt_actions *actions)
{
    _Static_assert(sizeof(actions->before) / sizeof(actions->before[0]) == NUMBERS, "one each");
    for (size_t i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], NULL, &actions->before[i]);
    set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
}

void interrupt_resume(const struct interrupt_actions *actions)
{
    for (size_t i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &actions->before[i], NULL);
}

void interrupt_end(void)
{
    set_actions(&(struct sigaction){.sa_handler = SIG_DFL});
    if (!received)
        return;
    fflush(stdout);
    raise((int)received);
}

/* Starts a program, or this one for NULL. For a job, whose output goes to this descriptor, in a
 * process group of its own. Returns its number, which running[slot] has then; -1 with errno. */
static pid_t start(const char *program, char *const words[], const struct child_job *job,
                   int output, size_t slot)
{
    const pid_t parent = getpid();
    sigset_t before, held;
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
        if (job)
            setpgid(0, 0);
        if (job && !job->work) {
            setenv("TMPDIR", job->folder, 1);
            dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
            dup2(output, STDERR_FILENO);
        }
        dup2(STDERR_FILENO, STDOUT_FILENO);
        sigprocmask(SIG_SETMASK, &before, NULL);
        /* Otherwise a parent that ended before this request would go unnoticed. */
        if (getppid() == parent && job && job->work) {
            job->work(job->context);
            _exit(0);
        }
        if (getppid() == parent && program)
            execvp(program, words);
        else if (getppid() == parent && execv("/proc/self/exe", words) < 0)
            /* without /proc: the path it was started by */
            execv((const char *)getauxval(AT_EXECFN), words);
        _exit(CHILD_NOT_STARTED);
    }
    if (child > 0 && job)
        setpgid(child, child); /* whoever of both is first */
    if (child > 0)
        running[slot] = job ? -child : child;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child;
}

/* Waits until a job has ended, or has taken longer than it may. */
static void wait_for(pid_t child, double start, struct child_job *job,
                     const struct child_patience *patience)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    static const double grace_seconds = 2; /* for a job, after a signal */
    double said = start, asked = INFINITY;

    for (siginfo_t info = {0}; waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
         info = (siginfo_t){0}) {
        const double now = clock_seconds();

        if (info.si_pid == child)
            return;
        asked = received ? fmin(asked, now) : asked;
        job->late = (patience->seconds > 0 && now - start > patience->seconds) ||
                    now - asked > grace_seconds;
        if (job->late)
            return;
        if (patience->still && now - said > patience->each) {
            patience->still(patience->context, job, now - start);
            said = now;
        }
        nanosleep(&pause, NULL);
    }
}

/* Waits for the child of a slot, unless it is late, and ends its group. */
static bool end(size_t slot, bool late, int *code)
{
    const pid_t child = (pid_t)(running[slot] < 0 ? -running[slot] : running[slot]);
    siginfo_t info;

    while (!late && waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    if (running[slot] < 0)
        kill(-child, SIGKILL);
    running[slot] = 0; /* before the child's number can be used again */
    return waitpid(child, code, 0) == child;
}

bool child_run(const char *program, char *const words[], int *code)
{
    return start(program, words, NULL, -1, 0) > 0 && end(0, false, code);
}

bool child_call(void (*work)(void *context), void *context, int *code)
{
    return start(NULL, NULL, &(struct child_job){.work = work, .context = context}, -1, 0) > 0 &&
           end(0, false, code);
}

bool children_run(struct child_job *jobs, size_t count, size_t at_a_time,
                  const struct child_patience *patience)
{
    static const struct child_patience for_ever = {0};
    double starts[RUNNING_MAX];
    size_t started = 0;
    bool whole = true;
    int error = 0;

    at_a_time = at_a_time < RUNNING_MAX ? at_a_time : RUNNING_MAX;
    for (size_t i = 0; i < count + at_a_time; i++) {
        const size_t slot = i % at_a_time; /* that of the job so many before, which ends first */

        if (i >= at_a_time && i - at_a_time < started) {
            struct child_job *job = &jobs[i - at_a_time];

            wait_for((pid_t)-running[slot], starts[slot], job, patience ? patience : &for_ever);
            whole = end(slot, job->late, &job->code) && whole;
        }
        if (whole && i < count) {
            const int output = open(jobs[i].output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

            starts[slot] = clock_seconds();
            whole =
                output >= 0 && start(jobs[i].words[0], jobs[i].words, &jobs[i], output, slot) > 0;
            error = whole ? 0 : errno;
            started += whole;
            if (output >= 0)
                close(output);
        }
    }
    if (error || interrupted())
        errno = error ? error : EINTR;
    return whole && !interrupted();
}
