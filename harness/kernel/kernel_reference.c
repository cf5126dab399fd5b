/* SPDX-License-Identifier: MIT
 * A case's check on the processor. The user's library is loaded from memory, in a child process
 * that may crash, exit or hang; its output comes back through memory that both processes share, and
 * counts only when its last byte says that it is done. */
#include "kernel_reference.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "parallel.h"

enum { SECONDS_MAX = 30 };

struct work {
    const struct kernel_file *file;
    struct cbank_request request;
    uint64_t elements;
    unsigned char *done; /* in memory that both processes share */
    void (*reference)(const struct cbank_request *request, uint64_t first, uint64_t end);
};

static void run_range(void *context, uint64_t first, uint64_t count)
{
    const struct work *work = context;

    work->reference(&work->request, first, first + count);
}

/* The user's code may call exit(): what this process does at its end is not for the child to do. */
static void end_now(void)
{
    _exit(CHILD_NOT_STARTED);
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
    parallel_ranges(work->elements, 1, run_range, work);
    *work->done = 1;
}

bool kernel_reference_run(const struct kernel_file *file, const struct cbank_request *request,
                          uint64_t elements, void *expected, size_t bytes,
                          char reason[KERNEL_REASON_BYTES])
{
    struct work work = {.file = file, .request = *request, .elements = elements};
    bool done = false;
    void *shared;
    int code = 0;

    snprintf(reason, KERNEL_REASON_BYTES, "it cannot run");
    shared = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    work.request.expected = shared;
    work.done = (unsigned char *)shared + bytes;
    if (child_call(run, &work, &code) && WIFSIGNALED(code))
        snprintf(reason, KERNEL_REASON_BYTES, "%s",
                 WTERMSIG(code) == SIGALRM ? "it takes more than 30 s" : strsignal(WTERMSIG(code)));
    else
        done = WIFEXITED(code) && WEXITSTATUS(code) == 0 && *work.done == 1;
    if (done)
        memcpy(expected, shared, bytes);
    munmap(shared, bytes + 1);
    return done;
}
