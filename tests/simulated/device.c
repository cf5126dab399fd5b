/* SPDX-License-Identifier: MIT
 * Devices, and the time that passes on them. */
#include <math.h>
#include <unistd.h>

#include "random.h"
#include "simulated.h"

enum { NAP_US = 200, LONG_US = 10000 };

struct device devices[DEVICES_MAX];
static __thread uint32_t current;

struct device *device_current(void)
{
    return &devices[current];
}

uint32_t device_ordinal(const struct device *device)
{
    return (uint32_t)(device - devices);
}

void device_choose(uint32_t ordinal)
{
    current = ordinal;
}

void device_break(struct device *device, int code)
{
    if (!device->sticky)
        device->sticky = code;
}

/* -- time -------------------------------------------------------------------------------------- */

bool device_pass(struct device *device, double when_ns, bool wait)
{
    if (!settings.pace)
        return true;
    for (double left; (left = when_ns - wall_ns()) > 1e3 * NAP_US;) {
        if (!wait)
            return false;
        entry_unlock();
        usleep(left > 1e3 * LONG_US ? LONG_US : (useconds_t)(left / 1e3));
        entry_lock();
        if (device->sticky)
            return true;
    }
    return true;
}

/* The last step of the counter at a moment. */
static double step_ns(double when_ns)
{
    const double period = 1e6 * settings.energy_step_ms;

    return period > 0 ? floor(when_ns / period) * period : 0;
}

void device_advance(struct device *device, double when_ns, double mj)
{
    const double began = device->now_ns, step = step_ns(when_ns);

    if (step > step_ns(began))
        device->shown_mj = device->spent_mj + mj * (step - began) / (when_ns - began);
    device->spent_mj += mj;
    device->now_ns = when_ns;
}

double device_energy_mj(const struct device *device)
{
    const double mj = settings.idle_watts * 1e-6 * step_ns(device->now_ns) + device->shown_mj;

    return floor(mj / settings.energy_unit) * settings.energy_unit;
}

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

double device_gauss(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(2 * M_PI * uniform(state));
}

void device_draw(struct device *device)
{
    if (!device->random)
        device->random = (uint64_t)settings.seed + 1000 * (device_ordinal(device) + 1);
    device->factor =
        1 + settings.noise * device_gauss(&device->random) + settings.drift * 1e-9 * device->now_ns;
    if (settings.mode != 1 && uniform(&device->random) < 0.5)
        device->factor *= settings.mode;
}

bool device_throttled(const struct device *device)
{
    return settings.throttle_ms > 0 && device->now_ns >= 1e6 * settings.throttle_ms;
}

double device_clock_mhz(const struct device *device)
{
    return device_throttled(device) ? settings.throttle_clock : settings.clock;
}

/* The time of work that ends now at the earliest: the clock is what it is at its beginning, and
 * what falls into a neighbour's burst waits for its end. */
double device_end(const struct device *device, double work_ns)
{
    const double period = 1e6 * settings.neighbour_ms, burst = 2e6;
    double now = device->now_ns,
           left = work_ns * device->factor * chip.sm_clock_mhz / device_clock_mhz(device);

    if (period <= burst)
        return now + left;
    for (;;) {
        const double phase = fmod(now, period);

        if (phase < burst)
            now += burst - phase;
        if (left <= period - fmod(now, period))
            return now + left;
        left -= period - fmod(now, period);
        now += period - fmod(now, period);
    }
}

double device_health(const struct device *device, const struct grown *grown)
{
    return device->used ? grown->after : grown->before;
}
