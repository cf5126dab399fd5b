/* SPDX-License-Identifier: MIT
 *
 * The kernels of by_hand.cuh are timed as a careful programmer does: many launches between two
 * events, repeated on several allocations, the median. It writes JSON to its standard output, for
 * scripts/studies/by_hand.py. With an argument it measures nothing and launches each kernel ALONE
 * times, for a profiler. */
#include "by_hand.cuh"

enum { SETS = 6, REPEATS = 5, ALONE = 11 };
static const double SAMPLE_MS = 4; /* of launches between two events */

/* The time of a launch among so many in a graph: launches from the host have gaps of one or two
 * microseconds. */
static double time_ms(const variant &v, const set *s, size_t size, int launches,
                      const cudaEvent_t *events)
{
    /* nvcc -default-stream per-thread: that of all launches */
    const cudaStream_t stream = cudaStreamPerThread;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    float ms;

    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; i++)
        v.launch(s, size);
    TRY(cudaStreamEndCapture(stream, &graph));
    TRY(cudaGraphInstantiateWithFlags(&made, graph, 0));
    for (int i = 0; i < 2; i++) { /* the first brings its commands to the GPU */
        TRY(cudaEventRecord(events[0], stream));
        TRY(cudaGraphLaunch(made, stream));
        TRY(cudaEventRecord(events[1], stream));
        TRY(cudaEventSynchronize(events[1]));
    }
    TRY(cudaEventElapsedTime(&ms, events[0], events[1]));
    TRY(cudaGraphExecDestroy(made));
    TRY(cudaGraphDestroy(graph));
    return ms / launches;
}

/* Launches that wait for each other; returns the median of the times between events around each. */
static double launch_alone_ns(const variant &v, const set *s, size_t size,
                              const cudaEvent_t *events)
{
    float ms[ALONE];

    for (float &each : ms) {
        TRY(cudaEventRecord(events[0], cudaStreamPerThread));
        v.launch(s, size);
        TRY(cudaEventRecord(events[1], cudaStreamPerThread));
        TRY(cudaEventSynchronize(events[1]));
        TRY(cudaEventElapsedTime(&each, events[0], events[1]));
    }
    std::sort(ms, ms + ALONE);
    return ms[ALONE / 2] * 1e6;
}

static void measure(const kernel &k, size_t size, const void *table, const cudaEvent_t *events,
                    const char **separator)
{
    std::vector<std::vector<double>> times(k.variants.size());
    std::vector<unsigned> output;
    std::vector<int> launches;
    set sets[SETS] = {};

    for (set &s : sets)
        open(&s, k, size, table);
    for (const variant &v : k.variants) {
        check(k, v, &sets[0], size, &output);
        time_ms(v, &sets[0], size, 20, events); /* the first launches are slower */
        launches.push_back(
            std::clamp((int)(SAMPLE_MS / time_ms(v, &sets[0], size, 20, events)), 5, 1000));
    }
    for (int round = 0; round < SETS * REPEATS;
         round++) /* memory spaces in turn: what drifts falls on all */
        for (size_t v = 0; v < k.variants.size(); v++) {
            time_ms(k.variants[v], &sets[round % SETS], size, 3, events);
            times[v].push_back(
                time_ms(k.variants[v], &sets[round % SETS], size, launches[v], events));
        }
    for (size_t v = 0; v < k.variants.size(); v++, *separator = ",") {
        std::sort(times[v].begin(), times[v].end());
        const auto quantile = [&](double share) {
            return times[v][(size_t)(share * (double)(times[v].size() - 1))] * 1e6;
        };

        printf("%s\n  {\"kernel\": \"%s\", \"size\": %zu, \"space\": \"%s\", ", *separator, k.name,
               size, k.variants[v].space);
        printf("\"time_ns\": %.1f, \"quartiles_ns\": [%.1f, %.1f], \"alone_ns\": %.1f}",
               quantile(0.5), quantile(0.25), quantile(0.75),
               launch_alone_ns(k.variants[v], &sets[0], size, events));
    }
    for (set &s : sets)
        close(&s);
}

int main(int count, char **)
{
    alignas(16) static unsigned char table[65536];
    const char *separator = "";
    cudaDeviceProp device;
    cudaEvent_t events[2];

    TRY(cudaGetDeviceProperties(&device, 0));
    TRY(cudaEventCreate(&events[0]));
    TRY(cudaEventCreate(&events[1]));
    printf("{\"device\": \"%s\", \"times\": [", device.name);
    for (const kernel &k : kernels()) {
        k.write_table(table);
        for (size_t size : {k.sizes[0], k.sizes[1]}) {
            if (count == 1) {
                measure(k, size, table, events, &separator);
                continue;
            }
            set s = {};
            open(&s, k, size, table);
            for (const variant &v : k.variants)
                launch_alone_ns(v, &s, size, events);
            close(&s);
        }
    }
    printf("\n]}\n");
    return 0;
}
