/* SPDX-License-Identifier: MIT
 * Where the result of a run goes. */
#ifndef CBANK_RESULT_FILE_H
#define CBANK_RESULT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "result.h"
#include "status.h"

enum { RESULT_PATH_BYTES = 4096 };

/* The path of the result of one device. `given` is the file or folder that the user named, which a name that no file has
 * is made up in, or "-"; NULL: the current folder. `several`: it is one of several devices, whose number goes into the
 * name of a given file. */
void result_file_path(const char *given, const struct result *result, uint32_t device, bool several,
                      char path[RESULT_PATH_BYTES]);

/* Finds out before measuring that the result could not be written: STATUS_USAGE, logged. Makes a folder that was given.
 */
enum status result_file_check(const char *given, const char *path);

#endif
