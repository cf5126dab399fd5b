/* SPDX-License-Identifier: MIT
 *
 * The measured kernels: kernel<workload, path, pattern> for every possible combination of the three
 * tables, each specialised at compile time. Each workload is a module of its own, with a constant
 * bank of its own. The index arithmetic is the same on every path; the load alone differs.
 *
 * For a warp-uniform index, ptxas may move an LDC to the uniform datapath (ULDC, LDCU), on some
 * architectures and under some patterns. For a compile-time index it may fold the load into an
 * operand. `args.divergence` is always 0, and the compiler does not know that. It hides from the
 * compiler what the path must not reveal. Masked with the thread index, it makes every index a
 * per-thread value (one LOP3). Unmasked, it makes the index a value of the block.
 * scripts/check_sass.py checks that it worked.
 */
#include "device.cuh"
#include "entry.cuh"
#include "kernel_args.h"
#include "parameter_index.h"
#include "pattern_index.h"
#include "workload.h"

__constant__ uint32_t cbank_values[CBANK_TABLE_LENGTH];

/* The table in shared memory. The launch sets its size. */
extern __shared__ uint32_t cbank_staged[];

/* The table by value: `bytes` of it, 0 for paths that do not read it there. Older toolkits pass
 * fewer; the engine then launches no kernel of larger ones. */
template <class Element, uint32_t bytes> struct parameter_values {
#if CUDART_VERSION >= 12010
    static constexpr uint32_t passed = bytes;
#else
    static constexpr uint32_t passed =
        bytes < CBANK_PARAMETER_BYTES ? bytes : CBANK_PARAMETER_BYTES;
#endif
    Element elements[bytes ? passed / sizeof(Element) : 1];
};

/* -- the rows as types ------------------------------------------------------------------------- */

#define FORMULA_VARIABLES                                                \
    const uint32_t distinct = numbers.distinct, stride = numbers.stride; \
    (void)block, (void)thread, (void)step, (void)length, (void)distinct, (void)stride

#define PATTERN(name_, formula, ...)                                                             \
    struct pattern_##name_ {                                                                     \
        static constexpr struct pattern row = {.name = #name_, __VA_ARGS__};                     \
        static constexpr enum index_scope scope = row.scope;                                     \
        static constexpr bool index_is_step = row.index_is_step, core = row.core;                \
        static __device__ uint32_t index(uint32_t block, uint32_t thread, uint32_t step,         \
                                         uint32_t length, const struct pattern_numbers &numbers) \
        {                                                                                        \
            FORMULA_VARIABLES;                                                                   \
            return (formula);                                                                    \
        }                                                                                        \
    };
#include "patterns.def"

/* All locations in which a path can find the table. */
template <class Values, class Element, class Held> struct spaces {
    const uint32_t *table, *restricted;
    uint64_t texture;
    const Values &values;
    Held held; /* the words of the table that the thread holds */
    Element mine; /* the thread's own entry */
    /* the thread's own copy in shared memory; entries lie `copies` elements apart */
    const Element *copied;
    uint32_t copies;
};

#define PATH(name_, access, ...)                                                                 \
    struct path_##name_ {                                                                        \
        static constexpr struct path row = {.name = #name_, __VA_ARGS__};                        \
        static constexpr enum table_home home = row.home;                                        \
        static constexpr uint32_t bytes = row.bytes, length = row.bytes / sizeof(uint32_t);      \
        static constexpr uint32_t architecture = row.architecture;                               \
        static constexpr enum index_scope scope = row.scope;                                     \
        static constexpr bool staged = row.unit == UNIT_SHARED, loads = row.loads, whole = true, \
                              plain = true;                                                      \
        static constexpr bool copied = row.copies > 1, exchanged = row.unit == UNIT_REGISTERS;   \
        static constexpr bool selects = row.unit == UNIT_SELECT;                                 \
        typedef uint32_t element_type;                                                           \
        typedef parameter_values<uint32_t, home == TABLE_PARAMETER ? bytes : 0> table_values;    \
        typedef held_words<selects ? length : 1> held_table;                                     \
        template <class table_element, class Spaces>                                             \
        static __device__ table_element element(const Spaces &space, uint32_t index)             \
        {                                                                                        \
            const table_element *const table = (const table_element *)space.table;               \
            const table_element *const restricted = (const table_element *)space.restricted;     \
            const table_element *const staged = (const table_element *)cbank_staged;             \
            const table_element *const cbank_values = (const table_element *)::cbank_values;     \
            const uint64_t texture = space.texture;                                              \
            const auto &values = space.values;                                                   \
            const held_table &held = space.held;                                                 \
            const table_element *const copied = space.copied;                                    \
            const uint32_t copies = space.copies;                                                \
            const table_element mine = space.mine;                                               \
                                                                                                 \
            (void)table, (void)restricted, (void)staged, (void)cbank_values, (void)texture,      \
                (void)values;                                                                    \
            (void)held, (void)copied, (void)copies, (void)mine, (void)index;                     \
            if constexpr (loads)                                                                 \
                return (access);                                                                 \
            else                                                                                 \
                return table_element();                                                          \
        }                                                                                        \
        static __device__ uint32_t words(const kernel_args &)                                    \
        {                                                                                        \
            return length;                                                                       \
        }                                                                                        \
        static __device__ uint32_t entries(const kernel_args &)                                  \
        {                                                                                        \
            return length;                                                                       \
        }                                                                                        \
        static __device__ uint32_t load(const spaces<table_values, uint32_t, held_table> &space, \
                                        uint32_t index)                                          \
        {                                                                                        \
            return element<uint32_t>(space, index);                                              \
        }                                                                                        \
    };
#include "paths.def"

/* A path to a table of other elements or of another size: `width` bytes an element, args.length
 * elements. Where a formula gives the index, args.length is a power of two and the kernel masks the
 * index. */
template <class Path, uint32_t width> struct sized : Path {
    typedef typename element_of<width>::type element_type;
    typedef parameter_values<element_type, Path::home == TABLE_PARAMETER ? Path::bytes : 0>
        table_values;
    static constexpr uint32_t length = CBANK_TABLE_BYTES / width;
    static constexpr bool whole = false, plain = CBANK_WIDTH_IS_PLAIN(width);
    static __device__ uint32_t words(const kernel_args &args)
    {
        return (args.length * width + 3) / 4;
    }
    static __device__ uint32_t entries(const kernel_args &args)
    {
        return args.length;
    }
    static __device__ uint32_t
    load(const spaces<table_values, element_type, typename Path::held_table> &space, uint32_t index)
    {
        return element_of<width>::folded(Path::template element<element_type>(space, index));
    }
};

/* A zero to add to an index. It hides from the compiler what the path must not reveal. */
template <class Path> static __device__ uint32_t opaque_zero(const kernel_args &args)
{
    return Path::scope == INDEX_THREAD  ? threadIdx.x & args.divergence
           : Path::scope == INDEX_BLOCK ? args.divergence
                                        : 0;
}

/* Everything through which the code of a path finds the table. */
template <class Path>
using spaces_of =
    spaces<typename Path::table_values, typename Path::element_type, typename Path::held_table>;

/* The table in registers, for paths where the thread holds all of it. Reading beyond a shorter
 * table is safe: the memory always has the bytes of a whole one. */
template <class Path> static __device__ typename Path::held_table own_words(const kernel_args &args)
{
    typename Path::held_table held = {};

    if constexpr (Path::selects) {
#pragma unroll
        for (uint32_t word = 0; word < held.words; word++)
            held.word[word] = args.table[word];
    }
    return held;
}

/* The entry that the thread holds of a table that its warp exchanges. Threads beyond the last entry
 * hold the last entry. */
template <class Path>
static __device__ typename Path::element_type own_entry(const kernel_args &args)
{
    const typename Path::element_type *const table =
        (const typename Path::element_type *)args.table;

    if constexpr (Path::exchanged)
        return table[min(threadIdx.x % CBANK_WARP_THREADS, Path::entries(args) - 1)];
    else
        return {};
}

/* Neighbouring threads use neighbouring copies: entry k of copy c is element k x copies + c. */
template <class Path>
static __device__ const typename Path::element_type *own_copy(const kernel_args &args)
{
    return (const typename Path::element_type *)cbank_staged +
           (Path::copied ? threadIdx.x & (args.copies - 1) : 0);
}

/* Fills the copies in shared memory. All threads of the block work together. */
template <class Path> static __device__ void stage_copies(const kernel_args &args)
{
    typename Path::element_type *const staged = (typename Path::element_type *)cbank_staged;
    const typename Path::element_type *const table =
        (const typename Path::element_type *)args.table;
    const uint32_t shift = __ffs((int)args.copies) - 1, count = Path::entries(args) << shift;

#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < count; k += blockDim.x)
        staged[k] = table[k >> shift];
    __syncthreads();
}

/* Copies the first `length` words of the table into shared memory. All threads of the block work
 * together, and each has four loads in flight. The loop is unrolled by hand: the compiler's
 * unrolling divides to find the trip count, on some architectures by a call. Where the path loads
 * nothing from shared memory, a load that never happens keeps the copy alive. It must stand behind
 * a branch: counters see a predicated load now and then, even where its predicate is never true. A
 * modulo of a number that the compiler does not know is too much code for a predicate. Where the
 * kernel has loops anyway, another loop is a branch. */
template <class Path, bool loops = false>
static __device__ uint32_t stage(const kernel_args &args, uint32_t length)
{
    if constexpr (Path::copied) {
        stage_copies<Path>(args);
        return 0;
    } else if constexpr (Path::staged) {
        const uint32_t stride = blockDim.x;
        uint32_t first = 0;

#pragma unroll 1
        for (; first + 4 * stride <= length; first += 4 * stride) {
            uint32_t four[4];

#pragma unroll
            for (uint32_t k = 0; k < 4; k++)
                four[k] = args.table[first + k * stride + threadIdx.x];
#pragma unroll
            for (uint32_t k = 0; k < 4; k++)
                cbank_staged[first + k * stride + threadIdx.x] = four[k];
        }
#pragma unroll 1
        for (; first < length; first += stride)
            if (first + threadIdx.x < length)
                cbank_staged[first + threadIdx.x] = args.table[first + threadIdx.x];
        __syncthreads();
        uint32_t sum = 0;

        if constexpr (!Path::loads && loops) {
#pragma unroll 1
            for (uint32_t i = 0; i < args.divergence; i++)
                sum += cbank_staged[i];
        } else if (!Path::loads && args.divergence) {
            sum = cbank_staged[args.divergence % args.elements];
        }
        return sum;
    } else {
        return 0;
    }
}

/* The element that tells a thread whether anything is left to do. Where a warp exchanges entries,
 * all of its threads must stay: the test uses the block's first element, and blocks are whole. A
 * compiler that cannot see this would add code. */
template <class Path> static __device__ uint32_t first_element(void)
{
    return blockIdx.x * blockDim.x + (Path::exchanged ? 0 : threadIdx.x);
}

/* -- shapes ------------------------------------------------------------------------------------ */

/* The pattern of the core matrix that the host names. */
template <class Workload>
static __device__ uint32_t switched_index(const kernel_args &args, uint32_t block, uint32_t thread,
                                          uint32_t step, uint32_t length)
{
    switch (args.pattern) {
#define PATTERN(name, formula, ...)                                                   \
    case PATTERN_##name:                                                              \
        return pattern_##name::core                                                   \
                   ? pattern_##name::index(block, thread, step, length, args.numbers) \
                   : 0;
#include "patterns.def"
    default:
        return 0;
    }
}

template <class Workload, class Path, class Pattern>
static __device__ uint32_t map_index(const kernel_args &args, uint32_t step)
{
    if (Workload::index == INDEX_SWITCHED)
        return switched_index<Workload>(args, blockIdx.x, threadIdx.x, step, Path::length);
    if (Workload::index == INDEX_SWITCHED_LENGTH)
        return switched_index<Workload>(args, blockIdx.x, threadIdx.x, step, args.length);

    const uint32_t index =
        Pattern::index(blockIdx.x, threadIdx.x, step, Path::length, args.numbers);

    return (Path::whole ? index : index & (args.length - 1)) | opaque_zero<Path>(args);
}

/* One input element, `steps` loads. */
struct shape_map {
    template <class Workload, class Path, class Pattern>
    static __device__ void run(const kernel_args &args, const spaces_of<Path> &space)
    {
        uint32_t sum = stage<Path>(args, Path::words(args));
        const uint32_t element = blockIdx.x * blockDim.x + threadIdx.x;

        if (element >= args.elements)
            return;
#pragma unroll
        for (uint32_t step = 0; step < Workload::steps; step++)
            sum += Path::load(space, map_index<Workload, Path, Pattern>(args, step));
        args.output[element] = Workload::result(args.input[element], sum);
    }
};

/* The grid strides over the elements; a thread takes one at a time. `variant` lookups of an element
 * are in flight: an index waits, through a zero, for the lookup that is `variant` before it.
 * Pointers are incremented: an address computed from a parameter would be read from the parameter
 * bank again for every lookup. Paths that look nothing up still load the indices. Other data may be
 * streamed too; it is all zeros. Before each group of lookups, the warps of a block load one line
 * each, and cycle through that data. */
struct shape_lookup {
    template <class Workload, class Path, class Pattern>
    static __device__ void run(const kernel_args &args, const spaces_of<Path> &space)
    {
        constexpr uint32_t in_flight = Workload::in_flight;
        const uint32_t staged = stage<Path, true>(args, Path::words(args)),
                       stride = gridDim.x * blockDim.x;
        const uint32_t own = blockIdx.x * blockDim.x + threadIdx.x;
        uint32_t element = first_element<Path>();
        const uint32_t *first = args.input + own;
        uint32_t *output = args.output + own;
        uint32_t place = Workload::pressed ? own & args.polluter_mask : 0;

        if (element >= args.elements)
            return;
#pragma unroll 1
        do {
            const uint32_t *next = first;
            uint32_t sum = staged, loaded[in_flight] = {}, step = 0;

#pragma unroll 1
            do {
                uint32_t index[in_flight], polluter = 0;

                /* Lookups wait for this load as for their indices. For some widths, a compiler that
                 * was free to move the load did so. */
                if constexpr (Workload::pressed) {
                    polluter = args.polluter[place];
                    place = (place + blockDim.x) & args.polluter_mask;
                }
#pragma unroll
                for (uint32_t k = 0; k < in_flight; k++, next += args.elements)
                    index[k] = *next;
#pragma unroll
                for (uint32_t k = 0; k < in_flight; k++) {
                    loaded[k] = Path::loads ? Path::load(space, index[k] | ((loaded[k] | polluter) &
                                                                            args.divergence))
                                            : index[k] & args.divergence;
                    sum += loaded[k];
                }
                sum += polluter;
                step += in_flight;
            } while (step < args.rows);
            *output = Workload::result(0, sum);
            first += stride;
            output += stride;
            element += stride;
        } while (element < args.elements);
    }
};

/* A coefficient: element `step` of the filter. */
template <class Path, class Pattern>
static __device__ float coefficient(const kernel_args &args, const spaces_of<Path> &space,
                                    uint32_t zero, uint32_t step)
{
    const uint32_t index =
        Pattern::index(blockIdx.x, threadIdx.x, step, Path::length, args.numbers);

    return __uint_as_float(Path::load(space, zero + index));
}

/* The block's input with `steps` elements on each side; 0 beyond the ends. */
struct shape_stencil {
    template <class Workload, class Path, class Pattern>
    static __device__ void run(const kernel_args &args, const spaces_of<Path> &space)
    {
        constexpr uint32_t radius = Workload::steps;
        __shared__ float tile[CBANK_BLOCK_THREADS_MAX + 2 * radius];
        const float *const input = (const float *)args.input;
        const uint32_t element = blockIdx.x * blockDim.x + threadIdx.x;
        const uint32_t zero = opaque_zero<Path>(args);
        float sum = __uint_as_float(stage<Path>(args, Workload::steps));

        tile[radius + threadIdx.x] = element < args.elements ? input[element] : 0;
        if (threadIdx.x < radius) {
            const bool right = element < args.elements && args.elements - element > blockDim.x;

            tile[threadIdx.x] = element >= radius ? input[element - radius] : 0;
            tile[radius + threadIdx.x + blockDim.x] = right ? input[element + blockDim.x] : 0;
        }
        __syncthreads();
        if (element >= args.elements)
            return;
#pragma unroll
        for (uint32_t i = 1; i <= radius; i++)
            sum += coefficient<Path, Pattern>(args, space, zero, i - 1) *
                   (tile[radius + threadIdx.x + i] - tile[radius + threadIdx.x - i]);
        args.output[element] = __float_as_uint(sum);
    }
};

/* Neighbours outside the image add nothing. Row pointers start at the thread's own element: an
 * address computed from the parameter `input` would be read from the parameter bank again for every
 * neighbour. */
struct shape_convolution {
    template <class Workload, class Path, class Pattern>
    static __device__ void run(const kernel_args &args, const spaces_of<Path> &space)
    {
        constexpr int rx = Workload::variant, ry = Workload::dimensions > 1 ? rx : 0,
                      rz = Workload::dimensions > 2 ? rx : 0;
        float sum = __uint_as_float(stage<Path>(args, Workload::steps));
        const uint32_t element = blockIdx.x * blockDim.x + threadIdx.x;

        if (element >= args.elements)
            return;

        const float *const centre = (const float *)args.input + element;
        const uint32_t zero = opaque_zero<Path>(args);
        const uint32_t width = ry ? 1u << args.width_log2 : args.rows,
                       height = rz ? width : args.rows, depth = args.rows;
        const uint32_t x = ry ? element & (width - 1) : element;
        const uint32_t y =
            rz ? element >> args.width_log2 & (width - 1) : element >> args.width_log2;
        const uint32_t z = element >> 2 * args.width_log2;
        const int64_t plane_pitch = (int64_t)width * height;
        uint32_t step = 0;

#pragma unroll
        for (int dz = -rz; dz <= rz; dz++)
#pragma unroll
            for (int dy = -ry; dy <= ry; dy++) {
                const float *const row =
                    centre + (rz ? dz * plane_pitch : 0) + (ry ? dy * (int64_t)width : 0);
                const bool row_inside = (!rz || z + dz < depth) && (!ry || y + dy < height);

#pragma unroll
                for (int dx = -rx; dx <= rx; dx++, step++) {
                    const float neighbour = row_inside && x + dx < width ? row[dx] : 0;

                    sum += coefficient<Path, Pattern>(args, space, zero, step) * neighbour;
                }
            }
        args.output[element] = __float_as_uint(sum);
    }
};

/* -- workloads --------------------------------------------------------------------------------- */

/* base to the power of exponent. */
static constexpr uint32_t power(uint32_t base, uint32_t exponent)
{
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

#define WORKLOAD(name_, body, formula, ...)                                    \
    template <uint32_t variant_> struct workload_##name_ {                     \
        typedef struct shape_##body shape; /* of launches.cu: none here */     \
        static constexpr struct workload row = {.name = #name_, __VA_ARGS__};  \
        static constexpr uint32_t variant = variant_, variants = row.variants, \
                                  dimensions = row.dimensions;                 \
        static constexpr uint32_t in_flight =                                  \
            variant_ ? (variant_ - 1) % CBANK_IN_FLIGHT_MAX + 1 : 0;           \
        static constexpr bool pressed = variant_ > CBANK_IN_FLIGHT_MAX;        \
        static constexpr uint32_t steps =                                      \
            row.steps ? row.steps : power(2 * variant_ + 1, row.dimensions);   \
        static constexpr enum workload_index index = row.index;                \
        static constexpr uint32_t parameter_mask = row.parameter_mask;         \
        static __device__ uint32_t result(uint32_t input, uint32_t sum)        \
        {                                                                      \
            (void)input;                                                       \
            return (formula);                                                  \
        }                                                                      \
    };
#include "workloads.def"

/* At most 64 registers a thread, so that every block size can be launched. */
template <class Workload, class Path, class Pattern>
__global__ void __launch_bounds__(CBANK_BLOCK_THREADS_MAX, 1)
    kernel(const CBANK_PARAMETER kernel_args args, const uint32_t *__restrict__ restricted,
           const CBANK_PARAMETER typename Path::table_values values)
{
    /* Only threads that have an element take the table into registers. Otherwise compilers may load
     * it before or after the shape's own check. */
    if (Path::selects && first_element<Path>() >= args.elements)
        return;

    const spaces_of<Path> space = {args.table,
                                   restricted,
                                   args.texture,
                                   values,
                                   own_words<Path>(args),
                                   own_entry<Path>(args),
                                   own_copy<Path>(args),
                                   args.copies};

    Workload::shape::template run<Workload, Path, Pattern>(args, space);
}

/* -- instances --------------------------------------------------------------------------------- */

/* Stands for the pattern where indices are data of any source. */
struct pattern_source {
    static constexpr enum index_scope scope = INDEX_THREAD;
    static constexpr bool index_is_step = false, core = false;
};

/* Whether the rows allow a combination: see cell_obstacle. Lookups have one kernel for all sources.
 * Its table has any size, and the number of lookups in flight is a power of two. */
template <class Workload, class Path, class Pattern> static constexpr bool can_be(bool source)
{
    return source != (Workload::index == INDEX_LOADED) || architecture < Path::architecture ? false
           : source ? Path::scope == INDEX_THREAD && !Path::whole &&
                          (Workload::in_flight & (Workload::in_flight - 1)) == 0 &&
                          (!Path::row.entry_bytes ||
                           sizeof(typename Path::element_type) <= Path::row.entry_bytes) &&
                          (Path::plain || !(Path::copied || Path::exchanged || Path::selects ||
                                            Path::row.unit == UNIT_TEXTURE))
                    : Pattern::scope >= Path::scope &&
                          (Workload::steps == 1 || Pattern::index_is_step) &&
                          (Path::whole ||
                           (Workload::parameter_mask & PARAMETER_BIT(width_bytes)) != 0) &&
                          !Path::row.lookups && Path::plain &&
                          (Workload::index == INDEX_COMPILED ||
                           (Pattern::core && Path::scope == INDEX_THREAD));
}

/* The kernel of a combination; none where it cannot be. */
template <class Workload, class Path, class Pattern, bool can> struct instance {
    static constexpr const void *get()
    {
        return (const void *)kernel<Workload, Path, Pattern>;
    }
};

template <class Workload, class Path, class Pattern>
struct instance<Workload, Path, Pattern, false> {
    static constexpr const void *get()
    {
        return nullptr;
    }
};

/* The kernels of all patterns for one workload and path. */
template <class Workload, class Path> struct instances {
    static const void *const kernels[];
};

template <class Workload, class Path>
const void *const instances<Workload, Path>::kernels[] = {
#define PATTERN(name, formula, ...) \
    instance<Workload, Path, pattern_##name, can_be<Workload, Path, pattern_##name>(false)>::get(),
#include "patterns.def"
    instance<Workload, Path, pattern_source, can_be<Workload, Path, pattern_source>(true)>::get(),
};

/* The same for all paths of one workload. */
template <class Workload> struct path_instances {
    static const void *const *const kernels[];
};

template <class Workload>
const void *const *const path_instances<Workload>::kernels[] = {
#define PATH(name, access, ...)                               \
    instances<Workload, path_##name>::kernels,                \
        instances<Workload, sized<path_##name, 1>>::kernels,  \
        instances<Workload, sized<path_##name, 2>>::kernels,  \
        instances<Workload, sized<path_##name, 4>>::kernels,  \
        instances<Workload, sized<path_##name, 8>>::kernels,  \
        instances<Workload, sized<path_##name, 16>>::kernels, \
        instances<Workload, sized<path_##name, 12>>::kernels, \
        instances<Workload, sized<path_##name, 24>>::kernels, \
        instances<Workload, sized<path_##name, 32>>::kernels,
#include "paths.def"
};

/* The same for all variants of one workload, from `variant` down to 1 (or 0 alone). */
template <template <uint32_t> class Workload, uint32_t variant> struct variant_instances {
    static const void *const *const *const kernels[];
};

template <template <uint32_t> class Workload, uint32_t variant>
const void *const *const *const variant_instances<Workload, variant>::kernels[] = {
    path_instances<Workload<variant>>::kernels,
    variant > 1 ? (const void *const *const *)
                      variant_instances<Workload, (variant > 1 ? variant - 1 : variant)>::kernels
                : nullptr,
};

/* This file is compiled once for each workload, into a module of its own. CBANK_WORKLOAD names
 * it. */
#define CONCATENATE(a, b)   a##b
#define WORKLOAD_TYPE(name) CONCATENATE(workload_, name)

#define MODULE_WORKLOAD WORKLOAD_TYPE(CBANK_WORKLOAD)
template struct variant_instances<MODULE_WORKLOAD, MODULE_WORKLOAD<0>::variants>;
