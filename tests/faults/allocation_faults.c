/* SPDX-License-Identifier: MIT
 * A library to preload: allocations that fail.
 *
 * CBANK_ALLOCATION_FAIL=N  the Nth allocation of a process fails (from 1), and with "N+" all from
 *                          there on
 * CBANK_ALLOCATION_LOG=FILE  the place of each goes there when the process ends: a 32-bit number of
 *                            the program's code
 *
 * It stands before the C library's allocator, and so serves every library. Those allocations count
 * that the program, libcjson and the C library make, from main on: a vendor's library ends the
 * process at a failure, which nobody outside can prevent. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

/* glibc's names for its own functions. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

#define CALLER __builtin_return_address(0)

enum { LOGGED_MAX = 1 << 20 };

static atomic_ulong allocations;
static uint32_t places[LOGGED_MAX];
static unsigned long fails_at; /* 0: never */
static bool fails_on;          /* and after it */

static _Thread_local bool loading; /* a library */
static const char *log_path;
static int (*program)(int argc, char **argv, char **environment); /* its main */
static bool running;                                              /* that */
static const char *program_base, *code_begin, *code_end;

/* Stands for the program's main. */
static int counted_main(int argc, char **argv, char **environment)
{
    const char *number = getenv("CBANK_ALLOCATION_FAIL");
    char *end;

    log_path = getenv("CBANK_ALLOCATION_LOG");
    fails_at = number ? strtoul(number, &end, 10) : 0;
    fails_on = number && *end == '+';
    running = true;
    return program(argc, argv, environment);
}

/* The code of the first object, which is the program. */
static int find_code(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    program_base = (const char *)object->dlpi_addr;
    for (size_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_flags & PF_X) {
            code_begin = program_base + object->dlpi_phdr[i].p_vaddr;
            code_end = code_begin + object->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

typedef int start_main(int (*main)(int, char **, char **), int argc, char **argv,
                       void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                       void *stack_end);

/* Calls at the start of every program. */
start_main __libc_start_main;

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    start_main *start = (start_main *)dlsym(RTLD_NEXT, "__libc_start_main");

    dl_iterate_phdr(find_code, NULL);
    program = main;
    return start(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

__attribute__((destructor)) static void write_log(void)
{
    const int file = log_path ? open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    const unsigned long count = atomic_load(&allocations);

    if (file < 0)
        return;
    if (write(file, places, sizeof(places[0]) * (count < LOGGED_MAX ? count : LOGGED_MAX)) < 0)
        _exit(1);
    close(file);
}

static bool is_code(const void *address)
{
    return (const char *)address >= code_begin && (const char *)address < code_end;
}

/* Whether code at an address is of the program, of libcjson or of the C library. */
static bool counts(const void *caller)
{
    const char *name;
    Dl_info place;

    if (!running || loading || !dladdr(caller, &place))
        return false;
    name = strrchr(place.dli_fname, '/');
    name = name ? name + 1 : place.dli_fname;
    return is_code(caller) || strncmp(name, "libc.", 5) == 0 || strncmp(name, "libcjson.", 9) == 0;
}

/* Where in the program an allocation is asked for, by it or by a library that it called: its
 * innermost call. */
static _Unwind_Reason_Code find_place(struct _Unwind_Context *context, void *place)
{
    const char *address = (const char *)_Unwind_GetIP(context);

    *(uint32_t *)place = (uint32_t)(address - program_base);
    return is_code(address) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* A library that cannot be loaded is not there: that is no failure of the program's. */
void *dlopen(const char *path, int flags)
{
    static void *(*load)(const char *path, int flags);
    void *library;

    if (!load)
        load = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    loading = true;
    library = load(path, flags);
    loading = false;
    return library;
}

/* Counts an allocation; whether it is one that fails. */
static bool fails(const void *caller)
{
    unsigned long number;

    if (!counts(caller))
        return false;
    number = atomic_fetch_add(&allocations, 1) + 1;
    if (log_path && number <= LOGGED_MAX)
        _Unwind_Backtrace(find_place, &places[number - 1]);
    if (fails_at == 0 || (fails_on ? number < fails_at : number != fails_at))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(old, bytes);
}
