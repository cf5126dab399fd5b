/* SPDX-License-Identifier: MIT
 * The program in the documents that it writes. */
#pragma once

#include "field.h"
#include "version.h"

/* Kind of a field that writes this object: the program that wrote a document. Its member is a char
 * array with the command line as typed, which is read again; with bytes 0 there is none. The other
 * keys are for people and are not read. */
extern const struct field_kind field_tool;
