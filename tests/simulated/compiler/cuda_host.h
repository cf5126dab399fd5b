/* SPDX-License-Identifier: MIT
 * The part of CUDA C++ that kernel files need, for the host's compiler: see nvcc beside it. A
 * thread of a block waits in the simulated GPU (user_kernel.c), for its block or for its warp. All
 * blocks of a launch run one after the other on one thread of the host, so atomics are plain. */
#ifndef CUDA_HOST_H
#define CUDA_HOST_H

#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS /* those of C alone: kernel files are compiled often */
#include <math.h>
#include <stdlib.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <stdint.h>
#include <string.h>

#define __host__
#define __device__
#define __global__ __attribute__((visibility("protected"), noinline)) /* the mark of a kernel */
#define __constant__ \
    __attribute__((visibility("protected"))) /* and of a variable of the constant bank */
#define __shared__ thread_local
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

/* -- types ------------------------------------------------------------------------------------- */

#define SIMULATED_VECTOR(type, name, align)                       \
    struct name##1                                                \
    {                                                             \
        type x;                                                   \
    };                                                            \
    struct alignas(2 * sizeof(type)) name##2                      \
    {                                                             \
        type x, y;                                                \
    };                                                            \
    struct name##3                                                \
    {                                                             \
        type x, y, z;                                             \
    };                                                            \
    struct alignas(align * sizeof(type)) name##4                  \
    {                                                             \
        type x, y, z, w;                                          \
    };                                                            \
    inline name##1 make_##name##1(type x)                         \
    {                                                             \
        return {x};                                               \
    }                                                             \
    inline name##2 make_##name##2(type x, type y)                 \
    {                                                             \
        return {x, y};                                            \
    }                                                             \
    inline name##3 make_##name##3(type x, type y, type z)         \
    {                                                             \
        return {x, y, z};                                         \
    }                                                             \
    inline name##4 make_##name##4(type x, type y, type z, type w) \
    {                                                             \
        return {x, y, z, w};                                      \
    }
SIMULATED_VECTOR(signed char, char, 4)
SIMULATED_VECTOR(unsigned char, uchar, 4)
SIMULATED_VECTOR(short, short, 4)
SIMULATED_VECTOR(unsigned short, ushort, 4)
SIMULATED_VECTOR(int, int, 4)
SIMULATED_VECTOR(unsigned, uint, 4)
SIMULATED_VECTOR(long long, longlong, 2)
SIMULATED_VECTOR(unsigned long long, ulonglong, 2)
SIMULATED_VECTOR(float, float, 4)
SIMULATED_VECTOR(double, double, 2)
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
typedef unsigned long long cudaTextureObject_t;

/* -- the thread that runs (user_kernel.h) ------------------------------------------------------ */

extern "C" {
struct simulated_thread {
    uint3 thread_index, block_index;
    dim3 block_size, grid_size;
};
extern struct simulated_thread simulated_now;
/* Waits for the block: how many of its threads gave a nonzero value. */
unsigned simulated_barrier(int value);
/* Waits for the threads of a mask: their values, by lane; *present are the lanes that have one. */
const unsigned long long *simulated_exchange(unsigned mask, unsigned long long value,
                                             unsigned *present);
unsigned simulated_lane(void);
/* An element of a texture; NULL beyond its end, or where its elements have another size. */
const void *simulated_fetch(unsigned long long texture, int index, size_t bytes);
[[noreturn]] void simulated_trap(void);
}

#define threadIdx (simulated_now.thread_index)
#define blockIdx  (simulated_now.block_index)
#define blockDim  (simulated_now.block_size)
#define gridDim   (simulated_now.grid_size)
#define warpSize  32

/* The size of the module in memory: offsets of constants are addresses in it. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

inline void __syncthreads()
{
    simulated_barrier(0);
}
inline int __syncthreads_count(int value)
{
    return (int)simulated_barrier(value);
}
inline int __syncthreads_or(int value)
{
    return simulated_barrier(value) > 0;
}
inline int __syncthreads_and(int value)
{
    return simulated_barrier(!value) == 0;
}
inline void __threadfence()
{
}
inline void __threadfence_block()
{
}
inline void __trap()
{
    simulated_trap();
}
inline void __nanosleep(unsigned)
{
}
inline long long clock64()
{
    return 0;
}

/* -- warps ------------------------------------------------------------------------------------- */

template <class T> T simulated_shuffle(unsigned mask, T value, unsigned lane)
{
    unsigned long long bits = 0;
    unsigned present;
    static_assert(sizeof(T) <= sizeof(bits), "shuffles take 8 bytes");

    memcpy(&bits, &value, sizeof(value));
    const unsigned long long *const all = simulated_exchange(mask, bits, &present);
    if (present >> lane & 1)
        memcpy(&value, &all[lane], sizeof(value));
    return value;
}

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32)
{
    const unsigned lane = simulated_lane(), inside = (unsigned)width - 1;

    return simulated_shuffle(mask, value, (lane & ~inside) | ((unsigned)source & inside));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned lane = simulated_lane(), inside = (unsigned)width - 1;

    return simulated_shuffle(mask, value, (lane & inside) < by ? lane : lane - by);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned lane = simulated_lane(), inside = (unsigned)width - 1;

    return simulated_shuffle(mask, value, (lane & inside) + by > inside ? lane : lane + by);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    const unsigned lane = simulated_lane(), partner = lane ^ (unsigned)with;

    return simulated_shuffle(mask, value,
                             partner / (unsigned)width > lane / (unsigned)width ? lane : partner);
}
inline unsigned __ballot_sync(unsigned mask, int value)
{
    unsigned present, ballot = 0;
    const unsigned long long *const all = simulated_exchange(mask, value != 0, &present);

    for (unsigned lane = 0; lane < 32; lane++)
        ballot |= present >> lane & 1 ? (unsigned)all[lane] << lane : 0;
    return ballot;
}
inline int __any_sync(unsigned mask, int value)
{
    return __ballot_sync(mask, value) != 0;
}
inline int __all_sync(unsigned mask, int value)
{
    return __ballot_sync(mask, !value) == 0;
}
inline void __syncwarp(unsigned mask = ~0u)
{
    __ballot_sync(mask, 0);
}
inline unsigned __activemask()
{
    return ~0u;
}

/* -- atomics ----------------------------------------------------------------------------------- */

#define SIMULATED_ATOMIC(name, expression)                  \
    template <class T, class V> T name(T *address, V given) \
    {                                                       \
        const T old = *address, value = (T)given;           \
                                                            \
        (void)value;                                        \
        *address = (T)(expression);                         \
        return old;                                         \
    }
SIMULATED_ATOMIC(atomicAdd, old + value)
SIMULATED_ATOMIC(atomicSub, old - value)
SIMULATED_ATOMIC(atomicMin, old < value ? old : value)
SIMULATED_ATOMIC(atomicMax, old > value ? old : value)
SIMULATED_ATOMIC(atomicAnd, old &value)
SIMULATED_ATOMIC(atomicOr, old | value)
SIMULATED_ATOMIC(atomicXor, old ^ value)
SIMULATED_ATOMIC(atomicExch, value)
SIMULATED_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
template <class T, class V, class W> T atomicCAS(T *address, V expected, W value)
{
    const T old = *address;

    *address = old == (T)expected ? (T)value : old;
    return old;
}

/* -- loads and integers ------------------------------------------------------------------------ */

template <class T> T __ldg(const T *address)
{
    return *address;
}
template <class T> T __ldcg(const T *address)
{
    return *address;
}
template <class T> T __ldcs(const T *address)
{
    return *address;
}

template <class T> T tex1Dfetch(cudaTextureObject_t texture, int index)
{
    const void *const element = simulated_fetch(texture, index, sizeof(T));

    return element ? *(const T *)element : T{};
}

inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned result = 0;

    for (unsigned i = 0; i < 4; i++)
        result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x)
{
    unsigned result = 0;

    for (unsigned i = 0; i < 32; i++)
        result |= (x >> i & 1) << (31 - i);
    return result;
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}
inline int __mulhi(int a, int b)
{
    return (int)((long long)a * b >> 32);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
inline int __dp4a(int a, int b, int c)
{
    for (unsigned i = 0; i < 4; i++)
        c += (int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
    return c;
}

/* -- asynchronous copies ----------------------------------------------------------------------- *
 * They are made when their thread, or the barrier that counts them, is waited for: a kernel that
 * does not wait reads what was there before. */

struct simulated_copy {
    uintptr_t key; /* 1 + the number of the thread, or the barrier */
    void *to;
    const void *from;
    unsigned bytes;
};
enum { SIMULATED_COPIES_MAX = 16384 }; /* a block's shared memory has room for fewer units */
inline thread_local struct simulated_copy simulated_copies[SIMULATED_COPIES_MAX];
inline thread_local unsigned simulated_copy_count;

inline void simulated_begin(struct simulated_copy copy)
{
    if (((uintptr_t)copy.to | (uintptr_t)copy.from | copy.bytes) % 16 || !copy.bytes)
        simulated_trap();
    if (simulated_copy_count < SIMULATED_COPIES_MAX)
        simulated_copies[simulated_copy_count++] = copy;
}
inline void simulated_make(uintptr_t key)
{
    unsigned left = 0;

    for (unsigned i = 0; i < simulated_copy_count; i++) {
        const struct simulated_copy copy = simulated_copies[i];

        if (copy.key == key)
            memcpy(copy.to, copy.from, copy.bytes);
        else
            simulated_copies[left++] = copy;
    }
    simulated_copy_count = left;
}
inline uintptr_t simulated_thread_number()
{
    return threadIdx.x + (uintptr_t)blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

namespace cbank
{
inline void copy_unit(void *to, const void *from)
{
    simulated_begin({1 + simulated_thread_number(), to, from, 16});
}
inline void wait_for_units()
{
    simulated_make(1 + simulated_thread_number());
}
inline void copy_bulk(uint64_t *barrier, void *to, const void *from, unsigned bytes)
{
    simulated_begin({(uintptr_t)barrier, to, from, bytes});
}
inline void wait_for_bulk(uint64_t *barrier)
{
    simulated_make((uintptr_t)barrier);
}
} // namespace cbank

/* -- floats ------------------------------------------------------------------------------------ */

#define SIMULATED_CAST(name, to, from)     \
    inline to name(from value)             \
    {                                      \
        to bits;                           \
                                           \
        memcpy(&bits, &value, sizeof(to)); \
        return bits;                       \
    }
SIMULATED_CAST(__float_as_int, int, float)
SIMULATED_CAST(__float_as_uint, unsigned, float)
SIMULATED_CAST(__int_as_float, float, int)
SIMULATED_CAST(__uint_as_float, float, unsigned)
SIMULATED_CAST(__double_as_longlong, long long, double)
SIMULATED_CAST(__longlong_as_double, double, long long)
inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}
inline float __saturatef(float x)
{
    return fminf(fmaxf(x, 0), 1);
}
#define SIMULATED_OPERATION(name, operation) \
    inline float name(float a, float b)      \
    {                                        \
        return a operation b;                \
    }
SIMULATED_OPERATION(__fdividef, /)
SIMULATED_OPERATION(__fmul_rn, *)
SIMULATED_OPERATION(__fadd_rn, +)
SIMULATED_OPERATION(__fsub_rn, -)
inline float __frcp_rn(float x)
{
    return 1 / x;
}
inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
inline float __powf(float x, float y)
{
    return powf(x, y);
}
/* The faster functions, of one number. */
#define SIMULATED_FAST(name)       \
    inline float __##name(float x) \
    {                              \
        return name(x);            \
    }
SIMULATED_FAST(expf)
SIMULATED_FAST(logf)
SIMULATED_FAST(log2f)
SIMULATED_FAST(sinf)
SIMULATED_FAST(cosf)
inline int __float2int_rn(float x)
{
    return (int)rintf(x);
}
inline int __float2int_rd(float x)
{
    return (int)floorf(x);
}
inline int __float2int_rz(float x)
{
    return (int)x;
}
inline float __int2float_rn(int x)
{
    return (float)x;
}
inline float __uint2float_rn(unsigned x)
{
    return (float)x;
}

#define SIMULATED_MINMAX(type)      \
    inline type min(type a, type b) \
    {                               \
        return a < b ? a : b;       \
    }                               \
    inline type max(type a, type b) \
    {                               \
        return a > b ? a : b;       \
    }
SIMULATED_MINMAX(int)
SIMULATED_MINMAX(unsigned)
SIMULATED_MINMAX(long)
SIMULATED_MINMAX(unsigned long)
SIMULATED_MINMAX(long long)
SIMULATED_MINMAX(unsigned long long)
SIMULATED_MINMAX(float)
SIMULATED_MINMAX(double)

/* -- launches ---------------------------------------------------------------------------------- */

/* How a host build calls the kernel: host_launch of a report points to it. */
struct simulated_kernel {
    void (*kernel)();
    void (*call)(void (*kernel)(), void **arguments);
    uint64_t count;
    const uint64_t *bytes; /* of each argument */
};

template <uint64_t... i> struct simulated_numbers {
};
template <uint64_t count, uint64_t... i>
struct simulated_numbers_below : simulated_numbers_below<count - 1, count - 1, i...> {
};
template <uint64_t... i> struct simulated_numbers_below<0, i...> {
    typedef simulated_numbers<i...> type;
};

template <class... Parameters> struct simulated_caller {
    template <uint64_t... i>
    static void call_by(void (*kernel)(), void **arguments, simulated_numbers<i...>)
    {
        ((void (*)(Parameters...))kernel)(*(Parameters *)arguments[i]...);
    }
    static void call(void (*kernel)(), void **arguments)
    {
        call_by(kernel, arguments, typename simulated_numbers_below<sizeof...(Parameters)>::type());
    }
    static simulated_kernel *caller(void (*kernel)(Parameters...))
    {
        static const uint64_t bytes[] = {sizeof(Parameters)..., 0};
        static simulated_kernel made;

        made = {(void (*)())kernel, call, sizeof...(Parameters), bytes};
        return &made;
    }
};

#endif
