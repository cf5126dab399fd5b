/* SPDX-License-Identifier: MIT
 * The program: everything else is in commands.c, which tests link without main. */
#include "commands.h"

int main(int argc, char **argv)
{
    return commands_main(argc, argv);
}
