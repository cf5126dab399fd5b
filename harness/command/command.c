/* SPDX-License-Identifier: MIT
 * The words of a command line in one text, as documents keep it. */
#include "command.h"

#include "text.h"

void command_line(const struct invocation *invocation, char *out, size_t bytes)
{
    out[0] = '\0';
    for (int i = 0; i < invocation->argc; i++)
        text_join(out, bytes, " ", "%s", invocation->argv[i]);
}
