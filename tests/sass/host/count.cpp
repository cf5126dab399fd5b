/* SPDX-License-Identifier: MIT
 * Counts the addresses of each load of a warp. clang calls a function at each load and at each
 * basic block of a kernel
 * (-fsanitize-coverage=trace-loads,bb,no-prune,trace-pc). No code of a GPU is looked at.
 *
 * Loads are one execution of a warp where threads are at the same instruction, in the same calls,
 * in the same iteration of each loop. In the code that clang makes without optimization, the blocks
 * of a loop follow each other: a jump back begins an iteration, and a block behind all jumps back
 * ends the loop. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "block.h"

enum { BUFFER_BYTES = 1 << 16 };

/* A loop that a call is in: the last block that jumps back to its first, and how often that was
 * done. */
struct loop {
    uintptr_t latch;
    uint64_t iteration;
};

struct call {
    uintptr_t frame, from, block; /* where the call returns to; the block that runs */
    std::map<uintptr_t, loop> loops; /* by their first block */
};

static std::vector<std::vector<call>> calls; /* by thread of the block that runs */

/* -- what was loaded --------------------------------------------------------------------------- */

typedef std::vector<uintptr_t> moment; /* calls, and iterations of their loops */
typedef std::map<std::pair<unsigned, unsigned>, uintptr_t> addresses; /* by block and thread */

struct load {
    bool on_stack;
    std::map<moment, addresses> executions;
};

static std::map<uintptr_t, load> loads; /* by the address behind the instruction */

/* The call whose frame that is. Those that it made have ended. */
static call &call_of(void *frame)
{
    const uintptr_t start = (uintptr_t)frame, from = ((uintptr_t *)frame)[1];
    std::vector<call> &mine = calls[block_thread()];

    while (!mine.empty() &&
           (mine.back().frame < start || (mine.back().frame == start && mine.back().from != from)))
        mine.pop_back();
    if (mine.empty() || mine.back().frame != start)
        mine.push_back({start, from, 0, {}});
    return mine.back();
}

static void loaded(uintptr_t instruction, uintptr_t address, void *frame)
{
    const uintptr_t stack = block_runs() ? block_stack() : 0;
    const bool on_stack = address - stack < STACK_BYTES;
    moment now;

    if (!block_runs() || address - (uintptr_t)&simulated_now < sizeof(simulated_now))
        return;
    call_of(frame);
    for (const call &running : calls[block_thread()]) {
        now.push_back(running.from);
        for (const auto &inner : running.loops)
            now.insert(now.end(), {inner.first, inner.second.iteration});
    }
    load &to = loads[instruction];
    to.on_stack = on_stack;
    to.executions[now][{simulated_now.block[0] + 100 * simulated_now.block[1], block_thread()}] =
        on_stack ? address - stack : address;
}

#define LOAD(bytes)                                                        \
    extern "C" void __sanitizer_cov_load##bytes(void *address)             \
    {                                                                      \
        loaded((uintptr_t)__builtin_return_address(0), (uintptr_t)address, \
               __builtin_frame_address(1));                                \
    }
LOAD(1)
LOAD(2)
LOAD(4)
LOAD(8)
LOAD(16)

extern "C" void __sanitizer_cov_trace_pc()
{
    const uintptr_t block = (uintptr_t)__builtin_return_address(0);

    if (!block_runs())
        return; /* arguments are made */
    call &mine = call_of(__builtin_frame_address(1));

    if (block <= mine.block) {
        loop &again = mine.loops[block];

        again.iteration++;
        again.latch = std::max(again.latch, mine.block);
        mine.loops.erase(mine.loops.upper_bound(block), mine.loops.end()); /* those inside */
    }
    for (auto i = mine.loops.begin(); i != mine.loops.end();)
        i = block > i->second.latch ? mine.loops.erase(i) : std::next(i);
    mine.block = block;
}

/* Whether the threads of each warp are as far apart on other data. */
static bool are_apart_alike(const load &base, const load &again)
{
    for (const auto &[when, its] : base.executions) {
        const auto then = again.executions.find(when);
        std::map<unsigned, uintptr_t> moved; /* by warp */

        for (const auto &[who, address] : its)
            if (then != again.executions.end() && then->second.count(who)) {
                const uintptr_t by = then->second.at(who) - address;

                if (moved.insert({who.first * 64 + who.second / WARP, by}).first->second != by)
                    return false;
            }
    }
    return true;
}

/* What holds for each execution of a load: the strongest. */
static void print_load(const char *kernel, uintptr_t instruction, const load &base,
                       const load &again)
{
    std::set<uintptr_t> all;
    bool grid = true, block = true, warp = true, affine = true, has_stride = false;
    size_t most = 0;
    long long stride = 0;

    for (const auto &execution : base.executions) {
        std::map<unsigned, std::set<uintptr_t>> of_block, of_warp;
        std::set<uintptr_t> of_grid;
        std::map<unsigned, std::pair<unsigned, uintptr_t>> first; /* thread and address, by warp */

        for (const auto &[who, address] : execution.second) {
            const unsigned in = who.first * 64 + who.second / WARP;
            const auto &[thread, its] = first.insert({in, {who.second, address}}).first->second;
            const long long apart = (long long)who.second - thread,
                            bytes = (long long)(address - its);

            of_grid.insert(address), of_block[who.first].insert(address),
                of_warp[in].insert(address);
            all.insert(address);
            if (apart) {
                if (!has_stride)
                    stride = bytes / apart;
                has_stride = true;
                affine &= bytes == apart * stride;
            }
        }
        grid &= of_grid.size() == 1;
        for (const auto &each : of_block)
            block &= each.second.size() == 1;
        for (const auto &each : of_warp) {
            warp &= each.second.size() == 1;
            most = std::max(most, each.second.size());
        }
    }
    if (base.on_stack && all.size() == 1)
        return; /* a variable */
    printf("%s %ux%u %#lx %#lx %s %s %lld %zu\n", kernel, simulated_now.block_size[0],
           simulated_now.block_size[1], (unsigned long)instruction - 1, (unsigned long)*all.begin(),
           base.on_stack ? "stack" : "memory",
           grid                           ? "grid"
           : block                        ? "block"
           : warp                         ? "warp"
           : affine && has_stride         ? "affine"
           : are_apart_alike(base, again) ? "thread"
                                          : "unknown",
           stride, most);
}

/* -- what host.h calls ------------------------------------------------------------------------ */

struct variable {
    void *memory;
    size_t bytes, number_bytes;
};
static std::vector<variable> variables;

extern "C" void host_fill(void *memory, size_t bytes, size_t number_bytes)
{
    static uint64_t state = 1;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ((char *)memory)[i] = i % number_bytes == 0 ? (char)(state >> 59) : 0;
    }
}

extern "C" void host_variable(void *memory, size_t bytes, size_t number_bytes)
{
    variables.push_back({memory, bytes, number_bytes});
}

extern "C" void *host_memory(size_t number_bytes)
{
    void *const memory = malloc(BUFFER_BYTES);

    host_variable(memory, BUFFER_BYTES, number_bytes);
    return memory;
}

extern "C" void host_run(const char *name, void (*call)(void *), void *arguments)
{
    static const uint32_t flat[][4] = {{3, 1, 128, 1}, {2, 1, 96, 1}},
                          shaped[][4] = {{2, 2, 16, 4}, {2, 1, 8, 8}};
    const std::string kernel = name;

    for (const auto &shape :
         kernel.size() > 3 && kernel.substr(kernel.size() - 3) == "_2d" ? shaped : flat) {
        simulated_now = {{}, {}, {shape[2], shape[3], 1}, {shape[0], shape[1], 1}};
        std::map<uintptr_t, load> on_data[2];
        for (auto &each : on_data) {
            for (const variable &filled : variables)
                host_fill(filled.memory, filled.bytes, filled.number_bytes);
            for (unsigned block = 0; block < shape[0] * shape[1]; block++) {
                simulated_now.block[0] = block % shape[0];
                simulated_now.block[1] = block / shape[0];
                calls.assign((size_t)shape[2] * shape[3], {});
                block_run(call, arguments);
            }
            each.swap(loads);
            loads.clear();
        }
        for (const auto &[instruction, base] : on_data[0])
            print_load(name, instruction, base, on_data[1][instruction]);
    }
}
