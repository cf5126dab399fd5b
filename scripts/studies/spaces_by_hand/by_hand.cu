/* SPDX-License-Identifier: MIT
 * The kernels of one_table.cu and two_tables.cu without cbank.cuh: tables are prepared and read as
 * ../memory_spaces/space.cuh does it. Prints cells as ../memory_spaces/rounds.cuh says:
 *
 *     {"cell": {"tables": "100 KB", "size": threads, "space": "shared"}, ...}
 *
 * Sample k is of tables in place k: as in cbank, each is in memory of its own, and begins at
 * another multiple of 512 bytes. The time of a table that L1 cannot hold depends on that.
 *
 * usage: by_hand [--small] [SPACE...]   the memory spaces are left out */
#include "../memory_spaces/space.cuh"

#include <memory>

#include "lookups.h"

static_assert(THREADS == LOOKUP_BLOCK, "space.cuh has blocks of this size");

/* -- memory spaces that space.cuh does not have ------------------------------------------------ */

struct table_of_job : work {
    cudaTextureObject_t texture;
};

struct texture_space : nothing_to_prepare {
    __device__ static uint32_t entry(const table_of_job &table, uint32_t index)
    {
        return tex1Dfetch<uint32_t>(table.texture, (int)index);
    }
};

/* By loads and stores of an entry; a thread loads four before it stores them. shared_by_loads has
 * loads and stores of 16 bytes. */
struct shared_by_entries : shared_space<> {
    __device__ static void prepare(const work &work)
    {
        uint32_t *const to = table_in_shared();
        uint32_t i = threadIdx.x;

#pragma unroll 1
        for (; i + 3 * blockDim.x < work.entries; i += 4 * blockDim.x) {
            uint32_t four[4];

#pragma unroll
            for (uint32_t k = 0; k < 4; k++)
                four[k] = work.table[i + k * blockDim.x];
#pragma unroll
            for (uint32_t k = 0; k < 4; k++)
                to[i + k * blockDim.x] = four[k];
        }
        for (; i < work.entries; i += blockDim.x)
            to[i] = work.table[i];
        __syncthreads();
    }
};

struct no_table : nothing_to_prepare {
    __device__ static uint32_t entry(const work &, uint32_t)
    {
        return 0;
    }
};

/* -- the kernel -------------------------------------------------------------------------------- */

/* As in the kernel files, the entries are numbers of the code. */
template <class FIRST, uint32_t FIRST_ENTRIES, class SECOND, uint32_t SECOND_ENTRIES>
__global__ void __launch_bounds__(THREADS)
    look_up(table_of_job first, table_of_job second, uint32_t *sums)
{
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
    uint32_t state = number_at(thread), sum = 0;

    first.entries = FIRST_ENTRIES;
    FIRST::prepare(first);
#pragma unroll 4
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        sum += FIRST::entry(first, entry_at(state, FIRST_ENTRIES)) +
               SECOND::entry(second, entry_at(state, SECOND_ENTRIES));
        state = next_of(state);
    }
    sums[thread] = sum;
}

/* -- cells ------------------------------------------------------------------------------------- */

/* As the memory of cbank's tables: see table_buffer_set_bytes() in kernels/path.c. */
enum { PLACES = 24, STEP_BYTES = 512, STEPS = 128, STEPS_APART = 79, ALIGNED_BYTES = 65536 };

static uint32_t *memory_of_table(uint32_t entries, uint32_t place)
{
    const uintptr_t memory = (uintptr_t)zeros<unsigned char>(2 * ALIGNED_BYTES + 4 * entries);
    const uintptr_t aligned = (memory + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES;

    return (uint32_t *)(aligned + place * STEPS_APART % STEPS * STEP_BYTES);
}

static table_of_job table_of(uint32_t entries, uint32_t place)
{
    table_of_job made = {};
    std::vector<uint32_t> numbers(entries);
    uint32_t *const memory = memory_of_table(entries, place);

    for (uint32_t i = 0; i < entries; i++)
        numbers[i] = number_at(i);
    MUST(cudaMemcpy(memory, numbers.data(), 4 * entries, cudaMemcpyHostToDevice));
    made.table = memory;
    made.entries = entries;
    made.texture = texture_of(memory, 4 * entries);
    return made;
}

/* The same table in each place. */
typedef std::vector<table_of_job> tables;

static tables tables_of(uint32_t entries)
{
    tables made;

    for (uint32_t place = 0; place < PLACES; place++)
        made.push_back(table_of(entries, place));
    return made;
}

/* Cells that look up the same. The tables of `second` may have no entries. */
struct group {
    const options &asked;
    const gpu &device;
    const char *name;
    const tables &first, &second;
    const uint32_t size;
    uint32_t *const sums;
    std::vector<uint32_t> expected = {};
    std::vector<cell> cells = {};
};

static void expect(group *group)
{
    const uint32_t first = group->first[0].entries, second = group->second[0].entries;

    for (uint32_t thread = 0; thread < group->size; thread++) {
        uint32_t state = number_at(thread), sum = 0;

        for (uint32_t i = 0; i < LOOKUPS; i++) {
            sum += number_at(entry_at(state, first)) +
                   (second ? number_at(entry_at(state, second)) : 0);
            state = next_of(state);
        }
        group->expected.push_back(sum);
    }
}

/* The tables of a group: how many entries each has; 0: there is no second one. */
template <uint32_t FIRST_ENTRIES, uint32_t SECOND_ENTRIES> struct sizes {
    static constexpr uint32_t first = FIRST_ENTRIES, second = SECOND_ENTRIES;
};
typedef sizes<SMALL_ENTRIES, 0> only_small;
typedef sizes<LARGE_ENTRIES, 0> only_large;
typedef sizes<SMALL_ENTRIES, LARGE_ENTRIES> both;

template <class SIZES, class FIRST, class SECOND> static void add(group *group, const char *space)
{
    const auto kernel = look_up<FIRST, SIZES::first, SECOND, SIZES::second>;
    const std::string text = text_of("\"tables\": \"%s\", \"size\": %u, \"space\": \"%s\"",
                                     group->name, group->size, space);
    const size_t shared = FIRST::blocks_of_table ? BARRIER_BYTES + 4 * (size_t)SIZES::first : 0;
    const uint32_t size = group->size;
    uint32_t *const sums = group->sums;
    std::string why;

    if (group->asked.leaves_out(space))
        return;
    if (group->device.architecture < FIRST::oldest)
        why = text_of("needs sm_%d; this GPU is sm_%d", FIRST::oldest, group->device.architecture);
    else if ((int)shared > group->device.block_shared_bytes)
        why = text_of("needs %zu bytes of shared memory; a block has %d", shared,
                      group->device.block_shared_bytes);
    if (!why.empty()) {
        print_reason(text, "skipped", why);
        return;
    }
    MUST(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    std::vector<std::shared_ptr<launches>> places;
    for (uint32_t k = 0; k < PLACES; k++)
        places.push_back(std::make_shared<launches>(
            [=, first = group->first[k], second = group->second[k]](cudaStream_t stream) {
                kernel<<<size / THREADS, THREADS, shared, stream>>>(first, second, sums);
                MUST(cudaGetLastError());
            }));

    group->cells.push_back({text,
                            [=, &expected = group->expected] {
                                verdict verdict = {0, ""};

                                for (size_t k = 0; k < PLACES && verdict.fault.empty(); k++) {
                                    MUST(cudaMemset(sums, 0xff, 4 * (size_t)size));
                                    MUST(cudaDeviceSynchronize());
                                    places[k]->once();
                                    verdict = compare(copied(sums, size), expected);
                                }
                                return verdict;
                            },
                            /* The first time, the commands of a graph come from memory. */
                            [=, place = size_t(0)]() mutable {
                                const auto &timed = places[place++ % PLACES];

                                timed->in_graph_ns();
                                return timed->in_graph_ns();
                            }});
}

/* SECOND: where the second table is beside a first one that is in shared memory. */
template <class SIZES, class SECOND> static void add_shared(group *group)
{
    add<SIZES, shared_by_entries, SECOND>(group, "shared");
    add<SIZES, shared_by_loads<0>, SECOND>(group, "shared, by 16 bytes");
    add<SIZES, shared_by_async<0>, SECOND>(group, "shared_async");
    add<SIZES, shared_by_bulk<0>, SECOND>(group, "shared_bulk");
}

/* One table alone. */
template <class SIZES> static void add_alone(group *group)
{
    add<SIZES, global_space, no_table>(group, "global");
    add<SIZES, readonly_space, no_table>(group, "readonly");
    add<SIZES, texture_space, no_table>(group, "texture");
    add_shared<SIZES, no_table>(group);
}

int main(int argc, char **argv)
{
    const options asked(argc, argv);
    const gpu device;
    const tables small = tables_of(SMALL_ENTRIES), large = tables_of(LARGE_ENTRIES);
    const tables none(PLACES);
    uint32_t *const sums = zeros<uint32_t>(1 << 21);

    for (const uint32_t size : {1u << 19, 1u << 21}) {
        const uint32_t threads = asked.small ? size >> 9 : size;
        group of_small = {asked, device, "100 KB", small, none, threads, sums};
        group of_large = {asked, device, "256 KB", large, none, threads, sums};
        group of_both = {asked, device, "100 KB and 256 KB", small, large, threads, sums};

        add_alone<only_small>(&of_small);
        add_alone<only_large>(&of_large);
        add<both, global_space, global_space>(&of_both, "global");
        add<both, readonly_space, readonly_space>(&of_both, "readonly");
        add<both, texture_space, texture_space>(&of_both, "texture");
        add_shared<both, global_space>(&of_both);
        for (group *const each : {&of_small, &of_large, &of_both}) {
            expect(each);
            measure_in_turn(each->cells, asked.small ? 1 : PLACES);
        }
    }
}
