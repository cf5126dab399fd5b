/* SPDX-License-Identifier: MIT
 * Kernels of users' files. A cubin of the stand-in compiler carries a library for the host in a
 * section: it is loaded as a copy, its case is called to learn how the kernel is launched, and its
 * threads run one after the other (user_threads.c). */
#include "user_kernel.h"

#include <dlfcn.h>
#include <elf.h>
#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cbank_case.h"

#define SPACE_NAME(name, NAME) #name,
static const char *const space_names[CBANK_SPACE_COUNT] = {CBANK_SPACES(SPACE_NAME)};

/* -- modules ----------------------------------------------------------------------------------- */

/* A section by its name or type; false where there is none. */
static bool find_section(const char *elf, const char *name, uint32_t type, Elf64_Shdr *out)
{
    Elf64_Ehdr header;
    Elf64_Shdr names;

    memcpy(&header, elf, sizeof(header));
    memcpy(&names, elf + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
    for (size_t i = 0; i < header.e_shnum; i++) {
        memcpy(out, elf + header.e_shoff + i * sizeof(*out), sizeof(*out));
        if (name ? strcmp(elf + names.sh_offset + out->sh_name, name) == 0 : out->sh_type == type)
            return true;
    }
    return false;
}

static bool symbol_at(const struct user_module *user, size_t index, Elf64_Sym *out,
                      const char **name)
{
    Elf64_Ehdr header;
    Elf64_Shdr symbols, strings;

    memcpy(&header, user->shared, sizeof(header));
    if (!find_section(user->shared, NULL, SHT_SYMTAB, &symbols) ||
        (index + 1) * sizeof(*out) > symbols.sh_size)
        return false;
    memcpy(&strings, user->shared + header.e_shoff + symbols.sh_link * sizeof(strings),
           sizeof(strings));
    memcpy(out, user->shared + symbols.sh_offset + index * sizeof(*out), sizeof(*out));
    *name = user->shared + strings.sh_offset + out->st_name;
    return true;
}

void *user_symbol(const struct user_module *user, const char *name, size_t *bytes)
{
    const char *found;
    Elf64_Sym symbol;

    for (size_t i = 0; symbol_at(user, i, &symbol, &found); i++)
        if (symbol.st_shndx != SHN_UNDEF && strcmp(found, name) == 0) {
            *bytes = symbol.st_size;
            return user->base + symbol.st_value;
        }
    return NULL;
}

static void read_infos(struct user_module *user)
{
    static const char table_info[] = "cbank_table_info_";
    const char *name;
    Elf64_Sym symbol;

    for (size_t i = 0; symbol_at(user, i, &symbol, &name); i++)
        if (strcmp(name, "cbank_case_info") == 0)
            user->info = (const struct cbank_case_info *)(user->base + symbol.st_value);
        else if (strncmp(name, table_info, strlen(table_info)) == 0)
            user->spaces |=
                1ull << ((const struct cbank_table_info *)(user->base + symbol.st_value))->space;
}

typedef void case_function(struct cbank_request request, struct cbank_case_report *report);

static void call_case(void (*kernel)(void), void **arguments)
{
    ((case_function *)kernel)(*(const struct cbank_request *)arguments[0],
                              *(struct cbank_case_report **)arguments[1]);
}

static const uint64_t case_bytes[] = {sizeof(struct cbank_request),
                                      sizeof(struct cbank_case_report *)};
static const struct host_kernel host_of_case = {NULL, call_case, 2, case_bytes};

/* Describes the case in memory of the host: the report says how the kernel is called. */
static void describe(struct user_module *user, uint64_t size)
{
    struct cbank_case_report *report = calloc(1, sizeof(*report));
    struct cbank_request request = {.call = CBANK_CALL_DESCRIBE, .size = size};
    struct user_launch *const launch = calloc(1, sizeof(*launch) + 2 * sizeof(void *));
    size_t bytes;
    void *const address = user_symbol(user, "cbank_case_call", &bytes);

    if (report && launch && address) {
        *launch =
            (struct user_launch){.host = &host_of_case, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        memcpy(&launch->kernel, &address, sizeof(address));
        launch->arguments[0] = &request;
        launch->arguments[1] = &report;
        if (user_threads_run(launch) == 0)
            user->host = report->host_launch;
    }
    free(launch);
    free(report);
}

/* Each module has its own variables: to the loader, files are others when their names are. So the
 * file stays open. */
static bool load_copy(struct user_module *user)
{
    char path[64];

    user->file = memfd_create("cubin", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", user->file);
    if (user->file >= 0 &&
        write(user->file, user->shared, user->shared_bytes) == (ssize_t)user->shared_bytes)
        user->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!user->handle)
        fprintf(stderr, "simulated GPU: the code of a kernel file cannot be loaded: %s\n",
                dlerror());
    return user->handle;
}

bool user_module_open(CUmodule module, bool *failed)
{
    struct user_module *user;
    struct link_map *map = NULL;
    Elf64_Shdr section;

    *failed = false;
    if (!find_section(module->image, ".simulated", 0, &section))
        return false;
    user = calloc(1, sizeof(*user));
    *failed = true;
    if (!user)
        return false;
    user->shared = (const char *)module->image + section.sh_offset;
    user->shared_bytes = section.sh_size;
    if (!load_copy(user) || dlinfo(user->handle, RTLD_DI_LINKMAP, &map) != 0) {
        user_module_close(user);
        return false;
    }
    user->base = (char *)map->l_addr;
    read_infos(user);
    if (user->info)
        describe(user, user->info->sizes[0]);
    module->user = user;
    *failed = false;
    return true;
}

void user_module_close(struct user_module *user)
{
    if (user && user->handle)
        dlclose(user->handle);
    if (user && user->file >= 0)
        close(user->file);
    free(user);
}

void *user_variable(CUmodule module, const char *name, size_t *bytes)
{
    struct user_module *const user = module->user;
    void *const variable = user_symbol(user, name, bytes);

    for (size_t i = 0; i < user->bank_count; i++)
        if (user->banks[i]->address == variable)
            return variable;
    if (!variable || user->bank_count == BANKS_MAX)
        return NULL;
    user->banks[user->bank_count] = block_at(module->device, variable, *bytes);
    return user->banks[user->bank_count++] ? variable : NULL;
}

/* -- launches ---------------------------------------------------------------------------------- */

bool user_is_case(const struct CUfunc_st *function)
{
    return strcmp(function->symbol, "cbank_case_call") == 0;
}

static const struct host_kernel *host_of(const struct CUfunc_st *function)
{
    return user_is_case(function) ? &host_of_case : function->module->user->host;
}

struct user_launch *user_launch_make(const struct CUfunc_st *function, void **parameters)
{
    enum { ALIGNMENT = 16 };
    const struct host_kernel *const host = host_of(function);
    size_t bytes = sizeof(struct user_launch), used;
    struct user_launch *launch;
    void *address;

    if (!host)
        return NULL;
    bytes += (host->count * sizeof(void *) + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    used = bytes;
    for (uint64_t i = 0; i < host->count; i++)
        bytes += (host->bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    launch = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!launch)
        return NULL;
    launch->host = host;
    address = user_symbol(function->module->user, function->symbol, &bytes);
    memcpy(&launch->kernel, &address, sizeof(address));
    for (uint64_t i = 0; i < host->count; i++) {
        launch->arguments[i] = (char *)launch + used;
        memcpy(launch->arguments[i], parameters[i], host->bytes[i]);
        used += (host->bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return launch;
}

bool user_is_named(const struct user_module *user, const char *name)
{
    char identity[128];

    for (uint32_t space = 0; space < CBANK_SPACE_COUNT; space++) {
        snprintf(identity, sizeof(identity), "%s/%s", user->info ? user->info->name : "",
                 space_names[space]);
        if (user->spaces >> space & 1 &&
            (strncmp(identity, name, strlen(name)) == 0 || fnmatch(name, identity, 0) == 0))
            return true;
    }
    return false;
}

/* A picosecond a thread, and 3 % more for each memory space behind the first of enum
 * cbank_space. */
static double user_ns(const struct device *device, const struct launch *launch)
{
    const struct user_module *const user = launch->function->module->user;
    double factor = 1;

    for (uint32_t space = 0; space < CBANK_SPACE_COUNT; space++)
        if (user->spaces >> space & 1) {
            factor += 0.03 * space;
            if (strcmp(settings.slow, space_names[space]) == 0 &&
                (settings.slow_device < 0 || device_ordinal(device) == settings.slow_device))
                factor *= settings.slow_factor;
        }
    return (5000 + 0.001 * launch->blocks * launch->threads + (device->flushed ? 1000 : 0)) *
           factor;
}

int run_user(struct device *device, struct launch *launch, double *work_ns)
{
    const bool of_case = user_is_case(launch->function);
    int code = 0;

    if (!launch->user->timed && !counting_open(device)) {
        memory_settle();
        code = user_threads_run(launch->user);
        memory_lock();
    }
    *work_ns = of_case ? chip.launch_ns : user_ns(device, launch);
    if (!of_case)
        device->flushed = false;
    return code;
}
