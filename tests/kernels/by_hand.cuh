/* SPDX-License-Identifier: MIT
 *
 * Four kernels of examples/ written by hand in every memory space that fits, without cbank.cuh:
 * by_hand.cu and by_hand_nvbench.cu time them. Every output is compared with the CPU's at some
 * elements, and as a whole with that of the first memory space. Launches are on the stream of the
 * thread: nvcc -default-stream per-thread. Exit status: 1 an error of CUDA, or a wrong output. */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

enum { CHECKED = 999 };

#define TRY(call)                                                                            \
    do {                                                                                     \
        const cudaError_t error = call;                                                      \
        if (error != cudaSuccess)                                                            \
            fprintf(stderr, "by_hand: %s: %s\n", #call, cudaGetErrorString(error)), exit(1); \
    } while (0)

/* -- memory spaces: how a kernel gets its table, what it does first, and how it reads entry i -- */

/* Bytes that a constant table is aligned to: tables of several kernels are in one module here, and
 * where a table begins in a line of the cache counts. */
#define ALIGNED alignas(256)

template <class T, int count> struct value {
    T entries[count];
};

#define TABLE_constant(T, count) const T *
#define START_constant(T, count)
#define READ_constant(i) constant_table[i]

#define TABLE_global(T, count) const T *
#define START_global(T, count)
#define READ_global(i) table[i]

#define TABLE_readonly(T, count) const T *
#define START_readonly(T, count)
#define READ_readonly(i) __ldg(table + (i))

#define LANE (threadIdx.x + threadIdx.y * blockDim.x)
/* Of a large table, a thread loads four entries before it stores them. */
#define ALL (blockDim.x * blockDim.y)
#define COPY(T, count, to, copies)                                                            \
    {                                                                                         \
        unsigned k = LANE;                                                                    \
                                                                                              \
        if (count >= 1024)                                                                    \
            _Pragma("unroll 1") for (; k + 3 * ALL < count; k += 4 * ALL)                     \
            {                                                                                 \
                T four[4];                                                                    \
                                                                                              \
                _Pragma("unroll") for (unsigned n = 0; n < 4; n++) four[n] =                  \
                    table[(k + n * ALL) / copies];                                            \
                _Pragma("unroll") for (unsigned n = 0; n < 4; n++) to[k + n * ALL] = four[n]; \
            }                                                                                 \
        for (; k < count; k += ALL)                                                           \
            to[k] = table[k / copies];                                                        \
    }

#define TABLE_shared(T, count) const T *
#define START_shared(T, count) \
    __shared__ T copy[count];  \
    COPY(T, (count), copy, 1)  \
    __syncthreads();
#define READ_shared(i) copy[i]

#define COPIES(T, count) (32768 / (count * sizeof(T)) >= 32 ? 32 : 32768 / (count * sizeof(T)))

#define TABLE_shared_copies(T, count) const T *
#define START_shared_copies(T, count)       \
    enum { N = COPIES(T, count) };          \
    __shared__ T copies[count * N];         \
    COPY(T, (count * N), copies, N)         \
    const T *const own = copies + LANE % N; \
    __syncthreads();
#define READ_shared_copies(i) own[(i) * N]

#define TABLE_param(T, count) const __grid_constant__ value<T, count>
#define START_param(T, count)
#define READ_param(i) table.entries[i]

#define TABLE_texture(T, count) cudaTextureObject_t
#define START_texture(T, count) typedef T entry;
#define READ_texture(i)         tex1Dfetch<entry>(table, i)

#define TABLE_shuffle(T, count) const T *
#define START_shuffle(T, count) const T held = table[min(LANE % 32, count - 1)];
#define READ_shuffle(i)         __shfl_sync(~0u, held, i)

/* 16 entries of a byte are four words. */
#define TABLE_select(T, count) const T *
#define START_select(T, count)                                                           \
    const unsigned *const words = (const unsigned *)table, w0 = words[0], w1 = words[1], \
                          w2 = words[2], w3 = words[3];
__device__ unsigned selected(unsigned i, unsigned w0, unsigned w1, unsigned w2, unsigned w3)
{
    const unsigned low = i & 4 ? w1 : w0, high = i & 4 ? w3 : w2;

    return (i & 8 ? high : low) >> 8 * (i & 3);
}
#define READ_select(i) (signed char)selected(i, w0, w1, w2, w3)

#define TABLE_prmt(T, count) const T *
#define START_prmt(T, count) START_select(T, count)
__device__ unsigned permuted(unsigned i, unsigned w0, unsigned w1, unsigned w2, unsigned w3)
{
    const unsigned low = __byte_perm(w0, w1, i), high = __byte_perm(w2, w3, i);

    return i & 8 ? high : low;
}
#define READ_prmt(i) (signed char)permuted(i, w0, w1, w2, w3)

/* -- data -------------------------------------------------------------------------------------- */

__host__ __device__ static unsigned long long bits(unsigned long long seed, unsigned long long i)
{
    unsigned long long x = seed * 0x9E3779B97F4A7C15ull + i * 0xD1B54A32D192ED03ull + 1;

    x = (x ^ x >> 31) * 0x7FB5D329728EA185ull;
    x = (x ^ x >> 27) * 0x81DADEF4BC2DD44Dull;
    return x ^ x >> 33;
}

template <class F> __global__ void fill_with(decltype(F()(0)) *to, size_t count, F f)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = f(i);
}

/* Contents of buffers. */
struct random_byte {
    __host__ __device__ unsigned char operator()(size_t i)
    {
        return (unsigned char)bits(1, i);
    }
};
struct random_part {
    __host__ __device__ float operator()(size_t i)
    {
        return (float)(bits(2, i) >> 40) / 16777216.0f;
    }
};
struct normal_codes { /* of 4 bits: the highest of the three bits of a magnitude is mostly 0 */
    __host__ __device__ unsigned operator()(size_t i)
    {
        return (unsigned)(bits(3, i) & (bits(4, i) | 0xBBBBBBBBu));
    }
};
struct exponent {
    __host__ __device__ unsigned char operator()(size_t i)
    {
        return (unsigned char)(120 + bits(5, i) % 8);
    }
};

/* Buffers of a kernel: one allocation of each. */
struct set {
    void *in[3], *out, *table;
    cudaTextureObject_t texture;
};

template <class F> static void make(void **buffer, size_t count)
{
    typedef decltype(F()(0)) T;

    TRY(cudaMalloc(buffer, count * sizeof(T)));
    fill_with<<<1024, 256>>>((T *)*buffer, count, F());
    TRY(cudaGetLastError());
}

/* -- kernels ----------------------------------------------------------------------------------- */

namespace crc32
{
typedef unsigned entry;
typedef unsigned element;
enum { COUNT = 256 };
static const size_t sizes[] = {1 << 17, 1 << 20};
ALIGNED __constant__ entry constant_table[COUNT];

#define CRC32(space)                                                                       \
    __global__ void space(TABLE_##space(entry, COUNT) table, const unsigned char *text,    \
                          unsigned *crc, unsigned records)                                 \
    {                                                                                      \
        const unsigned record = blockIdx.x * blockDim.x + threadIdx.x;                     \
        unsigned state = ~0u;                                                              \
        START_##space(entry, COUNT) if (record >= records) return;                         \
        for (unsigned i = 0; i < 64; i++)                                                  \
            state = READ_##space((state ^ text[i * records + record]) & 255) ^ state >> 8; \
        crc[record] = ~state;                                                              \
    }
/* clang-format off */
CRC32(constant)
CRC32(global)
CRC32(readonly)
CRC32(shared)
CRC32(shared_copies)
CRC32(param)
CRC32(texture)
/* clang-format on */

static size_t outputs(size_t size)
{
    return size;
}
static entry entry_at(unsigned i)
{
    for (int bit = 0; bit < 8; bit++)
        i = i & 1 ? i >> 1 ^ 0xEDB88320u : i >> 1;
    return i;
}
static void fill(set *s, size_t size)
{
    make<random_byte>(&s->in[0], 64 * size);
}
static double expected(size_t size, size_t record)
{
    unsigned state = ~0u;

    for (size_t i = 0; i < 64; i++) {
        state ^= random_byte()(i * size + record);
        for (int bit = 0; bit < 8; bit++)
            state = state & 1 ? state >> 1 ^ 0xEDB88320u : state >> 1;
    }
    return ~state;
}
template <class K, class T> static void launch(K kernel, T table, const set *s, size_t size)
{
    kernel<<<(unsigned)((size + 255) / 256), 256>>>(table, (const unsigned char *)s->in[0],
                                                    (unsigned *)s->out, (unsigned)size);
}
} // namespace crc32

namespace fp4_matvec
{
typedef signed char entry;
typedef float element;
enum { COUNT = 16, COLUMNS = 4096 };
static const size_t sizes[] = {4096, 65536};
ALIGNED __constant__ entry constant_table[COUNT];

#define FP4_MATVEC(space)                                                                    \
    __global__ void space(TABLE_##space(entry, COUNT) table, const unsigned *codes,          \
                          const unsigned char *exponents, const uint2 *x, float *y,          \
                          unsigned columns)                                                  \
    {                                                                                        \
        const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;                          \
        float sum = 0;                                                                       \
        START_##space(entry, COUNT) for (unsigned i = threadIdx.x; i < columns / 8; i += 32) \
        {                                                                                    \
            const unsigned code = codes[row * columns / 8 + i];                              \
            const uint2 bytes = x[i];                                                        \
            int part = 0;                                                                    \
            for (unsigned j = 0; j < 8; j++)                                                 \
                part += READ_##space(code >> 4 * j & 15) *                                   \
                        (signed char)((j < 4 ? bytes.x : bytes.y) >> 8 * (j % 4));           \
            sum += ldexpf((float)part, exponents[row * columns / 32 + i / 4] - 128);         \
        }                                                                                    \
        for (unsigned lanes = 16; lanes > 0; lanes /= 2)                                     \
            sum += __shfl_xor_sync(~0u, sum, lanes);                                         \
        if (threadIdx.x == 0)                                                                \
            y[row] = sum;                                                                    \
    }
/* clang-format off */
FP4_MATVEC(constant)
FP4_MATVEC(global)
FP4_MATVEC(readonly)
FP4_MATVEC(shared)
FP4_MATVEC(shared_copies)
FP4_MATVEC(param)
FP4_MATVEC(texture)
FP4_MATVEC(shuffle)
FP4_MATVEC(select)
FP4_MATVEC(prmt)
/* clang-format on */

static size_t outputs(size_t size)
{
    return size;
}
static entry entry_at(unsigned i)
{
    const signed char magnitudes[] = {0, 1, 2, 3, 4, 6, 8, 12};

    return i < 8 ? magnitudes[i] : -magnitudes[i - 8];
}
static void fill(set *s, size_t size)
{
    make<normal_codes>(&s->in[0], size * COLUMNS / 8);
    make<exponent>(&s->in[1], size * COLUMNS / 32);
    make<random_byte>(&s->in[2], COLUMNS);
}
static double expected(size_t, size_t row)
{
    double sum = 0;

    for (size_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++)
        sum += entry_at(normal_codes()(i / 8) >> i % 8 * 4 & 15) *
               ldexp((signed char)random_byte()(i % COLUMNS), exponent()(i / 32) - 128);
    return sum;
}
template <class K, class T> static void launch(K kernel, T table, const set *s, size_t size)
{
    kernel<<<(unsigned)size / 4, dim3(32, 4)>>>(table, (const unsigned *)s->in[0],
                                                (const unsigned char *)s->in[1],
                                                (const uint2 *)s->in[2], (float *)s->out, COLUMNS);
}
} // namespace fp4_matvec

namespace pq_scan
{
typedef float entry;
typedef float element;
enum { COUNT = 8 * 256 };
static const size_t sizes[] = {1 << 18, 1 << 22};
ALIGNED __constant__ entry constant_table[COUNT];

#define PQ_SCAN(space)                                                                           \
    __global__ void space(TABLE_##space(entry, COUNT) table, const uint2 *codes, float *out,     \
                          unsigned vectors)                                                      \
    {                                                                                            \
        START_##space(entry, COUNT) for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x;     \
                                         i < vectors; i += gridDim.x * blockDim.x)               \
        {                                                                                        \
            const uint2 code = codes[i];                                                         \
            float sum = 0;                                                                       \
            for (unsigned m = 0; m < 8; m++)                                                     \
                sum += READ_##space(256 * m + ((m < 4 ? code.x : code.y) >> 8 * (m % 4) & 255)); \
            out[i] = sum;                                                                        \
        }                                                                                        \
    }
/* clang-format off */
PQ_SCAN(constant)
PQ_SCAN(global)
PQ_SCAN(readonly)
PQ_SCAN(shared)
PQ_SCAN(shared_copies)
PQ_SCAN(param)
PQ_SCAN(texture)
/* clang-format on */

static size_t outputs(size_t size)
{
    return size;
}
static entry entry_at(unsigned i)
{
    return random_part()(i);
}
static void fill(set *s, size_t size)
{
    make<random_byte>(&s->in[0], 8 * size);
}
static double expected(size_t, size_t i)
{
    double sum = 0;

    for (size_t m = 0; m < 8; m++)
        sum += entry_at((unsigned)(256 * m + random_byte()(8 * i + m)));
    return sum;
}
template <class K, class T> static void launch(K kernel, T table, const set *s, size_t size)
{
    const unsigned blocks = (unsigned)std::min<size_t>((size + 255) / 256, 1024);

    kernel<<<blocks, 256>>>(table, (const uint2 *)s->in[0], (float *)s->out, (unsigned)size);
}
} // namespace pq_scan

namespace convolution_rows
{
typedef float entry;
typedef float element;
enum { COUNT = 17, RADIUS = 8, WIDTH = 4096 };
static const size_t sizes[] = {256, 4096};
ALIGNED __constant__ entry constant_table[COUNT];

#define CONVOLUTION_ROWS(space)                                                             \
    __global__ void space(TABLE_##space(entry, COUNT) table, const float *in, float *out)   \
    {                                                                                       \
        __shared__ float tile[4][64 + 2 * RADIUS];                                          \
        const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;      \
        float sum = 0;                                                                      \
        START_##space(entry, COUNT) for (int i = threadIdx.x; i < 64 + 2 * RADIUS; i += 64) \
            tile[threadIdx.y][i] =                                                          \
                in[y * WIDTH + min(max(x - (int)threadIdx.x + i - RADIUS, 0), WIDTH - 1)];  \
        __syncthreads();                                                                    \
        _Pragma("unroll") for (int k = 0; k <= 2 * RADIUS; k++) sum +=                      \
            READ_##space(k) * tile[threadIdx.y][threadIdx.x + k];                           \
        out[y * WIDTH + x] = sum;                                                           \
    }
/* clang-format off */
CONVOLUTION_ROWS(constant)
CONVOLUTION_ROWS(global)
CONVOLUTION_ROWS(readonly)
CONVOLUTION_ROWS(shared)
CONVOLUTION_ROWS(shared_copies)
CONVOLUTION_ROWS(param)
CONVOLUTION_ROWS(texture)
CONVOLUTION_ROWS(shuffle)
/* clang-format on */

static size_t outputs(size_t size)
{
    return size * WIDTH;
}
static entry entry_at(unsigned i)
{
    return 0.1329808f * expf(-((int)i - 8) * ((int)i - 8) / 18.0f);
}
static void fill(set *s, size_t size)
{
    make<random_part>(&s->in[0], size * WIDTH);
}
static double expected(size_t, size_t i)
{
    double sum = 0;

    for (int k = 0; k < COUNT; k++) {
        const int x = std::clamp((int)(i % WIDTH) + k - RADIUS, 0, WIDTH - 1);

        sum += (double)entry_at(k) * random_part()(i - i % WIDTH + x);
    }
    return sum;
}
template <class K, class T> static void launch(K kernel, T table, const set *s, size_t size)
{
    kernel<<<dim3(WIDTH / 64, (unsigned)size / 4), dim3(64, 4)>>>(table, (const float *)s->in[0],
                                                                  (float *)s->out);
}
} // namespace convolution_rows

/* -- launches, by kernel and memory space ------------------------------------------------------ */

struct variant {
    const char *space;
    void (*launch)(const set *s, size_t size);
};

struct kernel {
    const char *name;
    const size_t *sizes;
    size_t table_bytes;
    bool floats; /* the output: otherwise unsigned integers; both of 4 bytes */
    void (*write_table)(void *to);
    size_t (*outputs)(size_t size);
    void (*fill)(set *s, size_t size);
    double (*expected)(size_t size, size_t i);
    cudaChannelFormatDesc format;
    std::vector<variant> variants;
};

template <class T, int count> static value<T, count> parameter;

#define LAUNCH(kernel_, space, argument)                                                          \
    variant                                                                                       \
    {                                                                                             \
        #space,                                                                                   \
            [](const set *s, size_t size) { kernel_::launch(kernel_::space, argument, s, size); } \
    }
#define POINTER(kernel_, space) LAUNCH(kernel_, space, (const kernel_::entry *)s->table)
#define COMMON(kernel_)                                                               \
    POINTER(kernel_, constant), POINTER(kernel_, global), POINTER(kernel_, readonly), \
        POINTER(kernel_, shared), POINTER(kernel_, shared_copies),                    \
        LAUNCH(kernel_, texture, s->texture)
#define PARAMETER(kernel_) LAUNCH(kernel_, param, (parameter<kernel_::entry, kernel_::COUNT>))
#define KERNEL(kernel_, ...)                                               \
    kernel                                                                 \
    {                                                                      \
        #kernel_, kernel_::sizes, sizeof(kernel_::entry) * kernel_::COUNT, \
            std::is_same<kernel_::element, float>::value,                  \
            [](void *to) {                                                 \
                for (unsigned i = 0; i < kernel_::COUNT; i++)              \
                    ((kernel_::entry *)to)[i] = kernel_::entry_at(i);      \
                parameter<kernel_::entry, kernel_::COUNT> =                \
                    *(value<kernel_::entry, kernel_::COUNT> *)to;          \
                TRY(cudaMemcpyToSymbol(kernel_::constant_table, to,        \
                                       sizeof(kernel_::constant_table)));  \
            },                                                             \
            kernel_::outputs, kernel_::fill, kernel_::expected,            \
            cudaCreateChannelDesc<kernel_::entry>(),                       \
        {                                                                  \
            COMMON(kernel_), __VA_ARGS__                                   \
        }                                                                  \
    }

static std::vector<kernel> kernels()
{
    return {
        KERNEL(crc32, PARAMETER(crc32)),
        KERNEL(fp4_matvec, PARAMETER(fp4_matvec), POINTER(fp4_matvec, shuffle),
               POINTER(fp4_matvec, select), POINTER(fp4_matvec, prmt)),
        KERNEL(pq_scan, PARAMETER(pq_scan)),
        KERNEL(convolution_rows, PARAMETER(convolution_rows), POINTER(convolution_rows, shuffle)),
    };
}

static void open(set *s, const kernel &k, size_t size, const void *values)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};

    k.fill(s, size);
    TRY(cudaMalloc(&s->out, k.outputs(size) * 4));
    TRY(cudaMalloc(&s->table, k.table_bytes));
    TRY(cudaMemcpy(s->table, values, k.table_bytes, cudaMemcpyDefault));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = s->table;
    resource.res.linear.desc = k.format;
    resource.res.linear.sizeInBytes = k.table_bytes;
    TRY(cudaCreateTextureObject(&s->texture, &resource, &description, nullptr));
}

static void close(set *s)
{
    TRY(cudaDestroyTextureObject(s->texture));
    for (void *buffer : {s->in[0], s->in[1], s->in[2], s->out, s->table})
        TRY(cudaFree(buffer));
}

static void wrong(const kernel &k, const variant &v, size_t i, double got, double wanted)
{
    fprintf(stderr, "by_hand: %s, %s: element %zu is %.9g and not %.9g\n", k.name, v.space, i, got,
            wanted);
    exit(1);
}

/* Launches once and compares: with the CPU's output at some elements, and with all of the output
 * before. */
static void check(const kernel &k, const variant &v, const set *s, size_t size,
                  std::vector<unsigned> *before)
{
    std::vector<unsigned> out(k.outputs(size));

    TRY(cudaMemset(s->out, 0xff, out.size() * sizeof(out[0])));
    v.launch(s, size);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(out.data(), s->out, out.size() * sizeof(out[0]), cudaMemcpyDefault));
    for (size_t n = 0; n < CHECKED; n++) {
        const size_t i = bits(9, n) % out.size();
        const double wanted = k.expected(size, i);
        float as_float;

        memcpy(&as_float, &out[i], sizeof(as_float));
        const double got = k.floats ? (double)as_float : (double)out[i];
        if (!(fabs(got - wanted) <= (k.floats ? 1e-4 * fabs(wanted) + 0.05 : 0)))
            wrong(k, v, i, got, wanted);
    }
    if (before->empty())
        *before = out;
    for (size_t i = 0; i < out.size(); i++)
        if ((*before)[i] != out[i])
            wrong(k, v, i, out[i], (*before)[i]);
}
