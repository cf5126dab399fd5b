/* SPDX-License-Identifier: MIT
 * What several loads of a kernel say together: which array of shared memory they read, and which
 * sectors of global memory.
 *
 *     x[2 * i]        # . # . # . # .     half of the bytes of 8 sectors
 *     x[2 * i + 1]    . # . # . # . #     the other half: together they leave nothing out */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "instruction.h"
#include "log.h"
#include "user_access.h"

/* -- shared memory ----------------------------------------------------------------------------- */

/* The bytes that a load reads, as far as they are known. */
struct span {
    int64_t begin, end;
    size_t access;
    bool open; /* the addresses of a warp are not known: the load may read further bytes */
};

static struct span span_of(const struct accesses *all, size_t index)
{
    const struct analysed_load *load = &all->loads[index];
    const struct user_access *access = &all->kernel->accesses[index];
    struct span span = {load->offset, load->offset, index, load->addresses == 0};

    for (size_t i = 0; load->addresses > 1 && i < CBANK_WARP_THREADS; i++) {
        const int64_t place = load->offset + (int32_t)load->lanes[i];

        span.begin = place < span.begin ? place : span.begin;
        span.end = place > span.end ? place : span.end;
    }
    span.end += access->width_bytes;
    return span;
}

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->access > b->access) - (a->access < b->access);
}

/* Names the array of some loads, in ascending order: by the first byte that lies in shared memory.
 * An index less a number may begin before it: "offset -0x400" tells no array. */
static void name_array(struct accesses *all, const struct span *spans, size_t count)
{
    int64_t begin = spans[0].begin;
    char name[32];

    for (size_t i = 0; i < count && begin < 0; i++)
        begin = spans[i].begin;
    begin = begin < 0 ? spans[0].begin : begin;
    snprintf(name, sizeof(name), "offset %s0x%" PRIx64, begin < 0 ? "-" : "",
             (uint64_t)(begin < 0 ? -begin : begin));
    for (size_t i = 0; i < count; i++)
        all->kernel->accesses[spans[i].access].table = accesses_keep(all, name);
}

enum status accesses_name_shared(struct accesses *all)
{
    const struct user_access *accesses = all->kernel->accesses;
    struct span *spans = calloc(all->count + 1, sizeof(*spans));
    size_t count = 0;

    if (!spans)
        return log_memory("the arrays of %s", all->kernel->name);
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(accesses[i].memory, "shared") == 0)
            spans[count++] = span_of(all, i);
    qsort(spans, count, sizeof(*spans), compare_spans);
    for (size_t first = 0, i = 0; first < count; first = i) {
        struct span array = spans[first];

        /* Loads at data all over an array leave gaps that say nothing. */
        for (i = first; i < count && (i == first || spans[i].begin <= array.end ||
                                      (spans[i].open && array.open));
             i++)
            array.end = spans[i].end > array.end ? spans[i].end : array.end;
        name_array(all, spans + first, i - first);
    }
    free(spans);
    return all->full ? log_memory("the arrays of %s", all->kernel->name) : STATUS_OK;
}

/* -- global memory ----------------------------------------------------------------------------- */

/* Loads that are looked at before and behind one, those that are taken together, and the bytes that
 * they are apart at most. */
enum { NEAR = 32, PARTS_MAX = 8, APART_MOST = 1024, OFFSET_MOST = 1 << 29 };

/* Whether an instruction writes a register of an address, which has two words. */
static bool writes_address(const struct instruction *in, const struct operand *address)
{
    for (size_t k = 0; k < in->results; k++)
        for (uint32_t word = 0; word < 2; word++)
            if (address->number + word - in->result[k].first < in->result[k].count)
                return true;
    return false;
}

/* Whether two loads, one before the other in the code, take the same registers as their address,
 * and nothing between writes these. */
static bool share_address(const struct flow *flow, uint32_t from, uint32_t to)
{
    struct instruction first, second, between;

    instruction_decode(flow->code, (size_t)from * INSTRUCTION_BYTES, flow->architecture, &first);
    instruction_decode(flow->code, (size_t)to * INSTRUCTION_BYTES, flow->architecture, &second);
    for (unsigned s = SOURCE_ADDRESS; s <= SOURCE_ADDED; s++)
        if (first.source[s].kind != second.source[s].kind ||
            first.source[s].number != second.source[s].number)
            return false;
    for (uint32_t i = from; i < to; i++) {
        instruction_decode(flow->code, (size_t)i * INSTRUCTION_BYTES, flow->architecture, &between);
        for (unsigned s = SOURCE_ADDRESS; s <= SOURCE_ADDED; s++)
            if (first.source[s].kind != OPERAND_NONE && writes_address(&between, &first.source[s]))
                return false;
    }
    return true;
}

/* Whether two loads read the same addresses, but for a number in the code. */
static bool are_beside(const struct accesses *all, size_t before, size_t behind)
{
    const struct analysed_load *a = &all->loads[before], *b = &all->loads[behind];
    const struct user_access *accesses = all->kernel->accesses;

    return accesses[before].width_bytes == accesses[behind].width_bytes &&
           strcmp(accesses[before].memory, accesses[behind].memory) == 0 &&
           llabs(a->offset - b->offset) <= APART_MOST && a->addresses == b->addresses &&
           memcmp(a->lanes, b->lanes, sizeof(a->lanes)) == 0 &&
           share_address(all->flow, a->instruction, b->instruction);
}

static int compare_offsets(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

    return (a > b) - (a < b);
}

/* The offsets of load `index` and of those beside it, in ascending order. Returns the loads. */
static uint32_t take_offsets(const struct accesses *all, size_t index, int32_t *offsets)
{
    const size_t from = index > NEAR ? index - NEAR : 0;
    uint32_t parts = 0;

    for (size_t i = from; i < all->count && i < index + NEAR && parts < PARTS_MAX; i++) {
        const int64_t apart = all->loads[i].offset - all->loads[index].offset;
        bool known = i != index &&
                     (apart == 0 || !are_beside(all, i < index ? i : index, i < index ? index : i));

        for (uint32_t k = 0; k < parts && !known; k++)
            known = offsets[k * CBANK_WARP_THREADS] ==
                    (int32_t)(apart + (int32_t)all->loads[i].lanes[0]);
        if (known)
            continue;
        for (size_t lane = 0; lane < CBANK_WARP_THREADS; lane++)
            offsets[parts * CBANK_WARP_THREADS + lane] =
                (int32_t)(apart + (int32_t)all->loads[i].lanes[lane]);
        parts++;
    }
    qsort(offsets, (size_t)parts * CBANK_WARP_THREADS, sizeof(*offsets), compare_offsets);
    return parts;
}

/* Counts the sectors of load `index`, and of those beside it: the least over all begins of the
 * table. Threads that are a GB apart have sectors of their own. */
static void count_sectors(struct accesses *all, size_t index)
{
    struct user_access *access = &all->kernel->accesses[index];
    const uint32_t width = access->width_bytes;
    int32_t offsets[CBANK_WARP_THREADS * PARTS_MAX];
    const uint32_t parts = take_offsets(all, index, offsets), count = parts * CBANK_WARP_THREADS;
    uint32_t bytes = 0, least = UINT32_MAX;

    if (offsets[0] < -OFFSET_MOST || offsets[count - 1] > OFFSET_MOST) {
        access->counts.sectors = access->counts.addresses;
        access->sectors_least = ceil(access->counts.addresses * width / ACCESS_SECTOR_BYTES);
        return;
    }
    /* Entries may overlap. Of an entry of a word, compilers read the byte that they need. */
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t apart =
            i == 0 ? UINT32_MAX : (uint32_t)offsets[i] - (uint32_t)offsets[i - 1];

        if (width >= ACCESS_BANK_BYTES)
            bytes += apart < width ? apart : width;
        else
            bytes += (i == 0 || offsets[i] >> 2 != offsets[i - 1] >> 2) * ACCESS_BANK_BYTES;
    }
    for (uint32_t begin = 0; begin < ACCESS_SECTOR_BYTES; begin += width) {
        const uint32_t sectors = access_sectors(offsets, count, width);

        least = sectors < least ? sectors : least;
        for (uint32_t i = 0; i < count; i++)
            offsets[i] += (int32_t)width;
    }
    access->counts.sectors = (double)least / parts;
    access->sectors_least =
        fmin(ceil((double)bytes / ACCESS_SECTOR_BYTES) / parts, access->counts.sectors);
}

void accesses_count_sectors(struct accesses *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct user_access *access = &all->kernel->accesses[i];

        if (strcmp(access->memory, "global") != 0 || !access->addresses.known)
            continue;
        access->counts.sectors = access->sectors_least = 1;
        if (access->addresses.value > 1)
            count_sectors(all, i);
    }
}
