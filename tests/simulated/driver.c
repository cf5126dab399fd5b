/* SPDX-License-Identifier: MIT
 * The driver: modules, functions, launches, and what it compiles. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "parameter_index.h"
#include "stream.h"
#include "user_kernel.h"

/* -- modules ----------------------------------------------------------------------------------- */

/* Bytes of an ELF file in memory: up to the end of its last section. */
static size_t image_size(const void *image)
{
    const char *const start = image;
    Elf64_Ehdr header;
    size_t bytes;

    memcpy(&header, image, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    bytes = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;

        memcpy(&section, start + header.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > bytes)
            bytes = section.sh_offset + section.sh_size;
    }
    return bytes;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    CUmodule module;
    bool failed = false;

    ENTER(cuModuleLoadData);
    launch_pass(NULL, settings.load_us);
    module = object_open(OBJECT_MODULE, sizeof(*module));
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *module = (struct CUmod_st){.device = device_current(),
                                .image = image,
                                .image_bytes = image_size(image)};
    if (module->image_bytes == 0 || (!user_module_open(module, &failed) && failed)) {
        object_close(module, true);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *out = module;
    return CUDA_SUCCESS;
}

/* Functions stay: launches that have yet to write point to them. */
CUresult cuModuleUnload(CUmodule module)
{
    ENTER_RELEASE(cuModuleUnload);
    if (module->bank)
        block_close(module->bank);
    if (module->received)
        block_close(module->received);
    module->bank = module->received = NULL;
    for (size_t i = 0; module->user && i < module->user->bank_count; i++)
        block_close(module->user->banks[i]);
    user_module_close(module->user);
    module->user = NULL;
    object_close(module, false);
    return (CUresult)entered;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    struct cubin_function code;
    CUfunction function;

    ENTER(cuModuleGetFunction);
    for (function = module->functions; function; function = function->next)
        if (strcmp(function->symbol, name) == 0) {
            *out = function;
            return CUDA_SUCCESS;
        }
    if (!cubin_find(module->image, module->image_bytes, name, &code) ||
        strcmp(code.symbol, name) != 0 || strlen(name) >= sizeof(function->symbol))
        return CUDA_ERROR_NOT_FOUND;
    function = calloc(1, sizeof(*function));
    if (!function)
        return CUDA_ERROR_OUT_OF_MEMORY;
    function->module = module;
    snprintf(function->symbol, sizeof(function->symbol), "%s", name);
    sass_read(code.code, code.bytes, code.architecture, &function->sass);
    if (!kernel_name(function)) {
        free(function);
        return CUDA_ERROR_NOT_FOUND;
    }
    function->next = module->functions;
    module->functions = function;
    *out = function;
    return CUDA_SUCCESS;
}

/* The variables of the program's own kernels that are asked for are constant banks, and what
 * kernels of launch paths write. */
CUresult cuModuleGetGlobal(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name)
{
    struct block *block;

    ENTER(cuModuleGetGlobal);
    if (module->user) {
        *out = (uintptr_t)user_variable(module, name, bytes);
        return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    }
    if (!memmem(module->image, module->image_bytes, name, strlen(name) + 1))
        return CUDA_ERROR_NOT_FOUND;
    block = strcmp(name, "launch_received") == 0 ? launch_received(module) : launch_bank(module);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (uintptr_t)block->address;
    *bytes = CBANK_TABLE_BYTES;
    return CUDA_SUCCESS;
}

/* -- functions --------------------------------------------------------------------------------- */

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    const uint32_t parameters[PARAMETERS_MAX] = {[PARAMETER_radius] = function->variant};

    ENTER(cuFuncGetAttribute);
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
    if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES && function->workload)
        *value = (int)workload_tile_bytes(function->workload, parameters);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        *value = function->dynamic_shared;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    ENTER(cuFuncSetAttribute);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        function->dynamic_shared = value;
    return CUDA_SUCCESS;
}

/* Registers are as many as there are for every warp. */
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared_bytes)
{
    const uint32_t room = chip.warps_per_sm * CBANK_WARP_THREADS / (uint32_t)threads;
    const uint32_t shared =
        chip.shared_bytes_per_sm / ((uint32_t)shared_bytes + chip.shared_bytes_reserved);

    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    *blocks = (int)(room < chip.blocks_per_sm ? room : chip.blocks_per_sm);
    if (shared_bytes > 0 && (int)shared < *blocks)
        *blocks = (int)shared;
    return CUDA_SUCCESS;
}

/* Sizes: of the grid, and of a block. */
static CUresult launch_user(CUfunction function, const uint32_t sizes[6], CUstream stream,
                            void **parameters)
{
    const uint64_t threads = (uint64_t)sizes[3] * sizes[4] * sizes[5];
    struct launch *launch;

    if (sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0 || threads == 0 ||
        threads > CBANK_BLOCK_THREADS_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    launch = calloc(1, sizeof(*launch));
    if (!launch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *launch = (struct launch){.references = 1,
                              .function = function,
                              .blocks = sizes[0] * sizes[1] * sizes[2],
                              .threads = (uint32_t)threads,
                              .user = user_launch_make(function, parameters)};
    if (!launch->user) {
        launch_release(launch);
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(launch->user->grid, sizes, sizeof(launch->user->grid));
    memcpy(launch->user->block, sizes + 3, sizeof(launch->user->block));
    launch->user->timed = stream->capture;
    return (CUresult)stream_add(stream, (struct op){.kind = OP_LAUNCH, .launch = launch});
}

/* The driver's parameters. NOLINTNEXTLINE(readability-function-size) */
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **parameters, void **extra)
{
    enum { SHARED_ALWAYS = 48 << 10 };
    const uint32_t most = function->dynamic_shared > SHARED_ALWAYS
                              ? (uint32_t)function->dynamic_shared
                              : SHARED_ALWAYS;
    struct launch *launch;
    uint32_t bytes;

    ENTER(cuLaunchKernel);
    if (shared_bytes > most || extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (function->module->user)
        return launch_user(function,
                           (const uint32_t[]){grid_x, grid_y, grid_z, block_x, block_y, block_z},
                           stream, parameters);
    if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 ||
        block_x > CBANK_BLOCK_THREADS_MAX || block_y != 1 || block_z != 1)
        return CUDA_ERROR_INVALID_VALUE;
    launch = calloc(1, sizeof(*launch));
    if (!launch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *launch = (struct launch){.references = 1,
                              .function = function,
                              .blocks = grid_x,
                              .threads = block_x,
                              .shared_bytes = shared_bytes};
    /* The values of the parameters are copied at once. */
    if (function->row->argument_bytes)
        memcpy(&launch->args, parameters[0], function->row->argument_bytes);
    if (function->row->of_path)
        memcpy(&launch->restricted, parameters[1], sizeof(launch->restricted));
    bytes = function->row->of_launch_path ? function->parameter_bytes
            : function->row->of_path && function->path->home == TABLE_PARAMETER
                ? function->path->bytes
                : 0;
    if (bytes) {
        launch->values = malloc(bytes);
        if (!launch->values) {
            launch_release(launch);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memcpy(launch->values, parameters[function->row->of_launch_path ? 0 : 2], bytes);
    }
    if (function->row->of_launch_path)
        launch_pass(stream, settings.launch_us + 1e-3 * settings.parameter_ns * bytes);
    return (CUresult)stream_add(stream, (struct op){.kind = OP_LAUNCH, .launch = launch});
}

/* -- what it compiles -------------------------------------------------------------------------- */

struct CUlinkState_st {
    void *cubin; /* owned */
    size_t bytes;
};

CUresult cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
    ENTER(cuLinkCreate);
    *out = object_open(OBJECT_LINK, sizeof(**out));
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool read_cubin(CUlinkState link, const char *name)
{
    char path[SETTING_BYTES + 128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%.*s.sm_90.cubin", settings.ptx, (int)strcspn(name, "."),
             name);
    file = fopen(path, "rbe");
    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    link->bytes = (size_t)ftell(file);
    rewind(file);
    link->cubin = malloc(link->bytes);
    if (!link->cubin || fread(link->cubin, 1, link->bytes, file) != link->bytes)
        link->bytes = 0;
    fclose(file);
    return link->bytes > 0;
}

/* PTX of the stand-in for nvcc: the cubin in hexadecimal digits. False: it is other PTX. */
static bool read_digits(CUlinkState link, const char *text)
{
    static const char head[] = "// of the stand-in for nvcc: ";
    const size_t digits = strlen(text) - strlen(head);

    if (strncmp(text, head, strlen(head)) != 0)
        return false;
    link->bytes = digits / 2;
    link->cubin = malloc(link->bytes);
    for (size_t i = 0; link->cubin && i < link->bytes; i++) {
        unsigned byte = 0;

        sscanf((const char[]){text[strlen(head) + 2 * i], text[strlen(head) + 2 * i + 1], 0}, "%2x",
               &byte);
        ((unsigned char *)link->cubin)[i] = (unsigned char)byte;
    }
    return link->cubin;
}

CUresult cuLinkAddData(CUlinkState link, CUjitInputType type, void *data, size_t bytes,
                       const char *name, unsigned count, CUjit_option *options, void **values)
{
    ENTER(cuLinkAddData);
    if (type != CU_JIT_INPUT_PTX || bytes == 0 || ((const char *)data)[bytes - 1] != '\0' ||
        (!read_digits(link, data) && !read_cubin(link, name)))
        return CUDA_ERROR_INVALID_PTX;
    return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState link, void **cubin, size_t *bytes)
{
    ENTER(cuLinkComplete);
    *cubin = link->cubin;
    *bytes = link->bytes;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState link)
{
    ENTER_RELEASE(cuLinkDestroy);
    free(link->cubin);
    object_close(link, true);
    return (CUresult)entered;
}

/* -- context and errors ------------------------------------------------------------------------ */

CUresult cuCtxGetCurrent(CUcontext *out)
{
    static struct CUctx_st contexts[DEVICES_MAX];
    const uint32_t ordinal = device_ordinal(device_current());

    ENTER(cuCtxGetCurrent);
    contexts[ordinal].device = device_current();
    *out = &contexts[ordinal];
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    ENTER_TEXT(cuGetErrorString);
    *text = error_text(API_DRIVER, (int)code);
    return CUDA_SUCCESS;
}
