/* SPDX-License-Identifier: MIT
 * A device: the driver's description of a GPU, or a card of a chip. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { DEVICE_TEXT_BYTES = 96 };

/* The device of a cuda run, or the card of a model run (fields that a card lacks are empty or
 * 0). */
struct device_info {
    char name[DEVICE_TEXT_BYTES];
    char chip[DEVICE_TEXT_BYTES]; /* CUPTI's name; "" when not known */
    char uuid[DEVICE_TEXT_BYTES];
    char driver[DEVICE_TEXT_BYTES];
    char vbios[DEVICE_TEXT_BYTES];
    char ecc[DEVICE_TEXT_BYTES]; /* "on", "off", "" unknown */
    char mig[DEVICE_TEXT_BYTES]; /* as ecc */
    char pci_bus_id[DEVICE_TEXT_BYTES];
    uint32_t cuda_driver_api; /* 13000 is 13.0 */
    uint32_t cc_major, cc_minor;
    uint32_t sm_count;
    uint32_t warps_per_sm, blocks_per_sm; /* that can be resident at a time; 0 when not known */
    uint32_t shared_bytes_per_sm;         /* of an SM; 0 when not known */
    uint32_t shared_bytes_reserved;       /* reserved in each block; 0 when not known */
    uint64_t l2_bytes;
    uint64_t memory_bytes;
    double sm_clock_max_mhz, memory_clock_max_mhz; /* NaN when not known */
    uint64_t throttle_before, throttle_after;      /* NVML's bits */
    bool throttle_known;
    /* measured: the time that one more launch of an empty kernel adds; NaN when not known */
    double launch_ns;
};

/* A device without any known fact: numbers are NaN. */
extern const struct device_info device_unknown;
