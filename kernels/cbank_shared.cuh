/* SPDX-License-Identifier: MIT
 *
 * Tables of cbank.cuh in shared memory, of which each block makes copies. cbank.cuh includes this
 * file, and no other file does. */
#ifndef CBANK_SHARED_CUH
#define CBANK_SHARED_CUH

namespace cbank
{

/* Shared memory of one table: its own variable up to 48 KB, else the start of the block's dynamic
 * shared memory, which begins at a line. */
struct alignas(128) shared_line {
    cbank_u8 bytes[128];
};
template <class Room, class Table, bool dynamic> struct shared_room {
    static CBANK_INLINE Room *room()
    {
        __shared__ Room staged;

        return &staged;
    }
};
#ifndef CBANK_HOST_BUILD
template <class Room, class Table> struct shared_room<Room, Table, true> {
    static CBANK_INLINE Room *room()
    {
        extern __shared__ shared_line cbank_dynamic_shared[];

        return reinterpret_cast<Room *>(cbank_dynamic_shared);
    }
};
#endif

/* Copies `count` entries to shared memory, each entry of the table `copies` times. If there are
 * many, a thread loads four before it stores them: loads of L2 then wait together. */
template <cbank_u32 count, cbank_u32 copies, class Threads, class Entry>
CBANK_INLINE void copy_entries(Threads by, Entry *to, const Entry *from)
{
    cbank_u32 i = by.own();

    if (count >= 1024)
#pragma unroll 1
        for (; i + 3 * by.all() < count; i += 4 * by.all()) {
            storage<Entry, 4> four;

#pragma unroll
            for (cbank_u32 k = 0; k < 4; k++)
                four.entries()[k] = from[(i + k * by.all()) / copies];
#pragma unroll
            for (cbank_u32 k = 0; k < 4; k++)
                to[i + k * by.all()] = four.entries()[k];
        }
    for (; i < count; i += by.all())
        to[i] = from[i / copies];
}

/* The base of tables of which each block has one copy in shared memory, in a Room. */
template <class Table, class Entry, cbank_u32 count_, class Space, class Room>
class block_table : public memory_table<Table, Entry, count_, Space>
{
    static constexpr bool dynamic = sizeof(Room) > static_shared_max;

    static_assert(sizeof(Room) <= shared_max,
                  "cbank: the shared memory of a block is smaller than the table");

  public:
    static constexpr cbank_u32 shared_bytes = dynamic ? (cbank_u32)sizeof(Room) : 0;
    static constexpr cbank_u64 static_shared_bytes = dynamic ? 0 : sizeof(Room);
    static constexpr bool needs_barrier = true;

    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        return staged::room()->entries()[index];
    }

  protected:
    typedef shared_room<Room, Table, dynamic> staged;
};

template <class Table, class Entry, cbank_u32 count, class Space>
using plain_block_table = block_table<Table, Entry, count, Space, storage<Entry, count>>;

/* clang-format off */
CBANK_TABLE_IN(shared, plain_block_table)
{
  public:
    template <class Threads> CBANK_INLINE void copy(Threads by)
    {
        copy_entries<count_, 1>(by, table::staged::room()->entries(), this->entries);
    }
};
/* clang-format on */

/* Asynchronous copies have units of 16 bytes. They go to the start of a line: to another place of
 * it they take up to four times as long. */
static constexpr cbank_u32 copied_unit = 16;

/* Room for them. What is left behind the last unit is copied by loads and stores. */
template <class Entry, cbank_u32 count> struct alignas(128) line_storage : storage<Entry, count> {
    static constexpr cbank_u32 whole = sizeof(Entry) * count / copied_unit * copied_unit;

    template <class Threads> CBANK_INLINE void copy_rest(Threads by, const void *from)
    {
        cbank_u32 end = sizeof(Entry) * count;

        if (whole < end)
            for (cbank_u32 i = whole + by.own(); i < end; i += by.all())
                this->bytes[i] = static_cast<const cbank_u8 *>(from)[i];
    }
};
template <class Entry, cbank_u32 count> struct bulk_storage : line_storage<Entry, count> {
    alignas(8) cbank_u64 barrier; /* it opens when the bytes have come */
};

#ifndef CBANK_HOST_BUILD /* it has its own */
CBANK_INLINE cbank_u32 shared_address(const void *place)
{
    return (cbank_u32)__cvta_generic_to_shared(place);
}

/* A unit, by the thread. */
CBANK_INLINE void copy_unit(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
}
CBANK_INLINE void wait_for_units()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* So many bytes, by one thread. The barrier then waits for them, and for nothing else. */
CBANK_INLINE void copy_bulk(cbank_u64 *barrier, void *to, const void *from, cbank_u32 bytes)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\t"
                 "fence.mbarrier_init.release.cluster;\n\t"
                 "fence.proxy.async.shared::cta;\n\t"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %3;\n\t"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%1], [%2], %3, [%0];" ::"r"(shared_address(barrier)),
                 "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}
CBANK_INLINE void wait_for_bulk(cbank_u64 *barrier)
{
    asm volatile("{\n\t.reg .pred come;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared.b64 come, [%0], 0;\n\t"
                 "@!come bra again;\n\t}" ::"r"(shared_address(barrier))
                 : "memory");
}
#endif

template <class Table, class Entry, cbank_u32 count, class Space>
using async_block_table = block_table<Table, Entry, count, Space, line_storage<Entry, count>>;
template <class Table, class Entry, cbank_u32 count, class Space>
using bulk_block_table = block_table<Table, Entry, count, Space, bulk_storage<Entry, count>>;

CBANK_TABLE_IN(shared_async, async_block_table)
{
    static_assert(architecture >= 800 || table::count == 0, "cbank: cp.async needs sm_80 or later");

  public:
    template <class Threads> CBANK_INLINE void copy(Threads by)
    {
        const cbank_u8 *const from = reinterpret_cast<const cbank_u8 *>(this->entries);
        line_storage<Entry, count_> *const room = table::staged::room();
        const cbank_u32 step = copied_unit * by.all();
        cbank_u32 i = copied_unit * by.own(), end = room->whole;

        if (room->whole >= 1024 * copied_unit) /* as in copy_entries() */
#pragma unroll 1
            for (; i + 3 * step < end; i += 4 * step)
#pragma unroll
                for (cbank_u32 k = 0; k < 4; k++)
                    copy_unit(room->bytes + i + k * step, from + i + k * step);
        for (; i < end; i += step)
            copy_unit(room->bytes + i, from + i);
        room->copy_rest(by, from);
    }
    CBANK_INLINE void own_copied()
    {
        wait_for_units();
    }
};

CBANK_TABLE_IN(shared_bulk, bulk_block_table)
{
    static_assert(architecture >= 900 || table::count == 0,
                  "cbank: cp.async.bulk needs sm_90 or later");
    static_assert(CBANK_TOOLKIT >= 12000 || table::count == 0,
                  "cbank: cp.async.bulk needs CUDA 12.0 or later");

  public:
    template <class Threads> CBANK_INLINE void copy(Threads by)
    {
        bulk_storage<Entry, count_> *const room = table::staged::room();

        if (room->whole && by.first())
            copy_bulk(&room->barrier, room->bytes, this->entries, room->whole);
        room->copy_rest(by, this->entries);
    }
    CBANK_INLINE void all_copied()
    {
        if (bulk_storage<Entry, count_>::whole)
            wait_for_bulk(&table::staged::room()->barrier);
    }
};

/* The largest power of two that is `most` or less. */
CBANK_BOTH constexpr cbank_u32 power_of_two(cbank_u64 most)
{
    return most < 2 ? 1 : 2 * power_of_two(most / 2);
}

/* Entry k of copy c is element k x copies + c. */
CBANK_TABLE_IN(shared_copies, memory_table)
{
    static_assert(table::bytes <= copies_max / 2,
                  "cbank: two copies or more have 32,768 bytes of shared memory");

  public:
    static constexpr cbank_u32 copies =
        copies_max / table::bytes < 32 ? power_of_two(copies_max / table::bytes) : 32;
    static constexpr cbank_u64 static_shared_bytes = copies * table::bytes;
    static constexpr bool needs_barrier = true;

    template <class Threads> CBANK_INLINE void copy(Threads by)
    {
        own = by.own() % copies;
        copy_entries<count_ * copies, copies>(by, staged::room()->entries(), this->entries);
    }
    template <class Index> CBANK_INLINE Entry operator[](Index index) const
    {
        return staged::room()->entries()[index * copies + own];
    }

  private:
    typedef shared_room<storage<Entry, count_ * copies>, table, false> staged;
    cbank_u32 own = 0; /* the copy that the thread reads */
};

} // namespace cbank

#endif
