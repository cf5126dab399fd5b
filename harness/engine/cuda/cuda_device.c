/* SPDX-License-Identifier: MIT
 * One device. Every call of the vendor's passes a pair of functions: the watchdog is told before
 * it, and after it an error ends the run with the name of the call. Tools are kernels of tools.cu
 * around those of cells: flush, stamp, clock, spin and shuffle. */
#include "cuda_device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_jit.h"
#include "environment_error.h"
#include "library.h"
#include "log.h"

/* -- calls ------------------------------------------------------------------------------------- */

/* seconds; multiple of the expected time */
static const double watchdog_slack_least = 10, watchdog_slack_share = 20;

void cuda_expect(struct cuda_device *device, double seconds)
{
    device->calls.failed = NULL;
    device->calls.expected = seconds;
    device->calls.suspect_count = 0;
}

void cuda_expect_cell(struct cuda_device *device, struct cell_result *cell, double seconds)
{
    cuda_expect(device, seconds);
    device->calls.suspects[0] = (struct cuda_suspect){cell, CUDA_NO_READING};
    device->calls.suspect_count = 1;
}

double cuda_watchdog_slack(const struct cuda_device *device)
{
    const struct cuda_calls *calls = &device->calls;

    return calls->watchdog_slack > 0
               ? calls->watchdog_slack + calls->expected
               : fmax(watchdog_slack_least, watchdog_slack_share * calls->expected);
}

bool cuda_call_begin(struct cuda_device *device, const char *call)
{
    if (!device->calls.lost)
        watch_begin(device->calls.watchdog, call, cuda_watchdog_slack(device));
    return !device->calls.lost;
}

static bool call_end(struct cuda_device *device, const char *call, int code, const char *error)
{
    watch_end(device->calls.watchdog);
    if (error && !device->calls.failed) {
        device->calls.failed = call;
        device->calls.error = error;
        device->calls.code = code;
    }
    return !error;
}

bool cuda_call_end(struct cuda_device *device, const char *call, cudaError_t code)
{
    return call_end(device, call, (int)code, code == cudaSuccess ? NULL : cudaGetErrorString(code));
}

bool cuda_driver_call_end(struct cuda_device *device, const char *call, CUresult code)
{
    const char *text = NULL;

    if (code != CUDA_SUCCESS) {
        device->driver.cuGetErrorString(code, &text);
        text = text ? text : "unknown error";
    }
    return call_end(device, call, (int)code, text);
}

const char *cuda_device_error(struct cuda_device *device)
{
    struct cuda_calls *calls = &device->calls;
    const char *failed = calls->failed;

    calls->failed = NULL;
    if (!calls->lost)
        cudaGetLastError();
    if (!failed)
        return "";
    snprintf(calls->text, sizeof(calls->text), "%s: %s", failed, calls->error);
    return calls->text;
}

bool cuda_device_lost(struct cuda_device *device)
{
    struct cuda_calls *calls = &device->calls;
    const struct cuda_calls before = *calls;

    if (calls->lost || !calls->failed || !device->tools.empty)
        return calls->lost;
    /* An error that the context keeps comes again; another one does not. */
    cudaGetLastError();
    calls->lost = !(cuda_launch_empty(device) && cuda_device_wait(device));
    calls->failed = before.failed;
    calls->error = before.error;
    return calls->lost;
}

/* Fails the cells that differ by their cache state alone from one that failed before it was
 * verified: they launch the same. */
static void fail_alike(struct result *result, const struct cell_result *culprit)
{
    for (size_t i = 0; !culprit->verified && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];
        struct cell like = cell->cell;

        like.cache_state = culprit->cell.cache_state;
        if (cell->status == CELL_PENDING && !cell->verified &&
            cell_order(&like, &culprit->cell) == 0)
            engine_end_cell(cell, CELL_FAILED, "%s", culprit->reason);
    }
}

enum status cuda_end_run(struct cuda_device *device, const char *reason)
{
    const struct cuda_calls *calls = &device->calls;
    struct run_end *end = &calls->result->end;
    struct cell_result *culprit = NULL; /* the first whose launches did not end */

    for (size_t i = 0; !culprit && i < calls->suspect_count; i++)
        if (calls->suspects[i].reading == CUDA_NO_READING ||
            !cuda_clock_was_read(device, calls->suspects[i].reading))
            culprit = calls->suspects[i].cell;
    *end = (struct run_end){.given = true};
    if (culprit) {
        cell_identity(&culprit->cell, end->cell);
        engine_end_cell(culprit, CELL_FAILED, "%s", reason);
        fail_alike(calls->result, culprit);
    }
    snprintf(end->reason, sizeof(end->reason), "%.200s%s", reason,
             culprit || calls->suspect_count == 0
                 ? ""
                 : ", with several cells under way: one of them caused it");
    return STATUS_FINDING;
}

enum status cuda_fail(struct cuda_device *device, struct cell_result *cell, const char *what)
{
    const bool lost = cuda_device_lost(device);
    const char *error = cuda_device_error(device);
    char reason[CELL_REASON_BYTES];

    snprintf(reason, sizeof(reason), "%.150s%s%.100s", what, error[0] ? ": " : "", error);
    if (lost)
        return cuda_end_run(device, reason);
    engine_end_cell(cell, CELL_FAILED, "%s", reason);
    return STATUS_OK;
}

/* -- the stream -------------------------------------------------------------------------------- */

bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks,
                        uint32_t threads, uint32_t shared_bytes, void **parameters)
{
    return DRIVER(device, cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, shared_bytes,
                  device->stream, parameters, NULL);
}

bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, device->stream);
}

bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, device->stream);
}

bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes)
{
    return CUDA(device, cudaMemsetAsync, to, byte, bytes, device->stream);
}

bool cuda_device_is_busy(struct cuda_device *device)
{
    cudaError_t code = cudaSuccess;

    if (cuda_call_begin(device, "cudaStreamQuery")) {
        code = cudaStreamQuery(device->stream);
        cuda_call_end(device, "cudaStreamQuery", cudaSuccess);
    }
    return code == cudaErrorNotReady;
}

bool cuda_device_wait(struct cuda_device *device)
{
    return CUDA(device, cudaStreamSynchronize, device->stream);
}

bool cuda_device_zeros(struct cuda_device *device, struct cuda_zeros *zeros, uint64_t bytes)
{
    if (zeros->bytes >= bytes)
        return true;
    CUDA_TRY(device, cudaFree, zeros->words);
    *zeros = (struct cuda_zeros){0};
    if (!CUDA(device, cudaMalloc, (void **)&zeros->words, bytes) ||
        !CUDA(device, cudaMemset, zeros->words, 0, bytes))
        return false;
    zeros->bytes = bytes;
    return true;
}

bool cuda_table_texture(struct cuda_device *device, const uint32_t *on_device, size_t bytes,
                        uint32_t width, cudaTextureObject_t *texture)
{
    const int bits = width < sizeof(uint32_t) ? 8 * (int)width : 32, rest = width > 8 ? bits : 0;
    const struct cudaResourceDesc resource = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {.devPtr = (void *)(uintptr_t)on_device,
                       .desc = {bits, width > sizeof(uint32_t) ? bits : 0, rest, rest,
                                cudaChannelFormatKindUnsigned},
                       .sizeInBytes = bytes},
    };
    const struct cudaTextureDesc description = {.readMode = cudaReadModeElementType};

    return CUDA(device, cudaCreateTextureObject, texture, &resource, &description, NULL);
}

/* -- modules ----------------------------------------------------------------------------------- */

static const char *module_error(const struct cuda_device *device)
{
    return device->calls.failed ? device->calls.error : "out of memory";
}

/* Loads a module whose code is in memory. */
static enum status load_code(struct cuda_device *device, struct cuda_module *module)
{
    if (DRIVER(device, cuModuleLoadData, &module->module, module->cubin))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot load %s on %s: %s", module->image,
                     device->info->name, module_error(device));
}

enum status cuda_module_load(struct cuda_device *device, const char *name, bool jit,
                             struct cuda_module *module)
{
    const unsigned major = device->info->cc_major, minor = device->info->cc_minor;
    struct image image;
    const bool machine_code = !jit && image_for_chip(name, major, minor, &image);
    enum status status = STATUS_OK;

    if (!machine_code && !image_ptx(name, major, minor, &image))
        return log_error(STATUS_ENVIRONMENT,
                         "this program has no kernels for %s (compute capability %u.%u); build it "
                         "with make ARCHS=%u%u",
                         device->info->name, major, minor, major, minor);
    snprintf(module->image, sizeof(module->image), "%.*s", (int)image.name_bytes, image.name);
    module->cubin = image.data;
    module->cubin_bytes = image.bytes;
    if (!machine_code)
        status =
            cuda_jit_compile(device, &(struct cuda_ptx){image.data, image.bytes, module->image},
                             module);
    return status == STATUS_OK ? load_code(device, module) : status;
}

enum status cuda_module_copy(struct cuda_device *device, const struct cuda_module *from,
                             struct cuda_module *module)
{
    *module = (struct cuda_module){.cubin = from->cubin,
                                   .cubin_bytes = from->cubin_bytes,
                                   .compile_ms = from->compile_ms};
    memcpy(module->image, from->image, sizeof(module->image));
    return load_code(device, module);
}

enum status cuda_module_find_bank(struct cuda_device *device, const char *name,
                                  struct cuda_module *module)
{
    size_t bytes = 0;

    if (DRIVER(device, cuModuleGetGlobal, &module->bank, &bytes, module->module, name) &&
        bytes == CBANK_TABLE_BYTES)
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT,
                     "%s has no constant bank of %u bytes; build the program again", module->image,
                     CBANK_TABLE_BYTES);
}

bool cuda_module_function(struct cuda_device *device, const struct cuda_module *module,
                          const char *name, CUfunction *function)
{
    return DRIVER(device, cuModuleGetFunction, function, module->module, name);
}

void cuda_module_unload(struct cuda_device *device, struct cuda_module *module)
{
    if (module->module)
        DRIVER_TRY(device, cuModuleUnload, module->module);
    if (module->link)
        DRIVER_TRY(device, cuLinkDestroy, module->link);
    free(module->messages);
    *module = (struct cuda_module){0};
}

uint32_t cuda_function_attribute(struct cuda_device *device, CUfunction function,
                                 CUfunction_attribute attribute)
{
    int value = 0;

    DRIVER_TRY(device, cuFuncGetAttribute, &value, attribute, function);
    return (uint32_t)value;
}

bool cuda_function_allow_shared(struct cuda_device *device, CUfunction function, uint32_t bytes,
                                char reason[CELL_REASON_BYTES])
{
    const uint32_t needed =
        bytes + cuda_function_attribute(device, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    int most = 0;

    CUDA_TRY(device, cudaDeviceGetAttribute, &most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
             (int)device->ordinal);
    if (needed > (uint32_t)most)
        snprintf(reason, CELL_REASON_BYTES,
                 "a block needs %u bytes of shared memory; this GPU gives it %d", (unsigned)needed,
                 most);
    /* Cells of one kernel request different sizes. */
    else if (bytes > 0 &&
             cuda_function_attribute(device, function,
                                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) < bytes &&
             !DRIVER(device, cuFuncSetAttribute, function,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes))
        snprintf(reason, CELL_REASON_BYTES,
                 "the driver does not give a block %u bytes of shared memory", (unsigned)bytes);
    else
        return true;
    return false;
}

/* -- tools ------------------------------------------------------------------------------------- */

enum {
    FLUSH_THREADS = 1024,
    STIR_THREADS = 1024,
    STIR_BLOCKS = 16 /* an SM */,
    CLOCK_SPIN_NS = 10000
};

/* Readings of the clock probe after those of cells. */
enum { SPIN_READING, TICK_READING, OTHER_READINGS };

/* Launches a tool, whose only parameter is a struct. */
static bool launch_tool(struct cuda_device *device, CUfunction function, uint32_t blocks,
                        uint32_t threads, void *arguments)
{
    void *parameters[] = {arguments};

    return cuda_device_launch(device, function, blocks, threads, 0, arguments ? parameters : NULL);
}

static bool launch_flush(struct cuda_device *device, const uint32_t *buffer, uint64_t words)
{
    struct tool_flush_args arguments = {.buffer = buffer,
                                        .words = words,
                                        .sink = device->flushed.words,
                                        .never = 1};

    return launch_tool(device, device->tools.flush, device->info->sm_count, FLUSH_THREADS,
                       &arguments);
}

bool cuda_flush_prepare(struct cuda_device *device, uint64_t l2_bytes)
{
    return cuda_device_zeros(device, &device->flushed, 2 * l2_bytes);
}

bool cuda_launch_flush(struct cuda_device *device)
{
    return launch_flush(device, device->flushed.words, device->flushed.bytes / sizeof(uint32_t));
}

bool cuda_launch_empty(struct cuda_device *device)
{
    return launch_tool(device, device->tools.empty, 1, CBANK_WARP_THREADS, NULL);
}

bool cuda_launch_empty_grid(struct cuda_device *device, uint32_t blocks, uint32_t threads)
{
    return launch_tool(device, device->tools.empty, blocks, threads, NULL);
}

bool launch_sm_shuffle(struct cuda_device *device)
{
    return launch_tool(device, device->tools.sm_shuffle, STIR_BLOCKS * device->info->sm_count,
                       STIR_THREADS, NULL);
}

bool cuda_launch_stamp(struct cuda_device *device, uint32_t number, uint64_t wait_ns)
{
    struct tool_stamp_args arguments = {.stamps = device->tools.stamps,
                                        .wait_ns = wait_ns,
                                        .number = number};

    return launch_tool(device, device->tools.stamp, 1, 1, &arguments);
}

static bool launch_clock(struct cuda_device *device, size_t reading, uint32_t draws,
                         uint64_t spin_ns)
{
    struct tool_clock_args arguments = {.reading = &device->tools.readings[reading],
                                        .stamps = device->tools.stamps,
                                        .spin_ns = spin_ns,
                                        .draws = draws};

    return launch_tool(device, device->tools.clock, 1, 1, &arguments);
}

bool cuda_launch_clock(struct cuda_device *device, size_t cell, uint32_t draws)
{
    return launch_clock(device, cell, draws, CLOCK_SPIN_NS);
}

bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns)
{
    return launch_clock(device, device->tools.cells + SPIN_READING, 0, spin_ns);
}

bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault)
{
    static const uint64_t far_words = 1ull << 38, ten_minutes_ns = 600000000000;

    return fault->endless ? cuda_launch_spin(device, ten_minutes_ns)
                          : launch_flush(device, (const uint32_t *)device->tools.stamps + far_words,
                                         4 * FLUSH_THREADS);
}

double cuda_tick_ns(const struct cuda_device *device)
{
    return (double)device->tools.readings[device->tools.cells + TICK_READING].ns;
}

bool cuda_clock_was_read(const struct cuda_device *device, size_t cell)
{
    return *(const volatile uint64_t *)&device->tools.readings[cell].ns != 0;
}

/* -- open and close ---------------------------------------------------------------------------- */

/* The vendor's header renames some functions to a version: cuModuleGetGlobal is
 * cuModuleGetGlobal_v2. */
#define TEXT(function)   #function
#define SYMBOL(function) {TEXT(function), offsetof(struct driver_functions, function)},

static const struct library_symbol driver_symbols[] = {DRIVER_FUNCTIONS(SYMBOL)};
static const struct library_symbol linker_symbols[] = {LINKER_FUNCTIONS(SYMBOL)};

static enum status bind_driver(struct cuda_device *device)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *missing = "libcuda.so.1";

    if (!library ||
        !library_bind(library, driver_symbols, sizeof(driver_symbols) / sizeof(driver_symbols[0]),
                      &device->driver, &missing))
        return log_error(STATUS_ENVIRONMENT, "the NVIDIA driver has no %s; update the driver",
                         missing);
    library_bind(library, linker_symbols, sizeof(linker_symbols) / sizeof(linker_symbols[0]),
                 &device->driver, &device->linker_missing);
    *(void **)&device->param_info = dlsym(library, "cuFuncGetParamInfo");
    return STATUS_OK;
}

/* Opens the context and the stream, and makes room for the readings of clocks. */
static enum status open_context(struct cuda_device *device)
{
    struct cuda_tools *tools = &device->tools;
    char reason[ENGINE_REASON_BYTES];

    if (CUDA(device, cudaSetDevice, (int)device->ordinal) &&
        CUDA(device, cudaStreamCreateWithFlags, &device->stream, cudaStreamNonBlocking) &&
        DRIVER(device, cuCtxGetCurrent, &device->context) &&
        CUDA(device, cudaHostAlloc, (void **)&tools->readings,
             (tools->cells + OTHER_READINGS) * sizeof(*tools->readings), cudaHostAllocMapped))
        return STATUS_OK;
    environment_error(ENVIRONMENT_CUDA, device->calls.code, device->calls.failed,
                      device->calls.error, reason);
    return log_error(STATUS_ENVIRONMENT, "cannot open device %u: %s", (unsigned)device->ordinal,
                     reason);
}

static enum status load_tools(struct cuda_device *device)
{
    struct cuda_tools *tools = &device->tools;
    const struct {
        const char *name;
        CUfunction *function;
    } kernels[] = {
        {"tool_empty", &tools->empty}, {"tool_stir", &tools->sm_shuffle},
        {"tool_flush", &tools->flush}, {"tool_stamp", &tools->stamp},
        {"tool_clock", &tools->clock},
    };
    const enum status status = cuda_module_load(device, "tools", false, &tools->module);

    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (!cuda_module_function(device, &tools->module, kernels[i].name, kernels[i].function))
            return log_error(STATUS_ENVIRONMENT, "%s has no kernel %s", tools->module.image,
                             kernels[i].name);
    return STATUS_OK;
}

/* Makes room for stamps, and begins to read the timer's tick: a spin of zero ns lasts one. */
static enum status start_timer(struct cuda_device *device)
{
    struct cuda_tools *tools = &device->tools;

    if (CUDA(device, cudaMalloc, (void **)&tools->stamps, sizeof(*tools->stamps)) &&
        cuda_device_set(device, tools->stamps, 0, sizeof(*tools->stamps)) &&
        launch_clock(device, tools->cells + TICK_READING, 0, 0))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot read the timer of the device: %s",
                     cuda_device_error(device));
}

enum status cuda_device_open(struct cuda_device *device, const struct cuda_request *request)
{
    static const double open_seconds = 6; /* a context, or a module that the driver compiles */
    enum status status;

    *device = (struct cuda_device){
        .ordinal = request->ordinal,
        .info = request->info,
        .calls = {.watchdog = request->watchdog,
                  .watchdog_slack = request->watchdog_slack,
                  .expected = open_seconds,
                  .suspects = calloc(request->cells + 1, sizeof(*device->calls.suspects))},
        .tools.cells = request->cells,
    };
    status = device->calls.suspects ? bind_driver(device) : log_memory("the device");
    if (status == STATUS_OK)
        status = open_context(device);
    if (status == STATUS_OK)
        status = load_tools(device);
    if (status == STATUS_OK)
        status = start_timer(device);
    if (status != STATUS_OK)
        cuda_device_close(device);
    return status;
}

void cuda_device_close(struct cuda_device *device)
{
    if (device->context) {
        CUDA_TRY(device, cudaFree, device->flushed.words);
        CUDA_TRY(device, cudaFree, device->tools.stamps);
        CUDA_TRY(device, cudaFreeHost, device->tools.readings);
        cuda_module_unload(device, &device->tools.module);
        CUDA_TRY(device, cudaStreamDestroy, device->stream);
    }
    free(device->calls.suspects);
    *device = (struct cuda_device){0};
}
