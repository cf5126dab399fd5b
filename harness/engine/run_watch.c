/* SPDX-License-Identifier: MIT */
#include "run_watch.h"

#include <stdio.h>
#include <unistd.h>

#include "interrupt.h"
#include "log.h"
#include "run.h"

/* A call does not come back: ends the process by another thread, with all that there is. */
static void end_now(void *context, const char *call, double seconds)
{
    struct run *run = ((struct run_watch *)context)->run;
    const bool saved = run && run->session && !run->unsaved;
    char reason[CELL_REASON_BYTES];
    enum status status = STATUS_FINDING;

    snprintf(reason, sizeof(reason), "%s did not come back in %.1f s", call, seconds);
    if (run && run->session && run->engine->stuck && !interrupted())
        run->engine->stuck(run->session, reason);
    if (saved)
        status = status_worse(status, run_end(run));
    else if (!interrupted())
        log_error(status, "%s, and nothing was measured; look at nvidia-smi and the kernel's log for the GPU", reason);
    if (run && !run->unsaved)
        result_file_close(&run->file, run->path, &run->result, !run->session);
    fflush(stdout);
    interrupt_end();
    _exit(status);
}

void run_watch_open(struct run_watch *watch, double patience)
{
    const struct watchdog_end then = {.end = end_now, .asked = interrupted, .context = watch};

    watch->patience = patience;
    watchdog_open(&watch->watchdog, &then);
}

void run_watch_close(struct run_watch *watch)
{
    watchdog_close(&watch->watchdog);
}

static void watch_devices(struct run_watch *watch)
{
    static const double slow_seconds = 120; /* a driver that no one has used since it was loaded */

    watch_begin(&watch->watchdog, "asking for GPUs", watch->patience > 0 ? watch->patience : slow_seconds);
}

uint32_t run_device_count(struct run_watch *watch, const struct engine *engine, const char **reason)
{
    uint32_t count;

    watch_devices(watch);
    count = engine->device_count(reason);
    watch_end(&watch->watchdog);
    return count;
}

enum status run_describe(const struct run *run, uint32_t device, struct device_info *out)
{
    enum status status;

    watch_devices(run->watch);
    status = run->engine->describe(device, run->options->measure.card_path, out);
    watch_end(&run->watch->watchdog);
    return status;
}
