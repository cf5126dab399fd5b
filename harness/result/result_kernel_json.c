/* SPDX-License-Identifier: MIT
 * The kernel of a cell as an object: its code, and what the driver made beside the toolkit's. */
#include "cell_row.h"
#include "code_change.h"
#include "result.h"
#include "result_cell_json.h"
#include "schema.h"

static const struct names code_parts =
    NAMES(code_part_names, CODE_PARTS, "an array of parts of code");

static const struct field jit_rows[] = {
    {FIELD(field_reference, struct kernel_jit, "compute_cache", compute_cache, NULLABLE),
     .about = "the driver's own cache of what it compiled. off: cbank sets CUDA_CACHE_DISABLE=1 "
              "before the driver starts, so that it compiles",
     .column =
         COLUMN(.heading = "the driver's cache", .views = VIEW_CELLS | VIEW_CODE, .place = 445)},
    {FIELD(field_number, struct kernel_jit, "compile_ms", compile_ms, NULLABLE),
     .about = "of the module, which has cubin_kernels kernels: cuLinkAddData and cuLinkComplete",
     .rules = ABOVE(0),
     .column = COLUMN(.heading = "compiled in, ms", .format = text_tenths,
                      .views = VIEW_CELLS | VIEW_CODE, .place = 446)},
    {FIELD(field_uint64, struct kernel_jit, "cubin_bytes", cubin_bytes, REQUIRED),
     .about = "of the module, as the driver made it"},
    {FIELD(field_uint32, struct kernel_jit, "cubin_kernels", cubin_kernels, REQUIRED)},
    {FIELD(field_optional, struct kernel_jit, "registers", registers, NULLABLE),
     .about = "a thread, as the cubin says: like the toolkit's", .rules = AT_LEAST(0)},
    {FIELD(field_optional, struct kernel_jit, "local_bytes", local_bytes, NULLABLE),
     .rules = AT_LEAST(0)},
    {FIELD(field_text, struct kernel_jit, "toolkit_image", toolkit_image, NULLABLE),
     .about = "the toolkit's code beside it: member of the program's image archive, or the kernel "
              "file; null where there is none for the GPU"},
    {FIELD(field_text, struct kernel_jit, "toolkit_sass_sha256", toolkit.sha256, NULLABLE),
     .rules = PATTERN_HASH},
    {FIELD(field_uint64, struct kernel_jit, "toolkit_code_bytes", toolkit.bytes, NULLABLE)},
    {FIELD(field_optional, struct kernel_jit, "toolkit_registers", toolkit.registers, NULLABLE),
     .about = "a thread", .rules = AT_LEAST(0)},
    {FIELD(field_optional, struct kernel_jit, "toolkit_local_bytes", toolkit.local_bytes, NULLABLE),
     .about = "a thread", .rules = AT_LEAST(0)},
    {FIELD(field_bits, struct kernel_jit, "moved", moved, REQUIRED), .names = &code_parts,
     .about = "parts of the code that differ from the toolkit's"},
    {FIELD(field_text, struct kernel_jit, "change", change, NULLABLE),
     .about = "what changed from the toolkit's code; null where nothing did, or it is not known",
     .column = COLUMN(.heading = "beside the toolkit's code", .key = "jit_change",
                      .views = VIEW_CELLS | VIEW_CODE, .place = 447)},
};
static const struct object jit_object = {.fields = FIELDS(jit_rows),
                                         .given = offsetof(struct cell_result, kernel.jit.given)};

static const struct field kernel_rows[] = {
    {FIELD(field_text, struct cell_result, "name", kernel.symbol, NULLABLE),
     .about = "mangled name",
     .column = COLUMN(.heading = "kernel", .key = "kernel", .frame = "symbol",
                      .views = VIEW_CELLS | VIEW_CODE, .place = 420)},
    {FIELD(field_text, struct cell_result, "image", kernel.image, NULLABLE),
     .about = "member of the program's image archive",
     .column = COLUMN(.heading = "image", .views = VIEW_CELLS | VIEW_CODE, .place = 430)},
    {FIELD(field_text, struct cell_result, "sass_sha256", kernel.sha256, NULLABLE),
     .about = "of the code bytes", .rules = PATTERN_HASH,
     .column = COLUMN(.heading = "SASS hash", .views = VIEW_CELLS | VIEW_CODE, .place = 540)},
    {FIELD(field_uint32, struct cell_result, "registers", kernel.registers, NULLABLE),
     .about = "a thread",
     .column = COLUMN(.heading = "registers", .format = text_count,
                      .views = VIEW_KERNEL | VIEW_CELLS | VIEW_CODE, .place = 460, .rank = 3)},
    {FIELD(field_reference, struct cell_result, "instruction", kernel.instruction, NULLABLE),
     .about = "class of the payload load: LDC, LDG, LDG.CONSTANT; null for a user's kernel",
     .column = COLUMN(.heading = "instruction", .views = VIEW_CELLS | VIEW_CODE, .place = 440)},
    {FIELD(field_uint64, struct cell_result, "code_bytes", kernel.code_bytes, LATER),
     .about = "of the machine code, with padding", .rules = AT_LEAST(1),
     .column = COLUMN(.heading = "code, bytes", .format = text_count,
                      .views = VIEW_CELLS | VIEW_CODE, .place = 462)},
    {FIELD(field_optional, struct cell_result, "local_bytes", kernel.local_bytes, LATER),
     .about = "local memory of a thread: what is spilled, and arrays", .rules = AT_LEAST(0),
     .column = COLUMN(.heading = "local memory, bytes", .format = text_count,
                      .views = VIEW_CELLS | VIEW_CODE, .place = 464)},
    {FIELD(field_object, struct cell_result, "jit", kernel.jit, OMITTED), .object = &jit_object,
     .about = "what the driver compiled; only where it did (run --jit)"},
};

const struct object result_kernel_object = {.fields = FIELDS(kernel_rows), .given = SIZE_MAX};
