/* SPDX-License-Identifier: MIT
 *
 * cbank.cuh: tables whose memory space is a template parameter, and cases that say how cbank measures a kernel.
 *
 *   CBANK_TABLE(grid, float, 256, constant);        // the line to change: constant, global, shared ...
 *
 *   template <class Table> __global__ void kernel(Table table, const int *index, float *out)
 *   {
 *       table.stage();                               // all threads of the block; empty where nothing is to be done
 *       out[threadIdx.x] = table[index[threadIdx.x]];
 *   }
 *
 * In a program: `grid table; table.load(entries);` and `kernel<<<blocks, threads>>>(table, index, out);`. The header
 * needs nothing else. C++14 and newer; CUDA 11.8 and newer.
 */
#ifndef CBANK_CUH
#define CBANK_CUH

#include "cbank_case.h"

#define CBANK_BOTH __host__ __device__

namespace cbank
{

/* The memory spaces. */
#define CBANK_SPACE_TYPE(name, number_)                   \
    struct name {                                         \
        static constexpr cbank_u32 number = number_;      \
    }
CBANK_SPACE_TYPE(constant, CBANK_SPACE_CONSTANT);
CBANK_SPACE_TYPE(global, CBANK_SPACE_GLOBAL);
CBANK_SPACE_TYPE(readonly, CBANK_SPACE_READONLY);
CBANK_SPACE_TYPE(shared, CBANK_SPACE_SHARED);
CBANK_SPACE_TYPE(shared_copies, CBANK_SPACE_SHARED_COPIES);
CBANK_SPACE_TYPE(param, CBANK_SPACE_PARAM);
CBANK_SPACE_TYPE(texture, CBANK_SPACE_TEXTURE);
CBANK_SPACE_TYPE(shuffle, CBANK_SPACE_SHUFFLE);
CBANK_SPACE_TYPE(select, CBANK_SPACE_SELECT);
CBANK_SPACE_TYPE(prmt, CBANK_SPACE_PRMT);

template <class Entry, cbank_u32 count, class Space, class Tag> class table;

template <class Entry, cbank_u32 count, class Tag> __constant__ Entry constant_entries[count];

template <class Entry, cbank_u32 count_, class Tag> class table<Entry, count_, constant, Tag> : public Tag
{
  public:
    typedef Entry entry;
    typedef constant space;
    static constexpr cbank_u32 count = count_, shared_bytes = 0;

    __device__ void stage() {}
    __device__ Entry operator[](cbank_u32 index) const { return constant_entries<Entry, count, Tag>[index]; }
    CBANK_BOTH static cbank_u32 constant_offset()
    {
#ifdef __CUDA_ARCH__
        return (cbank_u32)__cvta_generic_to_constant(constant_entries<Entry, count, Tag>);
#else
        return 0;
#endif
    }
};

template <class Entry, cbank_u32 count_, class Tag> class table<Entry, count_, global, Tag> : public Tag
{
  public:
    typedef Entry entry;
    typedef global space;
    static constexpr cbank_u32 count = count_, shared_bytes = 0;

    __device__ void stage() {}
    __device__ Entry operator[](cbank_u32 index) const { return entries[index]; }
    CBANK_BOTH static cbank_u32 constant_offset() { return 0; }

  private:
    const Entry *entries;
};

#if __cplusplus >= 201703L
/* -- cases ---------------------------------------------------------------------------------------------- */

template <class A, class B> struct is_same {
    static constexpr bool value = false;
};
template <class A> struct is_same<A, A> {
    static constexpr bool value = true;
};

template <class T> struct type_of {
    static constexpr cbank_u32 value = CBANK_TYPE_BYTES;
};
#define CBANK_TYPE_OF(type, value_)                     \
    template <> struct type_of<type> {                  \
        static constexpr cbank_u32 value = value_;      \
    }
CBANK_TYPE_OF(unsigned char, CBANK_TYPE_UNSIGNED);
CBANK_TYPE_OF(unsigned short, CBANK_TYPE_UNSIGNED);
CBANK_TYPE_OF(unsigned int, CBANK_TYPE_UNSIGNED);
CBANK_TYPE_OF(unsigned long, CBANK_TYPE_UNSIGNED);
CBANK_TYPE_OF(unsigned long long, CBANK_TYPE_UNSIGNED);
CBANK_TYPE_OF(char, CBANK_TYPE_SIGNED);
CBANK_TYPE_OF(signed char, CBANK_TYPE_SIGNED);
CBANK_TYPE_OF(short, CBANK_TYPE_SIGNED);
CBANK_TYPE_OF(int, CBANK_TYPE_SIGNED);
CBANK_TYPE_OF(long, CBANK_TYPE_SIGNED);
CBANK_TYPE_OF(long long, CBANK_TYPE_SIGNED);
CBANK_TYPE_OF(float, CBANK_TYPE_FLOAT);
CBANK_TYPE_OF(double, CBANK_TYPE_FLOAT);

/* 64 random bits, a function of both numbers: the finalizer of SplitMix64. */
CBANK_BOTH inline cbank_u64 random_bits(cbank_u64 seed, cbank_u64 i)
{
    cbank_u64 x = (seed + 1) * 0x9E3779B97F4A7C15ull + i * 0xD1B54A32D192ED03ull;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

/* An element of random bits; a float or double from 0 up to 1. */
template <class T> CBANK_BOTH T random_element(cbank_u64 bits)
{
    T value;

    if (type_of<T>::value == CBANK_TYPE_FLOAT)
        return (T)((double)(bits >> 40) / 16777216.0);
    for (cbank_u32 i = 0; i < sizeof(T); i++)
        ((cbank_u8 *)&value)[i] = (cbank_u8)(bits >> 8 * (i & 7));
    return value;
}

/* Contents of buffers and tables. A function of the position, `[=](cbank_u64 i) { return ...; }`, is one too. */
struct random {
    cbank_u64 seed = 0;
};
struct below { /* random integers, or floats, from 0 up to that bound */
    cbank_u64 bound, seed = 0;
};
struct zeros {
};
struct npy { /* a file, next to the kernel file unless the path is absolute */
    const char *path;
};

struct tolerance {
    double relative = 0, absolute = 0;
};

/* A buffer of the kernel: a pointer to its elements. */
template <class T> struct buffer {
    T *elements;
    cbank_u32 number;

    CBANK_BOTH operator T *() const { return elements; }
};

/* The entries of a table, as its contents are written: for references on any memory space. */
template <class Table> struct table_contents {
    const typename Table::entry *entries;
    cbank_u32 number;

    CBANK_BOTH const typename Table::entry &operator[](cbank_u64 i) const { return entries[i]; }
};

template <class T> struct is_contents {
    static constexpr bool value = false;
};
template <class Table> struct is_contents<table_contents<Table>> {
    static constexpr bool value = true;
};

/* The base of every case: what its body calls. */
class case_base
{
  public:
    const cbank_u64 size; /* that is measured */

    CBANK_BOTH case_base(const cbank_request &request_, cbank_case_report *report_, cbank_u64 first_, cbank_u64 step_)
        : size(request_.size), request(request_), report(report_), first(first_), step(step_)
    {
    }

    /* Ends a description. */
    CBANK_BOTH void finish()
    {
        if (!report)
            return;
        report->version = CBANK_CASE_VERSION;
        report->table_count = tables;
        report->buffer_count = buffers;
        if (launches != 1)
            fail(launches ? CBANK_ERROR_SEVERAL_LAUNCHES : CBANK_ERROR_NO_LAUNCH);
    }

  protected:
    /* Buffers of so many elements. */
    template <class T, class Fill = random> CBANK_BOTH buffer<const T> input(cbank_u64 elements, Fill fill = {})
    {
        const buffer<T> made = add<T>(elements, CBANK_ROLE_INPUT, fill);

        return {made.elements, made.number};
    }
    template <class T, class Fill = random> CBANK_BOTH buffer<T> inout(cbank_u64 elements, Fill fill = {})
    {
        return add<T>(elements, CBANK_ROLE_INOUT, fill);
    }
    template <class T> CBANK_BOTH buffer<T> output(cbank_u64 elements) { return add<T>(elements, CBANK_ROLE_OUTPUT, zeros{}); }
    template <class T> CBANK_BOTH buffer<T> scratch(cbank_u64 elements)
    {
        return add<T>(elements, CBANK_ROLE_SCRATCH, zeros{});
    }

    /* The contents of a table: the kernel's argument for it. */
    template <class Table, class Fill = random> CBANK_BOTH table_contents<Table> entries(Fill fill = {})
    {
        typedef typename Table::entry entry;
        const cbank_u32 number = tables++;

        if (number >= CBANK_TABLES_MAX) {
            fail(CBANK_ERROR_TOO_MANY_TABLES);
            return {nullptr, 0};
        }
        if (report) {
            cbank_table_report &table = report->tables[number];

            copy(table.name, Table::name(), CBANK_NAME_BYTES);
            table.entry_bytes = sizeof(entry);
            table.entries = Table::count;
            table.space = Table::space::number;
            table.object_bytes = sizeof(Table);
            table.shared_bytes = Table::shared_bytes;
            table.constant_offset = Table::constant_offset();
            name_file(table.file, fill);
        } else if (request.call == CBANK_CALL_ENTRIES && request.number == number) {
            fill_with((entry *)request.tables[number], Table::count, 1000 + number, fill);
        }
        return {(const entry *)request.tables[number], number};
    }

    /* launch(kernel, blocks, threads, shared bytes)(arguments ...): how the kernel is launched. Once in a case. */
    template <class... Parameters> struct launcher {
        case_base &of;

        template <class... Arguments> CBANK_BOTH void operator()(const Arguments &...arguments) const
        {
            static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                          "cbank: the case gives the kernel another number of arguments than it takes");
            (of.argument<Parameters>(arguments), ...);
        }
    };
    template <class... Parameters>
    CBANK_BOTH launcher<Parameters...> launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cbank_u64 shared_bytes = 0)
    {
        (void)kernel;
        launches++;
        if (report) {
            report->grid[0] = grid.x, report->grid[1] = grid.y, report->grid[2] = grid.z;
            report->block[0] = block.x, report->block[1] = block.y, report->block[2] = block.z;
            report->shared_bytes = shared_bytes;
            report->items = report->items ? report->items : size;
        }
        return {*this};
    }

    /* The number of items that one launch works on, if it is not `size`. */
    CBANK_BOTH void items(cbank_u64 count)
    {
        if (report)
            report->items = count;
    }

    /* The contents that the kernel must have written: a function of the position, or a file. */
    template <class T, class Expected> CBANK_BOTH void check(buffer<T> checked, Expected expected, tolerance within = {})
    {
        if (report) {
            cbank_buffer_report &described = report->buffers[checked.number];

            name_file(described.expected_file, expected);
            described.expects = !described.expected_file[0];
        } else if (request.call == CBANK_CALL_EXPECT && request.number == checked.number) {
            fill_with((T *)request.expected, lengths[checked.number], 0, expected);
        }
        accept(checked, within);
    }

    /* How much elements may differ, between launches and memory spaces. */
    template <class T> CBANK_BOTH void accept(buffer<T> checked, tolerance within)
    {
        if (report) {
            report->buffers[checked.number].tolerance_relative = within.relative;
            report->buffers[checked.number].tolerance_absolute = within.absolute;
        }
    }

  private:
    const cbank_request &request;
    cbank_case_report *const report; /* NULL unless it is to be described */
    const cbank_u64 first, step;     /* the elements that this thread fills */
    cbank_u32 buffers = 0, tables = 0, arguments = 0, launches = 0;
    cbank_u64 lengths[CBANK_BUFFERS_MAX];

    CBANK_BOTH void fail(cbank_u32 error)
    {
        if (report && !report->error)
            report->error = error;
    }

    CBANK_BOTH void copy(char *to, const char *from, cbank_u32 room)
    {
        cbank_u32 i = 0;

        for (; from[i] && i + 1 < room; i++)
            to[i] = from[i];
        to[i] = '\0';
        if (from[i])
            fail(CBANK_ERROR_TEXT_TOO_LONG);
    }

    CBANK_BOTH void name_file(char *to, npy fill) { copy(to, fill.path, CBANK_FILE_NAME_BYTES); }
    template <class Fill> CBANK_BOTH void name_file(char *to, const Fill &) { to[0] = '\0'; }

    template <class T> CBANK_BOTH static T element(random fill, cbank_u64 salt, cbank_u64 i)
    {
        return random_element<T>(random_bits(fill.seed + salt, i));
    }
    template <class T> CBANK_BOTH static T element(below fill, cbank_u64 salt, cbank_u64 i)
    {
        const cbank_u64 bits = random_bits(fill.seed + salt, i) >> 32;

        if (type_of<T>::value == CBANK_TYPE_FLOAT)
            return (T)((double)bits / 4294967296.0 * (double)fill.bound);
        return (T)(bits * fill.bound >> 32);
    }
    template <class T> CBANK_BOTH static T element(zeros, cbank_u64, cbank_u64) { return T{}; }
    template <class T> CBANK_BOTH static T element(npy, cbank_u64, cbank_u64) { return T{}; }
    template <class T, class Function> CBANK_BOTH static T element(const Function &function, cbank_u64, cbank_u64 i)
    {
        return (T)function(i);
    }

    template <class T, class Fill> CBANK_BOTH void fill_with(T *to, cbank_u64 count, cbank_u64 salt, const Fill &fill)
    {
        for (cbank_u64 i = first; i < count; i += step)
            to[i] = element<T>(fill, request.seed + salt, i);
    }

    template <class T, class Fill> CBANK_BOTH buffer<T> add(cbank_u64 elements, cbank_u32 role, const Fill &fill)
    {
        const cbank_u32 number = buffers++;

        if (number >= CBANK_BUFFERS_MAX) {
            fail(CBANK_ERROR_TOO_MANY_BUFFERS);
            return {nullptr, 0};
        }
        lengths[number] = elements;
        if (report) {
            cbank_buffer_report &made = report->buffers[number];

            made.elements = elements;
            made.element_bytes = sizeof(T);
            made.type = type_of<T>::value;
            made.role = role;
            name_file(made.file, fill);
        } else if (request.call == CBANK_CALL_FILL && request.number == number) {
            fill_with((T *)request.buffers[number], elements, number, fill);
        }
        return {(T *)request.buffers[number], number};
    }

    template <class Parameter, class Argument> CBANK_BOTH void argument(const Argument &given)
    {
        const cbank_u32 number = arguments++;

        static_assert(sizeof(Parameter) <= CBANK_VALUE_BYTES || is_contents<Argument>::value,
                      "cbank: an argument of the kernel has more than 256 bytes");
        if (number >= CBANK_ARGUMENTS_MAX) {
            fail(CBANK_ERROR_TOO_MANY_BUFFERS);
            return;
        }
        if constexpr (is_contents<Argument>::value) {
            static_assert(is_same<table_contents<Parameter>, Argument>::value,
                          "cbank: the kernel takes another table here than the case gives it");
            if (report)
                report->arguments[number].table = 1 + given.number;
        } else {
            const Parameter value = given;

            if (report)
                for (cbank_u32 i = 0; i < sizeof(Parameter); i++)
                    report->arguments[number].value[i] = ((const cbank_u8 *)&value)[i];
        }
        if (report) {
            report->arguments[number].bytes = sizeof(Parameter);
            report->argument_count = arguments;
        }
    }
};

#endif

} // namespace cbank

/* A table by name. `#define CBANK_SPACE_name ,space` before the file gives it another memory space
 * than the line has. */
#define CBANK_SECOND(a, b, ...)       b
#define CBANK_CHOOSE(...)             CBANK_SECOND(__VA_ARGS__)
#define CBANK_CHOICE(name, space)     CBANK_CHOOSE(CBANK_SPACE_##name, space, )
#ifdef CBANK_MEASURE
#define CBANK_TABLE_INFO(name_, entry_, count_, space_)                                                             \
    extern "C" __device__ cbank_table_info cbank_table_info_##name_ = {                                             \
        CBANK_CASE_VERSION, __LINE__, name_::space::number, cbank::space_::number, sizeof(entry_), count_, #name_};
#else
#define CBANK_TABLE_INFO(name, entry, count, space)
#endif
#define CBANK_TABLE(name_, entry_, count_, space_)                                                                  \
    struct cbank_tag_##name_ {                                                                                      \
        CBANK_BOTH static const char *name() { return #name_; }                                                     \
    };                                                                                                              \
    typedef cbank::table<entry_, count_, cbank::CBANK_CHOICE(name_, space_), cbank_tag_##name_> name_;              \
    CBANK_TABLE_INFO(name_, entry_, count_, space_)

/* CBANK_CASE(kernel, sizes ...) { body }: how the program measures the kernel. Other builds compile it and leave it
 * out. It takes C++17. */
#ifdef CBANK_MEASURE
#define CBANK_CASE_CALL(name_, ...)                                                                                 \
    extern "C" __device__ cbank_case_info cbank_case_info = {                                                       \
        CBANK_CASE_VERSION, __LINE__, sizeof((cbank_u64[]){__VA_ARGS__}) / sizeof(cbank_u64), 0, {__VA_ARGS__}, #name_}; \
    extern "C" __global__ void cbank_case_call(const cbank_request request, cbank_case_report *report)              \
    {                                                                                                               \
        cbank_case_body body(request, report, (cbank_u64)blockIdx.x * blockDim.x + threadIdx.x,                     \
                             (cbank_u64)gridDim.x * blockDim.x);                                                    \
        body.run();                                                                                                 \
        body.finish();                                                                                              \
    }
#else
#define CBANK_CASE_CALL(name, ...)
#endif
#define CBANK_CASE(name_, ...)                                                                                      \
    namespace                                                                                                       \
    {                                                                                                               \
    class cbank_case_body : public cbank::case_base                                                                 \
    {                                                                                                               \
      public:                                                                                                       \
        using cbank::case_base::case_base;                                                                          \
        CBANK_BOTH void run();                                                                                      \
    };                                                                                                              \
    }                                                                                                               \
    CBANK_CASE_CALL(name_, __VA_ARGS__)                                                                             \
    CBANK_BOTH inline void cbank_case_body::run()

#endif
