/* SPDX-License-Identifier: MIT
 * What is in the constant caches at a launch, and what a launch does to those of a kernel that
 * runs: cycles of single loads, by the SM's clock. */
#include "measure.cuh"

#include <chrono>

enum { LINE, WORD, NEXT_LINE, FAR_LINE, PLACES }; /* of first_loads */
enum { LINE_BYTES = 64, LINES = 16, LAUNCHES = 200, SPACE_US = 10 };

/* What is copied to while a kernel reads the table. */
__constant__ uint32_t other_table[64];

static int sms()
{
    static int count;

    if (!count)
        MUST(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

__device__ uint64_t now_ns()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* Cycles until the entry of a byte is there. The load stays between the two readings of the clock,
 * and what comes behind waits for it: `value` is 0, which the compiler does not know. */
__device__ uint32_t wait_for(uint32_t byte, uint32_t *value)
{
    const uint64_t address = __cvta_generic_to_constant((const char *)constant_table + byte);
    uint32_t start, end;

    asm volatile("mov.u32 %0, %%clock;\n\t"
                 "ld.const.u32 %1, [%3];\n\t"
                 "{.reg .pred p; setp.ne.u32 p, %1, 0; @p trap; }\n\t"
                 "mov.u32 %2, %%clock;"
                 : "=&r"(start), "=&r"(*value), "=&r"(end)
                 : "l"(address + *value)
                 : "memory");
    return end - start;
}

/* Of a block: the reads that took more than L1 hits take, those among them that no L1.5 hit
 * explains, and the cycles of the fastest. */
struct reads {
    uint32_t slow, far, fewest_cycles;
};

struct room {
    uint32_t *cycles = zeros<uint32_t>(PLACES * sms()), *sink = zeros<uint32_t>(1);
    uint64_t *ns = zeros<uint64_t>(sms());
    struct reads *found = zeros<struct reads>(sms());
};

/* The first loads of a kernel, of a block each: of a line, of its second word, of the next line,
 * and of the line 256 bytes on. Lanes, where there are several, take a line each. */
__global__ void first_loads(uint32_t *cycles, uint64_t *ns, uint32_t zero)
{
    const uint64_t start_ns = now_ns();
    const uint32_t first = threadIdx.x * LINE_BYTES;
    uint32_t value = zero;
    const uint32_t line = wait_for(first, &value), word = wait_for(first + 4, &value),
                   next = wait_for(first + LINE_BYTES, &value), far = wait_for(first + 256, &value);

    if (threadIdx.x)
        return;
    ns[blockIdx.x] = start_ns;
    cycles[PLACES * blockIdx.x + LINE] = line;
    cycles[PLACES * blockIdx.x + WORD] = word;
    cycles[PLACES * blockIdx.x + NEXT_LINE] = next;
    cycles[PLACES * blockIdx.x + FAR_LINE] = far;
}

/* Reads the lines that first_loads reads, lets the next kernel start, and goes on for a while. */
__global__ void before(uint64_t *ns, uint32_t *sink, uint32_t zero, uint32_t spin_ns)
{
    const uint64_t start = now_ns();
    uint32_t sum = 0;

    for (int line = 0; line < LINES; line++)
        sum += constant_entry(zero + line * LINE_BYTES);
    if (sum)
        *sink = sum;
    cudaTriggerProgrammaticLaunchCompletion();
    while (now_ns() - start < spin_ns)
        ;
    ns[blockIdx.x] = now_ns();
}

/* Cycles of a load from shared memory, as by wait_for. */
__device__ uint32_t wait_for_shared(const uint32_t *word, uint32_t *value)
{
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(word);
    uint32_t start, end;

    asm volatile("mov.u32 %0, %%clock;\n\t"
                 "ld.shared.u32 %1, [%3];\n\t"
                 "{.reg .pred p; setp.ne.u32 p, %1, 0; @p trap; }\n\t"
                 "mov.u32 %2, %%clock;"
                 : "=&r"(start), "=&r"(*value), "=&r"(end)
                 : "r"(address + *value)
                 : "memory");
    return end - start;
}

enum { SLOWER_CYCLES = 30, FAR_CYCLES = 200, READS = 200000 };

/* Reads one word over and over. */
template <bool OF_CONSTANT> __global__ void reader(struct reads *found, uint32_t zero)
{
    __shared__ uint32_t word;
    struct reads reads = {0, 0, UINT32_MAX};
    uint32_t value = zero;

    word = zero;
    /* Copies of the loop's body would read the clock by different instructions. */
#pragma unroll 1
    for (uint32_t i = 0; i < READS; i++) {
        const uint32_t cycles =
            OF_CONSTANT ? wait_for(threadIdx.x * 4, &value) : wait_for_shared(&word, &value);

        reads.fewest_cycles = min(reads.fewest_cycles, cycles);
        reads.slow += cycles > reads.fewest_cycles + SLOWER_CYCLES;
        reads.far += cycles > FAR_CYCLES;
    }
    found[blockIdx.x] = reads;
}

__global__ void empty()
{
}

/* The median over blocks of what was measured at a place. */
static double median_of(const room &room, int place, int blocks)
{
    const std::vector<uint32_t> all = copied(room.cycles, PLACES * blocks);
    std::vector<uint32_t> found;

    for (int block = 0; block < blocks; block++)
        found.push_back(all[PLACES * block + place]);
    return median(found);
}

/* The same, less the second word of a line, which L1 has. */
static double more_than_a_hit(const room &room, int place)
{
    return median_of(room, place, sms()) - median_of(room, WORD, sms());
}

static void load_first(const room &room, int blocks, int threads, cudaStream_t stream)
{
    first_loads<<<blocks, threads, 0, stream>>>(room.cycles, room.ns, 0);
    MUST(cudaGetLastError());
}

/* Behind a kernel that reads the same lines. */
static double behind(const room &room, int place)
{
    before<<<sms(), 1>>>(room.ns, room.sink, 0, 0);
    load_first(room, sms(), 1, nullptr);
    MUST(cudaDeviceSynchronize());
    return more_than_a_hit(room, place);
}

/* The same by two nodes of a graph. */
static double behind_in_graph(const room &room, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;

    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    before<<<sms(), 1, 0, stream>>>(room.ns, room.sink, 0, 0);
    load_first(room, sms(), 1, stream);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&made, graph, 0));
    MUST(cudaGraphLaunch(made, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaGraphExecDestroy(made));
    MUST(cudaGraphDestroy(graph));
    return more_than_a_hit(room, LINE);
}

/* The same, started before the first has ended. */
static double dependent(const room &room, cudaStream_t stream)
{
    static uint64_t *const ends = zeros<uint64_t>(sms());
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t as = {};

    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    as.gridDim = dim3(sms());
    as.blockDim = dim3(1);
    as.stream = stream;
    as.attrs = &early;
    as.numAttrs = 1;
    before<<<sms(), 1, 0, stream>>>(ends, room.sink, 0, 200000);
    MUST(cudaLaunchKernelEx(&as, first_loads, room.cycles, room.ns, 0u));
    MUST(cudaStreamSynchronize(stream));
    if (median(copied(room.ns, sms())) >= median(copied(ends, sms())))
        fail("the dependent kernel started behind the first");
    return more_than_a_hit(room, LINE);
}

/* While `reader` reads the same line on each SM. */
static double beside(const room &room, cudaStream_t stream, cudaStream_t of_reader)
{
    reader<true><<<sms(), 1, 0, of_reader>>>(room.found, 0);
    MUST(cudaGetLastError());
    load_first(room, sms(), 1, stream);
    MUST(cudaStreamSynchronize(stream));
    if (cudaStreamQuery(of_reader) != cudaErrorNotReady)
        fail("the reader ended before the loads beside it");
    MUST(cudaStreamSynchronize(of_reader));
    return more_than_a_hit(room, LINE);
}

/* The reads of all blocks of `reader` while `disturb` is called LAUNCHES times, each SPACE_US after
 * the one before. */
template <bool OF_CONSTANT, class F>
struct reads disturbed(const room &room, cudaStream_t stream, cudaStream_t of_reader, F disturb)
{
    struct reads sum = {};

    reader<OF_CONSTANT><<<sms(), 1, 0, of_reader>>>(room.found, 0);
    MUST(cudaGetLastError());
    for (int i = 0; i < LAUNCHES; i++) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(SPACE_US);

        disturb();
        while (std::chrono::steady_clock::now() < end)
            ;
    }
    MUST(cudaStreamSynchronize(stream));
    if (cudaStreamQuery(of_reader) != cudaErrorNotReady)
        fail("the reader ended before the launches beside it");
    MUST(cudaStreamSynchronize(of_reader));
    for (const struct reads &reads : copied(room.found, sms())) {
        sum.slow += reads.slow;
        sum.far += reads.far;
    }
    return sum;
}

/* Of an SM, for each call. */
static double by_call(uint32_t reads)
{
    return (double)reads / sms() / LAUNCHES;
}

static const uint32_t no_values[64] = {};

/* What is in the caches when a kernel starts. */
static void answer_first_loads(const questions &asked, const room &room, cudaStream_t stream,
                               cudaStream_t of_reader)
{
    asked.answer("second_kernel_line", [&] { return behind(room, LINE); });
    asked.answer("second_kernel_next_line", [&] { return behind(room, NEXT_LINE); });
    asked.answer("second_kernel_far_line", [&] { return behind(room, FAR_LINE); });
    asked.answer("graph_line", [&] { return behind_in_graph(room, stream); });
    asked.answer("dependent_line", [&] { return dependent(room, stream); });
    asked.answer("line_beside_reader", [&] { return beside(room, stream, of_reader); });
    asked.answer("cold_lines_at_once", [&] {
        load_first(room, 1, WARP, nullptr);
        return median_of(room, LINE, 1);
    });
}

/* What a launch does to a kernel that runs. */
static void answer_disturbed(const questions &asked, const room &room, cudaStream_t stream,
                             cudaStream_t of_reader)
{
    const auto nothing = [] {};
    const auto launch = [&] { empty<<<sms(), 32, 0, stream>>>(); };
    const auto launch_of_a_block = [&] { empty<<<1, 32, 0, stream>>>(); };
    const auto copy = [&] {
        MUST(cudaMemcpyToSymbolAsync(other_table, no_values, sizeof(no_values), 0,
                                     cudaMemcpyHostToDevice, stream));
    };

    asked.answer("slow_reads_alone",
                 [&] { return by_call(disturbed<true>(room, stream, of_reader, nothing).slow); });
    asked.answer("slow_reads_a_launch",
                 [&] { return by_call(disturbed<true>(room, stream, of_reader, launch).slow); });
    asked.answer("far_reads_a_launch",
                 [&] { return by_call(disturbed<true>(room, stream, of_reader, launch).far); });
    asked.answer("slow_reads_a_launch_of_a_block", [&] {
        return by_call(disturbed<true>(room, stream, of_reader, launch_of_a_block).slow);
    });
    asked.answer("slow_shared_reads_a_launch",
                 [&] { return by_call(disturbed<false>(room, stream, of_reader, launch).slow); });
    asked.answer("slow_reads_a_copy",
                 [&] { return by_call(disturbed<true>(room, stream, of_reader, copy).slow); });
}

int main(int argc, char **argv)
{
    const questions asked(argc, argv);
    const room room;
    cudaStream_t stream, of_reader;

    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&of_reader, cudaStreamNonBlocking));
    /* Modules are loaded here and not while `reader` runs. */
    empty<<<1, 1, 0, stream>>>();
    reader<true><<<1, 1, 0, of_reader>>>(room.found, 0);
    reader<false><<<1, 1, 0, of_reader>>>(room.found, 0);
    MUST(cudaMemcpyToSymbolAsync(other_table, no_values, sizeof(no_values), 0,
                                 cudaMemcpyHostToDevice, stream));
    MUST(cudaDeviceSynchronize());

    answer_first_loads(asked, room, stream, of_reader);
    answer_disturbed(asked, room, stream, of_reader);
}
