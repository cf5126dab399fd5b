/* SPDX-License-Identifier: MIT
 * Kernels of which compilers make as many opcodes of machine code as there are in
 * harness/code/opcodes.def: tests/kernels/decoder.py holds the decoder against a disassembler by
 * them. They compute nothing of use. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#define KERNEL extern "C" __global__ void

/* -- integers ---------------------------------------------------------------------------------- */

KERNEL integers(int *out, const int *in, int n, unsigned u)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], y = in[i + n];

    out[i] = abs(x) + __clz(y) + __popc(x) + __brev(y) + __ffs(x);
    out[i + 1] = min(x, y) + max(x, n) + (int)min((unsigned)x, u) + (int)max((unsigned)y, u);
    out[i + 2] = min(max(x, y), n) + max(min(x, n), y) + max(max(x, y), n);
    out[i + 3] = __byte_perm(x, y, n) + __funnelshift_l(x, y, n) + __funnelshift_rc(x, y, y);
    out[i + 4] = __mulhi(x, y) + (int)__umulhi(x, u) + __mul24(x, y) + __sad(x, y, n);
    out[i + 5] = x / n + x % (n + 1) + (int)((unsigned)y / u);
    out[i + 6] = __dp4a(x, y, n) + __dp2a_lo(x, y, n);
    out[i + 7] = __vabsdiffu4(x, y) + __vaddss2(x, y) + __vmaxs2(x, y) + __vcmpeq4(x, y);
    out[i + 8] = (x >> (y & 31)) + (int)((unsigned)x << (n & 31)) + (x << 3) + y;
    out[i + 9] = (x & y) ^ (n | ~x);
    out[i + 10] = (signed char)x + (short)y + (unsigned char)(x >> 8);
}

KERNEL wide_integers(long long *out, const long long *in, long long n, int m)
{
    const int i = threadIdx.x;
    const long long x = in[i], y = in[i + m];

    out[i] = x + y - n;
    out[i + 1] = x * y + n;
    out[i + 2] = x < y ? x : n;
    out[i + 3] = min(x, y) + max(x, n) + llabs(y);
    out[i + 4] = x << (m & 63);
    out[i + 5] = (x >> (m & 63)) + (long long)((unsigned long long)y >> m);
    out[i + 6] = __mul64hi(x, y) + (long long)__umul64hi(x, y);
    out[i + 7] = x / n + y % n;
    out[i + 8] = (x & y) ^ (n | ~x);
    out[i + 9] = __clzll(x) + __popcll(y) + __ffsll(n) + (long long)__brevll(x);
    out[i + 10] = x == y || y > n ? x - 3 : y;
    if (x >= y && y != n)
        out[i + 11] = (long long)((unsigned long long)x < (unsigned long long)n);
}

KERNEL carries(unsigned *out, const unsigned *in)
{
    unsigned a = in[0 + threadIdx.x], b = in[1 + threadIdx.x], c = in[2 + threadIdx.x], d;

    asm("add.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    asm("addc.cc.u32 %0, %1, %2;" : "=r"(a) : "r"(b), "r"(c));
    asm("addc.u32 %0, %1, %2;" : "=r"(b) : "r"(c), "r"(c));
    out[threadIdx.x] = d;
    out[threadIdx.x + 1] = a;
    out[threadIdx.x + 2] = b;
    asm("sub.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    asm("subc.cc.u32 %0, %1, %2;" : "=r"(a) : "r"(b), "r"(c));
    asm("subc.u32 %0, %1, %2;" : "=r"(b) : "r"(c), "r"(d));
    asm("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    asm("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(a) : "r"(b), "r"(c), "r"(d));
    asm("madc.hi.u32 %0, %1, %2, %3;" : "=r"(c) : "r"(b), "r"(c), "r"(d));
    out[threadIdx.x + 3] = d;
    out[threadIdx.x + 4] = a;
    out[threadIdx.x + 5] = c;
}

/* -- numbers with a point ---------------------------------------------------------------------- */

KERNEL singles(float *out, const float *in, float n, int m)
{
    const int i = threadIdx.x;
    const float x = in[i], y = in[i + m];

    out[i] = x + y;
    out[i + 1] = x * y;
    out[i + 2] = fmaf(x, y, n) + fmaf(x, 2.0f, y);
    out[i + 3] = fminf(x, y) + fmaxf(x, n) + fabsf(y);
    out[i + 4] = x > y ? x : n;
    out[i + 5] = sinf(x) + __expf(y) + rsqrtf(x) + __logf(y) + __sinf(n) + tanhf(x);
    out[i + 6] = x / y + sqrtf(x);
    out[i + 7] = floorf(x) + rintf(y) + ceilf(n);
    out[i + 8] = (float)(int)x + (float)m + (float)(unsigned)y + (float)(long long)x;
    out[i + 9] = copysignf(x, y) + (x < n) + (float)(x == y && n > 2);
    out[i + 10] = x < y || y < n ? 1.0f : -x;
    out[i + 11] = __int2float_rn(__float2int_rd(x)) + __saturatef(y);
    out[i + 12] = fmaxf(fmaxf(x, y), n);
    out[i + 13] = (float)(short)in[i + 1] + (float)(unsigned char)m;
}

KERNEL doubles(double *out, const double *in, double n, int m)
{
    const int i = threadIdx.x;
    const double x = in[i], y = in[i + m];

    out[i] = x + y;
    out[i + 1] = x * y;
    out[i + 2] = fma(x, y, n);
    out[i + 3] = fmin(x, y) + fmax(x, n);
    out[i + 4] = x > y ? x : n;
    out[i + 5] = x / y + sqrt(x) + rint(y);
    out[i + 6] = (double)(int)x + (double)(float)y + (double)(long long)n + m;
    out[i + 7] = (float)x;
    out[i + 8] = fma(x, n, n) + fma(n, x, 2.0) + (x + n) * n;
}

KERNEL halves(__half2 *out, const __half2 *in, __half2 n, __half *single)
{
    const int i = threadIdx.x;
    const __half2 x = in[i], y = in[i + 1];

    out[i] = __hadd2(x, y);
    out[i + 1] = __hmul2(x, y);
    out[i + 2] = __hfma2(x, y, n);
    out[i + 3] = __hgt2(x, y);
    single[i] = __hlt(__low2half(x), __high2half(y)) ? __low2half(x) : __high2half(n);
    single[i + 1] = __float2half(__half2float(single[i + 9]));
    single[i + 2] = __hmax(__low2half(x), __high2half(y));
    single[i + 3] = __int2half_rn(__half2int_rn(single[i + 5])) + hexp(single[i + 6]);
    out[i + 4] = __floats2half2_rn(__low2float(x), __high2float(y));
#if __CUDA_ARCH__ >= 800
    out[i + 5] = __hmax2(x, y);
    out[i + 6] = __hfma2_relu(x, y, n);
    const __nv_bfloat162 b = __floats2bfloat162_rn(__low2float(x), __high2float(y));
    out[i + 7] = __hadd2(x, *(const __half2 *)&b);
    ((__nv_bfloat162 *)out)[i + 8] = __hfma2(b, b, b);
#endif
}

/* -- memory ------------------------------------------------------------------------------------ */

__constant__ int numbers[64];
__constant__ float4 quads[16];

KERNEL loads(int *out, const int *in, const unsigned char *bytes, const short *shorts, int n)
{
    __shared__ int shared[256];
    __shared__ float4 shared_quads[16];
    const int i = threadIdx.x;
    int local[32];

    shared[i] = in[i] + numbers[i & 63] + numbers[n] + numbers[3];
    shared_quads[i & 15] = quads[i & 15];
    for (int k = 0; k < 32; k++)
        local[k] = in[k + n];
    __syncthreads();
    out[i] = shared[i ^ n] + (int)shared_quads[n & 15].y + local[shared[n] & 31];
    out[i + 1] = bytes[i] + ((const signed char *)bytes)[i + n] + shorts[i] + shorts[n];
    *(int2 *)&out[2 * i] = *(const int2 *)&in[2 * i];
    *(int4 *)&out[4 * i] = *(const int4 *)&in[4 * i + 4];
    out[i + 3] = __ldg(&in[i]) + __ldcg(&in[i + 1]) + __ldcs(&in[i + 2]);
    out[i + 4] = *(volatile const int *)&in[i] + *(volatile int *)&shared[i];
    ((unsigned char *)out)[i] = bytes[n];
    if (n > 4)
        out[i + 5] = in[i + n] + in[blockIdx.x];
    __stcs(&out[i + 7], n);
}

KERNEL generic(int *out, int *in, int n)
{
    __shared__ int shared[64];
    int *const from = n > 3 ? &shared[n] : in;

    shared[threadIdx.x & 63] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = from[threadIdx.x & 31];
    from[threadIdx.x] = n;
    *(int2 *)&from[2 * threadIdx.x] = *(int2 *)&out[2 * n];
    atomicAdd(from, n);
    out[1] = atomicAdd(from + n, 3) + atomicCAS(from, n, 2);
    *(unsigned long long *)out = atomicCAS((unsigned long long *)from, 1ull, (unsigned long long)n);
}

KERNEL atomics(int *out, int *counter, float *sum, unsigned long long *wide, double *doubles, int n)
{
    __shared__ int shared[32];
    __shared__ unsigned long long shared_wide[4];
    const int i = threadIdx.x;

    out[i] = atomicAdd(&counter[i], n) + atomicMax(&counter[i + 1], n) + atomicExch(counter, n);
    out[i + 1] = atomicCAS(&counter[i & 3], n, i) + atomicAnd(&counter[2], i);
    atomicAdd(&sum[i], 1.5f);
    atomicOr(&counter[i & 7], n);
    out[i + 2] = (int)atomicAdd(&wide[i], 3ull) + (int)atomicCAS(&wide[n], 3ull, 1ull * i);
    atomicAdd(&doubles[i], 2.0);
    out[i + 3] = (int)atomicAdd(&doubles[i + 1], 2.0);
    out[i + 4] = atomicAdd(&shared[i & 31], n) + atomicCAS(&shared[n & 31], i, n);
    atomicMin(&shared[3], i);
    out[i + 5] = (int)atomicCAS(&shared_wide[n & 3], 1ull, 1ull * i) +
                 (int)atomicExch(&shared_wide[i & 3], 3ull);
    out[i + 6] = atomicInc((unsigned *)&counter[5], 7);
    atomicAdd((__half2 *)&sum[i + 4], __half2half2(__float2half(1.0f)));
}

KERNEL images(float4 *out, cudaTextureObject_t texture, cudaSurfaceObject_t surface, float x, int n)
{
    const int i = threadIdx.x;

    out[i] = tex2D<float4>(texture, x * i, x);
    out[i + 1] = tex1Dfetch<float4>(texture, i);
    out[i + 2] = tex3D<float4>(texture, x, x * i, x + i);
    out[i + 3] = tex2DLod<float4>(texture, x, x * i, x + i);
    out[i + 4] = tex2DGrad<float4>(texture, x, x * i, make_float2(x, i), make_float2(i, x));
    out[i + 5] = tex2Dgather<float4>(texture, x, x * i, 1);
    out[i + 6].x = tex1Dfetch<float>(texture, n) + tex2DLayered<float>(texture, x, x * i, i);
    out[i + 7] = surf2Dread<float4>(surface, 16 * i, n);
    out[i + 8].x = surf1Dread<float>(surface, 4 * i) + surf3Dread<float>(surface, i, n, i);
    surf2Dwrite(out[i + 9], surface, 16 * i, n);
    unsigned width;
    asm("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(texture));
    out[i + 10].y = width;
    out[i + 11] = texCubemap<float4>(texture, x, x * i, i);
}

/* -- warps and blocks -------------------------------------------------------------------------- */

KERNEL warps(int *out, const int *in, int n)
{
    const int i = threadIdx.x, x = in[i];
    int found;

    out[i] = __shfl_sync(~0u, x, n) + __shfl_xor_sync(~0u, x, 4) + __shfl_up_sync(~0u, x, x & 3);
    out[i + 1] = __shfl_down_sync(~0u, x, 1, 16) + __shfl_sync(~0u, x, i ^ 1, n);
    out[i + 2] = (int)__ballot_sync(~0u, x > n) + __any_sync(~0u, x == 3) + __all_sync(~0u, x < i);
    out[i + 3] = (int)__match_any_sync(~0u, x) + (int)__match_all_sync(~0u, x, &found) + found;
    out[i + 4] = (int)__activemask();
    out[i + 5] = __syncthreads_count(x > n) + __syncthreads_or(x) + __syncthreads_and(x & 4);
    if (x & 1)
        out[i + 6] = __shfl_sync(__activemask(), x, 3);
    __syncwarp(x);
    out[i + 7] = (int)__ballot_sync(n, x == 0);
    out[i + 8] = (int)__match_any_sync(n, 1ll * x);
#if __CUDA_ARCH__ >= 800
    out[i + 9] =
        (int)__reduce_add_sync(~0u, x) + __reduce_min_sync(n, x) + (int)__reduce_xor_sync(~0u, x);
#endif
    asm volatile("bar.sync %0, %1;" ::"r"(n & 7), "r"(n));
    asm volatile("barrier.sync %0;" ::"r"(n & 3));
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    out[i + 10] = (int)clock() + (int)clock64() + (int)blockIdx.y + (int)gridDim.x;
    unsigned special;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(special));
    out[i + 11] = special;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(special));
    out[i + 12] = special;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(special));
    out[i + 13] = special + __isGlobal(out + n);
    __nanosleep(100);
    if (n == 17)
        __trap();
    if (n == 18)
        __brkpt();
    asm volatile("pmevent 3;");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
}

KERNEL matrices(float *out, const __half *a, const __half *b, const signed char *c, int *sums)
{
    using namespace nvcuda::wmma;
    __shared__ __half tile[256];
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, col_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;

    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    load_matrix_sync(left, tile, 16);
    load_matrix_sync(right, b, 16);
    fill_fragment(sum, 0.0f);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(out, sum, 16, mem_row_major);
#if __CUDA_ARCH__ >= 720
    fragment<matrix_a, 16, 16, 16, signed char, row_major> bytes_left;
    fragment<matrix_b, 16, 16, 16, signed char, col_major> bytes_right;
    fragment<accumulator, 16, 16, 16, int> bytes_sum;
    load_matrix_sync(bytes_left, c, 16);
    load_matrix_sync(bytes_right, c, 16);
    fill_fragment(bytes_sum, 0);
    mma_sync(bytes_sum, bytes_left, bytes_right, bytes_sum);
    store_matrix_sync(sums, bytes_sum, 16, mem_row_major);
#endif
#if __CUDA_ARCH__ >= 750
    int parts[4];
    const unsigned address = (unsigned)__cvta_generic_to_shared(&tile[8 * threadIdx.x]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"(address));
    sums[threadIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
#endif
#if __CUDA_ARCH__ >= 800
    double d[2] = {1.0 * out[1], 2.0};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(1.0 * out[3]), "d"(1.0 * out[4]));
    out[threadIdx.x] = d[0] + d[1];
#endif
}

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
KERNEL copies(int *out, const int *in, int n)
{
    __shared__ int shared[256];
    __shared__ unsigned long long barrier;
    const unsigned to = (unsigned)__cvta_generic_to_shared(&shared[4 * threadIdx.x % 256]),
                   barrier_address = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned long long state;

    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 4 * threadIdx.x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(in + threadIdx.x),
                 "r"(n));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier_address), "r"(n));
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(barrier_address));
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(barrier_address));
    unsigned done;
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier_address), "l"(state));
    out[threadIdx.x] = shared[threadIdx.x ^ 1] + done;
}
#endif

#if __CUDACC_VER_MAJOR__ >= 12 && (__CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__))
KERNEL clusters(int *out, const int *in, int n)
{
    __shared__ int shared[256];
    __shared__ unsigned long long barrier;
    const unsigned to = (unsigned)__cvta_generic_to_shared(&shared[0]),
                   barrier_address = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned remote, value;

    shared[threadIdx.x] = in[threadIdx.x];
    asm volatile("barrier.cluster.arrive;");
    asm volatile("barrier.cluster.wait;");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(to), "r"(n));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote));
    out[threadIdx.x] = value;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(to),
                 "l"(in), "r"(n), "r"(barrier_address));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_address),
                 "r"(n));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(to),
                 "r"(n));
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;");
    asm volatile("{.reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p;}"
                 : "=r"(value)
                 : "r"(n));
    out[threadIdx.x + 1] = value;
    unsigned done;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, "
                 "0, p;}"
                 : "=r"(done)
                 : "r"(barrier_address), "r"(n & 1));
    out[threadIdx.x + 2] = done;
    asm volatile("fence.proxy.async;");
    asm volatile("griddepcontrol.wait;");
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(value));
}
#endif

/* -- control flow ------------------------------------------------------------------------------ */

typedef int function(int);
__device__ int twice(int x)
{
    return 2 * x;
}
__device__ __noinline__ int thrice(int x)
{
    return 3 * x + numbers[x & 7];
}
__device__ function *functions[] = {twice, thrice};

KERNEL calls(int *out, const int *in, int n)
{
    const int i = threadIdx.x;
    out[i] = functions[n & 1](in[i]) + functions[in[i] & 1](n) + thrice(in[i + 1]);
    switch (in[i + 2]) {
    case 0:
        out[i + 1] = 4;
        break;
    case 1:
        out[i + 1] = numbers[i];
        break;
    case 2:
        out[i + 2] = in[n];
        break;
    case 3:
        out[i + 3] = n;
        break;
    case 4:
        out[i + 4] = in[i] * n;
        break;
    case 5:
        out[i + 5] = in[i] + n;
        break;
    case 6:
        out[i + 6] = in[i] - n;
        break;
    default:
        out[i + 7] = 2;
    }
    switch (n) {
    case 0:
        out[i + 1] += 4;
        break;
    case 1:
        out[i + 1] += numbers[i];
        break;
    case 2:
        out[i + 2] += in[n];
        break;
    case 3:
        out[i + 3] += n;
        break;
    case 4:
        out[i + 4] += in[i] * n;
        break;
    case 5:
        out[i + 5] += in[i] + n;
        break;
    case 6:
        out[i + 6] += in[i] - n;
        break;
    default:
        out[i + 7] += 2;
    }
    while (in[i + n] > out[i]) {
        if (in[i] == out[i + 9])
            break;
        out[i] += in[i];
    }
}

/* -- the uniform registers --------------------------------------------------------------------- */

KERNEL uniforms(int *out, const int *in, int n, unsigned m, float f, long long w)
{
    int sum = 0;

    for (int k = n; k < (int)m; k += 3) {
        const int a = k * n + (int)(m >> 3), b = min(k, n) ^ (k << 4), c = a > b ? a : n;

        sum += in[a] + in[b & 1023] + in[c] + in[(k & 1 ? a : b) & 15];
        if (k % 7 == 3 && (a & 2 || n > 6))
            sum += numbers[k & 63];
    }
    out[blockIdx.x] = sum;
    out[blockIdx.x * n + blockIdx.y] = __popc(n) + __clz(m) + __brev(n) + abs(n);
    out[blockIdx.x + 2] = (int)(n * f) + max(n, (int)m) + (int)__umulhi(m, n);
    out[blockIdx.x + 3] = (int)(w * n >> 3) + (w > n ? n : 5) + (w + m < 7);
    out[blockIdx.x + 4] = __byte_perm(n, m, 0x3210 + n) + (signed char)n;
    out[blockIdx.x + 5] = (int)(f + n) + (f > 2.0f ? n : 4) + (int)floorf(f);
}
