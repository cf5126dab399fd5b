/* SPDX-License-Identifier: MIT
 * Kernels that look up random entries of a table of 32 KB to 1.6 MB, by the memory space that holds
 * the table, the blocks of an SM, and the lookups of a thread.
 *
 * The work of a launch is a number of lookups. Its threads take equally many, or one more, so that
 * a grid of fewer blocks does the same work. Each thread makes its own random indices by
 * arithmetic, adds up what it reads and writes the sum, which is verified. */
#include "space.cuh"

#include <map>
#include <memory>
#include <thread>
#include <tuple>

enum {
    CLUSTER_MAX = 16,
    PORTABLE_CLUSTER = 8, /* the largest that needs no attribute */
    WINDOW_LEAST = 204800, /* smaller tables are in L1 */
    GRIDS_KEPT = 8, /* whose sums are not computed again */
};

__host__ __device__ inline uint32_t next_state(uint32_t state)
{
    return state * 1664525u + 1013904223u;
}

/* The lookups of a thread. */
__host__ __device__ inline uint32_t share(uint32_t lookups, uint32_t thread, uint32_t threads)
{
    return lookups / threads + (thread < lookups % threads);
}

/* -- the kernel -------------------------------------------------------------------------------- */

template <class SPACE, bool STREAM> __global__ void __launch_bounds__(THREADS) look_up(work work)
{
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
    const uint32_t lookups = share(work.lookups, thread, threads);
    uint32_t state = number(thread), sum = 0;

    SPACE::prepare(work);
#pragma unroll 4
    for (uint32_t i = 0; i < lookups; i++) {
        if (STREAM) {
            const uint4 item = __ldg(&work.stream[i * threads + thread]);

            sum += item.x + item.y + (item.z + item.w);
        }
        sum += SPACE::entry(work, __umulhi(state, work.entries));
        state = next_state(state);
    }
    work.sums[thread] = sum;
    SPACE::finish();
}

/* -- the processor ----------------------------------------------------------------------------- */

static uint32_t entry_of_table(uint32_t index)
{
    return number(index);
}

static uint32_t word_of_stream(uint64_t word)
{
    return (uint32_t)word * 2654435761u;
}

/* What each thread must write. */
static std::vector<uint32_t> sums_of(uint32_t entries, uint32_t lookups, uint32_t threads,
                                     bool stream)
{
    const uint32_t workers = std::max(std::thread::hardware_concurrency(), 1u);
    std::vector<uint32_t> table(entries), sums(threads);
    std::vector<std::thread> running;

    for (uint32_t i = 0; i < entries; i++)
        table[i] = entry_of_table(i);
    for (uint32_t worker = 0; worker < workers; worker++)
        running.emplace_back([&, worker] {
            for (uint32_t thread = worker; thread < threads; thread += workers) {
                uint32_t state = number(thread), sum = 0;

                for (uint32_t i = 0; i < share(lookups, thread, threads); i++) {
                    const uint64_t item = (uint64_t)i * threads + thread;

                    for (uint32_t word = 0; stream && word < 4; word++)
                        sum += word_of_stream(4 * item + word);
                    sum += table[(uint64_t)state * entries >> 32];
                    state = next_state(state);
                }
                sums[thread] = sum;
            }
        });
    for (std::thread &worker : running)
        worker.join();
    return sums;
}

/* The same, kept while the lookups are the same. */
static const std::vector<uint32_t> &expected(uint32_t entries, uint32_t lookups, uint32_t threads,
                                             bool stream)
{
    static std::map<std::tuple<uint32_t, uint32_t, uint32_t, bool>, std::vector<uint32_t>> known;
    const auto key = std::make_tuple(entries, lookups, threads, stream);

    if (!known.count(key)) {
        if (known.size() == GRIDS_KEPT)
            known.clear();
        known[key] = sums_of(entries, lookups, threads, stream);
    }
    return known[key];
}

/* -- cells ------------------------------------------------------------------------------------- */

static uint32_t *on_gpu(const std::vector<uint32_t> &words)
{
    uint32_t *const memory = zeros<uint32_t>(words.size());

    MUST(cudaMemcpy(memory, words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
    return memory;
}

/* A table in global memory, in order and as `distributed` asks for it; constant memory has its
 * first entries. */
struct tables {
    const uint32_t bytes;
    uint32_t *whole;
    std::map<uint32_t, uint32_t *> parts; /* by blocks of a cluster */

    tables(const tables &) = delete;

    explicit tables(uint32_t bytes) : bytes(bytes)
    {
        const uint32_t entries = bytes / 4;
        std::vector<uint32_t> words(entries);

        for (uint32_t i = 0; i < entries; i++)
            words[i] = entry_of_table(i);
        whole = on_gpu(words);
        MUST(cudaMemcpyToSymbol(constant_table, words.data(),
                                std::min<uint32_t>(bytes, CONSTANT_BYTES)));
        for (uint32_t blocks = 2; blocks <= CLUSTER_MAX; blocks *= 2) {
            words.clear();
            for (uint32_t rank = 0; rank < blocks; rank++)
                for (uint32_t i = rank; i < entries; i += blocks)
                    words.push_back(entry_of_table(i));
            parts[blocks] = on_gpu(words);
        }
    }

    ~tables()
    {
        MUST(cudaFree(whole));
        for (const auto &part : parts)
            MUST(cudaFree(part.second));
    }
};

/* Cells of the same work. */
struct group {
    const options &asked;
    const gpu &device;
    const tables &table;
    const uint32_t blocks_of_sm, lookups_of_thread;
    uint32_t *const sums;
    const uint4 *const stream; /* nullptr: no other data are read */
    std::vector<cell> cells = {};

    uint32_t lookups() const
    {
        return device.sms * blocks_of_sm * THREADS * lookups_of_thread;
    }
};

/* A launch and its attributes. */
struct configured {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attributes[2] = {};

    cudaLaunchAttributeValue *add(cudaLaunchAttributeID id)
    {
        cudaLaunchAttribute *const attribute = &attributes[config.numAttrs++];

        attribute->id = id;
        return &attribute->val;
    }
};

template <class SPACE> static configured launch_of(const group &group)
{
    configured launch;

    launch.config.blockDim = dim3(THREADS);
    launch.config.gridDim = dim3(group.device.sms * group.blocks_of_sm);
    if (SPACE::blocks_of_table)
        launch.config.dynamicSmemBytes = BARRIER_BYTES + SPACE::shift_bytes +
                                         group.table.bytes / std::max(SPACE::blocks_of_table, 1u);
    if (SPACE::cluster > 1)
        launch.add(cudaLaunchAttributeClusterDimension)->clusterDim = {SPACE::cluster, 1, 1};
    return launch;
}

/* Why the GPU has no room for a cluster; "" where it has. A grid has as many blocks as run at a
 * time, at most. */
template <class SPACE, bool STREAM> static std::string no_cluster(configured *launch)
{
    const auto kernel = look_up<SPACE, STREAM>;
    int fit = 0;

    if (SPACE::cluster > PORTABLE_CLUSTER &&
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) !=
            cudaSuccess)
        return text_of("a cluster of %u: %s", SPACE::cluster,
                       cudaGetErrorString(cudaGetLastError()));
    launch->config.attrs = launch->attributes;
    launch->config.gridDim.x -= launch->config.gridDim.x % SPACE::cluster;
    if (cudaOccupancyMaxActiveClusters(&fit, kernel, &launch->config) != cudaSuccess)
        return text_of("clusters of %u: %s", SPACE::cluster,
                       cudaGetErrorString(cudaGetLastError()));
    if (fit < 1)
        return text_of("the GPU has no room for a cluster of %u of these blocks", SPACE::cluster);
    launch->config.gridDim.x = std::min(launch->config.gridDim.x, fit * SPACE::cluster);
    return "";
}

/* Why the GPU cannot run a kernel; "" where it can. Sets the kernel's attributes. */
template <class SPACE, bool STREAM>
static std::string obstacle(const group &group, configured *launch)
{
    const auto kernel = look_up<SPACE, STREAM>;
    const size_t shared = launch->config.dynamicSmemBytes;
    int fit;

    if (group.device.architecture < SPACE::oldest)
        return text_of("needs sm_%d; this GPU is sm_%d", SPACE::oldest, group.device.architecture);
    if (shared > (size_t)group.device.block_shared_bytes)
        return text_of("needs %zu bytes of shared memory; a block has %d", shared,
                       group.device.block_shared_bytes);
    MUST(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, THREADS, shared));
    if ((uint32_t)fit < group.blocks_of_sm)
        return text_of("an SM has room for %d of these blocks", fit);
    return SPACE::cluster > 1 ? no_cluster<SPACE, STREAM>(launch) : "";
}

/* Why a launch is not what was asked for; "" where the driver made the same of it. */
static std::string other_cluster(cudaGraphNode_t node, uint32_t cluster)
{
    cudaLaunchAttributeValue value = {};

    MUST(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
    return value.clusterDim.x == cluster ? "" : "the driver gave the launch another cluster";
}

static std::string other_window(cudaGraphNode_t node, const cudaAccessPolicyWindow &asked)
{
    cudaLaunchAttributeValue value = {};

    MUST(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeAccessPolicyWindow, &value));
    const cudaAccessPolicyWindow &found = value.accessPolicyWindow;

    if (found.base_ptr == asked.base_ptr && found.num_bytes == asked.num_bytes &&
        found.hitRatio == asked.hitRatio && found.hitProp == asked.hitProp)
        return "";
    return text_of("the driver gave the launch another window: %zu bytes, hit ratio %g",
                   found.num_bytes, found.hitRatio);
}

/* L2 that persisting accesses may keep, and how much of it the driver gave. Nothing persists that
 * did so before. */
static size_t set_aside(size_t bytes)
{
    size_t found = 0;

    MUST(cudaCtxResetPersistingL2Cache());
    MUST(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes));
    MUST(cudaDeviceGetLimit(&found, cudaLimitPersistingL2CacheSize));
    return found;
}

template <class SPACE, bool STREAM>
static void add(group *group, const char *space, const cudaAccessPolicyWindow *window = nullptr)
{
    const size_t persisting = window ? group->device.persisting_bytes : 0;
    std::string text =
        text_of("\"experiment\": \"%s\", \"space\": \"%s\", \"cluster\": %u, \"bytes\": %u, "
                "\"blocks\": %u, \"lookups\": %u",
                STREAM ? "stream" : "table", space, SPACE::cluster, group->table.bytes,
                group->blocks_of_sm, group->lookups_of_thread);
    configured launch = launch_of<SPACE>(*group);
    std::string why = group->asked.leaves_out(space) ? "it was left out by the command line"
                                                     : obstacle<SPACE, STREAM>(*group, &launch);

    if (!why.empty()) {
        print_reason(text, "skipped", why);
        return;
    }
    const bool in_parts = SPACE::blocks_of_table > 1;
    const uint32_t threads = launch.config.gridDim.x * THREADS;
    const work work = {in_parts ? group->table.parts.at(SPACE::cluster) : group->table.whole,
                       group->table.bytes / 4, group->lookups(), group->sums, group->stream};

    text += text_of(", \"grid\": %u", launch.config.gridDim.x);
    if (window) {
        launch.add(cudaLaunchAttributeAccessPolicyWindow)->accessPolicyWindow = *window;
        text += text_of(", \"set_aside_bytes\": %zu", set_aside(persisting));
    }
    const auto timed = std::make_shared<launches>(
        [=](cudaStream_t stream) mutable {
            launch.config.attrs = launch.attributes;
            launch.config.stream = stream;
            MUST(cudaLaunchKernelEx(&launch.config, look_up<SPACE, STREAM>, work));
        },
        [&](cudaGraphNode_t node) {
            if (SPACE::cluster > 1)
                why = other_cluster(node, SPACE::cluster);
            if (window)
                why = other_window(node, *window);
        });

    if (window)
        set_aside(0);
    if (!why.empty()) {
        print_reason(text, "skipped", why);
        return;
    }
    group->cells.push_back(
        {text,
         [=] {
             MUST(cudaMemset(work.sums, 0xff, threads * sizeof(uint32_t)));
             MUST(cudaDeviceSynchronize());
             timed->once();
             return compare(copied(work.sums, threads),
                            expected(work.entries, work.lookups, threads, STREAM));
         },
         [=] {
             if (!persisting)
                 return timed->in_graph_ns();
             set_aside(persisting);
             const double ns = timed->in_graph_ns();

             set_aside(0);
             return ns;
         }});
}

/* Global memory under an access-policy window over the whole table. */
template <bool STREAM> static void add_window(group *group)
{
    const uint32_t bytes = group->table.bytes;
    cudaAccessPolicyWindow window = {};
    std::string why;

    if (!group->device.persisting_bytes)
        why = "this GPU, or this driver in this mode, sets no L2 aside";
    else if (bytes > (uint32_t)group->device.window_bytes)
        why = text_of("a window has %d bytes at most", group->device.window_bytes);
    if (!why.empty()) {
        print_reason(text_of("\"experiment\": \"%s\", \"space\": \"window\", \"cluster\": 1, "
                             "\"bytes\": %u, \"blocks\": %u, \"lookups\": %u",
                             STREAM ? "stream" : "table", bytes, group->blocks_of_sm,
                             group->lookups_of_thread),
                     "skipped", why);
        return;
    }
    window.base_ptr = group->table.whole;
    window.num_bytes = bytes;
    window.hitRatio = 1;
    window.hitProp = cudaAccessPropertyPersisting;
    window.missProp = cudaAccessPropertyStreaming;
    add<global_space, STREAM>(group, "window", &window);
}

static void add_all(group *group)
{
    if (group->table.bytes <= CONSTANT_BYTES)
        add<constant_space, false>(group, "constant");
    add<global_space, false>(group, "global");
    add<readonly_space, false>(group, "readonly");
    if (group->table.bytes >= WINDOW_LEAST)
        add_window<false>(group);
    add<shared_by_loads<0>, false>(group, "shared");
    add<shared_by_async<0>, false>(group, "shared_async");
    add<shared_by_bulk<0>, false>(group, "shared_bulk");
    add<shared_by_loads<SHIFTED_BYTES>, false>(group, "shared_shifted");
    add<shared_by_async<SHIFTED_BYTES>, false>(group, "shared_async_shifted");
    add<shared_by_bulk<SHIFTED_BYTES>, false>(group, "shared_bulk_shifted");
    add<shared_by_multicast<2>, false>(group, "shared_multicast");
    add<shared_by_multicast<4>, false>(group, "shared_multicast");
    add<shared_by_multicast<8>, false>(group, "shared_multicast");
    add<distributed<2>, false>(group, "distributed");
    add<distributed<4>, false>(group, "distributed");
    add<distributed<8>, false>(group, "distributed");
    add<distributed<16>, false>(group, "distributed");
}

/* Tables alone: size by blocks of an SM by lookups of a thread. */
static void measure_tables(const gpu &device, uint32_t *sums, const options &asked)
{
    for (const uint32_t kilobytes : {32, 64, 128, 200, 400, 800, 1600}) {
        if (asked.small && kilobytes != 32 && kilobytes != 1600)
            continue;
        const tables table(1024 * kilobytes);

        for (const uint32_t blocks : {1, 2, 4})
            for (const uint32_t lookups : {1, 8, 64, 256}) {
                if (asked.small && (blocks > 1 || lookups != 8))
                    continue;
                group group = {asked, device, table, blocks, lookups, sums, nullptr};

                add_all(&group);
                measure_in_turn(group.cells, asked);
            }
    }
}

/* Tables in global memory beside other data that L2 cannot hold. */
static void measure_streams(const gpu &device, uint32_t *sums, const options &asked)
{
    const uint32_t blocks = 2, lookups = asked.small ? 2 : 64;
    const uint64_t words = 4ull * device.sms * blocks * THREADS * lookups;
    std::vector<uint32_t> stream(words);

    for (uint64_t i = 0; i < words; i++)
        stream[i] = word_of_stream(i);
    const uint4 *const items = (const uint4 *)on_gpu(stream);

    for (const uint32_t kilobytes : {200, 1600, 8192, 16384, 32768}) {
        if (asked.small && kilobytes != 200)
            continue;
        const tables table(1024 * kilobytes);
        group group = {asked, device, table, blocks, lookups, sums, items};

        add<global_space, true>(&group, "global");
        add<readonly_space, true>(&group, "readonly");
        add_window<true>(&group);
        measure_in_turn(group.cells, asked);
    }
}

int main(int argc, char **argv)
{
    const options asked(argc, argv);
    gpu device;
    uint32_t *const sums = zeros<uint32_t>((size_t)device.sms * 2048);

    if (cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0) != cudaSuccess) {
        cudaGetLastError();
        device.persisting_bytes = 0;
    }
    if (asked.small)
        device.sms = std::min<int>(device.sms, CLUSTER_MAX);
    measure_tables(device, sums, asked);
    measure_streams(device, sums, asked);
}
