/* SPDX-License-Identifier: MIT
 * Random programs for the host, behind tests/simulated/compiler/cuda_host.h: their loads, rounds of
 * loops and calls are marked in the source (tests/sass/programs.h), and each thread tells here
 * where it is. */
#pragma once

/* What a program has in its parameters; a copy of each thread would have addresses of its own. */
struct given_words {
    unsigned head[3], first[32];
    unsigned short second[40];
};

typedef void random_kernel(unsigned *out, const unsigned *in, const unsigned *p0,
                           const unsigned short *p1, int n, int m, long long limit,
                           unsigned long long count, const given_words &given,
                           const unsigned *texture);

extern "C" {
/* A load of the running thread, in a line of the source. */
void host_loaded(unsigned line, const void *address);
/* Goes on in another place: a round of a loop, a call. Returns the place before, for host_back. */
unsigned long long host_place(unsigned line, unsigned round);
void host_back(unsigned long long place);
[[noreturn]] void host_outside(unsigned line, unsigned long long index);
/* A table, to be filled before each launch; one of constant memory has the same numbers in all. */
void host_table(void *memory, size_t bytes, bool constant);
/* Launches a kernel and prints what its loads did; `whole`: in blocks of whole warps alone; `flat`:
 * in blocks of two dimensions. */
void host_launch(const char *name, random_kernel *kernel, bool whole, bool flat);
}

struct host_loop {
    const unsigned line;
    const unsigned long long before = host_place(0, 0);
    unsigned round = 0;

    ~host_loop()
    {
        host_back(before);
    }
    void next()
    {
        host_back(before);
        host_place(line, ++round);
    }
};

template <class F> auto host_called(unsigned line, F call)
{
    host_loop place = {line};

    place.next();
    return call();
}

template <class T, size_t count, class I>
inline T &host_element(unsigned line, T (&table)[count], I index)
{
    if ((unsigned long long)index >= count)
        host_outside(line, (unsigned long long)index);
    host_loaded(line, &table[index]);
    return table[index];
}
template <class T, class I> inline T &host_element(unsigned line, T *const &table, I index)
{
    host_loaded(line, &table[index]);
    return table[index];
}

/* -- what lanes tell each other ---------------------------------------------------------------- */

inline unsigned __match_any_sync(unsigned mask, unsigned value)
{
    unsigned present, same = 0;
    const unsigned long long *const all = simulated_exchange(mask, value, &present);

    for (unsigned lane = 0; lane < 32; lane++)
        same |= (present >> lane & 1) && all[lane] == value ? 1u << lane : 0;
    return same;
}
inline unsigned __match_all_sync(unsigned mask, unsigned value, int *alike)
{
    const unsigned same = __match_any_sync(mask, value);

    *alike = same == mask;
    return *alike ? mask : 0;
}

#define HOST_REDUCE(name, start, expression)                                             \
    inline unsigned __reduce_##name##_sync(unsigned mask, unsigned given)                \
    {                                                                                    \
        unsigned present, sum = start;                                                   \
        const unsigned long long *const all = simulated_exchange(mask, given, &present); \
                                                                                         \
        for (unsigned lane = 0; lane < 32; lane++)                                       \
            if (present >> lane & 1) {                                                   \
                const unsigned value = (unsigned)all[lane];                              \
                                                                                         \
                sum = expression;                                                        \
            }                                                                            \
        return sum;                                                                      \
    }
HOST_REDUCE(add, 0, sum + value)
HOST_REDUCE(min, ~0u, sum < value ? sum : value)
HOST_REDUCE(max, 0, sum > value ? sum : value)
HOST_REDUCE(and, ~0u, sum &value)
HOST_REDUCE(or, 0, sum | value)
HOST_REDUCE(xor, 0, sum ^ value)
