/* SPDX-License-Identifier: MIT
 *
 * The kernels of by_hand.cuh under NVBench, with its defaults. A state is one kernel, size and
 * memory space, which scripts/studies/by_hand.py --nvbench names in the command line. */
#include <nvbench/nvbench.cuh>

#include "by_hand.cuh"

static void by_hand(nvbench::state &state)
{
    const size_t size = (size_t)state.get_int64("size");
    alignas(16) static unsigned char table[65536];

    state.set_cuda_stream(nvbench::make_cuda_stream_view(cudaStreamPerThread));
    for (const kernel &k : kernels())
        for (const variant &v : k.variants)
            if (state.get_string("kernel") == k.name && state.get_string("space") == v.space) {
                std::vector<unsigned> output;
                set s = {};

                k.write_table(table);
                open(&s, k, size, table);
                check(k, v, &s, size, &output);
                state.exec([&](nvbench::launch &) { v.launch(&s, size); });
                close(&s);
                return;
            }
    state.skip("no such kernel, or it has no such memory space");
}

NVBENCH_BENCH(by_hand)
    .add_string_axis("kernel", {"crc32"})
    .add_int64_axis("size", {1 << 20})
    .add_string_axis("space", {"constant"});
NVBENCH_MAIN
