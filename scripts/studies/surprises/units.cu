/* SPDX-License-Identifier: MIT
 * What lookups cost on one SM, alone and beside rival lookups, by the SM's clock.
 *
 * Warps w and w + 4 of a block share a partition of the SM. A warp follows chains of loads: the
 * next address is the loaded entry, which is 0, and the lane's own offset. One chain is latency,
 * CHAINS of many warps are throughput. */
#include "measure.cuh"
#include "table.cuh"

enum { ROUNDS = 64, MORE_ROUNDS = 192, CHAINS = 8, BLOCK_WARPS = 16, SHARED_BYTES = 16384 };

__shared__ __align__(16) uint32_t shared_table[SHARED_BYTES / 4];

__device__ inline uint32_t sum_of(uint8_t value)
{
    return value;
}

__device__ inline uint32_t sum_of(uint32_t value)
{
    return value;
}

__device__ inline uint32_t sum_of(unsigned long long value)
{
    return (uint32_t)value;
}

__device__ inline uint32_t sum_of(uint2 value)
{
    return value.x + value.y;
}

__device__ inline uint32_t sum_of(uint4 value)
{
    return value.x + value.y + value.z + value.w;
}

/* -- memories: the entry at a byte of a table of zeros ----------------------------------------- */

template <class T> struct constant_memory {
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return sum_of(*(const T *)((const char *)constant_table + byte));
    }
};

template <class T> struct shared_memory {
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return sum_of(*(const T *)((const char *)shared_table + byte));
    }
};

template <class T> struct global_memory {
    const char *table;
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return sum_of(__ldg((const T *)(table + byte)));
    }
};

struct texture_memory {
    cudaTextureObject_t texture;
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return tex1Dfetch<uint32_t>(texture, (int)(byte / 4));
    }
};

/* 32 entries, one in a register of each lane. */
struct registers {
    const uint32_t *entries;
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return __shfl_sync(0xffffffffu, *entries, (int)(byte / 4));
    }
};

/* 8 bytes in two registers. PRMT puts one of them in all four places. */
struct permuted {
    const uint32_t *entries;
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return __byte_perm(entries[0], entries[1], byte % 8 * 0x1111);
    }
};

/* -- addresses of a warp's lanes, in bytes ----------------------------------------------------- */

enum shape {
    ONE, /* one address */
    HALVES, /* two: lanes 0 to 15, lanes 16 to 31 */
    ALTERNATING, /* two: even lanes, odd lanes */
    BYTES, /* 32 bytes in a row */
    WORDS, /* 32 words in a row */
    PAIRS, /* 32 pairs of words in a row */
    FOURS, /* 8 words in a row, each for four lanes */
    SHUFFLED, /* 32 words in a row, in another order */
    LINES, /* 32 words, 128 bytes apart */
    COLUMN, /* 32 words of one bank of shared memory */
};

__device__ uint32_t offset_of(shape lanes)
{
    const uint32_t lane = threadIdx.x % WARP;

    switch (lanes) {
    case ONE:
        return 0;
    case HALVES:
        return lane / 16 * 4;
    case ALTERNATING:
        return lane % 2 * 4;
    case BYTES:
        return lane;
    case WORDS:
        return lane * 4;
    case PAIRS:
        return lane * 8;
    case FOURS:
        return lane / 4 * 4;
    case SHUFFLED:
        return lane * 21 % WARP * 4;
    case LINES:
    case COLUMN:
        return lane * 128;
    }
    return 0;
}

/* -- one block --------------------------------------------------------------------------------- */

/* What warps do, and which: a bit each. */
template <class MEMORY> struct work {
    MEMORY memory;
    shape lanes;
    uint32_t warps;
    int chains;
    uint32_t active = 0xffffffffu; /* lanes */
    int rounds = ROUNDS;
};

template <int COUNT, class MEMORY>
__device__ uint32_t follow(const MEMORY &memory, uint32_t offset, int rounds, uint32_t value)
{
    uint32_t entries[COUNT], sum = 0;

    for (int chain = 0; chain < COUNT; chain++)
        entries[chain] = value;
#pragma unroll 1
    for (int round = 0; round < rounds / 4; round++)
#pragma unroll
        for (int step = 0; step < 4; step++)
#pragma unroll
            for (int chain = 0; chain < COUNT; chain++)
                entries[chain] = memory(offset + entries[chain] + 16 * chain);
    for (int chain = 0; chain < COUNT; chain++)
        sum += entries[chain];
    return sum;
}

template <class MEMORY> __device__ uint32_t follow(const work<MEMORY> &work, uint32_t value)
{
    const uint32_t offset = offset_of(work.lanes);

    if (!(work.active >> threadIdx.x % WARP & 1))
        return value;
    return work.chains == 1 ? follow<1>(work.memory, offset, work.rounds, value)
                            : follow<CHAINS>(work.memory, offset, work.rounds, value);
}

/* Some warps are timed. Others do their work over and over until these are done. */
template <class TIMED, class RIVAL>
__global__ void block_of(work<TIMED> timed, work<RIVAL> rival, uint32_t *cycles, uint32_t *sink)
{
    const uint32_t warp = threadIdx.x / WARP;
    volatile __shared__ uint32_t left;
    uint32_t value = sink[threadIdx.x]; /* 0 */

    for (uint32_t i = threadIdx.x; i < SHARED_BYTES / 4; i += blockDim.x)
        shared_table[i] = value;
    if (threadIdx.x == 0)
        left = __popc(timed.warps);
    __syncthreads();
    value = follow(timed, value); /* the caches hold it */
    __syncthreads();
    if (timed.warps >> warp & 1) {
        const uint32_t start = clock();

        value = follow(timed, value);
        __syncwarp();
        if (value)
            asm volatile("trap;"); /* the clock is behind the last entry */
        cycles[warp] = cycles_since(start);
        if (threadIdx.x % WARP == 0)
            atomicSub((uint32_t *)&left, 1u);
    } else if (rival.warps >> warp & 1) {
        while (left)
            value += follow(rival, value);
    }
    sink[threadIdx.x] = value;
}

struct nothing {
    __device__ uint32_t operator()(uint32_t byte) const
    {
        return byte;
    }
};

struct memory_of_block {
    uint32_t *cycles = zeros<uint32_t>(BLOCK_WARPS), *sink = zeros<uint32_t>(BLOCK_WARPS * WARP);
};

/* SM cycles until the slowest timed warp is done. */
template <class TIMED, class RIVAL>
uint32_t slowest(const work<TIMED> &timed, const work<RIVAL> &rival)
{
    static const memory_of_block memory;
    uint32_t most = 0;

    MUST(cudaMemset(memory.sink, 0, BLOCK_WARPS * WARP * sizeof(uint32_t)));
    MUST(cudaMemset(memory.cycles, 0, BLOCK_WARPS * sizeof(uint32_t)));
    block_of<<<1, BLOCK_WARPS * WARP>>>(timed, rival, memory.cycles, memory.sink);
    MUST(cudaGetLastError());
    for (const uint32_t cycles : copied(memory.cycles, BLOCK_WARPS))
        most = std::max(most, cycles);
    return most;
}

/* SM cycles for a load of a chain: what more rounds cost. */
template <class TIMED, class RIVAL> double cycles_of(work<TIMED> timed, const work<RIVAL> &rival)
{
    const uint32_t some = slowest(timed, rival);

    timed.rounds = MORE_ROUNDS;
    return (double)(slowest(timed, rival) - some) / (MORE_ROUNDS - ROUNDS);
}

template <class TIMED> double cycles_of(const work<TIMED> &timed)
{
    return cycles_of(timed, work<nothing>{{}, ONE, 0, 1});
}

enum : uint32_t { WARP_0 = 1, WARP_1 = 2, FOUR_PARTITIONS = 15, ALL_WARPS = 0xffff };

/* SM cycles of one warp's load where all warps load as fast as they can. */
template <class MEMORY> double busy(const MEMORY &memory, shape lanes)
{
    return cycles_of(work<MEMORY>{memory, lanes, ALL_WARPS, CHAINS}) / (BLOCK_WARPS * CHAINS);
}

/* Cycles from a load of warp 0 to the next. */
template <class MEMORY>
double latency(const MEMORY &memory, shape lanes = ONE, uint32_t active = 0xffffffffu)
{
    return cycles_of(work<MEMORY>{memory, lanes, WARP_0, 1, active});
}

/* The same while a warp of another partition loads as fast as it can, by the latency alone. */
template <class MEMORY, class RIVAL>
double latency_beside(const MEMORY &memory, const RIVAL &rival, shape lanes)
{
    const work<MEMORY> timed = {memory, ONE, WARP_0, 1};

    return cycles_of(timed, work<RIVAL>{rival, lanes, WARP_1, CHAINS}) / cycles_of(timed);
}

int main(int argc, char **argv)
{
    const questions asked(argc, argv);
    uint32_t *const table = zeros<uint32_t>(SHARED_BYTES / 4);
    const constant_memory<uint32_t> constant;
    const constant_memory<unsigned long long> constant_64;
    const constant_memory<uint8_t> constant_bytes;
    const shared_memory<uint32_t> shared;
    const shared_memory<uint8_t> shared_bytes;
    const shared_memory<uint2> shared_64;
    const shared_memory<uint4> shared_128;
    const global_memory<uint32_t> global = {(const char *)table};
    const global_memory<uint8_t> global_bytes = {(const char *)table};
    const global_memory<uint2> global_64 = {(const char *)table};
    const global_memory<uint4> global_128 = {(const char *)table};
    const texture_memory texture = {texture_of(table, SHARED_BYTES)};
    const registers lanes = {table};
    const permuted permuted = {table};

    asked.answer("two_addresses_order",
                 [&] { return busy(constant, ALTERNATING) / busy(constant, HALVES); });
    asked.answer("one_lane", [&] { return latency(constant, ONE, 1) / latency(constant); });
    asked.answer("four_partitions", [&] {
        const work<constant_memory<uint32_t>> single = {constant, WORDS, WARP_0, CHAINS},
                                              four = {constant, WORDS, FOUR_PARTITIONS, CHAINS};

        return cycles_of(four) / cycles_of(single);
    });
    asked.answer("uniform_beside_distinct",
                 [&] { return latency_beside(constant, constant, WORDS); });
    asked.answer("global_beside_distinct", [&] { return latency_beside(global, constant, WORDS); });
    asked.answer("shared_beside_lines", [&] { return latency_beside(shared, global, LINES); });
    asked.answer("constant_beside_lines", [&] { return latency_beside(constant, global, LINES); });
    asked.answer("constant_beside_column",
                 [&] { return latency_beside(constant, shared, COLUMN); });
    asked.answer("shuffle_by_shared",
                 [&] { return busy(lanes, SHUFFLED) / busy(shared, SHUFFLED); });
    asked.answer("shared_128_by_32", [&] { return busy(shared_128, ONE) / busy(shared, ONE); });
    asked.answer("global_128_by_32", [&] { return busy(global_128, ONE) / busy(global, ONE); });
    asked.answer("constant_64_by_32", [&] { return busy(constant_64, ONE) / busy(constant, ONE); });
    asked.answer("global_words_by_one", [&] { return busy(global, WORDS) / busy(global, ONE); });
    asked.answer("texture_by_global", [&] { return busy(texture, ONE) / busy(global, ONE); });
    asked.answer("texture_lines_by_one", [&] { return busy(texture, LINES) / busy(texture, ONE); });
    asked.answer("constant_by_global_lines",
                 [&] { return busy(constant, WORDS) / busy(global, LINES); });
    asked.answer("constant_by_shared_column",
                 [&] { return busy(constant, WORDS) / busy(shared, COLUMN); });
    asked.answer("constant_bytes_by_words",
                 [&] { return busy(constant_bytes, BYTES) / busy(constant, FOURS); });
    asked.answer("constant_64_by_32_words",
                 [&] { return busy(constant_64, PAIRS) / busy(constant, WORDS); });
    asked.answer("texture_words_by_one", [&] { return busy(texture, WORDS) / busy(texture, ONE); });
    asked.answer("global_bytes_by_words",
                 [&] { return busy(global_bytes, BYTES) / busy(global, WORDS); });
    asked.answer("global_64_by_32_words",
                 [&] { return busy(global_64, PAIRS) / busy(global, WORDS); });
    asked.answer("shared_64_by_32", [&] { return busy(shared_64, ONE) / busy(shared, ONE); });
    asked.answer("permuted_by_shared_bytes",
                 [&] { return busy(permuted, BYTES) / busy(shared_bytes, BYTES); });
}
