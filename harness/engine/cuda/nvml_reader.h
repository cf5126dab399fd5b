/* SPDX-License-Identifier: MIT
 * What the driver says of a device, read through NVML, which is opened at run time. Nothing is ever set. */
#ifndef CBANK_NVML_READER_H
#define CBANK_NVML_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "result.h"

/* NVML with one device. */
struct nvml;

/* Opens the device of a PCI bus id ("0000:1B:00.0"). NULL where NVML is missing or does not know it. */
struct nvml *nvml_open(const char *pci_bus_id);

/* Closes; accepts NULL. NVML itself stays as it is to the end of the process: it takes 80 ms to begin (H200), and is opened again. */
void nvml_close(struct nvml *nvml);

/* Fills driver, vbios, ecc, mig and the highest clocks; what cannot be read stays as it was. */
void nvml_describe(const struct nvml *nvml, struct device_info *info);

/* NVML's clock event ("throttle") reasons, a set of bits. False when they cannot be read. */
bool nvml_throttle_reasons(const struct nvml *nvml, uint64_t *reasons);

/* The reasons among `reasons` that slow the SM clock under load, as words joined by commas; "" for none. */
void nvml_throttle_text(uint64_t reasons, char *text, size_t bytes);

/* Bits of the reasons that make a measurement doubtful. Idle and application clocks are not among them. */
uint64_t nvml_throttle_mask(void);

/* SM clock now, MHz. False when it cannot be read. */
bool nvml_sm_clock(const struct nvml *nvml, unsigned *mhz);

/* Temperature of the GPU now, in degrees Celsius. False when it cannot be read; nvml NULL likewise. */
bool nvml_temperature(const struct nvml *nvml, double *celsius);

/* Reads errors of the device into health->before, and has the driver note its Xids from now on: what grew before, in a
 * run that is resumed, stays noted. nvml NULL: nothing is known. */
void nvml_health_begin(struct nvml *nvml, struct health *health);

/* Reads them again into health->after, settles what grew since the beginning, and returns it as bits by enum
 * health_quantity. Any number of times. */
uint32_t nvml_health_end(struct nvml *nvml, struct health *health);

/* Processes that compute on the device now. False when it cannot be read. */
bool nvml_process_count(const struct nvml *nvml, unsigned *count);

#endif
