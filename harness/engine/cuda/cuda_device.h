/* SPDX-License-Identifier: MIT
 * One CUDA device: guarded calls, modules, and the tool kernels that are launched around cells. The
 * memory that cells read is in cuda_memory.h. Includes vendor headers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "engine.h"
#include "image.h"
#include "result.h"
#include "tool_args.h"

/* Driver functions without an equivalent in cudart. */
#define DRIVER_FUNCTIONS(F)                        \
    F(cuModuleLoadData)                            \
    F(cuModuleUnload)                              \
    F(cuModuleGetFunction)                         \
    F(cuModuleGetGlobal)                           \
    F(cuFuncGetAttribute)                          \
    F(cuFuncSetAttribute)                          \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    F(cuLaunchKernel)                              \
    F(cuCtxGetCurrent)                             \
    F(cuGetErrorString)
/* Those that compile PTX, which a driver may lack: the rest goes on. */
#define LINKER_FUNCTIONS(F) \
    F(cuLinkCreate)         \
    F(cuLinkAddData)        \
    F(cuLinkComplete)       \
    F(cuLinkDestroy)

struct driver_functions {
#define MEMBER(function) __typeof__(function) *function;
    DRIVER_FUNCTIONS(MEMBER)
    LINKER_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* A cell whose launches are enqueued. */
struct cuda_suspect {
    struct cell_result *cell;
    /* the clock probe after its launches writes this reading; CUDA_NO_READING: there is none */
    size_t reading;
};

#define CUDA_NO_READING SIZE_MAX

enum { CUDA_MESSAGES_BYTES = 1024 };

/* The state of the calls on a device. */
struct cuda_calls {
    struct watchdog *watchdog; /* not owned; NULL: none */
    double watchdog_slack; /* seconds, in addition to the expected time, for a call to come back; 0:
                            * see cuda_expect */
    double expected; /* seconds that the next calls may take */
    /* the first failed call since cuda_device_error, and its error; NULL: none */
    const char *failed, *error;
    int code; /* of that error */
    char text[256]; /* text of both */
    bool lost; /* the device no longer works: no call reaches it */
    struct result *result; /* whose cells are measured; NULL: none */
    struct cuda_suspect *suspects; /* owned: room for every cell, in the order of the launches */
    size_t suspect_count;
};

/* A loaded module and the cubin that it was loaded from. */
struct cuda_module {
    CUmodule module;
    CUlinkState link; /* holds the cubin if it was compiled from PTX; else NULL */
    char *messages; /* owned: what the driver says when it compiles; the link writes there */
    double compile_ms; /* if it was compiled from PTX */
    bool refused; /* it could not be loaded, and is not tried again */
    const void *cubin;
    size_t cubin_bytes;
    char image[64]; /* member of the program's archive */
    CUdeviceptr bank; /* its constant bank; 0 for the tools */
};

/* The kernels of tools.cu, and the memory that they write. */
struct cuda_tools {
    struct cuda_module module;
    CUfunction empty, sm_shuffle, flush, stamp, clock; /* NULL until the module is loaded */
    struct clock_reading *readings; /* pinned and mapped: `cells` readings of cells, then one of
                                     * spins and one of a tick */
    size_t cells;
    struct tool_stamps *stamps; /* device: of the running sample */
};

/* Zeros on the device. */
struct cuda_zeros {
    uint32_t *words; /* owned */
    uint64_t bytes;
};

struct cuda_device {
    uint32_t ordinal;
    const struct device_info *info; /* not owned */
    struct driver_functions driver;
    const char
        *linker_missing; /* the first of LINKER_FUNCTIONS that the driver lacks; NULL: none */
    /* cuFuncGetParamInfo: offset and bytes of a kernel's parameter. NULL before CUDA 12.4. */
    CUresult (*param_info)(CUfunction function, size_t index, size_t *offset, size_t *bytes);
    struct cuda_calls calls;
    CUcontext context;
    cudaStream_t stream;
    struct cuda_tools tools;
    struct cuda_zeros flushed; /* read by a flush */
    struct cuda_memory *memory; /* of cuda_memory.h, which owns it; NULL: none */
};

/* -- devices ----------------------------------------------------------------------------------- */

/* Number of devices; if it is 0, with the reason and the remedy. */
uint32_t cuda_device_count(const char **reason);

/* Describes one device from cudart and NVML. It needs no card. */
enum status cuda_device_describe(uint32_t ordinal, const char *card, struct device_info *info);

struct cuda_request {
    uint32_t ordinal;
    const struct device_info *info; /* outlives the device */
    size_t cells; /* readings at a time: at least the cells that will be timed */
    struct watchdog *watchdog; /* outlives the device; NULL: calls are not guarded */
    double watchdog_slack; /* seconds; 0: as for cuda_expect */
};

/* Makes the device current and loads the tools (from machine code, else from PTX).
 * STATUS_ENVIRONMENT, logged, on failure. On success the caller closes it. */
enum status cuda_device_open(struct cuda_device *device, const struct cuda_request *request);

/* Releases; accepts a zeroed struct. */
void cuda_device_close(struct cuda_device *device);

/* -- calls ------------------------------------------------------------------------------------- */

/* Calls a function of the runtime or of the driver; true on success. The watchdog guards the call.
 * If the call fails, the device keeps its name and error. A lost device is not called. */
#define CUDA(device, function, ...)          \
    (cuda_call_begin((device), #function) && \
     cuda_call_end((device), #function, (function)(__VA_ARGS__)))
#define DRIVER(device, function, ...)        \
    (cuda_call_begin((device), #function) && \
     cuda_driver_call_end((device), #function, (device)->driver.function(__VA_ARGS__)))

/* The same for calls whose failure does not matter. */
#define CUDA_TRY(...)   ((void)CUDA(__VA_ARGS__))
#define DRIVER_TRY(...) ((void)DRIVER(__VA_ARGS__))

bool cuda_call_begin(struct cuda_device *device, const char *call);
bool cuda_call_end(struct cuda_device *device, const char *call, cudaError_t code);
bool cuda_driver_call_end(struct cuda_device *device, const char *call, CUresult code);

/* The failed call and its error, such as "cudaMalloc: out of memory"; the device then forgets them.
 * "" if none failed. Valid until the next call of this function. */
const char *cuda_device_error(struct cuda_device *device);

/* Announces work for one cell, or for none, and the seconds that a call may take for it. Clears
 * earlier errors. Patience is 20 times these seconds, at least 10 seconds, unless the user names
 * another. */
void cuda_expect_cell(struct cuda_device *device, struct cell_result *cell, double seconds);
void cuda_expect(struct cuda_device *device, double seconds);

/* Seconds that a call has to come back. */
double cuda_watchdog_slack(const struct cuda_device *device);

/* Whether the device is lost. After a failed call this launches the empty kernel and waits for
 * it. */
bool cuda_device_lost(struct cuda_device *device);

/* Handles a call that failed for `cell`. If the device works, the cell fails with `what` and the
 * call, and the result is STATUS_OK. Otherwise the run ends. */
enum status cuda_fail(struct cuda_device *device, struct cell_result *cell, const char *what);

/* Ends the run, with a reason and, if known, the cell that caused it. Calls no device. */
enum status cuda_end_run(struct cuda_device *device, const char *reason);

/* -- the stream -------------------------------------------------------------------------------- */

/* Each function enqueues work and returns true on success: a launch, with an array of pointers to
 * its parameters; writing to the device, reading from it, setting its bytes. */
bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks,
                        uint32_t threads, uint32_t shared_bytes, void **parameters);
bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes);

/* Whether enqueued work has not ended. False also if this is unknown: waiting reports the
 * reason. */
bool cuda_device_is_busy(struct cuda_device *device);

/* Waits for all enqueued work. True if all of it succeeded. */
bool cuda_device_wait(struct cuda_device *device);

/* Ensures that there are at least that many bytes of zeros. False when out of memory: then there
 * are none. */
bool cuda_device_zeros(struct cuda_device *device, struct cuda_zeros *zeros, uint64_t bytes);

/* Makes a texture object over `bytes` bytes on the device, with elements of `width` bytes. True on
 * success. */
bool cuda_table_texture(struct cuda_device *device, const uint32_t *on_device, size_t bytes,
                        uint32_t width, cudaTextureObject_t *texture);

/* -- modules ----------------------------------------------------------------------------------- */

/* Loads a module of the program's archive on the device, whose context is current: from machine
 * code, else from PTX; with `jit` from PTX. STATUS_ENVIRONMENT, logged, on failure. The caller
 * unloads it. */
enum status cuda_module_load(struct cuda_device *device, const char *name, bool jit,
                             struct cuda_module *module);

/* Loads the code of another module again, at another address, with a constant bank of its own. The
 * other module must stay loaded. Otherwise like cuda_module_load. */
enum status cuda_module_copy(struct cuda_device *device, const struct cuda_module *from,
                             struct cuda_module *module);

/* Finds the module's constant bank of CBANK_TABLE_BYTES, a variable of that name.
 * STATUS_ENVIRONMENT, logged, if there is none. */
enum status cuda_module_find_bank(struct cuda_device *device, const char *name,
                                  struct cuda_module *module);

/* Finds a kernel of the module. */
bool cuda_module_function(struct cuda_device *device, const struct cuda_module *module,
                          const char *name, CUfunction *function);

/* Releases; accepts a zeroed struct. */
void cuda_module_unload(struct cuda_device *device, struct cuda_module *module);

/* An attribute of a kernel; 0 if the call failed. */
uint32_t cuda_function_attribute(struct cuda_device *device, CUfunction function,
                                 CUfunction_attribute attribute);

/* Allows a kernel that many bytes of dynamic shared memory in a block. False, with the reason, if
 * the GPU has less. */
bool cuda_function_allow_shared(struct cuda_device *device, CUfunction function, uint32_t bytes,
                                char reason[CELL_REASON_BYTES]);

/* -- tools ------------------------------------------------------------------------------------- */

/* Allocates the memory for flushing, once. False when out of memory. */
bool cuda_flush_prepare(struct cuda_device *device, uint64_t l2_bytes);

/* Each function enqueues one launch and returns true on success. They are the flush, the kernel
 * that randomises the order in which SMs come free, and the empty kernel, of one warp or of a grid.
 * Then the kernel that stamps the time (stamp `number` of a draw, at least wait_ns after everything
 * before it), the clock probe (into reading number `cell`, with the stamps of the last `draws`
 * draws), and a kernel that spins for at least spin_ns. */
bool cuda_launch_flush(struct cuda_device *device);
bool launch_sm_shuffle(struct cuda_device *device);
bool cuda_launch_empty(struct cuda_device *device);
bool cuda_launch_empty_grid(struct cuda_device *device, uint32_t blocks, uint32_t threads);
bool cuda_launch_stamp(struct cuda_device *device, uint32_t number, uint64_t wait_ns);
bool cuda_launch_clock(struct cuda_device *device, size_t cell, uint32_t draws);
bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns);

/* Enqueues a planted fault: a kernel that reads far beyond the tables, or one that runs for ten
 * minutes. */
bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault);

/* ns of one tick of the timer used for stamps. */
double cuda_tick_ns(const struct cuda_device *device);

/* Whether the clock probe has written reading number `cell` since it was cleared. The reading is in
 * the host's memory, so it survives a lost device. */
bool cuda_clock_was_read(const struct cuda_device *device, size_t cell);
