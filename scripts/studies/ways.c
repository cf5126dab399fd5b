/* SPDX-License-Identifier: MIT
 * The calls of a program that was compiled with -finstrument-functions: each function with each
 * place that calls it, once. ways.py preloads this library. When a process of the program ends, it
 * writes a file WAYS/PROCESS of lines "number function place": the number of the call among them,
 * and offsets in the program; 0 is a place in a library. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS_MAX = 1 << 16 };

static struct call {
    uintptr_t function, place;
    size_t number;
} calls[CALLS_MAX]; /* a hash table: an empty row has no function */
static size_t call_count;
static uintptr_t program_start, program_end, program_base;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    program_base = info->dlpi_addr;
    program_start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        program_start = start < program_start ? start : program_start;
        program_end = start + info->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

/* The offset of an address in the program; 0 outside. */
static uintptr_t offset_of(const void *address)
{
    const uintptr_t value = (uintptr_t)address;

    return value >= program_start && value < program_end ? value - program_base : 0;
}

void __cyg_profile_func_enter(void *function, void *place)
{
    struct call call;
    size_t i;

    if (!program_end)
        dl_iterate_phdr(find_program, NULL);
    call = (struct call){offset_of(function), offset_of(place), 0};
    if (!call.function)
        return;
    pthread_mutex_lock(&lock);
    for (i = (call.function * 31 + call.place) % CALLS_MAX; calls[i].function;
         i = (i + 1) % CALLS_MAX)
        if (calls[i].function == call.function && calls[i].place == call.place)
            break;
    if (!calls[i].function) {
        call.number = ++call_count;
        if (call_count == CALLS_MAX)
            abort();
        calls[i] = call;
    }
    pthread_mutex_unlock(&lock);
}

void __cyg_profile_func_exit(void *function, void *place)
{
    (void)function, (void)place;
}

__attribute__((destructor)) static void write_calls(void)
{
    const char *folder = getenv("WAYS");
    char name[4096];
    FILE *file;

    if (!folder || !call_count)
        return;
    snprintf(name, sizeof(name), "%s/%d", folder, (int)getpid());
    file = fopen(name, "w");
    if (!file)
        abort();
    for (size_t i = 0; i < CALLS_MAX; i++)
        if (calls[i].function)
            fprintf(file, "%zu %#jx %#jx\n", calls[i].number, (uintmax_t)calls[i].function,
                    (uintmax_t)calls[i].place);
    if (fclose(file) != 0)
        abort();
}
