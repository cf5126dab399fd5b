/* SPDX-License-Identifier: MIT
 * A case on the processor. The user's library is loaded from memory, in a child process that may
 * crash, exit or hang; its output comes back through memory that both processes share, and counts
 * only when its last byte says that it is done. */
#include "kernel_reference.h"

#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "kernel_parts.h"
#include "parallel.h"

enum { SECONDS_MAX = 30 };

struct work {
    const struct kernel_file *file;
    struct cbank_request request;
    uint64_t elements;
    struct cbank_case_report *report; /* in memory that both processes share; NULL: not described */
    unsigned char *done; /* likewise */
    void (*reference)(const struct cbank_request *request, struct cbank_case_report *report,
                      uint64_t first, uint64_t end);
};

static void run_range(void *context, uint64_t first, uint64_t count)
{
    const struct work *work = context;

    work->reference(&work->request, NULL, first, first + count);
}

/* The user's code may call exit(): what this process does at its end is not for the child to do. */
static void end_now(void)
{
    _exit(CHILD_NOT_STARTED);
}

/* The address of the kernel becomes one in the library. */
static void describe(struct work *work)
{
    Dl_info library;
    unsigned char *kernel;

    work->reference(&work->request, work->report, 0, 0);
    kernel = work->report->kernel;
    work->report->kernel = kernel && dladdr(*(void **)&work->reference, &library)
                               ? (void *)(kernel - (unsigned char *)library.dli_fbase)
                               : NULL;
}

/* In the child. */
static void run(void *context)
{
    static const int ending[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    struct work *work = context;
    const int copy = memfd_create("reference", MFD_CLOEXEC);
    void *library = NULL;
    char path[64];

    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        signal(ending[i], SIG_DFL);
    alarm(SECONDS_MAX);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
    if (copy >= 0 && write(copy, work->file->reference, work->file->reference_bytes) ==
                         (ssize_t)work->file->reference_bytes)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&work->reference = dlsym(library, "cbank_case_reference");
    if (!work->reference || atexit(end_now) != 0)
        _exit(CHILD_NOT_STARTED);
    if (work->report)
        describe(work);
    else
        parallel_ranges(work->elements, 1, run_range, work);
    *work->done = 1;
}

/* Runs the work in a child, which writes to `shared`. False, with the reason, if it did not end as
 * it should. */
static bool run_apart(struct work *work, char reason[KERNEL_REASON_BYTES])
{
    int code = 0;

    snprintf(reason, KERNEL_REASON_BYTES, "it cannot run");
    if (!child_call(run, work, &code) || !WIFSIGNALED(code))
        return WIFEXITED(code) && WEXITSTATUS(code) == 0 && *work->done == 1;
    snprintf(reason, KERNEL_REASON_BYTES, "%s",
             WTERMSIG(code) == SIGALRM ? "it takes more than 30 s" : strsignal(WTERMSIG(code)));
    return false;
}

/* Memory that both processes share, of zeros, with a byte behind it. NULL: there is none. */
static void *share(size_t bytes)
{
    void *const shared =
        mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared == MAP_FAILED ? NULL : shared;
}

bool kernel_reference_run(const struct kernel_file *file, const struct cbank_request *request,
                          uint64_t elements, void *out, size_t bytes,
                          char reason[KERNEL_REASON_BYTES])
{
    struct work work = {.file = file, .request = *request, .elements = elements};
    unsigned char *const shared = share(bytes);
    bool done;

    snprintf(reason, KERNEL_REASON_BYTES, "out of memory");
    if (!shared)
        return false;
    if (request->call == CBANK_CALL_FILL)
        work.request.buffers[request->number] = shared;
    else if (request->call == CBANK_CALL_ENTRIES)
        work.request.tables[request->number] = shared;
    else
        work.request.expected = shared;
    work.done = shared + bytes;
    done = run_apart(&work, reason);
    if (done)
        memcpy(out, shared, bytes);
    munmap(shared, bytes + 1);
    return done;
}

bool kernel_reference_describe(const struct kernel_file *file, uint64_t size,
                               struct cbank_case_report *out, char reason[KERNEL_REASON_BYTES])
{
    struct work work = {.file = file, .request = {.call = CBANK_CALL_DESCRIBE, .size = size}};
    struct cbank_case_report *const shared = share(sizeof(*shared));
    bool done;

    snprintf(reason, KERNEL_REASON_BYTES, "out of memory");
    if (!shared)
        return false;
    work.report = shared;
    work.done = (unsigned char *)(shared + 1);
    done = run_apart(&work, reason);
    if (done)
        memcpy(out, shared, sizeof(*out));
    munmap(shared, sizeof(*shared) + 1);
    return done;
}

/* -- names ------------------------------------------------------------------------------------- */

/* A part of the library that lies in it; NULL: it does not. */
static const void *part(const struct kernel_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->reference_bytes && bytes <= file->reference_bytes - offset
               ? (const unsigned char *)file->reference + offset
               : NULL;
}

/* The function of a table of symbols that begins at an address. Compilers give kernels that are
 * alike one place with several names: that of the case comes first. */
static const char *symbol_at(const struct kernel_file *file, const Elf64_Shdr *table,
                             const Elf64_Shdr *strings, uint64_t address)
{
    const Elf64_Sym *const symbols = part(file, table->sh_offset, table->sh_size);
    const char *const names = part(file, strings->sh_offset, strings->sh_size);
    const char *found = NULL;

    if (!symbols || !names || strings->sh_size == 0 || names[strings->sh_size - 1] != '\0')
        return NULL;
    for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
        Elf64_Sym symbol;

        memcpy(&symbol, &symbols[i], sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value == address &&
            symbol.st_name < strings->sh_size &&
            (!found || kernel_is_named(names + symbol.st_name, file->info.name)))
            found = names + symbol.st_name;
    }
    return found;
}

const char *kernel_reference_symbol(const struct kernel_file *file,
                                    const struct cbank_case_report *report)
{
    const Elf64_Ehdr *const header = part(file, 0, sizeof(*header));
    const Elf64_Shdr *const sections =
        header ? part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(*sections)) : NULL;

    for (size_t i = 0; sections && report->kernel && i < header->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
            return symbol_at(file, &sections[i], &sections[sections[i].sh_link],
                             (uint64_t)(uintptr_t)report->kernel);
    return NULL;
}
