/* SPDX-License-Identifier: MIT
 * One CUDA device: calls that are watched, modules, and the tool kernels that are launched beside cells. The memory that
 * cells read is in cuda_memory.h. Includes vendor headers. */
#ifndef CBANK_CUDA_DEVICE_H
#define CBANK_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "engine.h"
#include "image.h"
#include "result.h"
#include "tool_args.h"

/* Driver functions that cudart has no equal of. */
#define DRIVER_FUNCTIONS(F)                        \
    F(cuModuleLoadData)                            \
    F(cuModuleUnload)                              \
    F(cuModuleGetFunction)                         \
    F(cuModuleGetGlobal)                           \
    F(cuFuncGetAttribute)                          \
    F(cuFuncSetAttribute)                          \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    F(cuLaunchKernel)                              \
    F(cuLinkCreate)                                \
    F(cuLinkAddData)                               \
    F(cuLinkComplete)                              \
    F(cuLinkDestroy)                               \
    F(cuCtxGetCurrent)                             \
    F(cuGetErrorString)

struct driver_functions {
#define MEMBER(function) __typeof__(function) *function;
    DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* A cell whose launches are enqueued. */
struct cuda_suspect {
    struct cell_result *cell;
    size_t reading; /* the clock probe behind its launches writes there; CUDA_NO_READING: there is none */
};

#define CUDA_NO_READING SIZE_MAX

/* The state of the calls on a device. */
struct cuda_calls {
    struct watchdog *watchdog;  /* not owned; NULL: none */
    double patience;            /* seconds, beside those expected, for a call to come back; 0: see cuda_expect */
    double expected;            /* seconds that the next calls may take */
    const char *failed, *error; /* the first call that failed since cuda_device_error, and its error; NULL: none */
    char text[256];             /* both of them */
    bool lost;                  /* the device does not work any more: no call reaches it */
    struct result *result;      /* whose cells are measured; NULL: none */
    struct cuda_suspect *suspects; /* owned: room for every cell; in the order of their launches */
    size_t suspect_count;
};

/* A loaded module and the cubin that it was loaded from. */
struct cuda_module {
    CUmodule module;
    CUlinkState link; /* holds the cubin when it was compiled from PTX; NULL else */
    const void *cubin;
    size_t cubin_bytes;
    char image[64];   /* member of the program's archive */
    CUdeviceptr bank; /* its constant bank; 0 for the tools */
};

/* The kernels of tools.cu, and where they write. */
struct cuda_tools {
    struct cuda_module module;
    CUfunction empty, stir, flush, stamp, clock; /* NULL until the module is loaded */
    struct clock_reading *readings; /* pinned and mapped: `cells` of cells, then one of spins, one of a tick */
    size_t cells;
    uint64_t *stamps_ns; /* device: TOOL_STAMPS_MAX of the sample that runs */
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
    struct cuda_calls calls;
    CUcontext context;
    cudaStream_t stream;
    struct cuda_tools tools;
    struct cuda_zeros flushed;  /* a flush reads them */
    struct cuda_memory *memory; /* of cuda_memory.h, which owns it; NULL: none */
};

/* -- devices ------------------------------------------------------------------------------------------- */

/* Number of devices, with the reason and the remedy when there is none. */
uint32_t cuda_device_count(const char **reason);

/* Fills *info for one device from cudart and NVML. */
enum status cuda_device_describe(uint32_t ordinal, struct device_info *info);

struct cuda_request {
    uint32_t ordinal;
    const struct device_info *info; /* outlives the device */
    size_t cells;                   /* that will be timed */
    struct watchdog *watchdog;      /* outlives the device; NULL: calls are not watched */
    double patience;                /* seconds; 0: as cuda_expect says */
};

/* Makes the device current and loads the tools (from machine code, else from PTX).
 * STATUS_ENVIRONMENT, logged, when it cannot. On success the caller closes. */
enum status cuda_device_open(struct cuda_device *device, const struct cuda_request *request);

/* Releases; accepts a zeroed struct. */
void cuda_device_close(struct cuda_device *device);

/* -- calls --------------------------------------------------------------------------------------------- */

/* Calls a function of the runtime, or of the driver; true on success. The call is watched, the device keeps its name and
 * error if it fails, and a device that is lost is not called. */
#define CUDA(device, function, ...) \
    (cuda_call_begin((device), #function) && cuda_call_end((device), #function, (function)(__VA_ARGS__)))
#define DRIVER(device, function, ...)        \
    (cuda_call_begin((device), #function) && \
     cuda_driver_call_end((device), #function, (device)->driver.function(__VA_ARGS__)))

/* The same where success does not matter. */
#define CUDA_TRY(...)   ((void)CUDA(__VA_ARGS__))
#define DRIVER_TRY(...) ((void)DRIVER(__VA_ARGS__))

bool cuda_call_begin(struct cuda_device *device, const char *call);
bool cuda_call_end(struct cuda_device *device, const char *call, cudaError_t code);
bool cuda_driver_call_end(struct cuda_device *device, const char *call, CUresult code);

/* The call that failed and its error, which the device forgets: "cudaMalloc: out of memory". "" when none did. Good
 * until it is asked again. */
const char *cuda_device_error(struct cuda_device *device);

/* Announces launches of one cell, or no launches of any cell, and the seconds that a call may take for it. Earlier errors
 * are forgotten. Patience is 20 times these seconds, 10 seconds at least, unless the user names another. */
void cuda_expect_cell(struct cuda_device *device, struct cell_result *cell, uint32_t launches);
void cuda_expect(struct cuda_device *device, double seconds);

/* Seconds that a call has to come back. */
double cuda_patience(const struct cuda_device *device);

/* Whether the device is lost: after a call that failed this finds out, by launching the empty kernel and waiting. */
bool cuda_device_lost(struct cuda_device *device);

/* A call failed while `cell` was worked on. If the device works, the cell fails with `what` and the call: STATUS_OK. If
 * not, the run ends. */
enum status cuda_fail(struct cuda_device *device, struct cell_result *cell, const char *what);

/* Ends the run, with a reason and the cell that caused it, as far as that is known. Calls no device. */
enum status cuda_end_run(struct cuda_device *device, const char *reason);

/* -- the stream ---------------------------------------------------------------------------------------- */

/* Each enqueues, and is true on success: a launch with an array of pointers to its parameters; writing to the device,
 * reading from it, setting its bytes. */
bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters);
bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes);

/* Whether something enqueued has not ended. False also when that cannot be found out: waiting reports why. */
bool cuda_device_is_busy(struct cuda_device *device);

/* Waits for everything enqueued. True when all went well. */
bool cuda_device_wait(struct cuda_device *device);

/* Makes sure of so many bytes of zeros. False when out of memory: then there are none. */
bool cuda_device_zeros(struct cuda_device *device, struct cuda_zeros *zeros, uint64_t bytes);

/* Makes a texture object over `bytes` bytes on the device, with elements of `width` bytes. True on success. */
bool cuda_table_texture(struct cuda_device *device, const uint32_t *on_device, size_t bytes, uint32_t width,
                        cudaTextureObject_t *texture);

/* -- modules ------------------------------------------------------------------------------------------- */

/* Loads a module of the program's archive on the device, whose context is current: from machine code, else from PTX.
 * STATUS_ENVIRONMENT, logged, when it cannot. The caller unloads. */
enum status cuda_module_load(struct cuda_device *device, const char *name, struct cuda_module *module);

/* Loads the code of another module, which stays loaded as long, once more: at another address, with a constant bank of
 * its own. Otherwise as cuda_module_load. */
enum status cuda_module_copy(struct cuda_device *device, const struct cuda_module *of, struct cuda_module *module);

/* Finds the module's constant bank of CBANK_TABLE_BYTES, a variable of that name. STATUS_ENVIRONMENT, logged, when
 * there is none. */
enum status cuda_module_find_bank(struct cuda_device *device, const char *name, struct cuda_module *module);

/* Finds a kernel of the module. */
bool cuda_module_function(struct cuda_device *device, const struct cuda_module *module, const char *name,
                          CUfunction *function);

/* Releases; accepts a zeroed struct. */
void cuda_module_unload(struct cuda_device *device, struct cuda_module *module);

/* An attribute of a kernel; 0 when the call failed. */
uint32_t cuda_function_attribute(struct cuda_device *device, CUfunction function, CUfunction_attribute attribute);

/* Gives a kernel so many bytes of dynamic shared memory a block. False, with the reason, where the GPU has less. */
bool cuda_function_allow_shared(struct cuda_device *device, CUfunction function, uint32_t bytes,
                                char reason[CELL_REASON_BYTES]);

/* -- tools --------------------------------------------------------------------------------------------- */

/* Allocates what flushing needs, once. False when out of memory. */
bool cuda_flush_prepare(struct cuda_device *device, uint64_t l2_bytes);

/* Each enqueues one launch, and is true on success: of the flush; of the kernel that randomises which SM comes free
 * first; of the empty kernel; of the one that stamps the time (stamp number `stamp`); of the clock probe (into reading
 * number `cell`, with the stamps); of a kernel that spins for at least spin_ns. */
bool cuda_launch_flush(struct cuda_device *device);
bool cuda_launch_stir(struct cuda_device *device);
bool cuda_launch_empty(struct cuda_device *device);
bool cuda_launch_stamp(struct cuda_device *device, size_t stamp);
bool cuda_launch_clock(struct cuda_device *device, size_t cell);
bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns);

/* Enqueues a planted fault: a kernel that reads far behind the tables, or one that runs for ten minutes. */
bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault);

/* ns of one tick of the timer that stamps read. */
double cuda_tick_ns(const struct cuda_device *device);

/* Whether the clock probe has written reading number `cell` since it was cleared. The reading is in the host's memory,
 * which a device that is lost leaves as it was. */
bool cuda_clock_was_read(const struct cuda_device *device, size_t cell);

#endif
