/* SPDX-License-Identifier: MIT
 *
 * The probes that characterize a chip: they load and do nothing else, on every load path, in a
 * module of their own.
 *
 *   probe_chase<path>    one thread follows the links of the table and times every load
 *   probe_chain<path>   a warp follows links: latency
 *   probe_stream<path>  loads that do not depend on each other, by many warps: throughput
 *   probe_relay         a pointer chase as in probe_chase, over the constant banks of several
 *                       modules that run at a time
 *   probe_transfer      streams: L1 by the width of a load, L2, device memory
 *
 * The load expressions are those of paths.def. Here they take offsets in bytes, so that a chain has
 * no address arithmetic between two loads. scripts/check_sass.py does not look at this module:
 * cuda_probe.c counts the loads of each probe by class before it believes them.
 */
#include <stdint.h>

#include "device.cuh"
#include "path.h"
#include "probe_args.h"
#include "probe_device.cuh"
#include "workload.h"

__constant__ uint32_t probe_bank[CBANK_TABLE_LENGTH];

extern __shared__ uint32_t probe_staged[];

/* -- the places that paths.def knows, by bytes ------------------------------------------------- */

struct bank_by_bytes {
    __device__ const uint32_t &operator[](uint32_t offset) const
    {
        return word_at(probe_bank, offset);
    }
};

struct staged_by_bytes {
    __device__ const uint32_t &operator[](uint32_t offset) const
    {
        return word_at(probe_staged, offset);
    }
};

struct pointer_by_bytes {
    const uint32_t *base;
    __device__ const uint32_t &operator[](uint32_t offset) const
    {
        return word_at(base, offset);
    }
};

template <uint32_t length> struct words_by_bytes {
    uint32_t words[length];
    __device__ const uint32_t &operator[](uint32_t offset) const
    {
        return word_at(words, offset);
    }
};

/* The table by value. */
template <uint32_t length> struct parameter_values {
    words_by_bytes<length> elements;
};

template <class Values> struct places {
    const uint32_t *table, *restricted;
    uint64_t texture;
    const Values &values;
};

/* Small tables have no probe: their load expressions only have to compile. */
static constexpr uint32_t copies = 1, mine = 0;
static constexpr const uint32_t *copied = nullptr, *held = nullptr;

template <class Element> static __device__ Element shuffled(Element own, uint32_t index)
{
    return __shfl_sync(UINT32_MAX, own, (int)index);
}

template <class table_element>
static __device__ table_element selected(const uint32_t *words, uint32_t index)
{
    return words[index];
}

static __device__ uint32_t permuted(const uint32_t *words, uint32_t index)
{
    return words[index];
}

#define PATH(name_, access, ...)                                                            \
    struct path_##name_ {                                                                   \
        typedef uint32_t table_element;                                                     \
        static constexpr struct path row = {.name = #name_, __VA_ARGS__};                   \
        static constexpr enum index_scope scope = row.scope;                                \
        static constexpr enum load_unit unit = row.unit;                                    \
        static constexpr uint32_t architecture = row.architecture;                          \
        static constexpr bool loads = row.loads && !row.lookups;                            \
        typedef parameter_values<                                                           \
            loads && row.home == TABLE_PARAMETER ? row.bytes / sizeof(uint32_t) : 1>        \
            table_values;                                                                   \
        static __device__ uint32_t load(const places<table_values> &place, uint32_t index)  \
        {                                                                                   \
            const bank_by_bytes cbank_values;                                               \
            const staged_by_bytes staged;                                                   \
            const pointer_by_bytes table = {place.table}, restricted = {place.restricted};  \
            const uint64_t texture = place.texture;                                         \
            const table_values &values = place.values;                                      \
                                                                                            \
            (void)cbank_values, (void)staged, (void)table, (void)restricted, (void)texture, \
                (void)values;                                                               \
            (void)index;                                                                    \
            if constexpr (loads)                                                            \
                return (access);                                                            \
            else                                                                            \
                return 0;                                                                   \
        }                                                                                   \
    };
#include "paths.def"

/* -- parts ------------------------------------------------------------------------------------- */

/* An addition in L2; L1 keeps nothing of it. atomicAdd would not do: a compiler sums over the warp
 * first. */
static __device__ void add(uint32_t *sum, uint32_t value)
{
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(sum), "r"(value) : "memory");
}

template <class Path> static __device__ void stage(const probe_args &args)
{
    if constexpr (Path::unit == UNIT_SHARED) {
        for (uint32_t i = threadIdx.x; i < args.staged_words; i += blockDim.x)
            probe_staged[i] = args.table[i];
        __syncthreads();
    }
}

/* The start of a lane. It hides the index from the compiler as kernels.cu does: it is a value of
 * the thread or of the block. */
template <class Path> static __device__ uint32_t lane_offset(const probe_args &args)
{
    return Path::scope == INDEX_THREAD
               ? args.start + threadIdx.x % CBANK_WARP_THREADS % args.distinct * args.stride
           : Path::scope == INDEX_BLOCK ? args.start
                                        : 0;
}

static __device__ void write_reading(struct probe_reading *readings, uint32_t begin, uint32_t end)
{
    if (threadIdx.x % CBANK_WARP_THREADS == 0)
        readings[(blockIdx.x * blockDim.x + threadIdx.x) / CBANK_WARP_THREADS] = {begin, end,
                                                                                  sm_id(), 1};
}

static __device__ uint64_t global_timer()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

static __device__ uint32_t nanoseconds()
{
    return (uint32_t)global_timer();
}

/* -- probes ------------------------------------------------------------------------------------ */

/* One thread, on the SM that is asked for. The second reading of the clock waits for the load,
 * since it follows a store of the loaded value. The loaded value leaves by an addition in L2; L1
 * keeps nothing of it. (Its address depends on the thread; otherwise a compiler sums over the warp
 * first.) */
template <class Path>
__global__ void __launch_bounds__(CBANK_WARP_THREADS)
    probe_chase(const CBANK_PARAMETER probe_args args, const uint32_t *__restrict__ restricted,
                const CBANK_PARAMETER typename Path::table_values values)
{
    const places<typename Path::table_values> place = {args.table, restricted, args.texture,
                                                       values};
    __shared__ volatile uint32_t arrived;
    const uint32_t lane_zero = threadIdx.x & args.zero;
    uint32_t *cycles = args.cycles + lane_zero;
    uint32_t offset = args.start + lane_zero;

    if (args.sm && (sm_id() + 1 != args.sm || atomicExch(args.taken, 1)))
        return;
    stage<Path>(args);
#pragma unroll 1
    for (uint32_t i = 0; i < args.warm_up; i++)
        offset = Path::load(place, offset);
    arrived = offset;
#pragma unroll 1
    for (uint32_t i = 0; i < args.timed; i++, cycles++) {
        uint32_t begin = 0, end = 0;

        /* The condition always holds. It keeps the compiler from reading the clock into a uniform
         * register, which takes longer. */
        if (!lane_zero)
            begin = clock_cycles();
        offset = Path::load(place, offset);
        arrived = offset;
        if (!lane_zero)
            end = clock_cycles();
        add(cycles, end - begin);
    }
    args.readings[0] = {0, offset, sm_id(), 1};
}

/* A branch on the loaded value ends a chain or a stream. Storing the value, or putting it into a
 * reading, would take ordinary registers, and a compiler would then give up the uniform ones. If
 * the value is not the one that the links lead to, there is no reading. Readings start after the
 * first iteration, which brings in the table and the instructions. */

template <class Path>
__global__ void __launch_bounds__(1024)
    probe_chain(const CBANK_PARAMETER probe_args args, const uint32_t *__restrict__ restricted,
                const CBANK_PARAMETER typename Path::table_values values)
{
    const places<typename Path::table_values> place = {args.table, restricted, args.texture,
                                                       values};
    uint32_t begin = 0, reached;

    stage<Path>(args);

    const uint32_t offset = lane_offset<Path>(args);

    reached = offset;
#pragma unroll 1
    for (uint32_t i = 0; i < args.iterations; i++) {
        if (i == 1)
            begin = clock_cycles();
#pragma unroll
        for (uint32_t k = 0; k < PROBE_LOADS; k++)
            reached = Path::load(place, reached);
    }
    if (reached != offset)
        return;

    const uint32_t end = clock_cycles();

    write_reading(args.readings, begin, end);
}

/* Loads at a lane's offset and at the PROBE_LOADS - 1 words after it. */
template <class Path>
__global__ void __launch_bounds__(1024)
    probe_stream(const CBANK_PARAMETER probe_args args, const uint32_t *__restrict__ restricted,
                 const CBANK_PARAMETER typename Path::table_values values)
{
    constexpr uint32_t word = Path::unit == UNIT_TEXTURE ? 1 : sizeof(uint32_t);
    const places<typename Path::table_values> place = {args.table, restricted, args.texture,
                                                       values};
    uint32_t begin = 0, sum = 0;

    stage<Path>(args);

    uint32_t offset = lane_offset<Path>(args);
    const uint32_t expected =
        args.iterations * (PROBE_LOADS * offset + PROBE_LOADS * (PROBE_LOADS - 1) / 2 * word);

    __syncthreads();
#pragma unroll 1
    for (uint32_t i = 0; i < args.iterations; i++, offset += args.zero) {
        if (i == 1)
            begin = clock_cycles();
#pragma unroll
        for (uint32_t k = 0; k < PROBE_LOADS; k++)
            sum += Path::load(place, offset + k * word);
    }
    if (sum != expected)
        return;

    const uint32_t end = clock_cycles();

    write_reading(args.readings, begin, end);
}

/* -- more than one bank ------------------------------------------------------------------------ */

/* Loads at `offset` of the bank, timed as in probe_chase, into *cycles. The address of *cycles
 * depends on the thread. */
static __device__ uint32_t timed_load(uint32_t offset, volatile uint32_t &arrived, uint32_t *cycles,
                                      uint32_t lane_zero)
{
    uint32_t begin = 0, end = 0, next;

    /* Forces the offset to be ready before the first reading of the clock. */
    asm volatile("" : "+r"(offset));
    if (!lane_zero)
        begin = clock_cycles();
    next = word_at(probe_bank, offset);
    arrived = next;
    if (!lane_zero)
        end = clock_cycles();
    add(cycles, end - begin);
    return next;
}

static __device__ uint32_t microseconds()
{
    return (uint32_t)(global_timer() / 1000);
}

/* The first SM on which every member has a block. It is sm_count where there is none, or where not
 * all of them arrive in time. */
static __device__ uint32_t meet(const probe_relay_args &args)
{
    const uint32_t begin = microseconds();
    uint32_t sm = 0;

    __threadfence();
    atomicAdd(args.arrived, 1);
    while (*(volatile uint32_t *)args.arrived < args.blocks)
        if (microseconds() - begin > args.wait_us)
            return args.sm_count;
    while (sm < args.sm_count &&
           ((volatile uint32_t *)args.present)[sm] != (1u << args.members) - 1)
        sm++;
    return sm;
}

/* Members that wait for their turn leave the SM to the one that loads. */
static __device__ void wait_a_little()
{
#if __CUDA_ARCH__ >= 700
    __nanosleep(500);
#endif
}

/* One thread of each block. */
extern "C" __global__ void probe_relay(const CBANK_PARAMETER probe_relay_args args)
{
    __shared__ volatile uint32_t arrived;
    const uint32_t lane_zero = threadIdx.x & args.zero;
    /* Per-thread values, so that the loops below read no parameters through the constant caches. */
    const uint32_t member = args.member + lane_zero, warm_up = args.warm_up + lane_zero;
    const uint32_t total = warm_up + args.timed;
    volatile uint64_t *const baton = args.baton + lane_zero;
    uint32_t *cycles = args.cycles + lane_zero;
    uint32_t made = 0, next = 0;

    asm volatile("" : "+l"(cycles));

    if (!args.members)
        return;

    const bool first = !(atomicOr(&args.present[sm_id()], 1u << args.member) >> args.member & 1);

    if (meet(args) != sm_id() || !first)
        return;
    while (made < total) {
        const uint64_t held = *baton;

        made = (uint32_t)(held >> 32);
        next = (uint32_t)held;
        if (made == total || next / CBANK_TABLE_BYTES != member) {
            wait_a_little();
            continue;
        }
#pragma unroll 1
        for (; made < warm_up && next / CBANK_TABLE_BYTES == member; made++) {
            next = word_at(probe_bank, next % CBANK_TABLE_BYTES);
            arrived = next;
        }
#pragma unroll 1
        for (; made >= warm_up && made < total && next / CBANK_TABLE_BYTES == member; made++)
            next =
                timed_load(next % CBANK_TABLE_BYTES, arrived, cycles + (made - warm_up), lane_zero);
        *baton = (uint64_t)made << 32 | next;
    }
    args.readings[args.member] = {0, next, sm_id(), 1};
}

/* -- streams ------------------------------------------------------------------------------------
 */

static __device__ uint32_t sum_of(uint32_t words)
{
    return words;
}

static __device__ uint32_t sum_of(uint2 words)
{
    return words.x + words.y;
}

static __device__ uint32_t sum_of(uint4 words)
{
    return words.x + words.y + words.z + words.w;
}

/* Reads what L1 keeps. Returns the sum of all words. The addresses of one iteration differ by
 * immediate offsets, and the next iteration adds zero: there is nothing to issue but loads and
 * sums. */
template <class Words>
static __device__ uint32_t read_near(const probe_transfer_args &args, uint32_t &begin)
{
    const Words *words = (const Words *)args.source + threadIdx.x % CBANK_WARP_THREADS;
    uint32_t sum = 0;

    __syncthreads();
#pragma unroll 1
    for (uint32_t i = 0; i < args.iterations; i++, words += args.zero) {
        if (i == 1)
            begin = clock_cycles();
#pragma unroll
        for (uint32_t k = 0; k < PROBE_TRANSFER_LOADS; k++)
            sum += sum_of(words[k * CBANK_WARP_THREADS]);
    }
    return sum;
}

/* Reads, or copies, tile after tile of this block. Returns the sum of all words, and how many tiles
 * there were. */
template <bool copies>
static __device__ uint32_t move_far(const probe_transfer_args &args, uint32_t &begin,
                                    uint32_t &tiles)
{
    const uint4 *const source = (const uint4 *)args.source + threadIdx.x;
    uint4 *const target = (uint4 *)args.target + threadIdx.x;
    const uint32_t all = (uint32_t)(args.bytes / PROBE_TRANSFER_TILE_BYTES);
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t i = 0; i < args.iterations; i++) {
        if (i == 1)
            begin = nanoseconds();
#pragma unroll 1
        for (uint32_t t = blockIdx.x; t < all; t += gridDim.x, tiles++) {
            const size_t first = (size_t)t * PROBE_TRANSFER_TILE * PROBE_TRANSFER_THREADS;
            uint4 words[PROBE_TRANSFER_TILE];

#pragma unroll
            for (uint32_t k = 0; k < PROBE_TRANSFER_TILE; k++)
                words[k] = __ldcg(source + first + k * PROBE_TRANSFER_THREADS);
#pragma unroll
            for (uint32_t k = 0; k < PROBE_TRANSFER_TILE; k++) {
                if (copies)
                    target[first + k * PROBE_TRANSFER_THREADS] = words[k];
                sum += sum_of(words[k]);
            }
        }
    }
    return sum;
}

/* A warp whose sum is wrong leaves no valid reading. */
extern "C" __global__ void __launch_bounds__(PROBE_TRANSFER_THREADS, 2)
    probe_transfer(const CBANK_PARAMETER probe_transfer_args args)
{
    uint32_t begin = 0, end, sum, tiles = 0;
    uint32_t words = args.iterations * PROBE_TRANSFER_LOADS * (args.width / 4);

    switch (args.width) {
    case 4:
        sum = read_near<uint32_t>(args, begin);
        break;
    case 8:
        sum = read_near<uint2>(args, begin);
        break;
    case 16:
        sum = read_near<uint4>(args, begin);
        break;
    default:
        sum =
            args.target ? move_far<true>(args, begin, tiles) : move_far<false>(args, begin, tiles);
        words = tiles * PROBE_TRANSFER_TILE * 4;
        break;
    }
    /* This also waits for the loads. */
    if (!__all_sync(UINT32_MAX, sum == words * args.word))
        return;
    end = args.width ? clock_cycles() : nanoseconds();
    write_reading(args.readings, begin, end);
}

/* -- instances --------------------------------------------------------------------------------- */

/* The probes of a path; none where the architecture lacks the path. An index that the compiler
 * knows depends on no load. */
template <class Path, bool can = Path::loads && architecture >= Path::architecture,
          bool follows = can && Path::scope != INDEX_IMMEDIATE>
struct instances {
    static constexpr const void *chase = (const void *)probe_chase<Path>;
    static constexpr const void *chain = (const void *)probe_chain<Path>;
    static constexpr const void *stream = (const void *)probe_stream<Path>;
};

template <class Path> struct instances<Path, true, false> {
    static constexpr const void *chase = nullptr, *chain = nullptr;
    static constexpr const void *stream = (const void *)probe_stream<Path>;
};

template <class Path> struct instances<Path, false, false> {
    static constexpr const void *chase = nullptr, *chain = nullptr, *stream = nullptr;
};

template <class Path> struct path_instances {
    static const void *const kernels[];
};

template <class Path>
const void *const path_instances<Path>::kernels[] = {instances<Path>::chase, instances<Path>::chain,
                                                     instances<Path>::stream};

#define PATH(name, access, ...) template struct path_instances<path_##name>;
#include "paths.def"
