/* SPDX-License-Identifier: MIT
 * What shares a cache with a constant table: code, and constants at known addresses, which sm_90
 * reads by ULDC. One warp of one SM alternates between the two, and times one of them. */
#include "measure.cuh"
#include "table.cuh"

enum { LINE_BYTES = 64, ROUNDS = 8 };

/* 64 instructions of 16 bytes. */
#define FMA_4                        \
    "fma.rn.f32 %0, %0, %0, %0;\n\t" \
    "fma.rn.f32 %1, %1, %1, %1;\n\t" \
    "fma.rn.f32 %2, %2, %2, %2;\n\t" \
    "fma.rn.f32 %3, %3, %3, %3;\n\t"
#define FMA_16 FMA_4 FMA_4 FMA_4 FMA_4
#define FMA_64 FMA_16 FMA_16 FMA_16 FMA_16

/* Straight code of so many KB. */
template <int KB> struct code {
    __device__ __forceinline__ void operator()(float (&x)[4]) const
    {
#pragma unroll
        for (int i = 0; i < KB; i++)
            asm volatile(FMA_64 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]));
    }
};

/* Arithmetic with a constant in each of so many lines of 64 bytes, from the table's first on. */
template <int OPERAND_LINES> struct operands {
    __device__ __forceinline__ void operator()(float (&x)[4]) const
    {
        const float *const table = (const float *)constant_table;

#pragma unroll
        for (int i = 0; i < OPERAND_LINES; i++)
            x[i % 4] = fmaf(x[i % 4], table[i * LINE_BYTES / 4], x[(i + 1) % 4]);
    }
};

/* Reads a word of each line, one after the other. Returns cycles for a line. */
__device__ float walk(uint32_t first, uint32_t lines, uint32_t *value)
{
    uint32_t start = clock(), entry = *value;

    entry += start & entry; /* 0: the first load is behind the clock */
#pragma unroll 8
    for (uint32_t line = 0; line < lines; line++)
        entry = constant_entry(first + entry + line * LINE_BYTES);
    *value = entry;
    if (entry)
        asm volatile("trap;"); /* the clock is behind the last load */
    return (float)cycles_since(start) / lines;
}

/* `found` gets cycles for a line of the walk and cycles of the body. */
template <class BODY>
__global__ void alternate(BODY body, uint32_t first, uint32_t lines, float *found)
{
    float x[4] = {found[0], found[0], found[0], found[0]}, line = 0, of_body = 0;
    uint32_t value = 0;

#pragma unroll 1
    for (int round = -2; round < ROUNDS; round++) {
        const float took = lines ? walk(first, lines, &value) : 0;
        const uint32_t start = clock();

        body(x);
        if (x[0] + x[1] + x[2] + x[3] != 0)
            asm volatile("trap;"); /* the clock is behind the last result */
        if (round >= 0) {
            of_body += cycles_since(start);
            line += took;
        }
    }
    found[0] = line / ROUNDS;
    found[1] = of_body / ROUNDS;
    found[2] = x[0] + x[1] + x[2] + x[3] + value;
}

enum { OF_WALK, OF_BODY };

template <class BODY>
double cycles(const BODY &body, int what, uint32_t table_bytes, uint32_t first = 0)
{
    static float *const found = zeros<float>(3);

    MUST(cudaMemset(found, 0, 3 * sizeof(*found)));
    alternate<<<1, 1>>>(body, first, table_bytes / LINE_BYTES, found);
    MUST(cudaGetLastError());
    return copied(found, 3)[what];
}

/* Cycles of a constant at a known address. */
template <int LINES> double of_known_lines()
{
    return cycles(operands<LINES>(), OF_BODY, 0) / LINES;
}

int main(int argc, char **argv)
{
    const questions asked(argc, argv);
    asked.answer("table_by_code_64", [] {
        return cycles(code<64>(), OF_WALK, 32768) / cycles(code<4>(), OF_WALK, 32768);
    });
    asked.answer("table_by_code_128", [] {
        return cycles(code<128>(), OF_WALK, 32768) / cycles(code<4>(), OF_WALK, 32768);
    });
    asked.answer("code_64_by_table", [] {
        return cycles(code<64>(), OF_BODY, 32768) / cycles(code<64>(), OF_BODY, 0);
    });
    asked.answer("code_128_by_table", [] {
        return cycles(code<128>(), OF_BODY, 32768) / cycles(code<128>(), OF_BODY, 0);
    });
    asked.answer("code_24_by_table",
                 [] { return cycles(code<24>(), OF_BODY, 1024) / cycles(code<24>(), OF_BODY, 0); });
    asked.answer("table_by_operands", [] {
        return cycles(operands<24>(), OF_WALK, 1536, 4096) / cycles(code<1>(), OF_WALK, 1536, 4096);
    });
    asked.answer("operands_by_table", [] {
        return cycles(operands<24>(), OF_BODY, 1536, 4096) / cycles(operands<24>(), OF_BODY, 0);
    });
    asked.answer("table_by_code_256", [] {
        return cycles(code<256>(), OF_WALK, 49152) / cycles(code<4>(), OF_WALK, 49152);
    });
    asked.answer("known_lines_40", [] { return of_known_lines<40>() / of_known_lines<24>(); });
    asked.answer("known_lines_264", [] { return of_known_lines<264>() / of_known_lines<24>(); });
}
