/* SPDX-License-Identifier: MIT
 * The loads of one kernel: from what the divergence analysis says of an address to the table that
 * is read, its memory, and what a warp's load costs there. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "facts.h"
#include "instruction.h"
#include "log.h"
#include "memory.h"
#include "text.h"
#include "user_code.h"

/* Read while the loads of a kernel are visited. */
struct accesses {
    const struct cubin *cubin;
    const struct flow *flow;
    const struct facts *facts;
    struct cubin_kernel *kernel;
    struct analysed_load before[8]; /* a ring: the last loads */
    bool full;
};

/* Constant memory is read by 8 bytes at most, shared memory by 16. A load of one half of entries of
 * 16 bytes has half the wavefronts of such entries, if the other half is loaded nearby. */
static void find_halves(struct accesses *all, const struct analysed_load *load)
{
    enum { NEAR = sizeof(all->before) / sizeof(all->before[0]), HALF = 8, WHOLE = 16 };
    const size_t count = all->kernel->access_count;
    bool whole = all->kernel->accesses[count - 1].width_bytes == HALF && load->bank == USER_BANK;

    for (unsigned i = 0; i < CBANK_WARP_THREADS; i++)
        whole &= load->lanes[i] % WHOLE == 0;
    all->before[(count - 1) % NEAR] = *load;
    for (size_t back = 1; whole && back < NEAR && back < count; back++) {
        const struct analysed_load *earlier = &all->before[(count - 1 - back) % NEAR];

        if (earlier->instruction * INSTRUCTION_BYTES ==
                all->kernel->accesses[count - 1 - back].address &&
            earlier->bank == USER_BANK && earlier->block == load->block &&
            (earlier->offset ^ load->offset) == HALF &&
            memcmp(earlier->lanes, load->lanes, sizeof(load->lanes)) == 0)
            all->kernel->accesses[count - 1].wavefronts =
                all->kernel->accesses[count - 1 - back].wavefronts =
                    access_warp_wavefronts(load->lanes, WHOLE) / 2.0;
    }
}

/* Whether the block of code stores what it loads in shared memory, as it is: kernels fill their
 * tables there so. */
static bool is_copied(const struct flow *flow, const struct analysed_load *load)
{
    struct instruction in;

    instruction_decode(flow->code, load->instruction * INSTRUCTION_BYTES, flow->architecture, &in);
    const uint32_t loaded =
        in.transfer == TRANSFER_LOAD && in.results > 0 ? in.result[0].first : REGISTER_ZERO;

    for (size_t i = load->instruction + 1;
         loaded != REGISTER_ZERO && i <= flow->blocks[load->block].last; i++) {
        instruction_decode(flow->code, i * INSTRUCTION_BYTES, flow->architecture, &in);
        if (in.opcode == OPCODE_STS && in.source[SOURCE_DATA].number == loaded)
            return true;
        for (size_t k = 0; k < in.results; k++)
            if (loaded - in.result[k].first < in.result[k].count)
                return false;
    }
    return false;
}

/* Counts the addresses of a warp in 'table', and the wavefronts of the same addresses in shared
 * memory. */
static void add_addresses(struct accesses *all, const struct analysed_load *load,
                          const struct cubin_variable *table, struct user_access *access)
{
    const bool begins = ((uint64_t)load->offset & UINT16_MAX) == table->offset &&
                        table->bytes > access->width_bytes;
    struct analysed_load part = *load;
    uint32_t addresses = 0;

    if (load->addresses < 2)
        return;
    /* Threads that would read behind the table have no part in the load. */
    for (unsigned i = 0; i < CBANK_WARP_THREADS; i++) {
        const int64_t apart = (int64_t)(int32_t)load->lanes[i] - (int32_t)load->lanes[0];
        bool first = true;

        if (begins && (uint64_t)llabs(apart) + access->width_bytes > table->bytes)
            part.lanes[i] = part.lanes[0];
        for (unsigned k = 0; k < i; k++)
            first &= part.lanes[i] != part.lanes[k];
        addresses += first;
    }
    if (addresses > 1) {
        access->addresses = optional_of(addresses);
        access->wavefronts = access_warp_wavefronts(part.lanes, access->width_bytes);
    }
    find_halves(all, addresses > 1 ? &part : load);
}

/* Bytes that a thread loads by an instruction. */
static uint32_t width_of(const struct instruction *instruction, uint32_t architecture)
{
    const enum sass_class class = instruction_class(instruction, architecture);

    if (instruction_takes_constant(instruction))
        return 1u << SASS_WORD;
    return 1u << instruction_width(instruction, class < SASS_SEL ? class : SASS_LDC);
}

/* The memory that a load reads: by its opcode, by its bank, by the origin of its pointer. */
static const char *memory_of(const struct analysed_load *load, unsigned opcode)
{
    if (opcode >= OPCODE_TEXTURE_FIRST && opcode <= OPCODE_TEXTURE_LAST)
        return load->image ? "image" : "texture";
    switch (opcode) {
    case OPCODE_LDG:
        return "global";
    case OPCODE_LDS:
        return "shared";
    case OPCODE_LDL:
        return "local";
    case OPCODE_LD:
        /* The host has no addresses of shared memory to pass. */
        return load->origin >= ORIGIN_PARAMETER ? "global"
               : load->origin == ORIGIN_SHARED  ? "shared"
               : load->origin == ORIGIN_STACK   ? "local"
                                                : "generic";
    default:
        return load->bank == PARAMETER_BANK ? "param"
               : load->bank == USER_BANK    ? "constant"
                                            : "compiler";
    }
}

/* Finds the variable in constant memory that a load reads. False: it is not known which. */
static bool find_table(const struct cubin *cubin, const struct analysed_load *load, uint32_t width,
                       struct cubin_variable *out)
{
    static const char constants[] = ".nv.constant3";
    /* The offset of an instruction has 16 bits. */
    const uint64_t offset = (uint64_t)load->offset & UINT16_MAX;
    struct cubin_variable variable, next = {0};
    size_t tables = 0;
    bool inside = false;

    for (uint64_t place = 0; cubin_next_variable(cubin, &place, &variable);) {
        const uint64_t behind = offset - variable.offset;

        if (strncmp(variable.section, constants, strlen(constants)) != 0)
            continue;
        tables++;
        inside |= behind < variable.bytes;
        if (behind < variable.bytes || tables == 1)
            *out = variable;
        if (behind + width < width && load->variation != VARIATION_CONSTANT)
            next = variable;
    }
    /* One entry before a table: that one at an index less 1, or the one before it from its end. */
    if (next.bytes && load->stride_bytes >= 0) {
        inside = !inside || load->stride_bytes > 0;
        *out = inside ? next : (struct cubin_variable){0};
    }
    /* The only table of a bank is the one that is read, also at an index less a number. */
    return inside || tables == 1;
}

/* Names the table of a load: a variable, or what is behind a parameter. *table: the variable in
 * constant memory. */
static void name_table(const struct cubin *cubin, const struct analysed_load *load,
                       struct user_access *access, struct cubin_variable *table)
{
    static const char library_tables[] = "__cudart_"; /* of sin(), say */
    const char *name;
    size_t bytes;

    if (load->bank == USER_BANK && find_table(cubin, load, access->width_bytes, table)) {
        snprintf(access->table, sizeof(access->table), "%s", table->symbol);
        access->table_bytes = optional_of(table->bytes);
    }
    if (load->origin >= ORIGIN_SYMBOL &&
        cubin_symbol_at(cubin, load->origin - ORIGIN_SYMBOL, &name, &bytes)) {
        snprintf(access->table, sizeof(access->table), "%s", name);
        access->table_bytes = optional_unless_zero(bytes);
    } else if (load->origin >= ORIGIN_PARAMETER) {
        snprintf(access->table, sizeof(access->table), "parameter %" PRIu32,
                 load->origin - ORIGIN_PARAMETER);
    }
    if (strncmp(access->table, library_tables, strlen(library_tables)) == 0)
        access->memory = "compiler";
    text_clean(access->table, 0);
}

static void write_evidence(const struct flow *flow, const struct analysed_load *load,
                           struct user_access *access)
{
    for (size_t i = 0; i < load->evidence_count; i++) {
        const uint32_t address = load->evidence[i] * INSTRUCTION_BYTES;
        struct instruction instruction;

        instruction_decode(flow->code, address, flow->architecture, &instruction);
        text_join(access->evidence, sizeof(access->evidence), " ", "0x%" PRIx32 ":%s", address,
                  instruction.name);
    }
}

/* Adds a load to those of the kernel. */
static void add_access(const struct analysed_load *load, void *context)
{
    struct accesses *all = context;
    const uint32_t address = load->instruction * INSTRUCTION_BYTES;
    const char *file;
    const uint32_t line = facts_line(all->facts, address, &file);
    struct instruction instruction;
    struct cubin_variable table = {0};
    struct user_access *access;
    uint32_t width;

    if (!memory_grow(&all->kernel->accesses, all->kernel->access_count, sizeof(*access))) {
        all->full = true;
        return;
    }
    instruction_decode(all->flow->code, address, all->flow->architecture, &instruction);
    width = width_of(&instruction, all->flow->architecture);
    access = &all->kernel->accesses[all->kernel->access_count++];
    *access = (struct user_access){
        .variation = load->variation,
        .reason = load->reason,
        .condition = load->condition,
        .stride_bytes = load->stride_bytes,
        .line = optional_unless_zero(line),
        .addresses = optional_unless_zero(load->addresses),
        .address = address,
        .depth = flow_depth(all->flow, load->block),
        .copied = is_copied(all->flow, load),
        .width_bytes = width,
        .wavefronts = load->addresses ? access_warp_wavefronts(load->lanes, width) : (double)NAN,
        .memory = memory_of(load, instruction.opcode),
    };
    snprintf(access->instruction, sizeof(access->instruction), "%s", load->name);
    snprintf(access->file, sizeof(access->file), "%s", file);
    text_clean(access->file, 0);
    write_evidence(all->flow, load, access);
    name_table(all->cubin, load, access, &table);
    add_addresses(all, load, &table, access);
}

/* Whether the code stores to the stack at an index that is known at run time alone. */
static bool writes_local(const struct flow *flow)
{
    enum { STACK_POINTER = 1 };

    for (size_t i = 0; i < flow->instructions; i++) {
        struct instruction instruction;

        instruction_decode(flow->code, i * INSTRUCTION_BYTES, flow->architecture, &instruction);
        if (instruction.opcode == OPCODE_STL &&
            instruction.source[SOURCE_ADDRESS].number != STACK_POINTER)
            return true;
    }
    return false;
}

enum status user_accesses_read(const struct cubin *cubin, const struct cubin_function *function,
                               const uint32_t block[3], struct cubin_kernel *kernel,
                               struct kernel_loads *loads)
{
    struct facts facts;
    struct flow flow = {0};
    struct accesses all = {.cubin = cubin, .flow = &flow, .facts = &facts, .kernel = kernel};
    enum status status = facts_read(cubin, function->symbol, &facts);

    if (status != STATUS_OK)
        return status;
    facts_set_block(&facts, block);
    status = flow_open(function->code, function->bytes, function->architecture, facts.jumps,
                       facts.jump_count, &flow);
    if (status != STATUS_OK)
        goto out;
    kernel_loads_read(&flow, loads);
    kernel->calls_out = loads->calls_out;
    kernel->local_written = writes_local(&flow);
    status = divergence_visit_loads(&flow, &facts.code, add_access, &all);
    if (all.full)
        status = log_memory("the loads of %s", function->symbol);
out:
    flow_close(&flow);
    facts_close(&facts);
    return status;
}
