/* SPDX-License-Identifier: MIT
 * What a user's kernel file and the program tell each other. cbank.cuh fills these structures in
 * code that the program compiles for the GPU, loads and launches; the program reads them. C11, C++
 * and NVRTC compile this file. All members have the same offsets in each. */
#ifndef CBANK_CASE_H
#define CBANK_CASE_H

#ifdef __CUDACC_RTC__
typedef unsigned char cbank_u8;
typedef unsigned int cbank_u32;
typedef unsigned long long cbank_u64;
#else
#include <stdint.h>
typedef uint8_t cbank_u8;
typedef uint32_t cbank_u32;
typedef uint64_t cbank_u64;
#endif

/* It changes when a structure below does. */
#define CBANK_CASE_VERSION 3u

#define CBANK_NAME_BYTES      64 /* of a name, NUL included */
#define CBANK_FILE_NAME_BYTES 256
#define CBANK_ERROR_BYTES     128
#define CBANK_SIZES_MAX       16
#define CBANK_TABLES_MAX      8
#define CBANK_BUFFERS_MAX     16
#define CBANK_ARGUMENTS_MAX   32
#define CBANK_STATIC_SHARED   49152 /* bytes: a larger table is in dynamic shared memory */
#define CBANK_VALUE_BYTES     256 /* of an argument that is neither a buffer nor a table */

/* Where a table lives: its memory space. The names are those of namespace cbank in cbank.cuh. */
#define CBANK_SPACES(SPACE)             \
    SPACE(constant, CONSTANT)           \
    SPACE(global, GLOBAL)               \
    SPACE(readonly, READONLY)           \
    SPACE(shared, SHARED)               \
    SPACE(shared_async, SHARED_ASYNC)   \
    SPACE(shared_bulk, SHARED_BULK)     \
    SPACE(shared_copies, SHARED_COPIES) \
    SPACE(param, PARAM)                 \
    SPACE(texture, TEXTURE)             \
    SPACE(shuffle, SHUFFLE)             \
    SPACE(select, SELECT)               \
    SPACE(prmt, PRMT)

#define CBANK_SPACE_NUMBER(name, NAME) CBANK_SPACE_##NAME,
enum cbank_space { CBANK_SPACES(CBANK_SPACE_NUMBER) CBANK_SPACE_COUNT };

/* Type of the elements of a buffer, for comparing and showing them. */
enum cbank_type {
    CBANK_TYPE_BYTES, /* any other type: compared byte by byte */
    CBANK_TYPE_UNSIGNED,
    CBANK_TYPE_SIGNED,
    CBANK_TYPE_FLOAT /* IEEE, of 4 or 8 bytes; 2 bytes: half precision */
};

/* The use that a kernel makes of a buffer. */
enum cbank_role {
    CBANK_ROLE_INPUT,   /* filled once */
    CBANK_ROLE_OUTPUT,  /* written: poisoned before every check, then compared */
    CBANK_ROLE_INOUT,   /* read and written: filled anew before every check, then compared */
    CBANK_ROLE_SCRATCH  /* written and not compared */
};

/* Initialised data of the file's case, in the cubin: the variable cbank_case_info. The program
 * reads it from the file, without a device. */
struct cbank_case_info {
    cbank_u32 version, line, size_count, reserved;
    cbank_u64 sizes[CBANK_SIZES_MAX];
    char name[CBANK_NAME_BYTES]; /* of the case, and of its kernel */
};

/* The same of each table: the variable cbank_table_info_NAME. */
struct cbank_table_info {
    cbank_u32 version, line;
    cbank_u32 space;                 /* of this build: enum cbank_space */
    cbank_u32 written;               /* as the file has it */
    cbank_u64 entry_bytes, entries;
    char name[CBANK_NAME_BYTES];
};

/* Calls of the kernel cbank_case_call. */
enum cbank_call {
    /* fill the report; one thread. Arguments hold the addresses of `buffers` */
    CBANK_CALL_DESCRIBE,
    /* fill buffer `number`, as far as the program does not read it from a file; any grid */
    CBANK_CALL_FILL,
    CBANK_CALL_ENTRIES,  /* fill the entries of table `number` at tables[number]; any grid */
    CBANK_CALL_EXPECT /* write the expected elements of buffer `number` to `expected`; any grid */
};

/* A request of the program: the first parameter of cbank_case_call, by value. */
struct cbank_request {
    cbank_u32 call, number; /* enum cbank_call */
    cbank_u64 size; /* of the case */
    void *buffers[CBANK_BUFFERS_MAX]; /* their first elements; NULL until they are allocated */
    const void *tables[CBANK_TABLES_MAX]; /* the entries, in global memory, whatever the space */
    void *expected;
};

struct cbank_table_report {
    char name[CBANK_NAME_BYTES];
    cbank_u64 entry_bytes, entries;
    cbank_u32 space; /* enum cbank_space */
    cbank_u64 shared_bytes; /* of dynamic shared memory that it takes, from the start */
    char file[CBANK_FILE_NAME_BYTES]; /* .npy with the entries; "": call CBANK_CALL_ENTRIES */
};

struct cbank_buffer_report {
    cbank_u64 elements;
    cbank_u32 element_bytes;
    cbank_u32 type; /* enum cbank_type */
    cbank_u32 role; /* enum cbank_role */
    cbank_u32 expects; /* 1: CBANK_CALL_EXPECT gives the expected elements */
    /* elements are equal if they differ by the sum of both at most */
    double tolerance_relative, tolerance_absolute;
    /* .npy with the contents; "": call CBANK_CALL_FILL */
    char file[CBANK_FILE_NAME_BYTES];
    char expected_file[CBANK_FILE_NAME_BYTES]; /* .npy with the expected elements; "": none */
};

/* An argument of the kernel. */
struct cbank_argument {
    cbank_u32 bytes;
    /* 1 + number of the table; 0: none. The program makes the object of a table. It starts with the
     * entries (param), a texture object (texture), nothing (constant) or else a pointer to the
     * entries. */
    cbank_u32 table;
    cbank_u8 value[CBANK_VALUE_BYTES];
};

/* The answer to CBANK_CALL_DESCRIBE: the second parameter of cbank_case_call is its address. */
struct cbank_case_report {
    cbank_u32 version;
    cbank_u32 error_line;
    char error[CBANK_ERROR_BYTES]; /* "": none */
    cbank_u32 table_count, buffer_count, argument_count;
    cbank_u32 grid[3], block[3];
    cbank_u64 shared_bytes; /* dynamic, without those of tables */
    /* what a launch works on, for times per item: the size, unless the case says otherwise */
    cbank_u64 items;
    void *kernel; /* builds for the processor only: the address of what launches it there */
    void *host_launch; /* host builds only: calls the kernel, see tests */
    struct cbank_table_report tables[CBANK_TABLES_MAX];
    struct cbank_buffer_report buffers[CBANK_BUFFERS_MAX];
    struct cbank_argument arguments[CBANK_ARGUMENTS_MAX];
};

#endif
