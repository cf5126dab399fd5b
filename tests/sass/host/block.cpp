/* SPDX-License-Identifier: MIT
 * Threads of a block, their barriers, and what the lanes of a warp exchange: see block.h.
 *
 * Lanes exchange values when all that their mask names, and that have not ended, wait with that
 * mask. Lanes of other masks go on apart. */
#include "block.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ucontext.h>

struct thread {
    ucontext_t context;
    enum { READY, AT_BARRIER, IN_EXCHANGE, DONE } state;
    unsigned mask, present;
    unsigned long long value;
};

struct simulated_thread simulated_now;

static std::vector<thread> threads;
static std::vector<std::vector<char>> stacks; /* kept for the next block */
static ucontext_t scheduler;
static unsigned current, barrier_sum, barrier_value;
static unsigned long long exchanged[64][WARP];
static void (*entry)(void *);
static void *entry_arguments;

bool block_runs()
{
    return !threads.empty();
}

unsigned block_thread()
{
    return current;
}

uintptr_t block_stack()
{
    return (uintptr_t)stacks[current].data();
}

static void wait_as(decltype(thread::state) state)
{
    threads[current].state = state;
    swapcontext(&threads[current].context, &scheduler);
}

extern "C" unsigned simulated_barrier(int value)
{
    barrier_sum += value != 0;
    wait_as(thread::AT_BARRIER);
    return barrier_value;
}

extern "C" unsigned simulated_lane()
{
    return current % WARP;
}

extern "C" const unsigned long long *simulated_exchange(unsigned mask, unsigned long long value,
                                                        unsigned *present)
{
    if (!(mask >> simulated_lane() & 1)) {
        fprintf(stderr, "thread %u is not in its mask %#x\n", current, mask);
        abort();
    }
    threads[current].mask = mask;
    threads[current].value = value;
    wait_as(thread::IN_EXCHANGE);
    *present = threads[current].present;
    return exchanged[current / WARP];
}

extern "C" const void *simulated_fetch(unsigned long long, int, size_t)
{
    abort();
}

extern "C" void simulated_trap()
{
    abort();
}

static void begin()
{
    entry(entry_arguments);
    threads[current].state = thread::DONE;
    swapcontext(&threads[current].context, &scheduler);
}

/* The lanes that exchange with one that waits for that; 0: some have not come. */
static unsigned group_of(unsigned warp, unsigned lane)
{
    const unsigned mask = threads[warp * WARP + lane].mask;
    unsigned group = 0;

    for (unsigned i = 0; i < WARP; i++) {
        if (!(mask >> i & 1) || warp * WARP + i >= threads.size())
            continue;
        const thread &each = threads[warp * WARP + i];

        if (each.state == thread::DONE)
            continue;
        if (each.state != thread::IN_EXCHANGE || each.mask != mask)
            return 0;
        group |= 1u << i;
    }
    return group;
}

/* Whether lanes of the warp exchanged values. */
static bool release_warp(unsigned warp)
{
    bool any = false;

    for (unsigned lane = 0; lane < WARP && warp * WARP + lane < threads.size(); lane++) {
        if (threads[warp * WARP + lane].state != thread::IN_EXCHANGE)
            continue;
        const unsigned group = group_of(warp, lane);

        for (unsigned i = 0; i < WARP; i++)
            if (group >> i & 1) {
                thread &waiting = threads[warp * WARP + i];

                waiting.present = group;
                waiting.state = thread::READY;
                exchanged[warp][i] = waiting.value;
            }
        any |= group != 0;
    }
    return any;
}

/* Whether all threads that have not ended wait for the block, and go on now. */
static bool release_block()
{
    bool any = false;

    for (const thread &each : threads)
        if (each.state == thread::IN_EXCHANGE)
            return false;
    for (thread &each : threads)
        if (each.state == thread::AT_BARRIER) {
            each.state = thread::READY;
            any = true;
        }
    barrier_value = barrier_sum;
    barrier_sum = 0;
    return any;
}

static void run_ready()
{
    for (current = 0; current < threads.size(); current++)
        if (threads[current].state == thread::READY) {
            simulated_now.thread[0] = current % simulated_now.block_size[0];
            simulated_now.thread[1] = current / simulated_now.block_size[0];
            swapcontext(&scheduler, &threads[current].context);
        }
}

void block_run(void (*function)(void *), void *arguments)
{
    const unsigned count = simulated_now.block_size[0] * simulated_now.block_size[1];
    bool any = true;

    entry = function;
    entry_arguments = arguments;
    threads = std::vector<thread>(count);
    while (stacks.size() < count)
        stacks.emplace_back(STACK_BYTES);
    for (unsigned i = 0; i < count; i++) {
        threads[i].state = thread::READY;
        getcontext(&threads[i].context);
        threads[i].context.uc_stack.ss_sp = stacks[i].data();
        threads[i].context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&threads[i].context, begin, 0);
    }
    while (any) {
        run_ready();
        any = false;
        for (unsigned warp = 0; warp * WARP < count; warp++)
            any |= release_warp(warp);
        any = any || release_block();
    }
    for (thread &each : threads)
        if (each.state != thread::DONE) {
            fputs("threads wait for each other\n", stderr);
            abort();
        }
    threads.clear();
}
