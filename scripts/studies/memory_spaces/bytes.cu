/* SPDX-License-Identifier: MIT
 * What a load of a warp costs by its width and by how far apart its lanes read, in four memory
 * spaces; and what it helps to read a table of bytes as words. One block, by the SM's clock.
 *
 * The warps follow chains of loads: an address waits for the value that the chain loaded before,
 * of which a mask of zeros leaves nothing. All values are summed, and the sums are verified. */
#include "rounds.cuh"

enum { SOME = 32, MORE = 96, CHAINS = 8, BLOCK_WARPS = 16, TABLE_BYTES = 16384 };

__constant__ __align__(16) unsigned char constant_bytes[TABLE_BYTES];

static unsigned char byte_of_table(uint32_t byte)
{
    return (unsigned char)number(byte);
}

/* -- values ------------------------------------------------------------------------------------ *
 * A uint2 of constant memory would be two loads of 4 bytes. */

__host__ __device__ inline uint32_t folded(uint32_t value)
{
    return value;
}

__host__ __device__ inline uint32_t folded(unsigned char value)
{
    return value;
}

__host__ __device__ inline uint32_t folded(unsigned short value)
{
    return value;
}

__host__ __device__ inline uint32_t folded(unsigned long long value)
{
    return (uint32_t)value + (uint32_t)(value >> 32);
}

__host__ __device__ inline uint32_t folded(ulonglong2 value)
{
    return folded(value.x) + folded(value.y);
}

/* -- memory spaces: the value at a byte of the table ------------------------------------------- */

extern __shared__ __align__(16) unsigned char shared_bytes[];

struct constant_space {
    static constexpr bool staged = false;
    template <class T> __device__ T load(const unsigned char *, uint32_t byte) const
    {
        return *(const T *)(constant_bytes + byte);
    }
};

struct shared_space {
    static constexpr bool staged = true;
    template <class T> __device__ T load(const unsigned char *, uint32_t byte) const
    {
        return *(const T *)(shared_bytes + byte);
    }
};

struct global_space {
    static constexpr bool staged = false;
    template <class T> __device__ T load(const unsigned char *table, uint32_t byte) const
    {
        return *(const T *)(table + byte);
    }
};

struct readonly_space {
    static constexpr bool staged = false;
    template <class T> __device__ T load(const unsigned char *table, uint32_t byte) const
    {
        return __ldg((const T *)(table + byte));
    }
};

/* -- what a chain reads ------------------------------------------------------------------------ */

/* One place for each lane and chain: lane x stride, down to a multiple of the width, and 16 bytes
 * further for the next chain. Chains 4 apart read one place, so that small strides touch few
 * lines. */
template <class T> struct strided {
    uint32_t stride, zero;
    static constexpr bool strides = true;
    using type = T;

    __host__ __device__ uint32_t first(uint32_t lane) const
    {
        return lane * stride & ~(uint32_t)(sizeof(T) - 1);
    }
};

/* Bytes at random in a small table, of which T is read at once and the byte shifted down. */
template <class T> struct random_bytes {
    uint32_t mask, zero; /* mask: the table's bytes - 1 */
    static constexpr bool strides = false;
    using type = T;
};

__host__ __device__ inline uint32_t next_state(uint32_t state)
{
    return state * 1664525u + 1013904223u;
}

__device__ inline uint32_t byte_within(uint32_t value, uint32_t byte, const unsigned char *)
{
    (void)byte;
    return value;
}

__device__ inline uint32_t byte_within(uint32_t value, uint32_t byte, const uint32_t *)
{
    return value >> byte % 4 * 8 & 255;
}

__device__ inline uint32_t byte_within(unsigned long long value, uint32_t byte,
                                       const unsigned long long *)
{
    return (uint32_t)(value >> byte % 8 * 8) & 255;
}

template <int COUNT, class SPACE, class T>
__device__ uint32_t follow(const SPACE &space, const strided<T> &places, const unsigned char *table,
                           int rounds)
{
    const uint32_t first = places.first(threadIdx.x % WARP);
    uint32_t bytes[COUNT], sum = 0;

    for (int chain = 0; chain < COUNT; chain++)
        bytes[chain] = first;
#pragma unroll 1
    for (int round = 0; round < rounds / 4; round++)
#pragma unroll
        for (int step = 0; step < 4; step++)
#pragma unroll
            for (int chain = 0; chain < COUNT; chain++) {
                const uint32_t value =
                    folded(space.template load<T>(table, bytes[chain] + chain % 4 * 16));

                sum += value;
                bytes[chain] = first + (value & places.zero);
            }
    return sum;
}

template <int COUNT, class SPACE, class T>
__device__ uint32_t follow(const SPACE &space, const random_bytes<T> &places,
                           const unsigned char *table, int rounds)
{
    uint32_t states[COUNT], sum = 0;

    for (int chain = 0; chain < COUNT; chain++)
        states[chain] = number(threadIdx.x * COUNT + chain);
#pragma unroll 1
    for (int round = 0; round < rounds / 4; round++)
#pragma unroll
        for (int step = 0; step < 4; step++)
#pragma unroll
            for (int chain = 0; chain < COUNT; chain++) {
                const uint32_t byte = states[chain] >> 16 & places.mask;
                const uint32_t value =
                    byte_within(space.template load<T>(table, byte & ~(uint32_t)(sizeof(T) - 1)),
                                byte, (const T *)nullptr);

                sum += value;
                states[chain] = next_state(states[chain]) + (value & places.zero);
            }
    return sum;
}

/* The first `warps` warps follow their chains. cycles: of each; sums: of each thread. */
template <int COUNT, class SPACE, class PLACES>
__global__ void block_of(PLACES places, const unsigned char *table, uint32_t warps, int rounds,
                         uint32_t *cycles, uint32_t *sums)
{
    const SPACE space;
    const uint32_t warp = threadIdx.x / WARP;

    if (SPACE::staged)
        for (uint32_t i = threadIdx.x; i < TABLE_BYTES / 4; i += blockDim.x)
            ((uint32_t *)shared_bytes)[i] = ((const uint32_t *)table)[i];
    __syncthreads();
    if (warp >= warps)
        return;
    uint32_t sum = follow<COUNT>(space, places, table, SOME); /* the caches hold it */

    __syncwarp();
    const uint32_t start = (uint32_t)clock();

    sum += follow<COUNT>(space, places, table, rounds);
    __syncwarp();
    cycles[warp] = (uint32_t)clock() - start;
    sums[threadIdx.x] = sum;
}

/* -- the processor ----------------------------------------------------------------------------- */

template <class T> static uint32_t value_at(uint32_t byte)
{
    T value;
    unsigned char bytes[sizeof(T)];

    for (uint32_t i = 0; i < sizeof(T); i++)
        bytes[i] = byte_of_table(byte + i);
    memcpy(&value, bytes, sizeof(T));
    return folded(value);
}

template <class T>
static uint32_t expected_of(const strided<T> &places, uint32_t thread, int chains, int rounds)
{
    uint32_t sum = 0;

    for (int chain = 0; chain < chains; chain++)
        sum += (uint32_t)rounds * value_at<T>(places.first(thread % WARP) + chain % 4 * 16);
    return sum;
}

template <class T>
static uint32_t expected_of(const random_bytes<T> &places, uint32_t thread, int chains, int rounds)
{
    uint32_t sum = 0;

    for (int chain = 0; chain < chains; chain++) {
        uint32_t state = number(thread * chains + chain);

        for (int round = 0; round < rounds; round++) {
            sum += byte_of_table(state >> 16 & places.mask);
            state = next_state(state);
        }
    }
    return sum;
}

/* -- cells ------------------------------------------------------------------------------------- */

struct memory {
    unsigned char *table = zeros<unsigned char>(TABLE_BYTES);
    uint32_t *cycles = zeros<uint32_t>(BLOCK_WARPS), *sums = zeros<uint32_t>(BLOCK_WARPS * WARP);

    memory()
    {
        std::vector<unsigned char> bytes(TABLE_BYTES);

        for (uint32_t i = 0; i < TABLE_BYTES; i++)
            bytes[i] = byte_of_table(i);
        MUST(cudaMemcpy(table, bytes.data(), TABLE_BYTES, cudaMemcpyHostToDevice));
        MUST(cudaMemcpyToSymbol(constant_bytes, bytes.data(), TABLE_BYTES));
    }
};

/* Cycles of the slowest warp. */
template <int COUNT, class SPACE, class PLACES>
static uint32_t slowest(const memory &memory, const PLACES &places, uint32_t warps, int rounds)
{
    uint32_t most = 0;

    block_of<COUNT, SPACE>
        <<<1, BLOCK_WARPS * WARP, SPACE::staged ? TABLE_BYTES : 0>>>(places, memory.table, warps,
                                                                     rounds, memory.cycles,
                                                                     memory.sums);
    MUST(cudaGetLastError());
    for (const uint32_t cycles : copied(memory.cycles, warps))
        most = std::max(most, cycles);
    return most;
}

/* The SM's cycles from a load of a warp to the next, of `warps` warps: what more rounds cost. */
template <int COUNT, class SPACE, class PLACES>
static cell cell_of(const memory &memory, const std::string &text, const PLACES &places,
                    uint32_t warps)
{
    return {text,
            [=, &memory] {
                std::vector<uint32_t> expected;

                MUST(cudaMemset(memory.sums, 0, BLOCK_WARPS * WARP * sizeof(uint32_t)));
                slowest<COUNT, SPACE>(memory, places, warps, MORE);
                for (uint32_t thread = 0; thread < warps * WARP; thread++)
                    expected.push_back(expected_of(places, thread, COUNT, SOME) +
                                       expected_of(places, thread, COUNT, MORE));
                return compare(copied(memory.sums, warps * WARP), expected);
            },
            [=, &memory] {
                const double some = slowest<COUNT, SPACE>(memory, places, warps, SOME);
                const double more = slowest<COUNT, SPACE>(memory, places, warps, MORE);

                return (more - some) / (MORE - SOME) / (warps * COUNT);
            }};
}

template <class SPACE, class T>
static void add_strides(const memory &memory, const char *space, bool small,
                        std::vector<cell> *cells)
{
    for (const uint32_t stride : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        const strided<T> places = {stride, 0};
        const std::string text =
            text_of("\"space\": \"%s\", \"width\": %zu, \"stride\": %u", space, sizeof(T), stride);

        if (small && stride != 4)
            continue;
        cells->push_back(
            cell_of<CHAINS, SPACE>(memory,
                                   "\"experiment\": \"stride\", \"figure\": \"busy\", " + text,
                                   places, BLOCK_WARPS));
        cells->push_back(
            cell_of<1, SPACE>(memory,
                              "\"experiment\": \"stride\", \"figure\": \"latency\", " + text,
                              places, 1));
    }
}

template <class SPACE, class T>
static void add_random(const memory &memory, const char *space, bool small,
                       std::vector<cell> *cells)
{
    for (const uint32_t bytes : {16, 32, 64, 128, 256, 1024, 2048}) {
        if (small && bytes != 64)
            continue;
        cells->push_back(
            cell_of<
                CHAINS,
                SPACE>(memory,
                       text_of("\"experiment\": \"byte_table\", \"space\": \"%s\", \"width\": %zu, "
                               "\"bytes\": %u",
                               space, sizeof(T), bytes),
                       random_bytes<T>{bytes - 1, 0}, BLOCK_WARPS));
    }
}

template <class SPACE>
static void add_space(const memory &memory, const char *space, bool small, std::vector<cell> *cells)
{
    add_strides<SPACE, unsigned char>(memory, space, small, cells);
    add_strides<SPACE, unsigned short>(memory, space, small, cells);
    add_strides<SPACE, uint32_t>(memory, space, small, cells);
    add_strides<SPACE, unsigned long long>(memory, space, small, cells);
    add_strides<SPACE, ulonglong2>(memory, space, small, cells);
    add_random<SPACE, unsigned char>(memory, space, small, cells);
    add_random<SPACE, uint32_t>(memory, space, small, cells);
    add_random<SPACE, unsigned long long>(memory, space, small, cells);
}

int main(int argc, char **argv)
{
    const options asked(argc, argv);
    const memory memory;
    std::vector<cell> cells;

    add_space<constant_space>(memory, "constant", asked.small, &cells);
    add_space<shared_space>(memory, "shared", asked.small, &cells);
    add_space<global_space>(memory, "global", asked.small, &cells);
    add_space<readonly_space>(memory, "readonly", asked.small, &cells);
    measure_in_turn(cells, asked);
}
