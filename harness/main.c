/* SPDX-License-Identifier: MIT */
#include "cbank.h"

int main(int argc, char **argv)
{
    return cbank_main(argc, argv);
}
