/* SPDX-License-Identifier: MIT
 * A simulated GPU: one library that stands in for the CUDA runtime, the driver, CUPTI and NVML,
 * with the entry points that the CUDA engine uses (entries.def). The unchanged engine runs on it
 * without a GPU, and meets every fault.
 *
 * The kernel of a kernel file runs on the CPU: compiler/nvcc compiles it. In a graph, and while
 * launches are counted, only time passes. A kernel of the program "runs" on the CPU, from the
 * arguments of its launch and what is in the simulated memory. Its output is computed when somebody
 * reads it. Time is the card's model of the kernel, on a clock of the device's own. Streams are
 * queues: what is enqueued happens when somebody waits or asks. Memory of the device cannot be read
 * by the host: its addresses are not mapped.
 *
 * The environment variable CBANK_SIMULATED is a list of KEY=VALUE, separated by commas:
 *
 *   devices=N             1 to 8 (1)
 *   host=N                host N of a fleet: its boards are no other host's (0)
 *   known=1               the name is that of a model whose noise was measured
 *   swapped=DEVICE        another board is in that device's slot
 *   capability=90         compute capability, as 10 x major + minor
 *   driver_api=12000      the driver's version, as cudaDriverGetVersion says it (the toolkit's)
 *   memory=BYTES          of each device (140e9); allocations beyond fail, or beyond free=BYTES of
 *                         it
 *   mig=1 ecc=0           what NVML says; with MIG, units that are shared count nothing (0, 1)
 *   ptx=FOLDER            where it compiles: the driver makes of NAME.compute_CC.ptx the code
 *                         FOLDER/NAME.sm_90.cubin, and of PTX of compiler/nvcc what that made
 *
 *   seed=N noise=SD       relative deviation of the time of a graph or launch (1, 0.0005); a graph
 *                         that follows itself has it again
 *   buffer_set=SD          relative deviation of the time of a cell by where its input lies (0)
 *   table_buffer_set=SD    and by where its table lies, for paths that read global memory (0)
 *   odd_table=FACTOR      such paths take FACTOR times as long where the first table lies (0: they
 *                         do not)
 *   code_buffer_set=SD     and by where the code of its kernel lies, with the constant bank (0)
 *   making_ms=T           launches of cells take 170 ns longer for T ms after a graph was made (0)
 *   drift=SHARE           kernels take so much longer with every second of simulated time
 *   mode=FACTOR           a graph takes FACTOR times as long, half the time
 *   neighbour_ms=P        another process has the device for 2 ms of every P ms
 *   clock=MHZ             of the SMs; the card's where not given
 *   throttle_ms=T         from T ms of simulated time on the clock is throttle_clock (0.7 x clock),
 *                         and NVML says so
 *   slow=PATH             kernels of this path or memory space take slow_factor (2) times as long,
 *                         on slow_device=N alone where given
 *   launch_us=T parameter_ns=T copy_us=T load_us=T    of the host's time: a launch of a launch path
 *                         that is not captured, each byte of its parameters, a copy to the device
 *                         and loading a module take so long by CLOCK_MONOTONIC_RAW
 *                         (2, 0.1, 5, 300)
 *   graph_ns=T            so much longer takes the device for a launch of a launch path (0)
 *   pace=1                simulated time passes in wall time, too: the host waits for the device
 *   pace=2                the same by a clock of the simulation, on which sleeping and waiting take
 *                         no time; what hangs is not noticed
 *
 *   energy_step_ms=T      how often the counter of energy steps (100); 0: never
 *   energy_unit=MJ        that it counts in (1)
 *   idle_watts=W launch_uj=J lookup_pj=J     what the device takes when it is idle, and in addition
 *                         for each launch of any kernel and for each lookup of a cell (75, 50, 20)
 *
 *   deny_counters=1       the user may not read counters
 *   unsupported=WORD      CUPTI cannot count, and cuptiProfilerDeviceSupported says that it is for
 *                         wsl, vgpu, vgpu_disabled, confidential, cmp, sli or architecture
 *   in_turn=1             blocks on an SM run one after the other
 *   keep_second=1         launches leave the second constant level as it is
 *   groups=N+N+...        SMs that share each L1.5 constant cache, from the first SM on; else 18 do
 *   part=TEXT             the board's part number (900-00000-0000-000); none: NVML knows none
 *   busy_sms=1            SMs that take turns are not there at the same time
 *   slices=CYCLES         that the farthest of 16 slices of L2 takes longer than the nearest; which
 *                         it is differs by SM (0)
 *   activity_tick=NS      of the timer that starts and ends of launches are read from (1)
 *   refuse=METRIC         a metric that the chip names and does not take
 *
 *   ecc_corrected=A/B ecc_uncorrected=A/B retired=A/B remapped=A/B remap_pending=A/B
 *   remap_failure=A/B
 *   retired_pending=A/B   what NVML says of the memory's health: A, and B once a graph has run
 *   xid=N                 an error that NVML reports once a graph has run
 *
 *   fail=FUNCTION:N:ERROR[:sticky]   call N of the function fails; `*` is any that can, over all
 *                                    calls. ERROR is a number of its API or a row of errors.def.
 *                                    sticky: every later call, too
 *   hang=FUNCTION:N       that call never returns
 *   wrong=N               kernel N writes one wrong element
 *   kernel_fault=KERNEL:ERROR[:N]    the Nth launch of a kernel ends the context with that error,
 *                                    as CUDA tells it: to who waits next, and to all after. KERNEL
 *                                    is the identity of a cell, the beginning of one, a glob over
 *                                    them, or the name of a function; of a user's kernel CASE/SPACE
 *   hang_kernel=KERNEL[:N]           that launch never ends
 *
 *   limit_ms=T            of the host's time, after which a user's kernel that has not ended never
 *                         does (2000)
 *
 *   log=FILE              a line for every call: its number, function, which of the function's
 *                         calls
 *   leaks=FILE            at exit, a line for everything that was not given back while the context
 *                         lived
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "cache.h"
#include "card.h"
#include "entry.h"

enum { DEVICES_MAX = 8, FAULTS_MAX = 8, SETTING_BYTES = 256, CODE_NEVER = -1 };

/* One fail=, hang=, kernel_fault= or hang_kernel=. */
struct planted {
    char name[SETTING_BYTES]; /* of a function or a kernel */
    uint64_t nth;
    char error[64];
    bool sticky;
    uint64_t seen; /* how often it came by */
};

struct planted_list {
    struct planted faults[FAULTS_MAX];
    size_t count;
};

/* A value before and after the first graph. */
struct grown {
    double before, after;
};

/* The settings of each kind of value. */
/* clang-format off */
#define NUMBERS(EACH) \
    EACH(devices) EACH(host) EACH(swapped) EACH(capability) EACH(memory) EACH(free) EACH(mig) \
    EACH(ecc) EACH(seed) EACH(noise) EACH(buffer_set) EACH(table_buffer_set) EACH(odd_table) \
    EACH(code_buffer_set) EACH(making_ms) EACH(drift) EACH(mode) EACH(neighbour_ms) EACH(clock) \
    EACH(throttle_ms) EACH(throttle_clock) EACH(slow_factor) EACH(slow_device) EACH(pace) \
    EACH(deny_counters) EACH(in_turn) EACH(keep_second) EACH(slices) EACH(wrong) EACH(xid) \
    EACH(limit_ms) EACH(activity_tick) EACH(busy_sms) EACH(known) EACH(energy_step_ms) \
    EACH(energy_unit) EACH(idle_watts) EACH(launch_uj) EACH(lookup_pj) EACH(launch_us) \
    EACH(parameter_ns) EACH(copy_us) EACH(load_us) EACH(graph_ns) EACH(driver_api)
#define GROWING(EACH) \
    EACH(ecc_corrected) EACH(ecc_uncorrected) EACH(retired) EACH(retired_pending) EACH(remapped) \
    EACH(remap_pending) EACH(remap_failure)
/* clang-format on */
#define PLANTED(EACH) EACH(fail) EACH(hang) EACH(kernel_fault) EACH(hang_kernel)
#define TEXTS(EACH) \
    EACH(groups)    \
    EACH(part) EACH(slow) EACH(refuse) EACH(unsupported) EACH(ptx) EACH(log) EACH(leaks)

struct settings {
#define NUMBER(name)  double name;
#define GROWN(name)   struct grown name;
#define TEXT_OF(name) char name[SETTING_BYTES];
    NUMBERS(NUMBER)
    GROWING(GROWN)
    TEXTS(TEXT_OF)
#undef NUMBER
#undef GROWN
#undef TEXT_OF
#define PLANT(name) struct planted_list name;
    PLANTED(PLANT)
#undef PLANT
};

/* The settings of CBANK_SIMULATED; a word that it does not know ends the process with exit code
 * 99. */
extern struct settings settings;

/* The card that times come from: the program's own. */
extern struct card card;

/* A constant cache: `sms` SMs share one. */
struct chip_level {
    uint32_t capacity_bytes, line_bytes, ways, sms;
    enum cache_replacement replacement;
    double request_cycles, miss_cycles;
};

/* The simulated chip, as its card has it, and what no card says, as cbank characterize finds it on
 * an H200. */
struct chip {
    uint32_t sm_count, warps_per_sm, blocks_per_sm, shared_bytes_per_sm, shared_bytes_reserved;
    double l2_bytes, sm_clock_mhz, launch_ns, dram_bytes_per_ns;
    double l1_requests_per_cycle, texture_requests_per_cycle, shared_wavefronts_per_cycle;
    double uniform_request_cycles, immediate_request_cycles;
    /* of a copy to the device: beside its bytes, and their rate */
    double copy_ns, copy_bytes_per_ns;
    uint32_t parameter_lines;          /* lines of parameters that each SM with a block fetches */
    /* lines that its immediate constant caches ask the second level for */
    uint32_t immediate_lines;
    struct chip_level levels[2];       /* of the constant path */
};

extern struct chip chip;

/* Reads both; called before anything else. */
void settings_read(void);

/* -- devices and time -------------------------------------------------------------------------- */

struct device {
    double now_ns; /* simulated */
    double made_ns; /* when a graph was made last */
    bool flushed; /* the last kernel flushed the caches */
    bool used; /* a graph has run */
    int sticky; /* what ended the context; 0 while it lives */
    uint64_t bytes; /* allocated */
    const void *module; /* of the last cell's kernel */
    const void *first_table; /* with odd_table */
    uint64_t random;
    double factor; /* of the graph or launch that runs */
    struct CUctx_st *context;
    /* energy of launches so far, and what the counter shows of it: up to its last step */
    double spent_mj, shown_mj;
};

extern struct device devices[DEVICES_MAX];

/* The device that the calling thread has chosen. */
struct device *device_current(void);
uint32_t device_ordinal(const struct device *device);
void device_choose(uint32_t ordinal);

/* Whether simulated time may go on to when_ns: true at once without pace; else after sleeping until
 * then where `wait`, with the lock given up. */
bool device_pass(struct device *device, double when_ns, bool wait);

/* Time goes on to when_ns, while launches take so much energy. */
void device_advance(struct device *device, double when_ns, double mj);

/* What the counter of energy shows now, in mJ. */
double device_energy_mj(const struct device *device);

/* Catches up with wall time where that passes: what is enqueued runs, or the device is idle. */
void device_catch_up(struct device *device);

/* Draws the factor of what runs next; a normal deviate; adds work of so many ns at the full clock;
 * the clock now. */
void device_draw(struct device *device);
double device_gauss(uint64_t *state);
double device_end(const struct device *device, double work_ns);
double device_clock_mhz(const struct device *device);
bool device_throttled(const struct device *device);
double device_health(const struct device *device, const struct grown *grown);

/* The context's end: every later call answers with this code. */
void device_break(struct device *device, int code);

/* ns of wall time since the library was first asked. */
double wall_ns(void);

/* -- memory ------------------------------------------------------------------------------------ */

/* What is set at once beyond STREAM_BYTES is the source or the target of a stream, of which the
 * simulated GPU keeps and looks at both ends alone: hundreds of megabytes would take seconds. */
enum { STREAM_BYTES = 1 << 28, STREAM_END_BYTES = 4096 };

enum block_kind { BLOCK_DEVICE, BLOCK_HOST };

struct launch;

/* The pending output of a launch: elements 0 .. of a block. */
struct pending {
    struct launch *launch;
    uint64_t first, bytes;
};

enum { PENDING_MAX = 16 };

struct block {
    char *address, *data; /* where the program has it, and where it is */
    char *reserved; /* what the address lies in; NULL of the host's */
    size_t bytes;
    enum block_kind kind;
    const char *owner; /* the function that allocated it */
    struct device *device;
    uint32_t references; /* by launches that have yet to read it */
    bool freed, open; /* open: it can be used at its address */
    struct pending pending[PENDING_MAX]; /* oldest first: each covers more than the next */
    uint32_t pending_count;
    struct block *next;
};

/* NULL when there is no room. */
struct block *block_open(struct device *device, enum block_kind kind, size_t bytes,
                         const char *owner);
void block_close(struct block *block);

/* Memory of a device that is there already, at its address. */
struct block *block_at(struct device *device, void *address, size_t bytes);

/* The block that holds all of these bytes; NULL when there is none. */
struct block *block_find(const void *address, size_t bytes, enum block_kind kind);

/* Where bytes of the device are, as they are when all that ran has written; NULL where they are
 * none's. */
const void *memory_read(const void *address, size_t bytes);

/* The same without looking at what has yet to be written, for what a kernel reads. */
void *memory_at(const void *address, size_t bytes);

/* Writes bytes, after what has yet to read or write them; false where there is no such memory. */
bool memory_write(void *address, const void *from, size_t bytes);
bool memory_set(void *address, int byte, size_t bytes);

/* For a user's kernel. memory_settle writes all that is pending. memory_unlock makes memory at an
 * address of the device usable (false: it is already, or there is none), and memory_lock makes none
 * usable. */
void memory_settle(void);
bool memory_unlock(const void *address);
void memory_lock(void);

/* The launch is to write bytes at an address, later. */
bool memory_defer(struct launch *launch, void *address, size_t bytes);

/* Appends what is left to the file of leaks. */
void memory_leaks(void *file);

/* -- objects that the program holds ------------------------------------------------------------ */

/* Kinds of what is opened and closed beside memory, for the leaks. */
enum object_kind {
    OBJECT_STREAM,
    OBJECT_GRAPH,
    OBJECT_EXEC,
    OBJECT_TEXTURE,
    OBJECT_MODULE,
    OBJECT_LINK,
    OBJECT_HOST,
    OBJECT_COUNT
};

/* Zeroed; NULL when there is no room. All are in a list, so that nobody takes them for lost. */
void *object_open(enum object_kind kind, size_t bytes);

/* The program gave it back. Data that others may still point to stays: the memory is freed if
 * `now`. */
void object_close(void *object, bool now);

#endif
