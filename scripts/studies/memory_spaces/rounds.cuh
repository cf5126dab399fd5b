/* SPDX-License-Identifier: MIT
 * What the programs of this folder share: cells that are measured in turn, and what is printed of
 * them, a line each:
 *
 *     {"cell": {...}, "verified": values, "samples": [numbers]}
 *     {"cell": {...}, "skipped": "why this GPU cannot"}
 *     {"cell": {...}, "failed": "which output is wrong"}
 *
 * Sample k of all cells of a group is of one round: even rounds go forwards through the cells, odd
 * ones backwards. What drifts between rounds changes no ratio of two cells of a group. */
#pragma once

#include "../surprises/gpu.cuh"

#include <cstdarg>
#include <cstring>
#include <functional>
#include <string>

enum { ROUNDS_OF_CELLS = 11 };

/* As printf, into a string. */
__attribute__((format(printf, 1, 2))) inline std::string text_of(const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return text;
}

/* Number n of a sequence of 32-bit numbers that look random: what tables hold. */
__host__ __device__ inline uint32_t number(uint32_t n)
{
    n = (n ^ n >> 16) * 0x7feb352du;
    n = (n ^ n >> 15) * 0x846ca68bu;
    return n ^ n >> 16;
}

/* The command line: --small makes few cells of a round, for compute-sanitizer; other words are
 * memory spaces that are left out. */
struct options {
    bool small = false;
    std::vector<std::string> left_out;

    options(int argc, char **argv)
    {
        for (int i = 1; i < argc; i++) {
            if (!strcmp(argv[i], "--small"))
                small = true;
            else
                left_out.push_back(argv[i]);
        }
    }

    bool leaves_out(const char *space) const
    {
        return std::find(left_out.begin(), left_out.end(), space) != left_out.end();
    }

    int rounds() const
    {
        return small ? 1 : ROUNDS_OF_CELLS;
    }
};

/* What the GPU is. */
struct gpu {
    int sms, architecture; /* architecture: 10 x compute capability */
    int block_shared_bytes; /* of a block at most, where the kernel asks for them */
    int persisting_bytes; /* of L2 that can be set aside */
    int window_bytes; /* of an access-policy window, at most */

    static int attribute(cudaDeviceAttr which)
    {
        int value;

        MUST(cudaDeviceGetAttribute(&value, which, 0));
        return value;
    }

    gpu()
        : sms(attribute(cudaDevAttrMultiProcessorCount)),
          architecture(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                       attribute(cudaDevAttrComputeCapabilityMinor)),
          block_shared_bytes(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
          persisting_bytes(attribute(cudaDevAttrMaxPersistingL2CacheSize)),
          window_bytes(attribute(cudaDevAttrMaxAccessPolicyWindowSize))
    {
    }
};

/* Outputs that were compared, and what is wrong with the first that differs. */
struct verdict {
    size_t values;
    std::string fault;
};

template <class T> verdict compare(const std::vector<T> &found, const std::vector<T> &expected)
{
    for (size_t i = 0; i < expected.size(); i++)
        if (found[i] != expected[i])
            return {i, text_of("output %zu is %llu, and must be %llu", i,
                               (unsigned long long)found[i], (unsigned long long)expected[i])};
    return {expected.size(), ""};
}

/* What is measured in one way.
 * verify: launches, and holds all that was written against the processor's values. sample: what
 * one sample measures. */
struct cell {
    std::string text; /* members of its object in JSON */
    std::function<verdict()> verify;
    std::function<double()> sample;
};

inline void print_reason(const std::string &text, const char *key, const std::string &why)
{
    printf("{\"cell\": {%s}, \"%s\": \"%s\"}\n", text.c_str(), key, why.c_str());
}

/* Measures the cells of a group in so many rounds and prints them. They are verified before and
 * after; those with a wrong output have no samples. */
inline void measure_in_turn(const std::vector<cell> &all, int rounds)
{
    std::vector<cell> cells;
    std::vector<size_t> verified;

    for (const cell &cell : all) {
        const verdict verdict = cell.verify();

        if (!verdict.fault.empty()) {
            print_reason(cell.text, "failed", verdict.fault);
            continue;
        }
        cells.push_back(cell);
        verified.push_back(verdict.values);
    }
    std::vector<std::vector<double>> samples(cells.size());

    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < cells.size(); i++) {
            const size_t k = round % 2 ? cells.size() - 1 - i : i;

            samples[k].push_back(cells[k].sample());
        }
    for (size_t k = 0; k < cells.size(); k++) {
        const verdict verdict = cells[k].verify();

        if (!verdict.fault.empty()) {
            print_reason(cells[k].text, "failed", verdict.fault);
            continue;
        }
        printf("{\"cell\": {%s}, \"verified\": %zu, \"samples\": [", cells[k].text.c_str(),
               verified[k] + verdict.values);
        for (size_t i = 0; i < samples[k].size(); i++)
            printf("%s%.6g", i ? ", " : "", samples[k][i]);
        printf("]}\n");
    }
    fflush(stdout);
}

inline void measure_in_turn(const std::vector<cell> &cells, const options &asked)
{
    measure_in_turn(cells, asked.rounds());
}

/* The time of a launch among launches of its like: what `many` of them take more than `few`, in a
 * graph whose nodes wait for each other, or in a stream. */
class launches
{
    enum { LONG_NS = 100000 }; /* of a launch of which few are enough */

    static cudaStream_t stream()
    {
        static cudaStream_t made;

        if (!made)
            MUST(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
        return made;
    }

    template <class F> static double elapsed_ns(F work)
    {
        static cudaEvent_t start, end;
        float ms;

        if (!start) {
            MUST(cudaEventCreate(&start));
            MUST(cudaEventCreate(&end));
        }
        MUST(cudaEventRecord(start, stream()));
        work();
        MUST(cudaEventRecord(end, stream()));
        MUST(cudaEventSynchronize(end));
        MUST(cudaEventElapsedTime(&ms, start, end));
        return 1e6 * ms;
    }

    const std::function<void(cudaStream_t)> launch;
    int few = 10, many = 30;
    cudaGraphExec_t graph_of_few, graph_of_many;

    void repeat(int times) const
    {
        for (int i = 0; i < times; i++)
            launch(stream());
    }

    /* see: what looks at a node. */
    cudaGraphExec_t graph_of(int nodes, const std::function<void(cudaGraphNode_t)> &see) const
    {
        cudaGraphExec_t made;
        cudaGraph_t graph;
        cudaGraphNode_t node;
        size_t count = 1;

        MUST(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeGlobal));
        repeat(nodes);
        MUST(cudaStreamEndCapture(stream(), &graph));
        MUST(cudaGraphInstantiate(&made, graph, 0));
        MUST(cudaGraphGetRootNodes(graph, &node, &count));
        see(node);
        MUST(cudaGraphDestroy(graph));
        return made;
    }

    static double graph_ns(cudaGraphExec_t graph)
    {
        return elapsed_ns([=] { MUST(cudaGraphLaunch(graph, stream())); });
    }

  public:
    launches(const launches &) = delete;

    /* launch puts one launch into a stream. see is called with a node that the driver made of it.
     * The first launch loads the kernel, which cannot be done while a graph is made. */
    explicit launches(
        std::function<void(cudaStream_t)> launch,
        const std::function<void(cudaGraphNode_t)> &see = [](cudaGraphNode_t) {})
        : launch(std::move(launch))
    {
        once();
        if (elapsed_ns([this] { repeat(1); }) > LONG_NS) {
            few = 1;
            many = 3;
        }
        graph_of_few = graph_of(few, see);
        graph_of_many = graph_of(many, see);
    }

    ~launches()
    {
        MUST(cudaGraphExecDestroy(graph_of_few));
        MUST(cudaGraphExecDestroy(graph_of_many));
    }

    void once() const
    {
        repeat(1);
        MUST(cudaStreamSynchronize(stream()));
    }

    double in_graph_ns() const
    {
        graph_ns(graph_of_few);
        const double few_ns = graph_ns(graph_of_few);

        return (graph_ns(graph_of_many) - few_ns) / (many - few);
    }

    double in_stream_ns() const
    {
        repeat(few);
        const double few_ns = elapsed_ns([this] { repeat(few); });

        return (elapsed_ns([this] { repeat(many); }) - few_ns) / (many - few);
    }
};
