/* SPDX-License-Identifier: MIT
 *
 * cbank.cuh: tables whose memory space is a template parameter, and cases that say how cbank
 * measures a kernel.
 *
 *   CBANK_TABLE(grid, float, 256, constant);        // the line to change: constant, global ...
 *
 *   template <class Table> __global__ void kernel(Table table, const int *index, float *out)
 *   {
 *       table.stage();                               // all threads of the block
 *       out[threadIdx.x] = table[index[threadIdx.x]];
 *   }
 *
 * In a program: `grid table; table.load(entries);`, `kernel<<<blocks, threads>>>(table, index,
 * out);` and `table.release();`. The header needs nothing else. C++14 and newer; CUDA 11.8 and
 * newer, by nvcc, NVRTC or clang.
 *
 * A table in memory space S is an object that kernels take by value. All of them have these
 * members:
 *
 *   entry, count, bytes        the type of an entry, the number of entries, and the bytes of all
 *   shared_bytes               dynamic shared memory that the launch must add for it: 0 unless S is
 *                              `shared`, `shared_async` or `shared_bulk` and the table has more
 *                              than 48 KB. It lies at the start of the dynamic shared memory
 *   load(entries, stream)      host: gives the table `count` entries of host memory, in the order
 *                              of the stream (0 by default). A second call replaces them. It
 *                              returns what the CUDA runtime returns
 *   release()                  host: frees what load() allocated. Copies of the object share it:
 *                              release one of them
 *   stage()                    device: prepares the table for reads. All threads of the block call
 *                              it. Threads of a row (threadIdx.x) share the work: in blocks of
 *                              several dimensions each row does all of it
 *   stage(thread, threads)     the same, shared by so many threads, each with its number: for
 *                              blocks of several dimensions
 *   table[index]               device: an entry by value. The index must be below `count`. For
 *                              integers shorter than int, shuffle returns an int of the entry's
 *                              value
 *
 * cbank::stage(a, b ...) stages several tables with one barrier.
 *
 * A memory space, how its entries are read, and how many there may be:
 *
 *   constant        constant memory, by LDC: 64 KB in all
 *   global          global memory, by plain loads (LDG): any number
 *   readonly        global memory, by read-only loads (LDG.CONSTANT): any number
 *   shared          shared memory, a copy for each block (LDS): what a block can have
 *   shared_async    the same, filled by cp.async (LDGSTS): sm_80 and later
 *   shared_bulk     the same, filled by one cp.async.bulk (UBLKCP): sm_90 and CUDA 12.0, and later
 *   shared_copies   shared memory, up to 32 copies for each block in 32 KB at most: neighbouring
 *                   threads read neighbouring copies (LDS). 16 KB
 *   param           the kernel's parameters (LDC): 2 KB; from CUDA 12.1 and sm_70 on 32,764 bytes
 *                   in all
 *   texture         global memory, through the texture unit (TLD): entries of 1, 2, 4, 8 or 16
 *                   bytes
 *   shuffle         registers of the warp, by SHFL. All threads of the warp must be there when one
 *                   reads, and none may have left the kernel before. 32 entries
 *   select          registers of the thread, by SEL: 64 bytes
 *   prmt            registers of the thread, by PRMT: 16 bytes, in entries of 1 or 2 bytes
 *
 * Entries are of any type that is trivially copyable. A table that its memory space cannot hold
 * does not compile, and the message begins with "cbank: ".
 *
 * A table belongs to the source file that has its CBANK_TABLE: two files that use one name have two
 * tables. A program of several files that share a table (-rdc=true) names cbank::table<entry,
 * count, space, tag> with a tag of its own.
 */
#ifndef CBANK_CUH
#define CBANK_CUH

#include "cbank_case.h"
#if !defined(CBANK_HOST_BUILD) && !defined(__CUDACC_RTC__) /* a host build: tests/simulated */
#include <string.h>
#define CBANK_RUNTIME
#endif

#define CBANK_BOTH __host__ __device__
/* Inlined before anything else, so that compilers see what they see of code written by hand. */
#define CBANK_INLINE __device__ __forceinline__

struct __half;

namespace cbank
{

/* The memory spaces. */
#define CBANK_SPACE_TYPE(name, NAME)                            \
    struct name {                                               \
        static constexpr cbank_u32 number = CBANK_SPACE_##NAME; \
    };
CBANK_SPACES(CBANK_SPACE_TYPE)

/* -- limits ------------------------------------------------------------------------------------ */

static constexpr cbank_u64 constant_max = 65536, static_shared_max = CBANK_STATIC_SHARED,
                           copies_max = 32768;

/* Bytes of the parameters of a kernel, in all. */
#ifdef __CUDACC_VER_MAJOR__
#define CBANK_TOOLKIT (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#else
#define CBANK_TOOLKIT CUDART_VERSION
#endif
#if (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700) && CBANK_TOOLKIT >= 12010
static constexpr cbank_u64 parameters_max = 32764, param_max = 32764;
#else
static constexpr cbank_u64 parameters_max = 4096, param_max = 2048;
#endif

/* The shared memory of a block, by architecture. */
#ifdef __CUDA_ARCH__
static constexpr cbank_u32 architecture = __CUDA_ARCH__;
#else
static constexpr cbank_u32 architecture = 900;
#endif
static constexpr cbank_u64 shared_max = architecture < 700                           ? 49152
                                        : architecture < 750                         ? 98304
                                        : architecture < 800                         ? 65536
                                        : architecture == 800 || architecture == 870 ? 166912
                                        : architecture < 900 || architecture >= 1200 ? 101376
                                                                                     : 232448;

/* -- tables ------------------------------------------------------------------------------------ */

/* Room for entries, without a constructor. */
template <class Entry, cbank_u32 count> struct storage {
    alignas(Entry) cbank_u8 bytes[sizeof(Entry) * count];

    CBANK_BOTH __forceinline__ Entry *entries()
    {
        return reinterpret_cast<Entry *>(bytes);
    }
    CBANK_BOTH __forceinline__ const Entry *entries() const
    {
        return reinterpret_cast<const Entry *>(bytes);
    }
};

/* The same for parameters of a kernel. Compilers load an array of bytes in them byte by byte. Where
 * the index is not known they compare it with that of each entry, or copy the entries to local
 * memory, in a parameter of up to 128 bytes that is no const __grid_constant__. */
template <class Entry, cbank_u32 count> union parameter_storage {
    Entry all[count];
    cbank_u8 more_than_copied[144];

    CBANK_BOTH parameter_storage()
    {
    }
    CBANK_BOTH __forceinline__ const Entry *entries() const
    {
        return all;
    }
};

template <class A, class B> struct is_same {
    static constexpr bool value = false;
};
template <class A> struct is_same<A, A> {
    static constexpr bool value = true;
    typedef A type;
};

template <bool condition, class T> struct only_if {
};
template <class T> struct only_if<true, T> {
    typedef T type;
};

/* The threads that stage a table: a row of the block, or those that the caller counts. Their
 * numbers are read in the loop, as by hand: in variables, the compiler orders instructions
 * otherwise. One thread of the block is the first. */
struct row_threads {
    CBANK_INLINE cbank_u32 own() const
    {
        return threadIdx.x;
    }
    CBANK_INLINE cbank_u32 all() const
    {
        return blockDim.x;
    }
    CBANK_INLINE bool first() const
    {
        return (threadIdx.x | threadIdx.y | threadIdx.z) == 0;
    }
};
struct counted_threads {
    cbank_u32 thread, threads;

    CBANK_INLINE cbank_u32 own() const
    {
        return thread;
    }
    CBANK_INLINE cbank_u32 all() const
    {
        return threads;
    }
    CBANK_INLINE bool first() const
    {
        return thread == 0;
    }
};

/* The base of every table, which Table is the type of. A table that needs more has members of these
 * names. */
template <class Table, class Entry, cbank_u32 count_, class Space> struct table_base {
    typedef Entry entry;
    typedef Space space;
    static constexpr cbank_u32 count = count_, shared_bytes = 0;
    static constexpr cbank_u64 bytes = (cbank_u64)sizeof(Entry) * count_;
    static constexpr cbank_u64 static_shared_bytes = 0;
    static constexpr bool needs_barrier = false; /* between own_copied() and all_copied() */

    static_assert(count_ > 0, "CBANK_TABLE: a table has one entry or more");
    static_assert(__is_trivially_copyable(Entry),
                  "CBANK_TABLE: the type of an entry must be trivially copyable");

    /* The parts of stage(): the thread begins its copies; they have been made; those of the block
     * have been made. */
    template <class Threads> CBANK_INLINE void copy(Threads)
    {
    }
    CBANK_INLINE void own_copied()
    {
    }
    CBANK_INLINE void all_copied()
    {
    }
    CBANK_INLINE void stage()
    {
        stage_by(row_threads());
    }
    CBANK_INLINE void stage(cbank_u32 thread, cbank_u32 threads)
    {
        stage_by(counted_threads{thread, threads});
    }
    template <class Threads> CBANK_INLINE void stage_by(Threads by)
    {
        Table *const table = static_cast<Table *>(this);

        table->copy(by);
        table->own_copied();
        if (Table::needs_barrier)
            __syncthreads();
        table->all_copied();
    }
#ifdef CBANK_RUNTIME
    cudaError_t release()
    {
        return cudaSuccess;
    }
#endif
};

/* The base of tables whose entries are in global memory. */
template <class Table, class Entry, cbank_u32 count_, class Space>
class memory_table : public table_base<Table, Entry, count_, Space>
{
  public:
#ifdef CBANK_RUNTIME
    cudaError_t load(const Entry *from, cudaStream_t stream = 0)
    {
        const cudaError_t error =
            entries ? cudaSuccess : cudaMalloc((void **)&entries, memory_table::bytes);

        if (error != cudaSuccess)
            return error;
        return cudaMemcpyAsync((void *)entries, from, memory_table::bytes, cudaMemcpyHostToDevice,
                               stream);
    }
    cudaError_t release()
    {
        void *const memory = (void *)entries;

        entries = nullptr;
        return cudaFree(memory);
    }
#endif

  protected:
    const Entry *entries = nullptr;
};

template <class Entry, cbank_u32 count, class Space, class Tag> class table;

#define CBANK_TABLE_IN(space, base)                     \
    template <class Entry, cbank_u32 count_, class Tag> \
    class table<Entry, count_, space, Tag>              \
        : public Tag, public base<table<Entry, count_, space, Tag>, Entry, count_, space>

template <class Entry, cbank_u32 count, class Tag>
__constant__ storage<Entry, count> constant_entries;

CBANK_TABLE_IN(constant, table_base)
{
    static_assert(table::bytes <= constant_max, "cbank: constant memory has 65,536 bytes");

  public:
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        return constant_entries<Entry, count_, Tag>.entries()[index];
    }
#ifdef CBANK_RUNTIME
    cudaError_t load(const Entry *from, cudaStream_t stream = 0)
    {
        return cudaMemcpyToSymbolAsync(constant_entries<Entry, count_, Tag>, from, table::bytes, 0,
                                       cudaMemcpyHostToDevice, stream);
    }
#endif
};

/* clang-format off */
CBANK_TABLE_IN(global, memory_table)
{
  public:
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        return this->entries[index];
    }
};
/* clang-format on */

/* The unsigned type of that many bytes, as words and as what the texture unit returns. Others do
 * not exist. */
template <cbank_u32 bytes> struct word_of {
    typedef cbank_u32 type;
    static constexpr bool exists = false;
};
#define CBANK_WORD(bytes, type_)             \
    template <> struct word_of<bytes> {      \
        typedef type_ type;                  \
        static constexpr bool exists = true; \
    }
CBANK_WORD(1, unsigned char);
CBANK_WORD(2, unsigned short);
CBANK_WORD(4, unsigned int);
CBANK_WORD(8, uint2);
CBANK_WORD(16, uint4);

/* The entry that has those bytes. */
template <class Entry, class From> CBANK_INLINE Entry entry_of(const From &from)
{
    storage<Entry, 1> entry;

    memcpy(entry.bytes, &from, sizeof(Entry) < sizeof(From) ? sizeof(Entry) : sizeof(From));
    return *entry.entries();
}

/* Integers that an int holds. */
template <class T, class = int> struct is_short {
    static constexpr bool value = false;
};
template <class T> struct is_short<T, decltype(T() + T())> {
    static constexpr bool value = sizeof(T) < 4;
};

/* The entry in the low bytes of a word; integers are converted, as by hand. */
template <class Entry>
CBANK_INLINE typename only_if<is_short<Entry>::value, Entry>::type low_entry(cbank_u32 word)
{
    return (Entry)word;
}
template <class Entry>
CBANK_INLINE typename only_if<!is_short<Entry>::value, Entry>::type low_entry(cbank_u32 word)
{
    return entry_of<Entry>(word);
}

/* clang-format off */
CBANK_TABLE_IN(readonly, memory_table)
{
  public:
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        return read(this->entries + index, 0);
    }

  private:
    /* By __ldg of that type, else of the largest words that divide its alignment. */
    template <class T> static CBANK_INLINE auto read(const T *from, int) -> decltype(__ldg(from))
    {
        return __ldg(from);
    }
    template <class T> static CBANK_INLINE T read(const T *from, long)
    {
        typedef typename word_of<(alignof(T) < 16 ? alignof(T) : 16)>::type word;
        constexpr cbank_u32 words = sizeof(T) / sizeof(word);
        word read[words];

#pragma unroll
        for (cbank_u32 i = 0; i < words; i++)
            read[i] = __ldg(reinterpret_cast<const word *>(from) + i);
        return entry_of<T>(read);
    }
};
/* clang-format on */

} // namespace cbank
#include "cbank_shared.cuh"
namespace cbank
{

CBANK_TABLE_IN(param, table_base)
{
    static_assert(table::bytes <= param_max, "cbank: kernel parameters hold tables of up to 2,048 "
                                             "bytes (32,764 from CUDA 12.1 and sm_70 on)");

  public:
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        return values.entries()[index];
    }
#ifdef CBANK_RUNTIME
    cudaError_t load(const Entry *from, cudaStream_t = 0)
    {
        memcpy((void *)values.all, from, table::bytes);
        return cudaSuccess;
    }
#endif

  private:
    parameter_storage<Entry, count_> values;
};

CBANK_TABLE_IN(texture, table_base)
{
    typedef word_of<sizeof(Entry)> fetched;

    static_assert(fetched::exists, "cbank: a texture has entries of 1, 2, 4, 8 or 16 bytes");
    static_assert(count_ <= 1u << 27, "cbank: a texture has 134,217,728 entries at most");

  public:
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        const typename fetched::type value = tex1Dfetch<typename fetched::type>(object, (int)index);

        return entry_of<Entry>(value);
    }
#ifdef CBANK_RUNTIME
    cudaError_t load(const Entry *from, cudaStream_t stream = 0)
    {
        const int first = sizeof(Entry) < 4 ? 8 * sizeof(Entry) : 32,
                  second = sizeof(Entry) >= 8 ? 32 : 0;
        const int last = sizeof(Entry) == 16 ? 32 : 0;
        const cudaTextureDesc as_elements = {};
        cudaResourceDesc described = {};
        void *&memory = described.res.linear.devPtr;
        cudaError_t error = object ? cudaGetTextureObjectResourceDesc(&described, object)
                                   : cudaMalloc(&memory, table::bytes);

        if (!object && error == cudaSuccess) {
            described.resType = cudaResourceTypeLinear;
            described.res.linear.sizeInBytes = table::bytes;
            described.res.linear.desc =
                cudaCreateChannelDesc(first, second, last, last, cudaChannelFormatKindUnsigned);
            error = cudaCreateTextureObject(&object, &described, &as_elements, nullptr);
            if (error != cudaSuccess)
                cudaFree(memory);
        }
        return error != cudaSuccess
                   ? error
                   : cudaMemcpyAsync(memory, from, table::bytes, cudaMemcpyHostToDevice, stream);
    }
    cudaError_t release()
    {
        cudaResourceDesc described = {};
        cudaError_t error =
            object ? cudaGetTextureObjectResourceDesc(&described, object) : cudaSuccess;

        if (error == cudaSuccess && object)
            error = cudaDestroyTextureObject(object);
        if (error == cudaSuccess)
            error = cudaFree(described.res.linear.devPtr);
        object = 0;
        return error;
    }
#endif

  private:
    unsigned long long object = 0; /* cudaTextureObject_t */
};

/* A thread holds one entry, and the others of its warp read it there: by __shfl_sync of that type,
 * else of words. An integer shorter than int is read as an int, as by __shfl_sync: to shorten it
 * again may take an instruction. */
CBANK_TABLE_IN(shuffle, memory_table)
{
    static_assert(count_ <= 32, "cbank: the threads of a warp hold 32 entries");

  private:
    storage<Entry, 1> own;

    template <class T>
    static CBANK_INLINE typename is_same<T, decltype(__shfl_sync(0u, T(), 0))>::type read(T from,
                                                                                          int lane,
                                                                                          int)
    {
        return __shfl_sync(0xFFFFFFFFu, from, lane);
    }
    template <class T>
    static CBANK_INLINE typename only_if<is_short<T>::value, int>::type read(T from, int lane, long)
    {
        return __shfl_sync(0xFFFFFFFFu, (int)from, lane);
    }
    template <class T> static CBANK_INLINE T read(T from, int lane, ...)
    {
        constexpr cbank_u32 words = (sizeof(T) + 3) / 4;
        cbank_u32 read[words];

        read[words - 1] = 0; /* the last word may have fewer bytes of the entry */
        memcpy(read, &from, sizeof(T));
#pragma unroll
        for (cbank_u32 word = 0; word < words; word++)
            read[word] = __shfl_sync(0xFFFFFFFFu, read[word], lane);
        return entry_of<T>(read);
    }

  public:
    template <class Threads> CBANK_INLINE void copy(Threads)
    {
        const cbank_u32 lane = threadIdx.x % 32;
        /* Other threads hold entries that nobody reads. */
        const cbank_u32 held_entry =
            count_ & (count_ - 1) ? (lane < count_ ? lane : count_ - 1) : threadIdx.x % count_;

        *own.entries() = this->entries[held_entry];
    }
    template <class Index>
    CBANK_INLINE auto operator[](Index index) const->decltype(table::read(Entry(), (int)index, 0))
    {
        return read(*own.entries(), (int)index, 0);
    }
};

/* Entries in registers of each thread: as they are, or several of them in a word. */
template <class Entry, cbank_u32 in_word> struct held_unit {
    typedef cbank_u32 type;
};
template <class Entry> struct held_unit<Entry, 1> {
    typedef Entry type;
};
template <class Entry, cbank_u32 count> struct held_entries {
    /* entries */
    static constexpr cbank_u32 in_word = sizeof(Entry) == 1 ? 4 : sizeof(Entry) == 2 ? 2 : 1;
    static constexpr cbank_u32 units = (count + in_word - 1) / in_word;
    static constexpr cbank_u32 words = units * ((in_word * sizeof(Entry) + 3) / 4);
    typedef typename held_unit<Entry, in_word>::type unit;

    storage<unit, units> held;

    CBANK_INLINE void copy(const Entry *entries)
    {
        const unit *const from = reinterpret_cast<const unit *>(entries);

#pragma unroll
        for (cbank_u32 i = 0; i + in_word <= count; i += in_word)
            held.entries()[i / in_word] = from[i / in_word];
        if (count % in_word)
            memset(held.bytes + (units - 1) * sizeof(unit), 0, sizeof(unit));
#pragma unroll
        for (cbank_u32 i = count - count % in_word; i < count; i++)
            memcpy(held.bytes + i * sizeof(Entry), entries + i, sizeof(Entry));
    }
};

/* Entry `entry` of `number` entries from `first` on, by halving. */
template <cbank_u32 first, cbank_u32 number> struct selection {
    static constexpr cbank_u32 half = power_of_two(number - 1);

    template <class Unit> static CBANK_INLINE Unit choose(const Unit *held, cbank_u32 entry)
    {
        const Unit low = selection<first, half>::choose(held, entry);
        const Unit high = selection<first + half, number - half>::choose(held, entry);

        return entry & half ? high : low;
    }
};
template <cbank_u32 first> struct selection<first, 1> {
    template <class Unit> static CBANK_INLINE Unit choose(const Unit *held, cbank_u32)
    {
        return held[first];
    }
};

CBANK_TABLE_IN(select, memory_table)
{
    static constexpr bool fits = held_entries<Entry, count_>::words <= 16;
    typedef held_entries<Entry, fits ? count_ : 1> held_type;

    static_assert(fits, "cbank: a thread selects among 16 words of 4 bytes at most");

  public:
    template <class Threads> CBANK_INLINE void copy(Threads)
    {
        own.copy(this->entries);
    }
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        constexpr cbank_u32 in_word = held_type::in_word;
        const cbank_u32 entry = (cbank_u32)index;

        return part(selection<0, held_type::units>::choose(own.held.entries(), entry / in_word),
                    entry % in_word * 8 * sizeof(Entry));
    }

  private:
    held_type own;

    static CBANK_INLINE Entry part(const Entry &unit, cbank_u32)
    {
        return unit;
    }
    template <class Word> static CBANK_INLINE Entry part(const Word &word, cbank_u32 shift)
    {
        return low_entry<Entry>(word >> shift);
    }
};

CBANK_TABLE_IN(prmt, memory_table)
{
    static constexpr bool fits = sizeof(Entry) <= 2 && table::bytes <= 16;
    typedef held_entries<cbank_u8, fits ? table::bytes : 1> held_type;

    static_assert(fits, "cbank: PRMT reads tables of up to 16 bytes, of entries of 1 or 2 bytes");

  public:
    template <class Threads> CBANK_INLINE void copy(Threads)
    {
        own.copy(reinterpret_cast<const cbank_u8 *>(this->entries));
    }
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        constexpr cbank_u32 words = held_type::units;
        const cbank_u32 *const word = own.held.entries();
        /* The bytes to take, by four bits each. The instruction ignores the highest of the four. */
        const cbank_u32 k = (cbank_u32)index, bytes = sizeof(Entry) == 1 ? k : k * 0x22 + 0x10;
        const cbank_u32 low = __byte_perm(word[0], word[words > 1 ? 1 : 0], bytes);

        if (words <= 2)
            return low_entry<Entry>(low);
        const cbank_u32 high = __byte_perm(word[words > 2 ? 2 : 0], word[words > 3 ? 3 : 0], bytes);

        return low_entry<Entry>(k * sizeof(Entry) & 8 ? high : low);
    }

  private:
    held_type own;
};

template <class... Numbers> CBANK_BOTH constexpr cbank_u64 sum_of(Numbers... numbers)
{
    cbank_u64 sum = 0;
    const cbank_u64 sums[] = {sum, (sum += (cbank_u64)numbers)...};

    return sums[sizeof...(Numbers)];
}

/* Stages tables with one barrier. */
template <class... Tables> CBANK_INLINE void stage(Tables &...tables)
{
    const int copied[] = {(tables.copy(row_threads()), 0)...},
              own[] = {(tables.own_copied(), 0)...};

    if (sum_of(Tables::needs_barrier...))
        __syncthreads();
    const int all[] = {(tables.all_copied(), 0)...};

    (void)copied, (void)own, (void)all;
}

/* -- cases ------------------------------------------------------------------------------------- */

template <class From, class To> struct converts {
    CBANK_BOTH static cbank_u8 into(To);
    CBANK_BOTH static cbank_u64 into(...);
    CBANK_BOTH static From from();
    static constexpr bool value = sizeof(into(from())) == 1;
};

/* The share that a parameter of a type has of the limits above. */
template <class T> struct parameter_of {
    static constexpr bool is_table = false;
    static constexpr cbank_u64 constant_bytes = 0, static_shared_bytes = 0, dynamic_tables = 0;
};
template <class Entry, cbank_u32 count, class Space, class Tag>
struct parameter_of<table<Entry, count, Space, Tag>> {
    typedef table<Entry, count, Space, Tag> type;
    static constexpr bool is_table = true;
    static constexpr cbank_u64 constant_bytes = is_same<Space, constant>::value ? type::bytes : 0;
    static constexpr cbank_u64 static_shared_bytes = type::static_shared_bytes,
                               dynamic_tables = type::shared_bytes > 0;
};

template <class... Numbers> CBANK_BOTH constexpr cbank_u32 number_of(Numbers...)
{
    return sizeof...(Numbers);
}

/* Bytes of parameters, each at its alignment. */
template <class... Parameters> CBANK_BOTH constexpr cbank_u64 bytes_of_parameters()
{
    const cbank_u64 sizes[] = {0, sizeof(Parameters)...},
                    alignments[] = {1, alignof(Parameters)...};
    cbank_u64 end = 0;

    for (cbank_u32 i = 0; i <= sizeof...(Parameters); i++)
        end = (end + alignments[i] - 1) / alignments[i] * alignments[i] + sizes[i];
    return end;
}

/* The numbers that a type consists of, for filling, comparing and showing them. */
template <class T> struct type_of {
    typedef unsigned char scalar; /* for filling alone */
    static constexpr cbank_u32 value = CBANK_TYPE_BYTES, lanes = 1;
};
#define CBANK_TYPE_OF(type, scalar_, lanes_, value_)               \
    template <> struct type_of<type> {                             \
        typedef scalar_ scalar;                                    \
        static constexpr cbank_u32 value = value_, lanes = lanes_; \
    }
#define CBANK_SCALAR(type, value) CBANK_TYPE_OF(type, type, 1, value)
#define CBANK_NUMBER(scalar, name, value)     \
    CBANK_SCALAR(scalar, value);              \
    CBANK_TYPE_OF(name##2, scalar, 2, value); \
    CBANK_TYPE_OF(name##4, scalar, 4, value)
CBANK_NUMBER(unsigned char, uchar, CBANK_TYPE_UNSIGNED);
CBANK_NUMBER(unsigned short, ushort, CBANK_TYPE_UNSIGNED);
CBANK_NUMBER(unsigned int, uint, CBANK_TYPE_UNSIGNED);
CBANK_NUMBER(signed char, char, CBANK_TYPE_SIGNED);
CBANK_NUMBER(short, short, CBANK_TYPE_SIGNED);
CBANK_NUMBER(int, int, CBANK_TYPE_SIGNED);
CBANK_NUMBER(float, float, CBANK_TYPE_FLOAT);
CBANK_SCALAR(unsigned long, CBANK_TYPE_UNSIGNED);
CBANK_SCALAR(unsigned long long, CBANK_TYPE_UNSIGNED);
CBANK_SCALAR(char, CBANK_TYPE_SIGNED);
CBANK_SCALAR(long, CBANK_TYPE_SIGNED);
CBANK_SCALAR(long long, CBANK_TYPE_SIGNED);
CBANK_SCALAR(double, CBANK_TYPE_FLOAT);
CBANK_SCALAR(::__half, CBANK_TYPE_FLOAT);
CBANK_TYPE_OF(float3, float, 3, CBANK_TYPE_FLOAT);
CBANK_TYPE_OF(double2, double, 2, CBANK_TYPE_FLOAT);

/* 64 random bits, a function of both numbers: the finalizer of SplitMix64. */
CBANK_BOTH inline cbank_u64 random_bits(cbank_u64 seed, cbank_u64 i)
{
    cbank_u64 x = (seed + 1) * 0x9E3779B97F4A7C15ull + i * 0xD1B54A32D192ED03ull;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

/* A number of random bits; below `bound` if that is not 0. A float is from 0 up to `bound`, or up
 * to 1. */
template <class T, cbank_u32 type> struct random_number {
    static CBANK_BOTH T draw(cbank_u64 seed, cbank_u64 i, cbank_u64 bound)
    {
        const cbank_u64 bits = random_bits(seed, i);

        return (T)(bound ? (bits >> 32) * bound >> 32 : bits);
    }
};
/* Older toolkits convert integers to half precision in device code alone. */
template <class T> struct random_number<T, CBANK_TYPE_FLOAT> {
    static CBANK_BOTH T draw(cbank_u64 seed, cbank_u64 i, cbank_u64 bound)
    {
        return (T)((double)(random_bits(seed, i) >> 40) / 16777216.0 * (double)(bound ? bound : 1));
    }
};
/* Contents of buffers and tables. A function of the position, `[=](cbank_u64 i) { return ...; }`,
 * is one too. */
struct random { /* random bits; floats from 0 up to 1, also in vectors such as float4 */
    cbank_u64 seed = 0;
};
struct below { /* random numbers from 0 up to that bound, which is 2^32 at most */
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

    CBANK_BOTH operator T *() const
    {
        return elements;
    }
};

/* The entries of a table, as its contents are written: for references on any memory space. */
template <class Table> struct table_contents {
    const typename Table::entry *entries;
    cbank_u32 number;

    CBANK_BOTH const typename Table::entry &operator[](cbank_u64 i) const
    {
        return entries[i];
    }
};

/* What a case is asked and has said so far. */
struct case_state {
    const cbank_request &request;
    cbank_case_report *const report; /* NULL unless it is to be described */
    const cbank_u64 first, step, end; /* the elements that this thread fills */
    cbank_u32 buffers = 0, tables = 0, launches = 0, compared = 0;
    cbank_u64 lengths[CBANK_BUFFERS_MAX] = {0};

    CBANK_BOTH void finish(cbank_u32 line)
    {
        if (report)
            report->version = CBANK_CASE_VERSION, report->table_count = tables,
            report->buffer_count = buffers;
        if (launches == 0 || compared == 0)
            fail(launches
                     ? "nothing could be checked; make what the kernel writes an output or an inout"
                     : "the case launches no kernel; end it with launch(kernel, blocks, "
                       "threads)(arguments ...)",
                 line);
    }

    /* The first error of a case is what the program says. */
    CBANK_BOTH void fail(const char *error, cbank_u32 line)
    {
        if (!report || report->error[0])
            return;
        report->error_line = line;
        copy(report->error, error, CBANK_ERROR_BYTES, line);
    }

    CBANK_BOTH void copy(char *to, const char *from, cbank_u32 room, cbank_u32 line)
    {
        cbank_u32 i = 0;

        for (; from[i] && i + 1 < room; i++)
            to[i] = from[i];
        to[i] = '\0';
        if (from[i])
            fail("a name or the path of a .npy file is too long", line);
    }

    CBANK_BOTH void name_file(char *to, npy fill, cbank_u32 line)
    {
        copy(to, fill.path, CBANK_FILE_NAME_BYTES, line);
    }
    template <class Fill> CBANK_BOTH void name_file(char *to, const Fill &, cbank_u32)
    {
        to[0] = '\0';
    }

    /* Number i of T's scalars, in random contents. */
    template <class T> CBANK_BOTH static T random_of(cbank_u64 seed, cbank_u64 i, cbank_u64 bound)
    {
        typedef typename type_of<T>::scalar scalar;
        constexpr cbank_u32 lanes = sizeof(T) / sizeof(scalar);
        storage<T, 1> made;

        for (cbank_u32 lane = 0; lane < lanes; lane++) {
            const scalar number =
                random_number<scalar, type_of<T>::value>::draw(seed, i * lanes + lane, bound);

            memcpy(made.bytes + lane * sizeof(scalar), &number, sizeof(scalar));
        }
        return *made.entries();
    }
    template <class T> CBANK_BOTH static T element(random fill, cbank_u64 salt, cbank_u64 i)
    {
        return random_of<T>(fill.seed + salt, i, 0);
    }
    template <class T> CBANK_BOTH static T element(below fill, cbank_u64 salt, cbank_u64 i)
    {
        static_assert(type_of<T>::value != CBANK_TYPE_BYTES,
                      "CBANK_CASE: below{} is for numbers and vectors of them");
        return random_of<T>(fill.seed + salt, i, fill.bound);
    }
    template <class T> CBANK_BOTH static T element(zeros, cbank_u64, cbank_u64)
    {
        return T{};
    }
    template <class T> CBANK_BOTH static T element(npy, cbank_u64, cbank_u64)
    {
        return T{};
    }
    template <class T, class Function>
    CBANK_BOTH static T element(const Function &function, cbank_u64, cbank_u64 i)
    {
        return (T)function(i);
    }

    template <class T, class Fill>
    CBANK_BOTH void fill_with(T *to, cbank_u64 count, cbank_u64 salt, const Fill &fill)
    {
        for (cbank_u64 i = first; i < count && i < end; i += step)
            to[i] = element<T>(fill, salt, i);
    }

    template <class T, class Fill>
    CBANK_BOTH buffer<T> add(cbank_u64 elements, cbank_u32 role, const Fill &fill, cbank_u32 line)
    {
        const cbank_u32 number = buffers;

        static_assert(__is_trivially_copyable(T),
                      "CBANK_CASE: the elements of a buffer must be trivially copyable");
        if (number >= CBANK_BUFFERS_MAX) {
            fail("the case has too many buffers or arguments", line);
            return {nullptr, 0};
        }
        buffers++;
        lengths[number] = elements;
        if (report) {
            cbank_buffer_report &made = report->buffers[number];

            made.elements = elements * type_of<T>::lanes;
            made.element_bytes = sizeof(T) / type_of<T>::lanes;
            made.type = type_of<T>::value;
            made.role = role;
            compared += role == CBANK_ROLE_OUTPUT || role == CBANK_ROLE_INOUT;
            name_file(made.file, fill, line);
        } else if (request.call == CBANK_CALL_FILL && request.number == number) {
            fill_with((T *)request.buffers[number], elements, number, fill);
        }
        return {(T *)request.buffers[number], number};
    }

    /* An argument: a table, a buffer, or a value. */
    template <class Parameter, class Table>
    CBANK_BOTH void argument(const table_contents<Table> &given)
    {
        static_assert(is_same<Parameter, Table>::value,
                      "CBANK_CASE: the kernel takes another table here than the case gives it");
        add_argument(sizeof(Parameter), 1 + given.number, nullptr);
    }
    template <class Parameter, class T> CBANK_BOTH void argument(const buffer<T> &given)
    {
        static_assert(converts<T *, Parameter>::value,
                      "CBANK_CASE: the kernel takes something else here than a pointer to elements "
                      "of that buffer; those of an input are const");
        value<Parameter>(given.elements);
    }
    template <class Parameter, class Argument> CBANK_BOTH void argument(const Argument &given)
    {
        static_assert(!parameter_of<Parameter>::is_table,
                      "CBANK_CASE: the kernel takes a table here, which the case gives it by "
                      "entries<TABLE>()");
        value<Parameter>(given);
    }
    template <class Parameter> CBANK_BOTH void value(const Parameter &given)
    {
        static_assert(sizeof(Parameter) <= CBANK_VALUE_BYTES,
                      "CBANK_CASE: an argument of the kernel has more than 256 bytes");
        add_argument(sizeof(Parameter), 0, &given);
    }
    CBANK_BOTH void add_argument(cbank_u32 bytes, cbank_u32 table, const void *value)
    {
        if (!report)
            return;
        cbank_argument &made = report->arguments[report->argument_count++];

        made.bytes = bytes;
        made.table = table;
        if (value)
            memcpy(made.value, value, bytes);
    }
};

template <class... Parameters> struct launcher {
    case_state &made_by;

    template <class... Arguments> CBANK_BOTH void operator()(const Arguments &...arguments) const
    {
        static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                      "CBANK_CASE: the case gives the kernel another number of arguments than it "
                      "takes");
        const int given[] = {0, (made_by.argument<Parameters>(arguments), 0)...};

        (void)given;
    }
};

/* The base of every case: what its body calls. Errors of the program name the line of the call. A
 * kernel may have any name. One that is called as a member here is launched by ::name. */
struct cbank_case_body {
    typedef cbank::random random;
    typedef cbank::below below;
    typedef cbank::zeros zeros;
    typedef cbank::npy npy;
    typedef cbank::tolerance tolerance;

    const cbank_u64 size; /* that is measured */
    case_state cbank_state;

    CBANK_BOTH cbank_case_body(const case_state &state)
        : size(state.request.size), cbank_state(state)
    {
    }
    /* Buffers of so many elements: read only, read and written, written, written and not
     * compared. */
    template <class T, class Fill = random>
    CBANK_BOTH buffer<const T> input(cbank_u64 elements, Fill fill = {},
                                     cbank_u32 line = __builtin_LINE())
    {
        const buffer<T> made = cbank_state.add<T>(elements, CBANK_ROLE_INPUT, fill, line);

        return {made.elements, made.number};
    }
    template <class T, class Fill = random>
    CBANK_BOTH buffer<T> inout(cbank_u64 elements, Fill fill = {},
                               cbank_u32 line = __builtin_LINE())
    {
        return cbank_state.add<T>(elements, CBANK_ROLE_INOUT, fill, line);
    }
    template <class T>
    CBANK_BOTH buffer<T> output(cbank_u64 elements, cbank_u32 line = __builtin_LINE())
    {
        return cbank_state.add<T>(elements, CBANK_ROLE_OUTPUT, zeros{}, line);
    }
    template <class T>
    CBANK_BOTH buffer<T> scratch(cbank_u64 elements, cbank_u32 line = __builtin_LINE())
    {
        return cbank_state.add<T>(elements, CBANK_ROLE_SCRATCH, zeros{}, line);
    }

    /* The contents of a table: the kernel's argument for it. */
    template <class Table, class Fill = random>
    CBANK_BOTH table_contents<Table> entries(Fill fill = {}, cbank_u32 line = __builtin_LINE())
    {
        case_state &now = cbank_state;
        typedef typename Table::entry entry;
        const cbank_u32 number = now.tables;

        if (number >= CBANK_TABLES_MAX) {
            now.fail("the case has too many tables", line);
            return {nullptr, 0};
        }
        now.tables++;
        if (now.report) {
            cbank_table_report &table = now.report->tables[number];

            now.copy(table.name, Table::name, CBANK_NAME_BYTES, line);
            table.entry_bytes = sizeof(entry);
            table.entries = Table::count;
            table.space = Table::space::number;
            table.shared_bytes = Table::shared_bytes;
            now.name_file(table.file, fill, line);
        } else if (now.request.call == CBANK_CALL_ENTRIES && now.request.number == number) {
            now.fill_with((entry *)now.request.tables[number], Table::count, 1000 + number, fill);
        }
        return {(const entry *)now.request.tables[number], number};
    }

    /* launch(kernel, blocks, threads, shared bytes)(arguments ...): how the kernel is launched.
     * Once in a case. The shared bytes are those of the kernel alone, without those of tables. */
    template <class... Parameters>
    CBANK_BOTH launcher<Parameters...> launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                              cbank_u64 shared_bytes = 0,
                                              cbank_u32 line = __builtin_LINE())
    {
        case_state &now = cbank_state;

        (void)kernel;
        static_assert(sizeof...(Parameters) <= CBANK_ARGUMENTS_MAX,
                      "CBANK_CASE: the kernel has more than 32 parameters");
        static_assert(sum_of(parameter_of<Parameters>::constant_bytes...) <= constant_max,
                      "cbank: constant memory has 65,536 bytes, and the tables have more");
        static_assert(sum_of(parameter_of<Parameters>::static_shared_bytes...) <= static_shared_max,
                      "cbank: the tables of the kernel have more than 49,152 bytes of static "
                      "shared memory");
        static_assert(sum_of(parameter_of<Parameters>::dynamic_tables...) <= 1,
                      "cbank: one table of more than 49,152 bytes can be in shared memory");
        static_assert(bytes_of_parameters<Parameters...>() <= parameters_max,
                      "cbank: a kernel's parameters have 4,096 bytes at most (32,764 from CUDA "
                      "12.1 and sm_70 on)");
        if (now.launches++)
            now.fail("the case launches several kernels; write a case for each, in a file of its "
                     "own",
                     line);
        if (now.report) {
            now.report->grid[0] = grid.x, now.report->grid[1] = grid.y;
            now.report->grid[2] = grid.z, now.report->block[0] = block.x;
            now.report->block[1] = block.y, now.report->block[2] = block.z;
            now.report->shared_bytes = shared_bytes;
            now.report->items = now.report->items ? now.report->items : size;
#ifdef CBANK_REFERENCE
            now.report->kernel = (void *)kernel;
#elif defined(CBANK_HOST_BUILD)
            now.report->host_launch = simulated_caller<Parameters...>::caller(kernel);
#endif
        }
        return {cbank_state};
    }

    /* The number of items that one launch works on, if it is not `size`. */
    CBANK_BOTH void items(cbank_u64 count)
    {
        (cbank_state.report ? cbank_state.report->items : count) = count;
    }

    /* The contents that the kernel must have written: a function of the position, or a file. */
    template <class T, class Expected>
    CBANK_BOTH void check(buffer<T> checked, Expected expected, tolerance within = {},
                          cbank_u32 line = __builtin_LINE())
    {
        static_assert(!is_same<T, const T>::value,
                      "CBANK_CASE: an input cannot be checked: the kernel only reads it");
        case_state &now = cbank_state;

        if (now.report) {
            cbank_buffer_report &described = now.report->buffers[checked.number];

            now.name_file(described.expected_file, expected, line);
            described.expects = !described.expected_file[0];
        } else if (now.request.call == CBANK_CALL_EXPECT && now.request.number == checked.number) {
            now.fill_with((T *)now.request.expected, now.lengths[checked.number], 0, expected);
        }
        accept(checked, within);
    }

    /* How much elements may differ, between launches and memory spaces. */
    template <class T> CBANK_BOTH void accept(buffer<T> checked, tolerance within)
    {
        if (cbank_state.report) {
            cbank_state.report->buffers[checked.number].tolerance_relative = within.relative;
            cbank_state.report->buffers[checked.number].tolerance_absolute = within.absolute;
        }
    }
};

} // namespace cbank

/* CBANK_TABLE(name, entry type, count, memory space): the type of a table. Give an entry type with
 * commas a typedef. `#define CBANK_SPACE_name ,space` before the file gives it another memory space
 * than the line has. */
#define CBANK_SECOND(a, b, ...)   b
#define CBANK_CHOOSE(...)         CBANK_SECOND(__VA_ARGS__)
#define CBANK_CHOICE(name, space) CBANK_CHOOSE(CBANK_SPACE_##name, space, )
/* The program's builds have one source file, and names that can be found. Its build for the
 * processor has no variables and no kernels of the GPU. */
#if defined(CBANK_MEASURE) && !defined(CBANK_REFERENCE)
#define CBANK_TAG(declaration) declaration
#define CBANK_TABLE_INFO(name_, entry_, count_, space_)                                       \
    extern "C" __device__ cbank_table_info cbank_table_info_##name_ = {CBANK_CASE_VERSION,    \
                                                                       __LINE__,              \
                                                                       name_::space::number,  \
                                                                       cbank::space_::number, \
                                                                       sizeof(entry_),        \
                                                                       count_,                \
                                                                       #name_}
#else
#define CBANK_TAG(declaration) \
    namespace                  \
    {                          \
    declaration                \
    }
#define CBANK_TABLE_INFO(name_, entry_, count_, space_) \
    static_assert(name_::count == count_ && cbank_tag_##name_::name[0], "")
#endif
#define CBANK_TABLE(name_, entry_, count_, space_)                                              \
    CBANK_TAG(struct cbank_tag_##name_ { static constexpr const char *name = #name_; };)        \
    typedef cbank::table<entry_, count_, cbank::CBANK_CHOICE(name_, space_), cbank_tag_##name_> \
        name_;                                                                                  \
    CBANK_TABLE_INFO(name_, entry_, count_, space_)

/* CBANK_CASE(kernel, sizes ...) { body }: how the program measures the kernel. Other builds parse
 * it and leave it out. Compilers refuse a second case by the name of its class. */
#ifdef CBANK_REFERENCE
#define CBANK_CASE_TEMPLATE
#define CBANK_CASE_CALL(name, ...)                                                                \
    extern "C" void cbank_case_reference(const cbank_request *request, cbank_case_report *report, \
                                         cbank_u64 first, cbank_u64 end)                          \
    {                                                                                             \
        one_CBANK_CASE_a_file body(cbank::case_state{*request, report, first, 1, end});           \
        body.cbank_run();                                                                         \
        body.cbank_state.finish(__LINE__);                                                        \
    }
#elif defined(CBANK_MEASURE)
#define CBANK_CASE_TEMPLATE
#define CBANK_CASE_CALL(name_, ...)                                                              \
    static_assert(cbank::number_of(__VA_ARGS__) > 0, "CBANK_CASE: a case has one size or more"); \
    static_assert(cbank::number_of(__VA_ARGS__) <= CBANK_SIZES_MAX,                              \
                  "CBANK_CASE: a case has 16 sizes at most");                                    \
    extern "C" __device__ cbank_case_info cbank_case_info =                                      \
        {CBANK_CASE_VERSION, __LINE__, cbank::number_of(__VA_ARGS__), 0, {__VA_ARGS__}, #name_}; \
    extern "C" __global__ void cbank_case_call(const cbank_request request,                      \
                                               cbank_case_report *report)                        \
    {                                                                                            \
        one_CBANK_CASE_a_file body(                                                              \
            cbank::case_state{request, report, (cbank_u64)blockIdx.x * blockDim.x + threadIdx.x, \
                              (cbank_u64)gridDim.x * blockDim.x, ~(cbank_u64)0});                \
        body.cbank_run();                                                                        \
        body.cbank_state.finish(__LINE__);                                                       \
    }
#else
#define CBANK_CASE_TEMPLATE template <class> /* nothing calls it, so it makes no kernel */
#define CBANK_CASE_CALL(name, ...)
#endif
#define CBANK_CASE(name_, ...)                                  \
    namespace                                                   \
    {                                                           \
    class one_CBANK_CASE_a_file : public cbank::cbank_case_body \
    {                                                           \
      public:                                                   \
        using cbank::cbank_case_body::cbank_case_body;          \
        CBANK_CASE_TEMPLATE CBANK_BOTH void cbank_run();        \
    };                                                          \
    }                                                           \
    CBANK_CASE_CALL(name_, __VA_ARGS__)                         \
    CBANK_CASE_TEMPLATE CBANK_BOTH inline void one_CBANK_CASE_a_file::cbank_run()

#endif
