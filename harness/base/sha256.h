/* SPDX-License-Identifier: MIT
 * SHA-256 (FIPS 180-4) of a buffer. */
#pragma once

#include <stddef.h>

enum { SHA256_HEX_BYTES = 65 };

/* Writes the hash of `bytes` bytes as 64 lower-case hex digits and a NUL. */
void sha256_hex(const void *data, size_t bytes, char hex[SHA256_HEX_BYTES]);
