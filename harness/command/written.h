/* SPDX-License-Identifier: MIT
 * Files that a command writes anew, and what else its command line names. */
#ifndef CBANK_WRITTEN_H
#define CBANK_WRITTEN_H

#include "command.h"
#include "status.h"

/* Refuses a file that an option writes (its row says `written`) where an argument or another option names it, too: a report
 * would take the place of what the command reads, or of another report. `-` is the same for all. */
enum status written_check(const struct invocation *invocation);

#endif
