/* SPDX-License-Identifier: MIT
 * Probes on a CUDA device. This header includes no vendor header; a build without a toolkit has a
 * stand-in. */
#pragma once

#include <stdint.h>

#include "probe_source.h"
#include "result.h"
#include "watchdog.h"

struct cuda_probe;

/* Opens the device and describes it in *info; *source takes the requests. The watchdog guards the
 * calls and must outlive the probe; patience as in struct engine_options. STATUS_ENVIRONMENT,
 * logged with the remedy, on failure. On success the caller closes *out, and must not use *source
 * after that. */
enum status cuda_probe_open(uint32_t ordinal, struct watchdog *watchdog, double watchdog_slack,
                            struct cuda_probe **out, struct device_info *info,
                            struct probe_source *source);

/* Releases; accepts NULL. */
void cuda_probe_close(struct cuda_probe *probe);
