/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

/* The only variable that a signal handler may write. */
static volatile sig_atomic_t received;

static void on_signal(int number)
{
    /* The first signal leaves time to end properly. A second one is blocked while it is handled, and kills the process
     * after that. */
    if (received) {
        signal(number, SIG_DFL);
        raise(number);
    }
    received = number;
}

void interrupt_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
}

bool interrupted(void)
{
    return received != 0;
}

void interrupt_end(void)
{
    if (!received)
        return;
    fflush(stdout);
    signal(received, SIG_DFL);
    raise(received);
}
