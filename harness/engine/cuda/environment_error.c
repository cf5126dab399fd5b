/* SPDX-License-Identifier: MIT
 * A table of errors by their numbers, which users find in messages, and the advice for each. */
#include "environment_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Codes are numbers, as users meet them: some are not in the headers of every toolkit. */
static const struct environment_row {
    enum environment_api api;
    int code;
    bool seen; /* on a machine, with its remedy; else both are from NVIDIA's documentation alone */
    enum counter_status status;
    const char *meaning; /* without "; " */
    const char *remedy;
    const char *container; /* the remedy in a container; NULL: the same */
} rows[] = {
    {ENVIRONMENT_CUDA, 35, true, COUNTER_UNAVAILABLE,
     "no NVIDIA driver, or one older than the CUDA runtime in this program",
     "install or update the driver",
     "start the container with --gpus all (NVIDIA Container Toolkit); or update the host's driver"},
    {ENVIRONMENT_CUDA, 46, false, COUNTER_UNAVAILABLE, "the GPU is busy or cannot be used",
     "another process may have it alone: nvidia-smi shows processes and the compute mode, which "
     "must be Default; with MIG on, "
     "it needs an instance; else reset it (nvidia-smi --gpu-reset)",
     NULL},
    {ENVIRONMENT_CUDA, 100, false, COUNTER_UNAVAILABLE, "no NVIDIA GPU is visible",
     "check nvidia-smi and CUDA_VISIBLE_DEVICES; with MIG on, an instance is needed",
     "check nvidia-smi, CUDA_VISIBLE_DEVICES, and --gpus of the container"},
    {ENVIRONMENT_CUDA, 802, false, COUNTER_UNAVAILABLE,
     "the system is not ready, as GPUs with NVSwitch wait for the fabric manager",
     "systemctl start nvidia-fabricmanager, whose version must be the driver's; systemctl status "
     "nvidia-fabricmanager and "
     "nvidia-smi -q (Fabric) tell what it waits for",
     "on the host: systemctl start nvidia-fabricmanager, whose version must be the driver's"},
    {ENVIRONMENT_CUDA, 803, false, COUNTER_UNAVAILABLE,
     "the driver's library and its kernel module are of two versions, as after an update",
     "reboot, or reload the module: rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia, then "
     "modprobe nvidia",
     "restart the container, after the host rebooted or reloaded the nvidia module; no libcuda of "
     "the image may hide the host's"},
    {ENVIRONMENT_CUDA, 804, false, COUNTER_UNAVAILABLE,
     "a forward compatibility package (cuda-compat) is used, which this GPU does not take",
     "take its folder (/usr/local/cuda/compat) out of LD_LIBRARY_PATH and ld.so.conf, and update "
     "the driver; only data centre GPUs "
     "take it",
     NULL},
    {ENVIRONMENT_CUDA, 805, false, COUNTER_UNAVAILABLE, "the MPS control daemon does not answer",
     "start it as this user (nvidia-cuda-mps-control -d), or do without: stop it (echo quit | "
     "nvidia-cuda-mps-control) and unset "
     "CUDA_MPS_PIPE_DIRECTORY",
     "the container needs the host's IPC namespace and its CUDA_MPS_PIPE_DIRECTORY; or unset that "
     "variable"},
    {ENVIRONMENT_CUDA, 999, false, COUNTER_UNAVAILABLE,
     "the driver failed for a reason that it does not tell",
     "often nvidia_uvm is not loaded or broke in suspend: rmmod nvidia_uvm, then modprobe "
     "nvidia_uvm; else dmesg (NVRM, Xid) tells "
     "why; else reboot",
     "/dev/nvidia-uvm must be in the container, and nvidia_uvm be loaded on the host; dmesg of the "
     "host tells more"},

    {ENVIRONMENT_CUPTI, 15, true, COUNTER_UNAVAILABLE, "CUPTI is not initialized",
     "libnvperf_host.so was not found beside libcupti: install both from one toolkit", NULL},
    {ENVIRONMENT_CUPTI, 26, false, COUNTER_UNAVAILABLE, "the counters are in use",
     "another profiler (ncu, nsys, DCGM) holds them: end it, or pause it (dcgmi profile --pause)",
     NULL},
    {ENVIRONMENT_CUPTI, 27, false, COUNTER_UNAVAILABLE, "CUPTI cannot count on this GPU or system",
     "counters need compute capability 7.5 or more, and a system that lets profilers in; without, "
     "times are measured all the same",
     NULL},
    {ENVIRONMENT_CUPTI, 33, false, COUNTER_UNAVAILABLE, "this virtual GPU cannot be profiled",
     "ask the provider for a whole GPU (passthrough), or for a vGPU type with profiling; without, "
     "times are measured all the same",
     NULL},
    {ENVIRONMENT_CUPTI, 35, false, COUNTER_NO_PERMISSION,
     "the driver keeps the counters for administrators",
     "run as root or with CAP_SYS_ADMIN (from driver 565: CAP_PERFMON), or load the driver with "
     "NVreg_RestrictProfilingToAdminUsers=0; without, times are measured all the same",
     "the container needs --cap-add=SYS_ADMIN and root inside, or the host's driver "
     "NVreg_RestrictProfilingToAdminUsers=0 "
     "(in /etc/modprobe.d); where the provider forbids both, times are measured all the same"},
    {ENVIRONMENT_CUPTI, 36, false, COUNTER_UNAVAILABLE,
     "a tool in this process has opened CUPTI's old event API",
     "run without it: unset LD_PRELOAD and CUDA_INJECTION64_PATH", NULL},
    {ENVIRONMENT_CUPTI, 38, false, COUNTER_UNAVAILABLE,
     "a tool in this process asks for CUPTI's old event API, which this GPU or toolkit does not "
     "have",
     "run without it (nvprof and what is like it): unset LD_PRELOAD and CUDA_INJECTION64_PATH",
     NULL},
    {ENVIRONMENT_CUPTI, 39, false, COUNTER_UNAVAILABLE,
     "another profiler, debugger or sanitizer has this process",
     "run without ncu, nsys, cuda-gdb and compute-sanitizer", NULL},
    {ENVIRONMENT_CUPTI, 40, false, COUNTER_NO_PERMISSION,
     "the hypervisor does not let this vGPU be profiled",
     "its host must set the vGPU's enable_profiling=1; without, times are measured all the same",
     NULL},
    {ENVIRONMENT_CUPTI, 41, false, COUNTER_UNAVAILABLE, "confidential computing forbids profiling",
     "turn confidential computing off; with it, times are measured all the same", NULL},
    {ENVIRONMENT_CUPTI, 42, false, COUNTER_UNAVAILABLE,
     "mining boards (CMP) have no counters for users",
     "take another GPU; on this one, times are measured all the same", NULL},
    {ENVIRONMENT_CUPTI, 43, false, COUNTER_UNAVAILABLE, "this MIG instance cannot be profiled",
     "take a GPU without MIG, or the instance that is the whole GPU; without, times are measured "
     "all the same",
     NULL},
    {ENVIRONMENT_CUPTI, 44, false, COUNTER_UNAVAILABLE,
     "GPUs that are linked by SLI cannot be profiled",
     "turn SLI off (nvidia-xconfig --sli=Off), and restart X", NULL},
    {ENVIRONMENT_CUPTI, 45, false, COUNTER_UNAVAILABLE, "WSL does not let this GPU be profiled",
     "needed: WSL 2, Windows 11, its driver 525 or later; there, NVIDIA Control Panel, Developer, "
     "Manage GPU Performance Counters, "
     "allow all users; then wsl --shutdown; without, times are measured all the same",
     NULL},
    {ENVIRONMENT_CUPTI, 46, false, COUNTER_UNAVAILABLE,
     "this CUPTI is older than the chip, and does not know it",
     "install the CUPTI of the CUDA version that nvidia-smi shows (Blackwell: 12.8 or later; 10.3 "
     "and 12.1: 12.9; 11.0: 13.0), and "
     "name its folder in CBANK_CUPTI_DIR; cbank list chips shows what a CUPTI knows",
     NULL},
    {ENVIRONMENT_CUPTI, 999, true, COUNTER_UNAVAILABLE,
     "CUPTI failed for a reason that it does not tell",
     "it does so without a working driver, or with one older than itself: compare its version with "
     "the CUDA version that nvidia-smi "
     "shows",
     NULL},
};

enum counter_status environment_error(enum environment_api api, int code, const char *function,
                                      const char *message, char reason[ENGINE_REASON_BYTES])
{
    /* Docker, Podman; systemd-nspawn, LXC and Podman set the variable. */
    const bool container = access("/.dockerenv", F_OK) == 0 ||
                           access("/run/.containerenv", F_OK) == 0 || getenv("container") ||
                           getenv("KUBERNETES_SERVICE_HOST");

    for (const struct environment_row *row = rows; row < rows + sizeof(rows) / sizeof(rows[0]);
         row++)
        if (row->api == api && row->code == code) {
            snprintf(reason, ENGINE_REASON_BYTES, "%s: error %d, %s; %s", function, code,
                     row->meaning, container && row->container ? row->container : row->remedy);
            return row->status;
        }
    snprintf(reason, ENGINE_REASON_BYTES, "%s: error %d, %s", function, code,
             message ? message : "no message");
    return COUNTER_UNAVAILABLE;
}
