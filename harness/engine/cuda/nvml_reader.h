/* SPDX-License-Identifier: MIT
 * The driver's information about a device, read through NVML, which is opened at run time. No
 * setting is changed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "result.h"

/* NVML with one device. */
struct nvml;

/* Opens the device with a PCI bus id ("0000:1B:00.0"). NULL if NVML is missing or does not know
 * it. */
struct nvml *nvml_open(const char *pci_bus_id);

/* Closes the device; accepts NULL. NVML itself stays loaded until the process ends: starting it
 * takes 80 ms (H200), and it is opened again. */
void nvml_close(struct nvml *nvml);

/* Sets driver, vbios, ecc, mig and the highest clocks. Values that cannot be read are unchanged. */
void nvml_describe(const struct nvml *nvml, struct device_info *info);

/* Sets the part number of the board, or the reason why it is not known. nvml NULL: it is not. */
void nvml_part_number(const struct nvml *nvml, struct board *board);

/* NVML's clock event ("throttle") reasons, a set of bits. False if they cannot be read. */
bool nvml_throttle_reasons(const struct nvml *nvml, uint64_t *reasons);

/* Bits of the reasons that make a measurement doubtful: the software power cap, and the hardware's
 * slowdown, thermal slowdown (also of the software) and power brake. Idle and application clocks
 * are not among them. */
enum { NVML_THROTTLED = 0x04 | 0x08 | 0x20 | 0x40 | 0x80 };

/* Current SM clock, MHz. False if it cannot be read. */
bool nvml_sm_clock(const struct nvml *nvml, unsigned *mhz);

/* Current temperature of the GPU, in degrees Celsius. False if it cannot be read or nvml is
 * NULL. */
bool nvml_temperature(const struct nvml *nvml, double *celsius);

/* Reads the energy that the device has used since the driver was loaded, in mJ. NULL, or why it
 * cannot be read. */
const char *nvml_energy(const struct nvml *nvml, uint64_t *mj);

/* Reads errors of the device into health->before, and makes the driver record its Xids from now on.
 * In a resumed run, earlier increases stay recorded. nvml NULL: nothing is known. */
void nvml_health_begin(struct nvml *nvml, struct health *health);

/* Reads them again into health->after, finds the quantities that grew since the beginning, and
 * returns them as bits by enum health_quantity. May be called repeatedly. */
uint32_t nvml_health_end(struct nvml *nvml, struct health *health);

/* Number of processes that compute on the device now. False if it cannot be read. */
bool nvml_process_count(const struct nvml *nvml, unsigned *count);
