/* SPDX-License-Identifier: MIT
 * What is in the constant caches at a launch, and what a launch does to those of a kernel that
 * runs: cycles of single loads, by the SM's clock. */
#include "measure.cuh"
#include "table.cuh"

#include <chrono>
#include <cuda.h>
#include <functional>

enum { LINE, WORD, NEXT_LINE, FAR_LINE, PLACES }; /* of first_loads */
enum { LINE_BYTES = 64, LINES = 16, LAUNCHES = 200, SPACE_US = 10 };
enum { NODES = 16, GRAPHS = 12, COPY_BYTES = 65536, PARTITION_SMS = 16 };

/* What is copied to while a kernel reads the table. */
__constant__ uint32_t other_table[64];

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

    TIMED_LOAD("ld.shared.u32", "r", address + *value, *value, start, end);
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

/* The reads of all blocks of `reader` while `disturb` is called `calls` times, each SPACE_US after
 * the one before. */
template <bool OF_CONSTANT, class F>
struct reads disturbed(const room &room, cudaStream_t stream, cudaStream_t of_reader, F disturb,
                       int blocks = sms(), int calls = LAUNCHES)
{
    struct reads sum = {};

    reader<OF_CONSTANT><<<blocks, 1, 0, of_reader>>>(room.found, 0);
    MUST(cudaGetLastError());
    for (int i = 0; i < calls; i++) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(SPACE_US);

        disturb();
        while (std::chrono::steady_clock::now() < end)
            ;
    }
    MUST(cudaStreamSynchronize(stream));
    if (cudaStreamQuery(of_reader) != cudaErrorNotReady)
        fail("the reader ended before the launches beside it");
    MUST(cudaStreamSynchronize(of_reader));
    for (const struct reads &reads : copied(room.found, blocks)) {
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

/* A graph of NODES empty kernels, one behind the other. */
static cudaGraphExec_t chain_of_kernels(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;

    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int node = 0; node < NODES; node++)
        empty<<<sms(), WARP, 0, stream>>>();
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&made, graph, 0));
    MUST(cudaGraphDestroy(graph));
    MUST(cudaGraphUpload(made, stream));
    return made;
}

/* -- green contexts ---------------------------------------------------------------------------- */

/* A function of the driver. */
template <class F> static F *of_driver(const char *name)
{
    cudaDriverEntryPointQueryResult found;
    void *address = nullptr;

    MUST(cudaGetDriverEntryPointByVersion(name, &address, CUDART_VERSION, cudaEnableDefault,
                                          &found));
    if (found != cudaDriverEntryPointSuccess)
        fail("the driver has no green contexts");
    return (F *)address;
}

static void must_drive(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS)
        fail(what, std::to_string(result).c_str());
}

/* Two green contexts of different SMs: a stream of each, and the SMs of the first. */
struct partition {
    cudaStream_t first, second;
    int first_sms;
};

/* A stream of a green context that has these SMs. Both stay until the process ends. */
static cudaStream_t stream_on(CUdevResource sms)
{
    CUdevResourceDesc described;
    CUgreenCtx context;
    CUstream stream;

    must_drive(of_driver<decltype(cuDevResourceGenerateDesc)>(
                   "cuDevResourceGenerateDesc")(&described, &sms, 1),
               "cuDevResourceGenerateDesc");
    must_drive(of_driver<decltype(cuGreenCtxCreate)>(
                   "cuGreenCtxCreate")(&context, described, 0, CU_GREEN_CTX_DEFAULT_STREAM),
               "cuGreenCtxCreate");
    must_drive(of_driver<decltype(cuGreenCtxStreamCreate)>(
                   "cuGreenCtxStreamCreate")(&stream, context, CU_STREAM_NON_BLOCKING, 0),
               "cuGreenCtxStreamCreate");
    return stream;
}

static struct partition green_contexts()
{
    CUdevResource all, first, rest;
    unsigned groups = 1;

    must_drive(of_driver<decltype(cuDeviceGetDevResource)>(
                   "cuDeviceGetDevResource")(0, &all, CU_DEV_RESOURCE_TYPE_SM),
               "cuDeviceGetDevResource");
    must_drive(of_driver<decltype(cuDevSmResourceSplitByCount)>(
                   "cuDevSmResourceSplitByCount")(&first, &groups, &all, &rest, 0, PARTITION_SMS),
               "cuDevSmResourceSplitByCount");
    return {stream_on(first), stream_on(rest), (int)first.sm.smCount};
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
    const auto copy_to_its_line = [&] {
        MUST(cudaMemcpyToSymbolAsync(constant_table, no_values, sizeof(no_values), 0,
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
    asked.answer("slow_reads_a_copy_to_its_line", [&] {
        return by_call(disturbed<true>(room, stream, of_reader, copy_to_its_line).slow);
    });
}

/* What calls that copy, or launch in another way, do to it. */
static void answer_other_calls(const questions &asked, const room &room, cudaStream_t stream,
                               cudaStream_t of_reader)
{
    char *const from = zeros<char>(COPY_BYTES), *const to = zeros<char>(COPY_BYTES);
    const cudaGraphExec_t chain = chain_of_kernels(stream);
    const struct partition green = green_contexts();
    const auto launch_chain = [&] { MUST(cudaGraphLaunch(chain, stream)); };
    const auto set = [&] { MUST(cudaMemsetAsync(to, 0, COPY_BYTES, stream)); };
    const auto copy = [&] {
        MUST(cudaMemcpyAsync(to, from, COPY_BYTES, cudaMemcpyDeviceToDevice, stream));
    };
    const auto launch_in_green = [&] { empty<<<sms(), WARP, 0, green.second>>>(); };

    for (const auto &once : {std::function<void()>(launch_chain), std::function<void()>(set),
                             std::function<void()>(copy), std::function<void()>(launch_in_green)})
        once();
    MUST(cudaDeviceSynchronize());
    asked.answer("slow_reads_a_graph_node", [&] {
        return (double)disturbed<true>(room, stream, of_reader, launch_chain, sms(), GRAPHS).slow /
               sms() / GRAPHS / NODES;
    });
    asked.answer("slow_reads_a_memset",
                 [&] { return by_call(disturbed<true>(room, stream, of_reader, set).slow); });
    asked.answer("slow_reads_a_copy_of_memory",
                 [&] { return by_call(disturbed<true>(room, stream, of_reader, copy).slow); });
    asked.answer("slow_reads_of_green_context", [&] {
        return (double)disturbed<true>(room, green.second, green.first, launch_in_green,
                                       green.first_sms)
                   .slow /
               green.first_sms / LAUNCHES;
    });
    MUST(cudaGraphExecDestroy(chain));
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
    answer_other_calls(asked, room, stream, of_reader);
}
