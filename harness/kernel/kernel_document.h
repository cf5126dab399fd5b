/* SPDX-License-Identifier: MIT
 * What is taken from a document that somebody else wrote when its kernel files are compiled again.
 * The path of a file and the compiler never are. */
#pragma once

#include "status.h"

/* Whether a document's options for the compiler may be used for a kernel file that the user named:
 * NULL, or words of -D, -O and -std=, and -I of folders below the folder of the file. nvcc starts
 * programs by a shell, so that words with other characters than names and numbers have are refused.
 * STATUS_USAGE, logged with the option and the remedy, for any other. */
enum status kernel_document_options(const char *options, const char *kernel_path);
