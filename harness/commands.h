/* SPDX-License-Identifier: MIT */
#pragma once

/* The program: runs the command that argv names, and returns its exit code. */
int commands_main(int argc, char **argv);
