/* SPDX-License-Identifier: MIT
 * Memory of devices and of the host. The output of kernels is computed when it is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"

static struct block *blocks;

/* Some that were found last, since programs ask for few at a time. */
enum { RECENT = 8 };
static struct block *recent[RECENT];

/* -- blocks ------------------------------------------------------------------------------------ */

static char *map(size_t bytes, int protection)
{
    char *const mapped =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return mapped == MAP_FAILED ? NULL : mapped;
}

/* Banks begin where the sets of every cache do. */
#define ALIGNMENT ((uintptr_t)CBANK_TABLE_BYTES)
#define PAGE      ((size_t)65536)

/* Memory of devices is mapped twice: where the simulation works, and at the device's addresses. It
 * is no file, whose size ulimit -f would limit. */
static char *map_memory(size_t bytes)
{
    char *const mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return mapped == MAP_FAILED ? NULL : mapped;
}

/* Memory that is mapped at the device's addresses: those of the program cannot be read but by a
 * user's kernel. */
static size_t reserved_bytes(const struct block *block)
{
    return block->bytes + 2 * ALIGNMENT + 1;
}

static char *reserve(struct block *block)
{
    char *address;

    block->reserved = map(reserved_bytes(block), PROT_NONE);
    if (!block->reserved)
        return NULL;
    address = (char *)(((uintptr_t)block->reserved + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    address = mremap(block->data, 0, block->bytes + 1, MREMAP_MAYMOVE | MREMAP_FIXED, address);
    return address == MAP_FAILED || mprotect(address, block->bytes + 1, PROT_NONE) != 0 ? NULL
                                                                                        : address;
}

struct block *block_open(struct device *device, enum block_kind kind, size_t bytes,
                         const char *owner)
{
    const bool full = kind == BLOCK_DEVICE && (double)device->bytes + (double)bytes > settings.free;
    struct block *block = full ? NULL : calloc(1, sizeof(*block));

    if (!block)
        return NULL;
    *block = (struct block){.bytes = bytes,
                            .kind = kind,
                            .owner = owner,
                            .device = device,
                            .next = blocks};
    block->data =
        kind == BLOCK_DEVICE ? map_memory(bytes + 1) : map(bytes + 1, PROT_READ | PROT_WRITE);
    block->address = kind == BLOCK_DEVICE && block->data ? reserve(block) : block->data;
    if (!block->address) {
        free(block);
        return NULL;
    }
    if (kind == BLOCK_DEVICE)
        device->bytes += bytes;
    blocks = block;
    return block;
}

struct block *block_at(struct device *device, void *address, size_t bytes)
{
    struct block *const block = calloc(1, sizeof(*block));

    if (!block)
        return NULL;
    *block = (struct block){.address = address,
                            .data = address,
                            .bytes = bytes,
                            .kind = BLOCK_DEVICE,
                            .device = device,
                            .next = blocks};
    device->bytes += bytes;
    blocks = block;
    return block;
}

static void block_unmap(struct block *block)
{
    if (block->references > 0)
        return;
    if (block->reserved) /* the other mapping stays */
        madvise(block->data, block->bytes + 1, MADV_REMOVE);
    if (block->kind == BLOCK_HOST || block->reserved)
        munmap(block->data, block->bytes + 1);
    free(block);
}

static void drop_pending(struct block *block, uint32_t index)
{
    launch_release(block->pending[index].launch);
    memmove(&block->pending[index], &block->pending[index + 1],
            (--block->pending_count - index) * sizeof(block->pending[0]));
}

static bool holds(const struct block *block, const char *address, size_t bytes,
                  enum block_kind kind)
{
    return block && block->kind == kind && address >= block->address && bytes <= block->bytes &&
           (size_t)(address - block->address) <= block->bytes - bytes;
}

struct block *block_find(const void *address, size_t bytes, enum block_kind kind)
{
    static uint32_t turn;

    for (size_t i = 0; i < RECENT; i++)
        if (holds(recent[i], address, bytes, kind))
            return recent[i];
    for (struct block *block = blocks; block; block = block->next)
        if (holds(block, address, bytes, kind))
            return recent[turn++ % RECENT] = block;
    return NULL;
}

void memory_leaks(void *file)
{
    for (const struct block *block = blocks; block; block = block->next)
        if (block->owner)
            fprintf(file, "%s of %zu bytes\n", block->owner, block->bytes);
}

/* -- launches that have yet to write ----------------------------------------------------------- */

struct launch *launch_hold(struct launch *launch)
{
    launch->references++;
    return launch;
}

void launch_release(struct launch *launch)
{
    if (--launch->references > 0)
        return;
    free(launch->values);
    free(launch->user);
    free(launch);
}

static void hold_reads(struct launch *launch, int difference)
{
    for (size_t i = 0; i < 2; i++) {
        struct block *const block = launch->reads[i];

        if (!block)
            continue;
        block->references += (uint32_t)difference;
        if (block->freed)
            block_unmap(block);
    }
}

static void release_pending(struct block *block, uint32_t index)
{
    hold_reads(block->pending[index].launch, -1);
    drop_pending(block, index);
}

void block_close(struct block *block)
{
    struct block **link = &blocks;

    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
    memset(recent, 0, sizeof(recent));
    while (block->pending_count > 0)
        release_pending(block, 0);
    if (block->kind == BLOCK_DEVICE) {
        block->device->bytes -= block->bytes;
        if (block->reserved)
            munmap(block->reserved, reserved_bytes(block));
    }
    block->freed = true;
    block_unmap(block);
}

/* Computes all that is to be written into a block. */
static void settle(struct block *block)
{
    while (block->pending_count > 0) {
        const struct pending pending = block->pending[0];

        void *const output = block->data + pending.first;

        cell_write(pending.launch, output);
        release_pending(block, 0);
    }
}

bool memory_defer(struct launch *launch, void *address, size_t bytes)
{
    struct block *const block = block_find(address, bytes, BLOCK_DEVICE);
    uint64_t first;

    if (!block)
        return false;
    first = (uint64_t)((char *)address - block->address);
    for (uint32_t i = block->pending_count; i-- > 0;)
        if (block->pending[i].first >= first &&
            block->pending[i].first + block->pending[i].bytes <= first + bytes)
            release_pending(block, i);
    if (block->pending_count == PENDING_MAX)
        settle(block);
    block->pending[block->pending_count++] = (struct pending){launch_hold(launch), first, bytes};
    hold_reads(launch, 1);
    return true;
}

/* -- reading and writing ----------------------------------------------------------------------- */

const void *memory_read(const void *address, size_t bytes)
{
    struct block *const block = block_find(address, bytes, BLOCK_DEVICE);

    if (!block)
        return NULL;
    settle(block);
    return block->data + ((const char *)address - block->address);
}

void *memory_at(const void *address, size_t bytes)
{
    const struct block *block = block_find(address, bytes, BLOCK_DEVICE);

    if (!block)
        block = block_find(address, bytes, BLOCK_HOST);
    return block ? block->data + ((const char *)address - block->address) : NULL;
}

static bool reads(const struct launch *launch, const struct block *block)
{
    return launch->reads[0] == block || launch->reads[1] == block;
}

/* Before bytes change: launches that have yet to read them run now, and those that have yet to
 * write there, unless all that they write is written over. */
static void before_write(struct block *block, uint64_t first, uint64_t bytes)
{
    for (struct block *written = blocks; written; written = written->next)
        for (uint32_t i = 0; i < written->pending_count; i++)
            if (reads(written->pending[i].launch, block)) {
                settle(written);
                break;
            }
    for (uint32_t i = block->pending_count; i-- > 0;)
        if (block->pending[i].first >= first &&
            block->pending[i].first + block->pending[i].bytes <= first + bytes)
            release_pending(block, i);
    settle(block);
}

bool memory_write(void *address, const void *from, size_t bytes)
{
    struct block *const block = block_find(address, bytes, BLOCK_DEVICE);
    char *to;

    if (!block)
        return false;
    to = block->data + ((char *)address - block->address);
    if (block->pending_count == 0 && memcmp(to, from, bytes) == 0)
        return true;
    before_write(block, (uint64_t)((char *)address - block->address), bytes);
    memcpy(to, from, bytes);
    return true;
}

bool memory_set(void *address, int byte, size_t bytes)
{
    struct block *const block = block_find(address, bytes, BLOCK_DEVICE);
    char *to;

    if (!block)
        return false;
    before_write(block, (uint64_t)((char *)address - block->address), bytes);
    to = block->data + ((char *)address - block->address);
    if (bytes <= STREAM_BYTES) {
        memset(to, byte, bytes);
        return true;
    }
    memset(to, byte, STREAM_END_BYTES);
    memset(to + bytes - STREAM_END_BYTES, byte, STREAM_END_BYTES);
    return true;
}

void memory_settle(void)
{
    for (struct block *block = blocks; block; block = block->next)
        settle(block);
}

bool memory_unlock(const void *address)
{
    struct block *const block = block_find(address, 1, BLOCK_DEVICE);

    if (!block || block->open || !block->reserved)
        return false;
    block->open = mprotect(block->address, block->bytes + 1, PROT_READ | PROT_WRITE) == 0;
    return block->open;
}

void memory_lock(void)
{
    for (struct block *block = blocks; block; block = block->next)
        if (block->open) {
            mprotect(block->address, block->bytes + 1, PROT_NONE);
            block->open = false;
        }
}
