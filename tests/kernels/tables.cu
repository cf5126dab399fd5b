/* SPDX-License-Identifier: MIT
 * Kernels that read tables of cbank.cuh, and the same kernels written by hand; header.py compares
 * their instructions.
 *
 * SPACE is the memory space. ROWS are the tables: ROW(suffix, entry type, count), the count a power
 * of two. With BY_HAND, the file has the kernels by hand, else those by the header: SHAPE_SUFFIX
 * for each shape and row. With DYNAMIC, shared memory is dynamic. With OTHER_INDEX, kernels by hand
 * read another entry. */
#ifndef BY_HAND
#include <cbank.cuh>
#endif

struct bytes_12 {
    float x, y, z;
};
struct bytes_24 {
    double x, y, z;
};
struct bytes_32 {
    float4 x, y;
};
struct mixed {
    int number;
    char letter;
};

/* The first bytes of an entry. */
template <class Entry> static __device__ unsigned word_of(Entry from)
{
    unsigned word = 0;

    memcpy(&word, &from, sizeof(from) < sizeof(word) ? sizeof(from) : sizeof(word));
    return word;
}

/* -- memory spaces by hand: the declaration, the parameter and the staging of table k, and its
 * entry i  */

#define DECLARE_constant(k)   __constant__ entry constant_##k[count];
#define PARAMETER_constant(k) char nothing_##k
#define STAGE_constant(k)
#define READ_constant(k, i) constant_##k[i]

#define DECLARE_global(k)
#define PARAMETER_global(k) const entry *global_##k
#define STAGE_global(k)
#ifdef OTHER_INDEX
#define READ_global(k, i) global_##k[(i) ^ 1]
#else
#define READ_global(k, i) global_##k[i]
#endif

#define DECLARE_readonly(k)
#define PARAMETER_readonly(k) const entry *readonly_##k
#define STAGE_readonly(k)
#define READ_readonly(k, i) __ldg(&readonly_##k[i])

#define DECLARE_shared(k)
#define PARAMETER_shared(k) const entry *from_##k
#ifdef DYNAMIC
#define SHARED(k) extern __shared__ entry shared_##k[];
#else
#define SHARED(k) __shared__ entry shared_##k[count];
#endif
/* A thread loads four entries before it stores them, if there are many. */
#define COPY(total, to, from, copies)                                                           \
    {                                                                                           \
        unsigned place = threadIdx.x;                                                           \
                                                                                                \
        if (total >= 1024)                                                                      \
            _Pragma("unroll 1") for (; place + 3 * blockDim.x < total; place += 4 * blockDim.x) \
            {                                                                                   \
                entry four[4];                                                                  \
                                                                                                \
                _Pragma("unroll") for (unsigned n = 0; n < 4; n++) four[n] =                    \
                    from[(place + n * blockDim.x) / copies];                                    \
                _Pragma("unroll") for (unsigned n = 0; n < 4; n++) to[place + n * blockDim.x] = \
                    four[n];                                                                    \
            }                                                                                   \
        for (; place < total; place += blockDim.x)                                              \
            to[place] = from[place / copies];                                                   \
        __syncthreads();                                                                        \
    }
#define STAGE_shared(k) \
    SHARED(k)           \
    COPY(count, shared_##k, from_##k, 1)
#define READ_shared(k, i) shared_##k[i]

/* The table begins at a line of 128 bytes. */
#ifdef DYNAMIC
#define LINES(k)                                       \
    extern __shared__ __align__(128) char lines_##k[]; \
    entry *const shared_##k = (entry *)lines_##k;
#define BARRIER(k) ((unsigned long long *)(lines_##k + sizeof(entry) * count))
#else
#define LINES(k)                                                           \
    __shared__ __align__(128) char lines_##k[sizeof(entry) * count + 128]; \
    entry *const shared_##k = (entry *)lines_##k;
#define BARRIER(k) ((unsigned long long *)(lines_##k + sizeof(entry) * count))
#endif
static __device__ __forceinline__ unsigned place_of(const void *memory)
{
    return (unsigned)__cvta_generic_to_shared(memory);
}
static __device__ __forceinline__ void copy_16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place_of(to)),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
}
#define DECLARE_shared_async(k)
#define PARAMETER_shared_async(k) const entry *from_##k
#define STAGE_shared_async(k)                                                                   \
    LINES(k)                                                                                    \
    {                                                                                           \
        const unsigned all = 16 * blockDim.x, bytes = sizeof(entry) * count;                    \
        unsigned place = 16 * threadIdx.x;                                                      \
                                                                                                \
        if (bytes >= 16384)                                                                     \
            _Pragma("unroll 1") for (; place + 3 * all < bytes; place += 4 * all) _Pragma(      \
                "unroll") for (unsigned n = 0; n < 4; n++)                                      \
                copy_16(lines_##k + place + n * all, (const char *)from_##k + place + n * all); \
        for (; place < bytes; place += all)                                                     \
            copy_16(lines_##k + place, (const char *)from_##k + place);                         \
        asm volatile("cp.async.wait_all;" ::: "memory");                                        \
        __syncthreads();                                                                        \
    }
#define READ_shared_async(k, i) shared_##k[i]

#define DECLARE_shared_bulk(k)
#define PARAMETER_shared_bulk(k) const entry *from_##k
#define STAGE_shared_bulk(k)                                                \
    LINES(k)                                                                \
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)                     \
        copy_whole(BARRIER(k), lines_##k, from_##k, sizeof(entry) * count); \
    __syncthreads();                                                        \
    await_whole(BARRIER(k));
#define READ_shared_bulk(k, i) shared_##k[i]
static __device__ __forceinline__ void copy_whole(const void *barrier, void *to, const void *from,
                                                  unsigned bytes)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\t"
                 "fence.mbarrier_init.release.cluster;\n\t"
                 "fence.proxy.async.shared::cta;\n\t"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %3;\n\t"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%1], [%2], %3, [%0];" ::"r"(place_of(barrier)),
                 "r"(place_of(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}
static __device__ __forceinline__ void await_whole(const void *barrier)
{
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "wait:\n\t"
                 "mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n\t"
                 "@!done bra wait;\n\t}" ::"r"(place_of(barrier))
                 : "memory");
}

/* The parameter has room for what the thread holds, as a table has: parameters behind it are where
 * they are there. */
#define DECLARE_shared_copies(k)                               \
    enum {                                                     \
        most_##k = 32768 / sizeof(entry) / count,              \
        copies_##k = most_##k < 32 ? most_##k & -most_##k : 32 \
    };                                                         \
    struct pointer_##k {                                       \
        const entry *from;                                     \
        unsigned room;                                         \
    };
#define PARAMETER_shared_copies(k) pointer_##k copies_of_##k
#define STAGE_shared_copies(k)                         \
    __shared__ entry shared_##k[count * copies_##k];   \
    const unsigned own_##k = threadIdx.x % copies_##k; \
    COPY(count *copies_##k, shared_##k, copies_of_##k.from, copies_##k)
#define READ_shared_copies(k, i) shared_##k[(i) * copies_##k + own_##k]

#define DECLARE_param(k)     \
    struct values_##k {      \
        entry values[count]; \
    };
#define PARAMETER_param(k) const __grid_constant__ values_##k param_##k
#define STAGE_param(k)
#define READ_param(k, i) param_##k.values[i]

#define DECLARE_texture(k)
#define PARAMETER_texture(k) cudaTextureObject_t texture_##k
#define STAGE_texture(k)
#define READ_texture(k, i) tex1Dfetch<entry>(texture_##k, i)

#define DECLARE_shuffle(k) \
    struct pointer_##k {   \
        const entry *from; \
        entry room;        \
    };
#define PARAMETER_shuffle(k) pointer_##k shuffle_##k
#define STAGE_shuffle(k)     const entry own_##k = shuffle_##k.from[threadIdx.x % count];
#define READ_shuffle(k, i)   __shfl_sync(0xFFFFFFFF, own_##k, i)

#define DECLARE_select(k)  \
    struct pointer_##k {   \
        const entry *from; \
        entry room[4];     \
    };
#define PARAMETER_select(k) pointer_##k select_##k
#define STAGE_select(k)                                                     \
    const entry one_##k = select_##k.from[0], two_##k = select_##k.from[1]; \
    const entry three_##k = select_##k.from[2], four_##k = select_##k.from[3];
#define READ_select(k, i) select_of(i, one_##k, two_##k, three_##k, four_##k)
template <class entry>
static __device__ __forceinline__ entry select_of(unsigned i, entry first, entry second,
                                                  entry third, entry fourth)
{
    const entry low = i & 1 ? second : first, high = i & 1 ? fourth : third;

    return i & 2 ? high : low;
}

#define DECLARE_prmt(k)       \
    struct pointer_##k {      \
        const unsigned *from; \
        unsigned room[2];     \
    };
#define PARAMETER_prmt(k) pointer_##k prmt_##k
#define STAGE_prmt(k)     const unsigned one_##k = prmt_##k.from[0], two_##k = prmt_##k.from[1];
#define READ_prmt(k, i)   (entry) __byte_perm(one_##k, two_##k, i)

/* -- by the header ----------------------------------------------------------------------------- */

#define DECLARE_table(k) \
    namespace            \
    {                    \
    struct tag_##k {     \
    };                   \
    }
#define PARAMETER_table(k) cbank::table<entry, count, cbank::SPACE, tag_##k> table_##k
#define STAGE_table(k)     table_##k.stage();
#define READ_table(k, i)   table_##k[i]

/* -- shapes ------------------------------------------------------------------------------------ */

#define KERNEL(name) extern "C" __global__ void name

/* One element a thread. */
#define LOOKUP(suffix, SPACE)                                                          \
    KERNEL(lookup_##suffix)(PARAMETER_##SPACE(a), const int *index, entry *out, int n) \
    {                                                                                  \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                           \
                                                                                       \
        STAGE_##SPACE(a) if (i < n)                                                    \
        {                                                                              \
            const entry read = READ_##SPACE(a, index[i] & (count - 1));                \
                                                                                       \
            out[i] = read;                                                             \
        }                                                                              \
    }

/* A grid that strides, with lookups that wait for the one before. */
#define CHAIN(suffix, SPACE)                                                                \
    KERNEL(chain_##suffix)(PARAMETER_##SPACE(a), const unsigned char *text, unsigned *out,  \
                           unsigned n)                                                      \
    {                                                                                       \
        STAGE_##SPACE(a) for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n;    \
                              i += gridDim.x * blockDim.x)                                  \
        {                                                                                   \
            unsigned value = ~0u;                                                           \
                                                                                            \
            for (unsigned k = 0; k < 64; k++)                                               \
                value = word_of(READ_##SPACE(a, (value ^ text[k * n + i]) & (count - 1))) ^ \
                        value >> 8;                                                         \
            out[i] = value;                                                                 \
        }                                                                                   \
    }

/* A loop of unknown length, with neighbours, and a store in it. */
#define NEIGHBOURS(suffix, SPACE)                                                             \
    KERNEL(neighbours_##suffix)(PARAMETER_##SPACE(a), const int *index, unsigned *out, int n) \
    {                                                                                         \
        STAGE_##SPACE(a) for (int k = 0; k < n; k++)                                          \
        {                                                                                     \
            const int i = index[k * blockDim.x + threadIdx.x] & (count - 4);                  \
                                                                                              \
            out[k * blockDim.x + threadIdx.x] =                                               \
                word_of(READ_##SPACE(a, i)) + word_of(READ_##SPACE(a, i + 1)) * 3;            \
        }                                                                                     \
    }

/* Two tables. */
#define TWO(suffix, SPACE)                                                             \
    KERNEL(two_##suffix)(PARAMETER_##SPACE(b), PARAMETER_##SPACE(c), const int *index, \
                         unsigned *out)                                                \
    {                                                                                  \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                           \
                                                                                       \
        STAGE_##SPACE(b) STAGE_##SPACE(c) const unsigned read =                        \
            word_of(READ_##SPACE(b, index[i] & (count - 1)));                          \
                                                                                       \
        out[i] = read + word_of(READ_##SPACE(c, read & (count - 1)));                  \
    }

#ifdef DYNAMIC
#define TABLES(suffix, SPACE) \
    DECLARE_##SPACE(a) LOOKUP(suffix, SPACE) CHAIN(suffix, SPACE) NEIGHBOURS(suffix, SPACE)
#else
#define TABLES(suffix, SPACE)                                                      \
    DECLARE_##SPACE(a) DECLARE_##SPACE(b) DECLARE_##SPACE(c) LOOKUP(suffix, SPACE) \
        CHAIN(suffix, SPACE) NEIGHBOURS(suffix, SPACE) TWO(suffix, SPACE)
#endif
#define TABLES_OF(suffix, SPACE) TABLES(suffix, SPACE)
#ifdef BY_HAND
#define ROW_TABLES(suffix) TABLES_OF(suffix, SPACE)
#else
#define ROW_TABLES(suffix) TABLES_OF(suffix, table)
#endif
#define ROW(suffix, type, number) \
    namespace row_##suffix        \
    {                             \
        typedef type entry;       \
        enum { count = number };  \
        ROW_TABLES(suffix)        \
    }
ROWS
