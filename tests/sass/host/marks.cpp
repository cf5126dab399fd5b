/* SPDX-License-Identifier: MIT
 * What the loads of random programs read: see marks.h. No code of a GPU is looked at.
 *
 * A place is a load's line, with the calls that led there and the rounds of the loops around it.
 * Threads of a warp that load at one place are one execution of the load. A GPU may execute it in
 * several parts; what is the same in all threads of a place is the same in each part. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "block.h"

enum { THREADS_MAX = 96, IN_WORDS = 1024, LAUNCHES = 4 };

struct given_words {
    unsigned head[3], first[32];
    unsigned short second[40];
};

typedef void random_kernel(unsigned *out, const unsigned *in, const unsigned *p0,
                           const unsigned short *p1, int n, int m, long long limit,
                           unsigned long long count, const given_words &given,
                           const unsigned *texture);

struct address {
    unsigned block, thread;
    uintptr_t address;
};

/* The executions of a load, by place; and by line. */
typedef std::unordered_map<uint64_t, std::vector<address>> executions;
typedef std::map<unsigned, executions> lines;

static lines loads;
static uint64_t places[THREADS_MAX];

static struct table {
    void *memory;
    size_t bytes;
    bool constant;
} tables[64];
static size_t table_count;

static uint64_t random_state;

static uint32_t random_word()
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

/* -- what kernels call ------------------------------------------------------------------------- */

extern "C" void host_loaded(unsigned line, const void *address)
{
    loads[line][places[block_thread()]].push_back(
        {simulated_now.block[0], block_thread(), (uintptr_t)address});
}

extern "C" uint64_t host_place(unsigned line, unsigned round)
{
    uint64_t &place = places[block_thread()];
    const uint64_t before = place;

    if (line)
        place = (place ^ ((uint64_t)line << 32 | round)) * 0x9e3779b97f4a7c15u + (place >> 29);
    return before;
}

extern "C" void host_back(uint64_t place)
{
    places[block_thread()] = place;
}

extern "C" void host_outside(unsigned line, unsigned long long index)
{
    fprintf(stderr, "line %u: index %llu\n", line, index);
    abort();
}

extern "C" void host_table(void *memory, size_t bytes, bool constant)
{
    tables[table_count++] = {memory, bytes, constant};
}

/* -- what holds for each execution of a load --------------------------------------------------- */

enum { NO_STRIDE, ONE_STRIDE, MANY_STRIDES, NOT_AFFINE };

/* What holds for all executions of a load in some launches. */
struct truth {
    bool constant = true, grid = true, block = true, warp = true, alike = true;
    int affine = NO_STRIDE;
    int64_t stride = 0;
    size_t most = 0, whole_least = SIZE_MAX, whole_most = 0; /* addresses; of whole warps */
    uintptr_t first = 0;
};

static void add_stride(truth &all, const std::vector<address> &warp)
{
    const int64_t threads = (int64_t)warp.back().thread - warp[0].thread;
    const int64_t bytes = (int64_t)(warp.back().address - warp[0].address);

    if (threads == 0 || all.affine == NOT_AFFINE)
        return;
    for (const address &each : warp)
        if ((int64_t)(each.address - warp[0].address) * threads !=
            bytes * ((int64_t)each.thread - warp[0].thread)) {
            all.affine = NOT_AFFINE;
            return;
        }
    if (all.affine == NO_STRIDE)
        all.stride = bytes / threads;
    all.affine =
        all.affine != MANY_STRIDES && all.stride * threads == bytes ? ONE_STRIDE : MANY_STRIDES;
}

static void add_execution(truth &all, const std::vector<address> &execution)
{
    std::map<unsigned, std::vector<address>> warps;
    std::map<unsigned, std::set<uintptr_t>> blocks;

    for (const address &each : execution) {
        warps[each.block * THREADS_MAX + each.thread / WARP].push_back(each);
        blocks[each.block].insert(each.address);
        all.grid &= each.address == execution[0].address;
        all.first = all.first ? all.first : each.address;
        all.constant &= each.address == all.first;
    }
    for (const auto &[number, addresses] : blocks)
        all.block &= addresses.size() == 1;
    for (const auto &[number, warp] : warps) {
        std::set<uintptr_t> distinct;

        for (const address &each : warp)
            distinct.insert(each.address);
        all.warp &= distinct.size() == 1;
        all.most = std::max(all.most, distinct.size());
        if (warp.size() == WARP) {
            all.whole_least = std::min(all.whole_least, distinct.size());
            all.whole_most = std::max(all.whole_most, distinct.size());
        }
        add_stride(all, warp);
    }
}

/* Whether the threads of each warp are as far apart on other data. */
static bool are_apart_alike(const executions &base, const executions &again)
{
    for (const auto &[place, execution] : base) {
        const auto then = again.find(place);
        std::map<std::pair<unsigned, unsigned>, uintptr_t> by_thread;
        std::map<unsigned, uintptr_t> moved; /* by warp */

        if (then == again.end())
            continue;
        for (const address &each : then->second)
            by_thread[{each.block, each.thread}] = each.address;
        for (const address &each : execution) {
            const auto found = by_thread.find({each.block, each.thread});

            if (found == by_thread.end())
                continue;
            const uintptr_t by = found->second - each.address;

            if (moved.insert({each.block * THREADS_MAX + each.thread / WARP, by}).first->second !=
                by)
                return false;
        }
    }
    return true;
}

/* Prints a line for each load: what holds in these launches. */
static void print_truth(const char *name, const char *shape, const std::vector<lines> &launches)
{
    std::map<unsigned, truth> by_line;

    for (const lines &launch : launches)
        for (const auto &[line, its] : launch) {
            truth &all = by_line[line];

            for (const auto &[place, execution] : its)
                add_execution(all, execution);
        }
    for (auto &[line, all] : by_line) {
        if (launches[0].count(line) && launches.size() > 1 && launches[1].count(line))
            all.alike = are_apart_alike(launches[0].at(line), launches[1].at(line));
        printf("%s %s %u %d %d %d %d %s %lld %zu %zu %zu %d\n", name, shape, line, all.constant,
               all.grid, all.block, all.warp,
               all.affine == NOT_AFFINE     ? "no"
               : all.affine == MANY_STRIDES ? "several"
               : all.affine == ONE_STRIDE   ? "one"
                                            : "any",
               (long long)all.stride, all.most, all.whole_most ? all.whole_least : 0,
               all.whole_most, all.alike);
    }
}

/* -- launches ---------------------------------------------------------------------------------- */

static uint32_t in[IN_WORDS], p0[IN_WORDS], out[IN_WORDS], texture[IN_WORDS];
static struct given_words given_to_all;
static uint16_t p1[IN_WORDS];

struct arguments {
    random_kernel *kernel;
    int n, m;
    long long limit;
    unsigned long long count;
};

static void call(void *given)
{
    const struct arguments *const with = (struct arguments *)given;

    places[block_thread()] = 0;
    with->kernel(out, in, p0, p1, with->n, with->m, with->limit, with->count, given_to_all,
                 texture);
}

static void fill(uint64_t seed)
{
    for (size_t i = 0; i < table_count; i++) {
        random_state = tables[i].constant ? i : seed + i;
        for (size_t k = 0; k < tables[i].bytes; k++)
            ((unsigned char *)tables[i].memory)[k] = (unsigned char)(random_word() >> 8);
    }
    for (size_t i = 0; i < IN_WORDS; i++) {
        in[i] = random_word();
        p0[i] = random_word();
        p1[i] = (uint16_t)random_word();
        out[i] = 0;
    }
    random_state = table_count; /* the same in all launches: they come from the host */
    for (uint32_t &word : given_to_all.first)
        word = random_word();
    for (uint16_t &word : given_to_all.second)
        word = (uint16_t)random_word();
    random_state = seed;
    for (uint32_t &word : texture)
        word = random_word();
}

static lines launch(struct arguments with, unsigned blocks, unsigned threads, unsigned rows,
                    uint64_t seed)
{
    lines its;

    fill(seed);
    simulated_now = {{}, {}, {threads, rows, 1}, {blocks, 1, 1}};
    for (unsigned block = 0; block < blocks; block++) {
        simulated_now.block[0] = block;
        block_run(call, &with);
    }
    its.swap(loads);
    return its;
}

extern "C" void host_launch(const char *name, random_kernel *kernel, bool whole, bool flat)
{
    const struct arguments first = {kernel, 3, 7, 20, 45}, then = {kernel, 5, 2, 0x100000009, 70};

    if (flat)
        print_truth(name, "whole",
                    {launch(first, 2, 32, 2, 1), launch(first, 2, 32, 2, 2),
                     launch(then, 3, 32, 3, 3), launch(then, 2, 64, 1, 4)});
    else
        print_truth(name, "whole",
                    {launch(first, 2, 64, 1, 1), launch(first, 2, 64, 1, 2),
                     launch(then, 3, 96, 1, 3)});
    if (flat && !whole)
        print_truth(name, "part", {launch(then, 3, 16, 4, 4), launch(then, 3, 8, 5, 5)});
    else if (!whole)
        print_truth(name, "part", {launch(then, 3, 40, 1, 4)});
}
