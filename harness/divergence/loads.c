/* SPDX-License-Identifier: MIT
 * What the values of addresses say of each load, and by what evidence. */
#include "divergence_parts.h"
#include "value_low.h"
#include "value_ring.h"

static const char *const reasons[WHY_COUNT] = {
    [WHY_DATA] = "the index comes from memory",
    [WHY_BRANCH] = "threads that branched differently bring different values",
    [WHY_LOOP] = "threads leave a loop at different times",
    [WHY_ARITHMETIC] = "arithmetic on the thread's number that is not followed",
    [WHY_HIGH] = "the high word of an address is used as a number",
    [WHY_STRIDES] = "the threads of a warp are apart in different ways where branches meet",
    [WHY_LANES] = "it depends on what threads pass on",
    [WHY_SHAPE] = "the warps of a block of this shape differ",
    [WHY_CALL] = "a function is called whose code is not here",
    [WHY_UNSET] = "a register that nothing sets",
    [WHY_OPERATION] = "an instruction that is not followed",
    [WHY_ROUNDS] = "the code is too entangled",
    [WHY_IMAGE] = "an image, whose coordinates are not followed",
};

/* An address of 64 bits; `high` is 0 where it has 32. */
struct address {
    struct value low, high;
};

/* -- the verdict on an address ----------------------------------------------------------------- */

/* Threads differ in a way that is not known, or in the high word alone. */
static void classify_divergent(const struct address *address, struct analysed_load *load)
{
    const struct value *low = &address->low, *high = &address->high;
    const unsigned why = low->lanes == LANES_DIVERGENT    ? low->why
                         : high->lanes == LANES_DIVERGENT ? high->why
                         : low->why                       ? low->why
                         : high->why                      ? high->why
                                                          : WHY_HIGH;

    const bool of_thread = value_is_of_thread(low) && value_is_of_thread(high);

    /* Data that all threads of a warp share do not set them apart. */
    load->reason = reasons[of_thread && why == WHY_DATA ? WHY_ARITHMETIC : why];
    load->variation = of_thread         ? VARIATION_THREAD
                      : why == WHY_DATA ? VARIATION_DATA
                                        : VARIATION_UNKNOWN;
}

/* All threads of a warp have one address. */
static void classify_uniform(const struct address *address, struct analysed_load *load)
{
    static const enum variation by_level[] = {[LEVEL_CONSTANT] = VARIATION_GRID,
                                              [LEVEL_GRID] = VARIATION_GRID,
                                              [LEVEL_BLOCK] = VARIATION_BLOCK,
                                              [LEVEL_WARP] = VARIATION_WARP};
    const struct value *low = &address->low, *high = &address->high;

    load->addresses = 1;
    load->variation = by_level[low->level > high->level ? low->level : high->level];
    if (value_is_number(low) && value_is_number(high))
        load->variation = VARIATION_CONSTANT;
}

/* How many of the lanes have a value that none before them has. */
static uint32_t different(const uint32_t lanes[WARP_LANES])
{
    uint32_t count = 0;

    for (unsigned i = 0; i < WARP_LANES; i++) {
        bool first = true;

        for (unsigned k = 0; k < i; k++)
            first &= lanes[i] != lanes[k];
        count += first;
    }
    return count;
}

/* Lanes on a ring: so many addresses as for any turn. Where the ring is a row of all banks, or
 * several, or lies within one, a turn moves all lanes by as many banks. */
static void classify_ring(const struct lane_tables *tables, const struct value *low,
                          struct analysed_load *load)
{
    enum { WORD_LOG = 2, ROW_BITS = 7, ROW_BYTES = 1 << ROW_BITS, WIDEST = 16 /* bytes */ };

    if (!value_ring_lanes(tables, low, load->ring))
        return;
    load->ring_addresses = different(load->ring);
    load->ring_keeps_banks = low->ring_zeros >= ROW_BITS && low->turn_zeros >= WORD_LOG;
    load->ring_in_row = range_last(load->range) - load->range.first <= ROW_BYTES - WIDEST;
}

/* What each thread of a warp adds is known, or has a stride. */
static void classify_apart(const struct lane_tables *tables, const struct value *low,
                           struct analysed_load *load)
{
    const int32_t stride = (int32_t)lane_of(tables, low, 1);

    load->variation = VARIATION_AFFINE;
    if (low->lanes != LANES_AFFINE) {
        load->begin = low->known;
        load->begin_bits = low->flags & FLAG_WHOLE ? 0 : low->bits;
        for (unsigned i = 0; i < WARP_LANES; i++) {
            load->lanes[i] = lane_of(tables, low, i);
            if (load->lanes[i] != i * (uint32_t)stride)
                load->variation = VARIATION_UNEVEN;
        }
        load->addresses = different(load->lanes);
    }
    load->stride_bytes = load->variation == VARIATION_AFFINE ? stride : 0;
}

static void classify(const struct analysis *analysis, struct address address,
                     struct analysed_load *load)
{
    const struct value high = address.high;

    load->origin = high.origin == ORIGIN_SHARED ? ORIGIN_SHARED : address.low.origin;
    load->offset =
        (int32_t)(value_is_number(&address.low) ? address.low.known : address.low.displacement);
    load->several = address.low.several;
    load->range = value_range(&analysis->machine.lanes, &address.low);
    load->banks_apart = value_banks_are_apart(&analysis->machine.lanes, &address.low);
    if (analysis->machine.facts->doubt || analysis->flow->lost) {
        load->banks_apart = false;
        load->variation = VARIATION_UNKNOWN;
        load->reason = analysis->machine.facts->doubt ? analysis->machine.facts->doubt
                                                      : "there is a jump to where nobody knows";
        return;
    }
    /* The high word of an address follows the low one, unless that is the same in all lanes. */
    address.low = value_plain(address.low);
    if ((address.low.flags | high.flags) & FLAG_HALF)
        address.low = value_of_both(address.low, high);
    if (address.low.lanes == LANES_UNIFORM)
        address.high = value_plain(high);
    if (address.low.lanes == LANES_DIVERGENT || address.low.lanes == LANES_THREAD ||
        address.high.lanes != LANES_UNIFORM) {
        classify_divergent(&address, load);
        if (value_is_number(&address.high))
            classify_ring(&analysis->machine.lanes, &address.low, load);
    } else if (address.low.lanes == LANES_UNIFORM)
        classify_uniform(&address, load);
    else
        classify_apart(&analysis->machine.lanes, &address.low, load);
    /* Data has no condition, but the banks may have one. */
    if (((address.low.flags | address.high.flags) & FLAG_RELIED &&
         (load->variation < VARIATION_DATA || load->ring_addresses)) ||
        (load->banks_apart && address.low.flags & (FLAG_RELIED | FLAG_WHOLE)))
        load->condition = "if blockDim.x is a multiple of 32; --block-dim decides it";
    /* Without a condition that is printed, the range may rely on none. */
    if ((address.low.flags | address.high.flags) & FLAG_RELIED && !load->condition)
        load->range = (struct range){0};
    load->one_dimension =
        analysis->machine.flat && analysis->machine.facts->block[0] == 0 &&
        load->variation >= VARIATION_WARP &&
        (load->variation <= VARIATION_UNEVEN || load->banks_apart || load->ring_addresses);
}

/* -- the address of a load --------------------------------------------------------------------- */

/* The element of a texture. TLD takes whole numbers. The coordinates of an image lie in as many
 * registers as it has dimensions. */
static struct value texture_element(struct analysis *analysis, const struct instruction *in,
                                    uint32_t index, struct analysed_load *load)
{
    struct machine *machine = &analysis->machine;
    struct value element, handle;

    load->image = (in->opcode != OPCODE_TLD && in->opcode != OPCODE_TLD_BINDLESS) ||
                  instruction_field(in, FIELD_TEXTURE_DIMENSIONS);
    if (load->image)
        return value_divergent(WHY_IMAGE);
    element = machine_source(machine, analysis->in, in, index, SOURCE_B, 0);
    element.origin = 0;
    handle = machine_handle(machine, analysis->in, in);
    if (!value_is_uniform(&handle))
        return value_divergent(WHY_IMAGE);
    handle = machine_source(machine, analysis->in, in, index, SOURCE_HANDLE, 0);
    /* An element has as many bytes as the texture says. */
    return value_add(&machine->lanes, element,
                     value_multiply(&machine->lanes, value_uniform(LEVEL_GRID), handle));
}

/* A load from constant memory. False: of a single parameter, or the compiler's own. */
static bool constant_address(struct analysis *analysis, const struct instruction *in,
                             uint32_t index, struct value *low, struct analysed_load *load)
{
    struct machine *machine = &analysis->machine;
    const struct value offset = value_number((uint32_t)in->offset);

    if (in->source[SOURCE_ADDRESS].kind != OPERAND_NONE)
        *low = machine_source(machine, analysis->in, in, index, SOURCE_ADDRESS, 0);
    load->bank = in->source[SOURCE_BANK].bank;
    if (load->bank != USER_BANK && value_is_number(low))
        return false;
    *low = value_add(&machine->lanes, *low, offset);
    return true;
}

/* An operand of arithmetic in the user bank. False: there is none. */
static bool operand_address(const struct instruction *in, struct value *low,
                            struct analysed_load *load)
{
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        if (in->source[i].kind != OPERAND_CONSTANT || in->source[i].bank != USER_BANK)
            continue;
        load->bank = USER_BANK;
        *low = value_number(in->source[i].number);
    }
    return load->bank == USER_BANK;
}

/* The address of a load before it is executed. False: it is none. */
static bool find_address(struct analysis *analysis, const struct instruction *in, uint32_t index,
                         struct address *address, struct analysed_load *load)
{
    const bool texture = in->opcode >= OPCODE_TEXTURE_FIRST && in->opcode <= OPCODE_TEXTURE_LAST;

    if (in->transfer != TRANSFER_LOAD)
        return operand_address(in, &address->low, load);
    if (texture)
        address->low = texture_element(analysis, in, index, load);
    else if (in->source[SOURCE_BANK].kind == OPERAND_CONSTANT)
        return constant_address(analysis, in, index, &address->low, load);
    else
        address->low = machine_address(&analysis->machine, analysis->in, in, index, &address->high);
    return in->opcode != OPCODE_LDSM; /* the rows of a matrix are no table */
}

/* From sm_90 on, an address in shared memory begins with the number of the block in its cluster.
 * Where the place behind that is known, the code has the address. */
static void know_place_in_block(const struct value *low, struct analysed_load *load)
{
    enum { PLACE_BITS = 24 };

    if (load->addresses == 1 && load->variation > VARIATION_CONSTANT &&
        value_low_bits(low) >= PLACE_BITS)
        load->variation = VARIATION_CONSTANT;
}

static bool analyse_load(struct analysis *analysis, const struct instruction *in, uint32_t index,
                         struct analysed_load *load)
{
    const struct value guard =
        machine_predicate(&analysis->machine, analysis->in, in->guard, in->guard_negated);
    struct address address = {value_number(0), value_number(0)};
    bool found;

    if (value_is_number(&guard) && !(guard.known & 1))
        return false;
    machine_exchange(&analysis->machine, analysis->in, in);
    found = find_address(analysis, in, index, &address, load);
    machine_exchange(&analysis->machine, analysis->in, in);
    if (!found)
        return false;
    load->name = in->name;
    classify(analysis, address, load);
    if (in->opcode == OPCODE_LDS)
        know_place_in_block(&address.low, load);
    return true;
}

/* -- evidence ---------------------------------------------------------------------------------- */

/* How little a value says: the more, the less. */
static unsigned height(const struct value *value)
{
    enum { KNOWN_LANES = LEVEL_WARP + 1, OF_THREAD, DIVERGENT };

    switch (value->lanes) {
    case LANES_UNIFORM:
        return value->level;
    case LANES_THREAD:
        return OF_THREAD;
    case LANES_DIVERGENT:
        return DIVERGENT;
    default:
        return KNOWN_LANES;
    }
}

/* The instruction that made the operand of another that says least; 0: none, or several that a join
 * brought together. */
static uint32_t decided_by(struct analysis *analysis, const struct instruction *in)
{
    unsigned highest = 0;
    uint32_t from = 0;

    machine_exchange(&analysis->machine, analysis->in, in);
    for (unsigned i = 0; i < OPERANDS_MAX && in->transfer != TRANSFER_STORE; i++)
        if (in->source[i].kind == OPERAND_REGISTER || in->source[i].kind == OPERAND_UNIFORM) {
            const struct value value =
                machine_register(&analysis->machine, analysis->in, in->source[i].number);

            if (height(&value) <= highest)
                continue;
            highest = height(&value);
            from = value.from;
        }
    machine_exchange(&analysis->machine, analysis->in, in);
    return from & PHI ? 0 : from;
}

static void add_evidence(const struct analysis *analysis, struct analysed_load *load)
{
    uint32_t index = load->instruction;

    do {
        load->evidence[load->evidence_count++] = index;
        index = analysis->deciding[index];
    } while (index != 0 && load->evidence_count < EVIDENCE_MAX);
}

void loads_visit(struct analysis *analysis, uint32_t block, load_visit *visit, void *context)
{
    const struct flow *flow = analysis->flow;

    if (!analysis_enter(analysis, block))
        return;
    if (analysis->blocks[block].visits > VISITS_MAX)
        for (unsigned k = 0; k < analysis->used_count; k++)
            analysis->in[analysis->used[k]] = value_divergent(WHY_ROUNDS);
    analysis->machine.visit++;
    analysis->machine.whole = convergence_is_whole(analysis, block);
    for (uint32_t index = flow->blocks[block].first; index <= flow->blocks[block].last; index++) {
        const struct instruction *in = &analysis->instructions[index];
        struct analysed_load load = {.instruction = index, .block = block};

        analysis->deciding[index] = decided_by(analysis, in);
        if (analyse_load(analysis, in, index, &load)) {
            add_evidence(analysis, &load);
            visit(&load, context);
        }
        machine_execute(&analysis->machine, analysis->in, index);
    }
}
