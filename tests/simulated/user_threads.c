/* SPDX-License-Identifier: MIT
 * The threads of a launch, on one thread of the host. A thread runs until it ends or waits for its
 * block or warp. Then the next one goes on, on another stack. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "user_kernel.h"

enum { THREADS_MAX = 1024, WARPS_MAX = THREADS_MAX / CBANK_WARP_THREADS, STACK_BYTES = 1 << 17 };

/* The indices and sizes that a thread of CUDA reads, as cuda_host.h declares it. */
struct simulated_thread {
    uint32_t thread[3], block[3], block_size[3], grid[3];
};

struct simulated_thread simulated_now;

struct thread {
    jmp_buf place; /* where it waits */
    bool done, waits_for_block;
    uint32_t mask, present;
    uint64_t value;
};

/* The block that runs. */
static struct running {
    const struct user_launch *launch;
    struct thread threads[THREADS_MAX];
    /* threads; the next to start; for the block; values of these */
    uint32_t count, next, done, waiting, nonzero;
    uint32_t barrier_value;
    uint32_t current, stacks_used;
    uint32_t ready[THREADS_MAX], ready_first, ready_count; /* a ring of threads that go on */
    uint32_t arrived[WARPS_MAX]; /* lanes that wait for others of their warp */
    uint64_t values[WARPS_MAX][CBANK_WARP_THREADS];
    jmp_buf scheduler;
    sigjmp_buf outside;
} run;

static char *stacks;
static __thread bool runs_kernel;

/* -- what kernels call ------------------------------------------------------------------------- */

static void set_thread(uint32_t number)
{
    const uint32_t *const size = run.launch->block;

    run.current = number;
    simulated_now.thread[0] = number % size[0];
    simulated_now.thread[1] = number / size[0] % size[1];
    simulated_now.thread[2] = number / size[0] / size[1];
}

static void make_ready(uint32_t number)
{
    run.ready[(run.ready_first + run.ready_count++) % THREADS_MAX] = number;
}

static void wait_here(void)
{
    if (_setjmp(run.threads[run.current].place) == 0)
        _longjmp(run.scheduler, 1);
}

uint32_t simulated_barrier(int value)
{
    run.threads[run.current].waits_for_block = true;
    run.waiting++;
    run.nonzero += value != 0;
    wait_here();
    return run.barrier_value;
}

uint32_t simulated_lane(void)
{
    return run.current % CBANK_WARP_THREADS;
}

/* Lets the lanes of a mask go on if all that have not ended wait with it. */
static bool release_warp(uint32_t warp, uint32_t mask)
{
    struct thread *const lanes = &run.threads[warp * CBANK_WARP_THREADS];
    uint32_t present = 0;

    for (uint32_t lane = 0; lane < CBANK_WARP_THREADS; lane++) {
        if (!(mask >> lane & 1) || warp * CBANK_WARP_THREADS + lane >= run.count ||
            lanes[lane].done)
            continue;
        if (!(run.arrived[warp] >> lane & 1) || lanes[lane].mask != mask)
            return false;
        present |= 1u << lane;
    }
    for (uint32_t lane = 0; lane < CBANK_WARP_THREADS; lane++)
        if (present >> lane & 1) {
            run.values[warp][lane] = lanes[lane].value;
            lanes[lane].present = present;
            make_ready(warp * CBANK_WARP_THREADS + lane);
        }
    run.arrived[warp] &= ~present;
    return present;
}

const uint64_t *simulated_exchange(uint32_t mask, uint64_t value, uint32_t *present)
{
    const uint32_t warp = run.current / CBANK_WARP_THREADS;
    struct thread *const thread = &run.threads[run.current];

    thread->mask = mask;
    thread->value = value;
    run.arrived[warp] |= 1u << simulated_lane();
    release_warp(warp, mask);
    wait_here();
    *present = thread->present;
    return run.values[warp];
}

const void *simulated_fetch(uint64_t texture, int index, size_t bytes)
{
    const struct cudaResourceDesc *const resource = (const void *)(uintptr_t)texture;
    const struct cudaChannelFormatDesc *const desc = resource ? &resource->res.linear.desc : NULL;

    if (!desc || index < 0 || ((size_t)index + 1) * bytes > resource->res.linear.sizeInBytes ||
        (uint64_t)desc->x + desc->y + desc->z + desc->w != 8 * bytes)
        return NULL;
    return (const char *)resource->res.linear.devPtr + (size_t)index * bytes;
}

void simulated_trap(void)
{
    siglongjmp(run.outside, cudaErrorLaunchFailure);
}

/* -- one block --------------------------------------------------------------------------------- */

/* The life of a stack: it starts threads until one waits on it, and after that one has ended
 * again. */
static void start_threads(void)
{
    while (run.next < run.count) {
        set_thread(run.next++);
        run.launch->host->call(run.launch->kernel, (void **)run.launch->arguments);
        run.threads[run.current].done = true;
        run.done++;
    }
    _longjmp(run.scheduler, 1);
}

static void start_stack(void)
{
    ucontext_t context;

    getcontext(&context);
    context.uc_stack.ss_sp = stacks + (size_t)run.stacks_used++ * STACK_BYTES;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = NULL;
    makecontext(&context, start_threads, 0);
    setcontext(&context);
}

/* The threads that wait for the block go on. */
static void release_block(void)
{
    run.barrier_value = run.nonzero;
    run.waiting = run.nonzero = 0;
    for (uint32_t i = 0; i < run.count; i++)
        if (run.threads[i].waits_for_block) {
            run.threads[i].waits_for_block = false;
            make_ready(i);
        }
}

/* Threads that have ended are no longer waited for. */
static bool release_warps(void)
{
    bool any = false;

    for (uint32_t warp = 0; warp * CBANK_WARP_THREADS < run.count; warp++)
        for (uint32_t lane = 0; lane < CBANK_WARP_THREADS; lane++)
            if (run.arrived[warp] >> lane & 1)
                any |= release_warp(warp, run.threads[warp * CBANK_WARP_THREADS + lane].mask);
    return any;
}

/* False where the threads wait for each other for ever. */
static bool run_block(void)
{
    run.next = run.done = run.waiting = run.nonzero = run.stacks_used = run.ready_count = 0;
    memset(run.arrived, 0, sizeof(run.arrived));
    for (uint32_t i = 0; i < run.count; i++)
        run.threads[i].done = run.threads[i].waits_for_block = false;
    _setjmp(run.scheduler); /* here a thread comes that waits, and a stack that has none to start */
    for (;;) {
        if (run.next < run.count)
            start_stack();
        if (run.ready_count == 0 && run.done == run.count)
            return true;
        if (run.ready_count == 0 && !release_warps()) {
            if (run.waiting == 0 || run.waiting != run.count - run.done)
                return false;
            release_block();
        }
        run.ready_count--;
        set_thread(run.ready[run.ready_first++ % THREADS_MAX]);
        _longjmp(run.threads[run.current].place, 1);
    }
}

/* -- a launch ---------------------------------------------------------------------------------- */

/* Memory of the device is unlocked when it is used first. */
static void caught(int number, siginfo_t *info, void *context)
{
    if (!runs_kernel) {
        if (number != SIGVTALRM)
            signal(number, SIG_DFL);
        return;
    }
    if (number == SIGSEGV && memory_unlock(info->si_addr))
        return;
    siglongjmp(run.outside, number == SIGVTALRM                     ? CODE_NEVER
                            : number == SIGSEGV || number == SIGBUS ? cudaErrorIllegalAddress
                                                                    : cudaErrorLaunchFailure);
}

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

/* In another order in each launch, as on a GPU: first one and then those behind it. */
static int run_blocks(const struct user_launch *launch)
{
    static uint64_t launches;
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const uint64_t first = 7919 * launches++ % blocks;

    memcpy(simulated_now.block_size, launch->block, sizeof(launch->block));
    memcpy(simulated_now.grid, launch->grid, sizeof(launch->grid));
    run.launch = launch;
    run.count = launch->block[0] * launch->block[1] * launch->block[2];
    for (uint64_t i = 0; i < blocks; i++) {
        const uint64_t block = (first + i) % blocks;

        simulated_now.block[0] = (uint32_t)(block % launch->grid[0]);
        simulated_now.block[1] = (uint32_t)(block / launch->grid[0] % launch->grid[1]);
        simulated_now.block[2] = (uint32_t)(block / launch->grid[0] / launch->grid[1]);
        if (!run_block())
            return CODE_NEVER;
    }
    return 0;
}

int user_threads_run(const struct user_launch *launch)
{
    static char signal_stack[1 << 16];
    const stack_t own_stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
    struct sigaction before[SIGNALS],
        action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM};
    const struct itimerspec limit = {.it_value = {(time_t)(settings.limit_ms / 1000),
                                                  (long)(1e6 * fmod(settings.limit_ms, 1000))}};
    stack_t stack_before;
    timer_t timer;
    int code;

    if (!stacks)
        stacks = mmap(NULL, (size_t)THREADS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    event._sigev_un._tid = gettid();
    sigaltstack(&own_stack, &stack_before);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &limit, NULL);
    runs_kernel = true;
    code = sigsetjmp(run.outside, 1);
    if (code == 0)
        code = run_blocks(launch);
    runs_kernel = false;
    timer_delete(timer);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    sigaltstack(&stack_before, NULL);
    return code;
}
