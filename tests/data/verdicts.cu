// SPDX-License-Identifier: MIT
// Kernels whose tables have a known verdict of `cbank advise --kernel`. A line `// verdict:` before
// a kernel says of a table: its name (of shared memory, the number of its row; of local memory and
// of parameters, -), the memory, the verdict, and the better path or -.
#define KERNEL(name) extern "C" __global__ void name
#define OWN          (blockIdx.x * blockDim.x + threadIdx.x)
#define ROLLED       _Pragma("unroll 1")

__constant__ float c[1024];
__constant__ float small[32];

// A loop of 32 addresses, and in it another of one address, which may be rare.
// verdict: c constant depends shared
KERNEL(rare_loop_inside)(float *out, int n, int m)
{
    float sum = 0;

    ROLLED for (int i = 0; i < n; i++)
    {
        sum += c[(threadIdx.x & 31) + (i & 15) * 32];
        if (sum > 1e30f)
            ROLLED for (int k = 0; k < m; k++) sum -= c[k & 1023] * sum * 0.5f;
    }
    out[threadIdx.x] = sum;
}

// The same addresses in both loops.
// verdict: c constant faster-elsewhere shared
KERNEL(both_loops)(float *out, int n, int m)
{
    float sum = 0;

    ROLLED for (int i = 0; i < n; i++)
    {
        sum += c[(threadIdx.x & 31) + (i & 15) * 32];
        ROLLED for (int k = 0; k < m; k++) sum *= c[(threadIdx.x & 31) + (k & 15) * 32];
    }
    out[threadIdx.x] = sum;
}

// A copy into shared memory would itself be a load for each that it saves.
// verdict: c constant faster-elsewhere global
KERNEL(once_without_a_loop)(float *out, const float *x)
{
    out[OWN] = x[OWN] * c[threadIdx.x];
}

// A warp holds 32 words in registers, where each shuffle costs what a load from shared memory does.
// verdict: small constant faster-elsewhere shuffle
KERNEL(warp_holds_it)(float *out, const float *x, int n)
{
    float sum = 0;

    ROLLED for (int i = 0; i < n; i++) sum += x[i] * small[(threadIdx.x & 7) + (i & 3) * 8];
    out[OWN] = sum;
}

// verdict: c constant as-it-should-be -
KERNEL(once_before_a_loop)(float *out, const float *x, int n)
{
    const float mine = c[threadIdx.x & 31];

    ROLLED for (int i = 0; i < n; i++) out[i * 1024 + OWN] = x[i * 1024 + OWN] * mine;
}

// Sixteen loads are more than one, though no loop is around them.
// verdict: c constant faster-elsewhere shared
KERNEL(often_before_a_loop)(float *out, const float *x, int n)
{
    float mine = 0;

#pragma unroll
    for (int k = 0; k < 16; k++)
        mine = mine * 3 + c[(threadIdx.x & 31) + k * 32];
    ROLLED for (int i = 0; i < n; i++) out[i * 1024 + OWN] = x[i * 1024 + OWN] * mine;
}

// The loop copies data into shared memory, and works on them.
// verdict: c constant as-it-should-be -
KERNEL(once_before_a_loop_of_tiles)(float *out, const float *x, int n)
{
    __shared__ float tile[1024];
    const float mine = c[threadIdx.x & 31];

    ROLLED for (int i = 0; i < n; i++)
    {
        tile[threadIdx.x] = x[i * 1024 + OWN];
        __syncthreads();
        out[i * 1024 + OWN] = tile[threadIdx.x ^ 1] * mine;
        __syncthreads();
    }
}

// The loop does nothing but copy the table: what is read behind it counts.
// verdict: c constant faster-elsewhere shared
KERNEL(copied_and_read)(float *out, int n)
{
    __shared__ float copy[1024];

    ROLLED for (int k = threadIdx.x; k < 1024; k += 64) copy[k] = c[k];
    __syncthreads();
    out[OWN] = copy[n] + c[threadIdx.x / 4];
}

// verdict: small constant as-it-should-be -
KERNEL(once_then_shuffled)(float *out, const int *x)
{
    out[OWN] = __shfl_sync(~0u, small[threadIdx.x & 31], x[OWN]);
}

// The loop of the library, for large angles, reads no table but its own.
// verdict: c constant faster-elsewhere global
KERNEL(once_beside_a_sine)(float *out, const float *x)
{
    out[OWN] = sinf(x[OWN]) * c[threadIdx.x];
}

// Each round reads the table again.
// verdict: small constant faster-elsewhere shuffle
KERNEL(shuffled_in_a_loop)(float *out, const int *x, int n)
{
    float sum = 0;

    ROLLED for (int i = 0; i < n; i++) sum +=
        __shfl_sync(~0u, small[(threadIdx.x & 7) + (i & 3) * 8], x[i]);
    out[OWN] = sum;
}

// One address in the loop; before it each thread reads once what data say.
// verdict: c constant as-it-should-be -
KERNEL(data_before_the_loop)(float *out, const int *q, const float *x, int n)
{
    float sum = c[q[threadIdx.x] & 63];

    ROLLED for (int i = 0; i < n; i++) sum += c[i & 63] * x[i * 32 + threadIdx.x];
    out[threadIdx.x] = sum;
}

struct two {
    float together[64], apart[64];
};

// Of one row, the loads of one array are at one address and those of the other at what data say.
// verdict: - param cannot-tell -
KERNEL(two_arrays_of_parameters)(const __grid_constant__ two p, const int *q, float *out, int n)
{
    float sum = 0;

    ROLLED for (int i = 0; i < n; i++)
    {
        sum += p.together[i & 63];
        sum += p.apart[q[i * 32 + threadIdx.x] & 63];
    }
    out[threadIdx.x] = sum;
}

// -- shared memory

// Entries of 16 bytes take 4 wavefronts at best, a word for all threads takes 1.
// verdict: 0 shared as-it-should-be -
// verdict: 1 shared as-it-should-be -
KERNEL(wide_rows_and_a_word)(float *out, const float4 *x, int n)
{
    __shared__ float4 rows[1024];
    __shared__ float words[64];
    volatile float *word = words;
    float sum = 0;

    rows[threadIdx.x] = x[threadIdx.x];
    words[threadIdx.x & 63] = x[threadIdx.x].y;
    __syncthreads();
    ROLLED for (int i = 0; i < n; i++)
    {
        const float4 row = rows[(threadIdx.x & 31) + (i & 31) * 32];

        sum += word[i & 63] * (row.x + row.y * row.z + row.w);
    }
    out[threadIdx.x] = sum;
}

// Every second word: two threads in each bank. The wide rows beside it hide nothing.
// verdict: 0 shared as-it-should-be -
// verdict: 1 shared bank-conflicts -
KERNEL(wide_rows_and_every_second_word)(float *out, const float4 *x, int n)
{
    __shared__ float4 rows[1024];
    __shared__ float words[1024];
    volatile float *word = words;
    float sum = 0;

    rows[threadIdx.x] = x[threadIdx.x];
    words[threadIdx.x] = x[threadIdx.x].y;
    __syncthreads();
    ROLLED for (int i = 0; i < n; i++)
    {
        const float4 row = rows[(threadIdx.x & 31) + (i & 31) * 32];

        sum += word[(threadIdx.x & 31) * 2 + (i & 7) * 64] * (row.x + row.y * row.z + row.w);
    }
    out[threadIdx.x] = sum;
}

// A column in the outer loop, and a row in the inner one.
// verdict: 0 shared bank-conflicts -
// verdict: 1 shared as-it-should-be -
KERNEL(column_outside_row_inside)(float *out, const float *x, int n)
{
    __shared__ float tile[32 * 32];
    __shared__ float row[64];
    volatile float *from_tile = tile, *from_row = row;
    float sum = 0;

    tile[threadIdx.x] = x[threadIdx.x];
    row[threadIdx.x & 63] = x[threadIdx.x];
    __syncthreads();
    ROLLED for (int i = 0; i < n; i++)
    {
        sum += from_tile[threadIdx.x * 32 + (i & 31)];
        ROLLED for (int k = 0; k < 2; k++) sum *= from_row[threadIdx.x + k];
    }
    out[threadIdx.x] = sum;
}

// -- global memory

// verdict: parameter-1 global uncoalesced -
KERNEL(rows_of_4096_bytes)(float *out, const float *x)
{
    out[threadIdx.x] = x[threadIdx.x * 1024];
}

// Two loads that leave out what the other reads.
// verdict: parameter-1 global as-it-should-be -
KERNEL(pairs)(float *out, const float *x)
{
    out[OWN] = x[2 * OWN] * x[2 * OWN + 1];
}

// Half of each sector is left out.
// verdict: parameter-1 global uncoalesced -
KERNEL(halves_of_pairs)(float *out, const float *x)
{
    out[OWN] = x[2 * OWN];
}

// The compiler reads a byte of each word.
// verdict: parameter-1 global as-it-should-be -
KERNEL(bytes_of_words)(float *out, const int *x)
{
    out[OWN] = (unsigned char)x[OWN];
}

__device__ float rows_of_five[1024];

// verdict: rows_of_five global uncoalesced shared
KERNEL(every_fifth)(float *out, int n)
{
    float sum = 0;

    ROLLED for (int i = 0; i < n; i++) sum += rows_of_five[(threadIdx.x & 31) * 5 + (i & 15)];
    out[threadIdx.x] = sum;
}

// -- local memory

// verdict: - local cannot-tell -
KERNEL(own_data)(float *out, const float *x, const int *y, int n)
{
    float own[32], sum = 0;

#pragma unroll
    for (int i = 0; i < 32; i++)
        own[i] = x[threadIdx.x + i * 256];
    ROLLED for (int i = 0; i < n; i++) sum += own[y[i * 32 + threadIdx.x] & 31];
    out[threadIdx.x] = sum;
}

// A loop that is unrolled leaves an array of registers.
// verdict: - local depends registers
KERNEL(own_data_at_a_counter)(float *out, const float *x, int n)
{
    float own[32], sum = 0;

#pragma unroll
    for (int i = 0; i < 32; i++)
        own[i] = x[threadIdx.x + i * 256];
    ROLLED for (int i = 0; i < n; i++) sum = sum * 3 + own[i & 31];
    out[threadIdx.x] = sum;
}

// All threads store the same.
// verdict: - local faster-elsewhere global
KERNEL(numbers_of_the_code)(int *out, const int *y)
{
    const int own[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3,
                         2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5};

    out[OWN] = own[y[OWN] & 31];
}

// Other code stores by a pointer, to the array of a thread or elsewhere.
__device__ __noinline__ void store(int *to, int i, int value)
{
    to[i] = value;
}

// verdict: - local cannot-tell -
KERNEL(numbers_and_what_a_pointer_leads_to)(int *out, const int *y)
{
    int own[64];

#pragma unroll
    for (int i = 0; i < 64; i++)
        own[i] = 7;
    store(out, OWN, 3);
    store(own, threadIdx.x & 63, 5);
    out[OWN] = own[y[OWN] & 63];
}

// verdict: - local faster-elsewhere global
KERNEL(one_number_of_the_code)(int *out, const int *y)
{
    int own[64];

#pragma unroll
    for (int i = 0; i < 64; i++)
        own[i] = 7;
    out[OWN] = own[y[OWN] & 63];
}
