/* SPDX-License-Identifier: MIT
 * The loads of one kernel: from what the divergence analysis says of an address to the table that
 * is read, its memory, and what a warp's load costs there. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "instruction.h"
#include "load_table.h"
#include "log.h"
#include "memory.h"
#include "text.h"
#include "user_access.h"

const char user_one_dimension[] = "if blocks have one dimension; --block-dim decides it";

/* Constant memory is read by 8 bytes at most, shared memory by 16. A load of one half of entries of
 * 16 bytes has half the wavefronts of such entries, if the other half is loaded nearby. `lanes` are
 * those of load `index`. */
static void find_halves(struct accesses *all, size_t index, const uint32_t *lanes)
{
    enum { NEAR = 8, HALF = 8, WHOLE = 16 };
    const struct analysed_load *load = &all->loads[index];
    struct user_access *accesses = all->kernel->accesses;
    bool whole = accesses[index].width_bytes == HALF && load->bank == USER_BANK;

    for (unsigned i = 0; i < CBANK_WARP_THREADS; i++)
        whole &= lanes[i] % WHOLE == 0;
    for (size_t back = 1; whole && back < NEAR && back <= index; back++) {
        const struct analysed_load *before = &all->loads[index - back];
        struct warp_counts *counts = &accesses[index].counts;

        if (before->bank != USER_BANK || before->block != load->block ||
            (before->offset ^ load->offset) != HALF ||
            memcmp(before->lanes, lanes, sizeof(before->lanes)) != 0)
            continue;
        counts->wavefronts = access_warp_wavefronts(lanes, WHOLE) / 2.0;
        counts->tag_wavefronts = access_warp_tag_wavefronts(lanes, WHOLE) / 2.0;
        accesses[index - back].counts = *counts;
    }
}

static struct warp_counts count_lanes(uint32_t addresses, const uint32_t lanes[CBANK_WARP_THREADS],
                                      uint32_t width)
{
    return (struct warp_counts){.addresses = addresses,
                                .wavefronts = access_warp_wavefronts(lanes, width),
                                .tag_wavefronts = access_warp_tag_wavefronts(lanes, width),
                                .sectors = NAN};
}

/* Counts the addresses of a warp in 'table', and the wavefronts of the same addresses in shared
 * memory. Threads that would read behind the table have no part in the load. */
static void add_addresses(struct accesses *all, size_t index, const struct cubin_variable *table)
{
    struct analysed_load *load = &all->loads[index];
    struct user_access *access = &all->kernel->accesses[index];
    const bool begins = ((uint64_t)load->offset & UINT16_MAX) == table->offset && !load->several &&
                        table->bytes > access->width_bytes;
    uint32_t lanes[CBANK_WARP_THREADS], addresses = 0;

    if (load->addresses < 2)
        return;
    for (unsigned i = 0; i < CBANK_WARP_THREADS; i++) {
        const int64_t apart = (int64_t)(int32_t)load->lanes[i] - (int32_t)load->lanes[0];
        const bool behind = begins && (uint64_t)llabs(apart) + access->width_bytes > table->bytes;
        bool first = true;

        lanes[i] = behind ? lanes[0] : load->lanes[i];
        for (unsigned k = 0; k < i; k++)
            first &= lanes[i] != lanes[k];
        addresses += first;
    }
    if (addresses > 1) {
        memcpy(load->lanes, lanes, sizeof(lanes));
        access->addresses = optional_of(addresses);
        access->counts = count_lanes(addresses, lanes, access->width_bytes);
    }
    find_halves(all, index, load->lanes);
}

/* The addresses of a warp that lie on a ring. Threads that would read behind the table have no part
 * in the load, and which these are depends on the turn. */
static void add_ring(struct accesses *all, size_t index, const struct cubin_variable *table)
{
    const struct analysed_load *load = &all->loads[index];
    struct user_access *access = &all->kernel->accesses[index];
    const uint64_t last = (uint64_t)range_last(load->range) + access->width_bytes;

    if (!load->ring_addresses || (table->bytes && (load->range.first < table->offset ||
                                                   last > table->offset + table->bytes)))
        return;
    access->addresses = optional_of(load->ring_addresses);
    access->counts = count_lanes(load->ring_addresses, load->ring, access->width_bytes);
    /* Where a ring of less than words begins and ends within a word, a turn may part the word. */
    if (!load->ring_in_row && (!load->ring_keeps_banks || access->width_bytes < ACCESS_BANK_BYTES))
        access->counts.wavefronts = NAN;
}

/* Counts the wavefronts of entries of less than a word in shared memory: where they begin in a word
 * may decide which threads meet in a bank. Not known if it is not known where. */
static void begin_in_word(const struct analysed_load *load, struct user_access *access)
{
    enum { BITS = 2 }; /* of a place in a word */
    const uint32_t mask = (1u << (load->begin_bits < BITS ? load->begin_bits : BITS)) - 1;
    double found = 0;

    if (load->addresses < 2 || access->width_bytes >= ACCESS_BANK_BYTES ||
        strcmp(access->memory, "shared") != 0)
        return;
    for (uint32_t begin = 0; begin < ACCESS_BANK_BYTES; begin++) {
        uint32_t lanes[CBANK_WARP_THREADS];
        double wavefronts;

        if ((begin ^ load->begin) & mask || begin % access->width_bytes)
            continue;
        for (unsigned i = 0; i < CBANK_WARP_THREADS; i++)
            lanes[i] = load->lanes[i] + begin;
        wavefronts = access_warp_wavefronts(lanes, access->width_bytes);
        found = found == 0 || found == wavefronts ? wavefronts : NAN;
    }
    access->counts.wavefronts = found;
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
        /* The host has no addresses of shared memory to pass. A generic load reads constants as it
         * reads all global memory. */
        return load->origin >= ORIGIN_CONSTANT ? "global"
               : load->origin == ORIGIN_SHARED ? "shared"
               : load->origin == ORIGIN_STACK  ? "local"
                                               : "generic";
    default:
        return load->bank == PARAMETER_BANK ? "param"
               : load->bank == USER_BANK    ? "constant"
                                            : "compiler";
    }
}

/* Whether addresses there come from pointers. In constant and shared memory, what comes from a
 * parameter is an index. */
static bool has_pointers(const char *memory)
{
    return strcmp(memory, "constant") != 0 && strcmp(memory, "param") != 0 &&
           strcmp(memory, "shared") != 0;
}

/* Names the table of a load: a variable, or what is behind a parameter. *table: the variable in
 * constant memory. */
static void name_table(struct accesses *all, size_t index, struct cubin_variable *table)
{
    const struct analysed_load *load = &all->loads[index];
    struct user_access *access = &all->kernel->accesses[index];
    static const char library_tables[] = "__cudart_"; /* of sin(), say */
    const uint32_t place = load->instruction * INSTRUCTION_BYTES;
    const struct code_fact *fact = code_fact_before(&all->facts->code.relocated, place);
    uint32_t symbol = load->origin >= ORIGIN_SYMBOL ? load->origin - ORIGIN_SYMBOL : UINT32_MAX;
    const char *name = "";
    char parameter[32];
    size_t bytes;

    /* In code that is not linked, a relocation names the table. */
    if (load->bank == USER_BANK && fact && fact->place == place)
        symbol = fact->value;
    else if ((load->bank == USER_BANK || load->origin == ORIGIN_CONSTANT) &&
             load_table_find(all, load, access->width_bytes, table)) {
        name = table->symbol;
        access->table_bytes = optional_of(table->bytes);
    }
    if (symbol != UINT32_MAX && cubin_symbol_at(all->cubin, symbol, &name, &bytes)) {
        access->table_bytes = optional_unless_zero(bytes);
    } else if (load->origin >= ORIGIN_PARAMETER && has_pointers(access->memory)) {
        snprintf(parameter, sizeof(parameter), "parameter %" PRIu32,
                 load->origin - ORIGIN_PARAMETER);
        name = parameter;
    }
    if (strncmp(name, library_tables, strlen(library_tables)) == 0)
        access->memory = "compiler";
    access->table = accesses_keep(all, name);
}

uint32_t accesses_place(const struct accesses *all, uint32_t address)
{
    return address - callees_at(&all->facts->callees, address)->begin;
}

static void write_evidence(struct accesses *all, const struct analysed_load *load,
                           struct user_access *access)
{
    char text[FIELD_WORDS_BYTES] = "";

    for (size_t i = 0; i < load->evidence_count; i++) {
        const uint32_t address = load->evidence[i] * INSTRUCTION_BYTES;
        struct instruction instruction;

        instruction_decode(all->flow->code, address, all->flow->architecture, &instruction);
        text_join(text, sizeof(text), " ", "0x%" PRIx32 ":%s", accesses_place(all, address),
                  instruction.name);
    }
    access->evidence = "";
    if (texts_take(&all->kernel->evidence, strdup(text)))
        access->evidence = all->kernel->evidence.items[all->kernel->evidence.count - 1];
    else
        all->full = true;
}

const char *accesses_keep(struct accesses *all, const char *text)
{
    char clean[128];
    const char *kept;

    snprintf(clean, sizeof(clean), "%s", text);
    text_clean(clean, 0);
    kept = texts_share(&all->kernel->texts, clean);
    all->full |= !kept;
    return kept ? kept : "";
}

/* Keeps a load: tables are named when all are known. */
static void keep_load(const struct analysed_load *load, void *context)
{
    struct accesses *all = context;

    if (memory_grow(&all->loads, all->count, sizeof(*all->loads)) &&
        memory_grow(&all->kernel->accesses, all->count, sizeof(*all->kernel->accesses)))
        all->loads[all->count++] = *load;
    else
        all->full = true;
}

/* Writes what is known of a load of the kernel. */
static void write_access(struct accesses *all, size_t index)
{
    const struct analysed_load *load = &all->loads[index];
    struct user_access *access = &all->kernel->accesses[index];
    const uint32_t address = load->instruction * INSTRUCTION_BYTES;
    const char *file;
    const uint32_t line = facts_line(all->facts, address, &file);
    struct instruction instruction;
    struct cubin_variable table = {0};
    uint32_t width;
    bool one_wavefront;

    instruction_decode(all->flow->code, address, all->flow->architecture, &instruction);
    width = width_of(&instruction, all->flow->architecture);
    /* A copy of the table for each bank: data decide the row alone. */
    one_wavefront = load->banks_apart && width <= ACCESS_BANK_BYTES &&
                    strcmp(memory_of(load, instruction.opcode), "shared") == 0;
    *access = (struct user_access){
        .variation = load->variation,
        .reason = load->reason,
        .condition = load->condition       ? load->condition
                     : load->one_dimension ? user_one_dimension
                                           : NULL,
        .stride_bytes = load->stride_bytes,
        .line = optional_unless_zero(line),
        .addresses = optional_unless_zero(load->addresses),
        .address = accesses_place(all, address),
        .depth = flow_depth(all->flow, load->block),
        .code_block = load->block,
        .offset = load->offset,
        .copied = flow_stores_shared(all->flow, load),
        .passed_on = flow_shuffles(all->flow, load),
        .width_bytes = width,
        .counts = load->addresses ? count_lanes(load->addresses, load->lanes, width)
                                  : (struct warp_counts){NAN, one_wavefront ? 1 : NAN, NAN, NAN},
        .sectors_least = NAN,
        .memory = memory_of(load, instruction.opcode),
    };
    access->instruction = load->name;
    access->file = accesses_keep(all, file);
    write_evidence(all, load, access);
    name_table(all, index, &table);
    add_addresses(all, index, &table);
    begin_in_word(load, access);
    if (!has_pointers(access->memory))
        add_ring(all, index, &table);
}

/* Says of code of an architecture that no test compiles for that nothing is proven of it. */
static enum status doubt_unseen(uint32_t architecture, struct cubin_kernel *kernel,
                                struct code_facts *facts)
{
    char text[64];

    if (architecture_seen(architecture))
        return STATUS_OK;
    snprintf(text, sizeof(text), "code of sm_%" PRIu32 " was never seen here", architecture);
    kernel->doubt = strdup(text);
    facts->doubt = kernel->doubt;
    return kernel->doubt ? STATUS_OK : log_memory("the loads of %s", kernel->name);
}

enum status user_accesses_read(const struct cubin_facts *file,
                               const struct cubin_function *function, const uint32_t block[3],
                               struct cubin_kernel *kernel, struct kernel_loads *loads)
{
    struct facts facts;
    struct flow flow = {0};
    struct user_access *kept; /* in as much memory as they need */
    struct accesses all = {.cubin = file->cubin, .flow = &flow, .facts = &facts, .kernel = kernel};
    enum status status = facts_read(file, function, &facts);

    if (status != STATUS_OK)
        return status;
    facts_set_block(&facts, block);
    status = doubt_unseen(function->architecture, kernel, &facts.code);
    if (status != STATUS_OK)
        goto out;
    status = flow_open(facts.callees.code, facts.callees.bytes, function->architecture, facts.jumps,
                       facts.jump_count, &flow);
    if (status != STATUS_OK)
        goto out;
    kernel_loads_read(&flow, loads);
    kernel->calls_out = loads->calls_out;
    kernel->local_written = flow_writes_local(&flow);
    kernel->local_content = kernel->doubt ? LOCAL_OWN : flow_local_content(&flow);
    status = divergence_visit_loads(&flow, &facts.code, keep_load, &all);
    if (all.full)
        status = log_memory("the loads of %s", function->symbol);
    kernel->access_count = status == STATUS_OK ? all.count : 0;
    for (size_t i = 0; i < kernel->access_count; i++)
        write_access(&all, i);
    if (status == STATUS_OK && all.full)
        status = log_memory("the loads of %s", function->symbol);
    if (status != STATUS_OK)
        goto out;
    accesses_count_sectors(&all);
    kernel->works_in_loops = flow_works_in_loops(&flow, kernel);
    status = accesses_name_shared(&all);
    if (status == STATUS_OK && !kernel->doubt)
        status = accesses_find_compared(&all);
    kept = realloc(kernel->accesses, (kernel->access_count + 1) * sizeof(*kernel->accesses));
    kernel->accesses = kept ? kept : kernel->accesses;
out:
    free(all.loads);
    flow_close(&flow);
    facts_close(&facts);
    return status;
}
