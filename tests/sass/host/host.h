/* SPDX-License-Identifier: MIT
 * A file of the corpus for the host, behind tests/simulated/compiler/cuda_host.h: arguments of its
 * kernels. */
#ifndef CORPUS_HOST_H
#define CORPUS_HOST_H

#define __ldg(address) (*(address))
#define tex1Dfetch     fetched
#define surf2Dread     unread

extern "C" {
/* Fills memory with numbers from 0 to 31 of so many bytes each. */
void host_fill(void *memory, size_t bytes, size_t number_bytes);
/* The same, again before each run. */
void host_variable(void *memory, size_t bytes, size_t number_bytes);
/* Memory that is filled so. */
void *host_memory(size_t number_bytes);
/* Calls a kernel in each thread of some grids and prints what its loads did. */
void host_run(const char *name, void (*call)(void *), void *arguments);
}

template <class T>
inline __attribute__((always_inline)) T fetched(cudaTextureObject_t texture, int index)
{
    return ((const T *)texture)[index];
}

constexpr size_t number_bytes_of(size_t bytes)
{
    return bytes > 8 ? 4 : bytes;
}

template <class T> struct host_value {
    static T make(int)
    {
        T value;

        host_fill(&value, sizeof(value), number_bytes_of(sizeof(value)));
        return value;
    }
};
template <class T> struct host_value<T *> {
    static T *make(int)
    {
        return (T *)host_memory(number_bytes_of(sizeof(T)));
    }
};
template <> struct host_value<cudaTextureObject_t> {
    static cudaTextureObject_t make(int)
    {
        return (cudaTextureObject_t)host_memory(4);
    }
};
template <> struct host_value<int> {
    static int make(int number)
    {
        return 15 - number; /* 13 of the third, 12 of the fourth */
    }
};
template <> struct host_value<float> {
    static float make(int)
    {
        return 1.5f;
    }
};

template <class... T> struct host_arguments;
template <> struct host_arguments<> {
    explicit host_arguments(int)
    {
    }
    template <class F, class... Before> void call(F kernel, Before... before)
    {
        kernel(before...);
    }
};
template <class T, class... Rest> struct host_arguments<T, Rest...> {
    T first;
    host_arguments<Rest...> rest;
    explicit host_arguments(int number) : first(host_value<T>::make(number)), rest(number + 1)
    {
    }
    template <class F, class... Before> void call(F kernel, Before... before)
    {
        rest.call(kernel, before..., first);
    }
};

template <class... T> void host_try(const char *name, void (*kernel)(T...))
{
    struct request {
        void (*kernel)(T...);
        host_arguments<T...> arguments;
    } request = {kernel, host_arguments<T...>(0)};

    host_run(
        name,
        [](void *given) {
            struct request *const made = (struct request *)given;

            made->arguments.call(made->kernel);
        },
        &request);
}

#endif
