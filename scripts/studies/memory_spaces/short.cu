/* SPDX-License-Identifier: MIT
 * What a launch costs a table: the time of short kernels by the lines of 64 bytes that each warp
 * reads, how often it reads them, the blocks of an SM, and the memory space that holds them.
 *
 * All lanes of a warp read one address. In pass p, a warp reads word p % 16 of each line, one line
 * after the other. Both constant caches are empty at every launch. */
#include "rounds.cuh"

#include <memory>

enum { THREADS = 128, LINE_WORDS = 16, LINES_MAX = 500, LOADS_MAX = 8192, NO_BITS = 31 };

__constant__ __align__(64) uint32_t constant_table[LINES_MAX * LINE_WORDS];

/* A table in the parameters of a kernel. */
template <uint32_t LINES> struct words_of {
    uint32_t word[LINES * LINE_WORDS];
};

/* What a block does. hidden_bits: 31, which leaves nothing of a thread's number. The compiler does
 * not know that, so that an index differs from thread to thread. */
struct work {
    const uint32_t *table;
    uint32_t lines, passes, hidden_bits;
    uint32_t *sums, *cycles; /* of each thread; of each block */
};

/* -- memory spaces ----------------------------------------------------------------------------- */

extern __shared__ __align__(16) uint32_t shared_table[];

struct constant_space {
    static constexpr bool staged = false;
    template <class TABLE>
    __device__ static uint32_t word(const work &, const TABLE &, uint32_t index)
    {
        return constant_table[index];
    }
};

struct parameter_space {
    static constexpr bool staged = false;
    template <class TABLE>
    __device__ static uint32_t word(const work &, const TABLE &table, uint32_t index)
    {
        return table.word[index];
    }
};

struct global_space {
    static constexpr bool staged = false;
    template <class TABLE>
    __device__ static uint32_t word(const work &work, const TABLE &, uint32_t index)
    {
        return work.table[index];
    }
};

struct shared_space {
    static constexpr bool staged = true;
    template <class TABLE>
    __device__ static uint32_t word(const work &, const TABLE &, uint32_t index)
    {
        return shared_table[index];
    }
};

/* -- the kernel -------------------------------------------------------------------------------- */

template <class SPACE, class TABLE> __device__ void read_lines(const work &work, const TABLE &table)
{
    const uint32_t start = (uint32_t)clock(), hidden = threadIdx.x >> work.hidden_bits;
    uint32_t sum = 0;

    if (SPACE::staged) {
        for (uint32_t i = threadIdx.x; i < work.lines * (LINE_WORDS / 4); i += THREADS)
            ((uint4 *)shared_table)[i] = ((const uint4 *)work.table)[i];
        __syncthreads();
    }
    for (uint32_t pass = 0; pass < work.passes; pass++)
#pragma unroll 4
        for (uint32_t line = 0; line < work.lines; line++)
            sum += SPACE::word(work, table, line * LINE_WORDS + pass % LINE_WORDS + hidden);
    /* The clock waits for the sum. */
    asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; @p trap; }" ::"r"(sum & hidden) : "memory");
    const uint32_t end = (uint32_t)clock();

    work.sums[blockIdx.x * THREADS + threadIdx.x] = sum;
    if (threadIdx.x == 0)
        work.cycles[blockIdx.x] = end - start;
}

struct no_table {
};

template <class SPACE> __global__ void __launch_bounds__(THREADS) short_kernel(work work)
{
    read_lines<SPACE>(work, no_table());
}

template <class SPACE, class TABLE>
__global__ void __launch_bounds__(THREADS)
    short_kernel_of(work work, const __grid_constant__ TABLE table)
{
    read_lines<SPACE>(work, table);
}

/* -- cells ------------------------------------------------------------------------------------- */

/* Of all tables the first words. */
static uint32_t word_of_table(uint32_t index)
{
    return number(index);
}

/* Cells of the same work. */
struct group {
    const gpu &device;
    const work work;
    const uint32_t blocks_of_sm;
    std::vector<cell> cells = {};

    uint32_t grid() const
    {
        return device.sms * blocks_of_sm;
    }

    /* What each thread must write. */
    std::vector<uint32_t> expected() const
    {
        uint32_t sum = 0;

        for (uint32_t pass = 0; pass < work.passes; pass++)
            for (uint32_t line = 0; line < work.lines; line++)
                sum += word_of_table(line * LINE_WORDS + pass % LINE_WORDS);
        return std::vector<uint32_t>(grid() * THREADS, sum);
    }
};

/* Three cells of a kernel: its time among nodes of a graph and among launches of a stream, and the
 * cycles of its median block. */
static void add_figures(group *group, const char *space,
                        const std::function<void(cudaStream_t)> &launch)
{
    const auto timed = std::make_shared<launches>(launch);
    const work work = group->work;
    const uint32_t grid = group->grid();
    const std::vector<uint32_t> expected = group->expected();
    const std::vector<std::pair<const char *, std::function<double()>>> figures = {
        {"graph_ns", [=] { return timed->in_graph_ns(); }},
        {"stream_ns", [=] { return timed->in_stream_ns(); }},
        {"block_cycles",
         [=] {
             timed->once();
             return (double)median(copied(work.cycles, grid));
         }},
    };

    for (const auto &figure : figures) {
        const std::string text =
            text_of("\"experiment\": \"short\", \"figure\": \"%s\", \"space\": \"%s\", \"lines\": "
                    "%u, "
                    "\"passes\": %u, \"blocks\": %u",
                    figure.first, space, work.lines, work.passes, group->blocks_of_sm);

        group->cells.push_back({text,
                                [=] {
                                    MUST(cudaMemset(work.sums, 0xff, 4 * expected.size()));
                                    MUST(cudaDeviceSynchronize());
                                    timed->once();
                                    return compare(copied(work.sums, expected.size()), expected);
                                },
                                figure.second});
    }
}

template <class SPACE> static void add(group *group, const char *space)
{
    const work work = group->work;
    const uint32_t grid = group->grid(), shared = SPACE::staged ? 64 * work.lines : 0;
    int fit;

    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, short_kernel<SPACE>, THREADS, shared));
    if ((uint32_t)fit < group->blocks_of_sm) {
        print_reason(text_of("\"experiment\": \"short\", \"space\": \"%s\", \"lines\": %u, "
                             "\"passes\": %u, \"blocks\": %u",
                             space, work.lines, work.passes, group->blocks_of_sm),
                     "skipped", text_of("an SM has room for %d of these blocks", fit));
        return;
    }
    add_figures(group, space, [=](cudaStream_t stream) {
        short_kernel<SPACE><<<grid, THREADS, shared, stream>>>(work);
        MUST(cudaGetLastError());
    });
}

template <uint32_t LINES> static void add_parameter(group *group)
{
    const work work = group->work;
    const uint32_t grid = group->grid();
    const auto table = std::make_shared<words_of<LINES>>();

    for (uint32_t i = 0; i < LINES * LINE_WORDS; i++)
        table->word[i] = word_of_table(i);
    add_figures(group, "parameter", [=](cudaStream_t stream) {
        short_kernel_of<parameter_space><<<grid, THREADS, 0, stream>>>(work, *table);
        MUST(cudaGetLastError());
    });
}

/* Kernels that read LINES lines. The kernel of parameters has exactly these. */
template <uint32_t LINES>
static void measure(const gpu &device, const struct work &memory, const options &asked)
{
    if (asked.small && LINES != 16)
        return;
    for (const uint32_t blocks : {1, 8})
        for (const uint32_t passes : {1, 2, 4, 16, 64}) {
            if (LINES * passes > LOADS_MAX || (asked.small && (blocks > 1 || passes != 2)))
                continue;
            struct work work = memory;

            work.lines = LINES;
            work.passes = passes;
            group group = {device, work, blocks};

            add<constant_space>(&group, "constant");
            add_parameter<LINES>(&group);
            add<global_space>(&group, "global");
            add<shared_space>(&group, "shared");
            measure_in_turn(group.cells, asked);
        }
}

int main(int argc, char **argv)
{
    const options asked(argc, argv);
    gpu device;
    std::vector<uint32_t> words(LINES_MAX * LINE_WORDS);
    uint32_t *const table = zeros<uint32_t>(words.size());
    const size_t blocks = 8 * (size_t)device.sms;
    const work memory =
        {table, 0, 0, NO_BITS, zeros<uint32_t>(blocks * THREADS), zeros<uint32_t>(blocks)};

    for (uint32_t i = 0; i < words.size(); i++)
        words[i] = word_of_table(i);
    MUST(cudaMemcpy(table, words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
    MUST(cudaMemcpyToSymbol(constant_table, words.data(), 4 * words.size()));
    if (asked.small)
        device.sms = 1;
    measure<1>(device, memory, asked);
    measure<4>(device, memory, asked);
    measure<16>(device, memory, asked);
    measure<32>(device, memory, asked);
    measure<64>(device, memory, asked);
    measure<128>(device, memory, asked);
    measure<256>(device, memory, asked);
    measure<500>(device, memory, asked);
}
