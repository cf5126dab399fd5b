/* SPDX-License-Identifier: MIT
 * The transfer functions of what comes from elsewhere: special registers, memory, other lanes. */
#include "transfer.h"

/* What S2R reads. */
enum special_register {
    SPECIAL_VIRTUAL_ID = 0x03, /* the number of the warp in its SM is in it */
    SPECIAL_CTAID_X = 0x25,
    SPECIAL_CTAID_Z = 0x27,
    SPECIAL_SHARED_WINDOW = 0x2f,
    SPECIAL_EQMASK = 0x38,
    SPECIAL_LTMASK,
    SPECIAL_LEMASK,
    SPECIAL_GTMASK,
    SPECIAL_GEMASK,
    SPECIAL_SM = 0x43,
    SPECIAL_CLUSTER_CTAID = 0x88,
    SPECIAL_ZERO = 0xff
};

enum { WORD_BYTES = sizeof(uint32_t), X = 0, Y = 1, Z = 2 };

/* -- special registers ------------------------------------------------------------------------- */

/* threadIdx, `axis` 0 to 2, of the threads of a warp whose block has a shape that is not known. A
 * kernel that reads threadIdx.x alone has blocks of one dimension; rows are whole warps in
 * others. */
static struct value thread_of_row(struct machine *machine, unsigned axis)
{
    uint32_t lanes[WARP_LANES];
    struct value value;

    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = axis == X ? i : 0;
    value = value_lanes(&machine->lanes, lanes);
    value.bits = axis == X ? WARP_LANES_BITS : 0;
    value.level = LEVEL_WARP;
    return value_relied(value, machine->flat ? 0 : FLAG_RELIED);
}

/* The same where the shape is known: that of each warp is worked out. */
static struct value thread_index(struct machine *machine, unsigned axis)
{
    const uint32_t *shape = machine->facts->block;
    uint32_t lanes[WARP_LANES] = {0}, differ = 0;
    struct value value;

    if (shape[X] == 0)
        return thread_of_row(machine, axis);
    for (uint32_t warp = 0; warp * WARP_LANES < shape[X] * shape[Y] * shape[Z]; warp++) {
        uint32_t base = 0;

        for (uint32_t i = 0; i < WARP_LANES; i++) {
            const uint32_t thread = warp * WARP_LANES + i;
            const uint32_t index = axis == X   ? thread % shape[X]
                                   : axis == Y ? thread / shape[X] % shape[Y]
                                               : thread / shape[X] / shape[Y];

            base = i == 0 ? index : base;
            if (warp == 0)
                lanes[i] = index;
            if (index - base != lanes[i] - lanes[0])
                return value_of_thread(WHY_SHAPE);
        }
        differ |= base ^ lanes[0];
    }
    value = value_lanes(&machine->lanes, lanes);
    if (differ) {
        value.bits = (uint8_t)__builtin_ctz(differ);
        value.level = LEVEL_WARP;
    }
    return value;
}

/* A lane's number, or a mask of lanes beside it. */
static uint32_t lane_special(unsigned number, unsigned lane)
{
    const uint32_t below = (1u << lane) - 1, own = 1u << lane;

    switch (number) {
    case SPECIAL_EQMASK:
        return own;
    case SPECIAL_LTMASK:
        return below;
    case SPECIAL_LEMASK:
        return below | own;
    case SPECIAL_GTMASK:
        return ~(below | own);
    case SPECIAL_GEMASK:
        return ~below;
    default:
        return lane;
    }
}

static struct value special_value(struct machine *machine, unsigned number)
{
    uint32_t lanes[WARP_LANES];
    struct value value;

    if (number == SPECIAL_LANE || (number >= SPECIAL_EQMASK && number <= SPECIAL_GEMASK)) {
        for (unsigned i = 0; i < WARP_LANES; i++)
            lanes[i] = lane_special(number, i);
        return value_lanes(&machine->lanes, lanes);
    }
    /* A warp may go on in another SM: the values are those of threads that read them together. */
    if (number == SPECIAL_VIRTUAL_ID || number == SPECIAL_SM)
        return machine->partial ? value_divergent(WHY_LANES) : value_uniform(LEVEL_WARP);
    if (number == SPECIAL_SHARED_WINDOW) {
        value = value_uniform(LEVEL_GRID);
        value.origin = ORIGIN_SHARED;
        return value;
    }
    if ((number >= SPECIAL_CTAID_X && number <= SPECIAL_CTAID_Z) || number == SPECIAL_CLUSTER_CTAID)
        value = value_uniform(LEVEL_BLOCK);
    else if (number >= SPECIAL_TID_X && number <= SPECIAL_TID_Z)
        value = thread_index(machine, number - SPECIAL_TID_X);
    else
        return value_divergent(WHY_OPERATION);
    value.flags &= (uint8_t)~FLAG_SIGNED;
    return value;
}

struct value transfer_special(const struct step *step)
{
    const struct instruction *in = step->in;
    const unsigned number = step_field(step, FIELD_SPECIAL);
    const bool narrow = in->opcode == OPCODE_CS2R || in->opcode == OPCODE_CS2UR;
    const struct value value = special_value(step->machine, number);

    if (narrow)
        return number == SPECIAL_ZERO ? value_number(0) : value;
    return in->uniform && !value_is_uniform(&value) && !step->machine->partial
               ? value_uniform(LEVEL_WARP)
               : value;
}

/* -- memory and other lanes -------------------------------------------------------------------- */

unsigned stack_slot(const struct value *address)
{
    const uint32_t slot = address->known / WORD_BYTES + SLOTS / 2;

    return address->origin == ORIGIN_STACK && value_is_number(address) && slot < SLOTS &&
                   address->known % WORD_BYTES == 0
               ? slot
               : SLOTS;
}

static struct value load_constant(const struct step *step, unsigned word)
{
    const struct operand *bank = &step->in->source[SOURCE_BANK];
    struct value value = value_loaded();
    const struct value address = step->in->source[SOURCE_ADDRESS].kind == OPERAND_NONE
                                     ? value_number(0)
                                     : step_source(step, SOURCE_ADDRESS, 0);

    if (value_is_number(&address) && step_field(step, FIELD_SIZE) >= SIZE_WORD)
        return machine_constant(step->machine, bank->bank,
                                bank->number + address.known + WORD_BYTES * word);
    if (!value_is_uniform(&address))
        return value_divergent(WHY_DATA);
    if (address.level > LEVEL_GRID) {
        value.level = address.level;
        return value_relied(value, address.flags);
    }
    return value_relied(value_uniform(LEVEL_GRID), address.flags);
}

static struct value load_stack(const struct step *step, unsigned word)
{
    struct value high;
    const struct value address =
        machine_address(step->machine, step->state, step->in, step->index, &high);
    const struct value inputs = machine_inputs(step->machine, step->state, step->in);

    if (stack_slot(&address) + word < SLOTS && step_field(step, FIELD_SIZE) >= SIZE_WORD)
        return value_relied(step->state[REGISTER_COUNT + stack_slot(&address) + word],
                            address.flags);
    /* Threads that always went together have stored the same: each in memory of its own, which
     * nothing else writes. What none has stored has no value. */
    if (!step->machine->local_apart && !step->machine->diverged && !step->machine->partial &&
        value_is_uniform(&address) && value_is_uniform(&high) && value_is_uniform(&inputs))
        return value_relied(value_loaded(), address.flags | high.flags | inputs.flags);
    return value_divergent(WHY_DATA);
}

/* Threads that read one address read one value, whatever it is. */
static struct value load_memory(const struct step *step, unsigned word)
{
    const struct instruction *in = step->in;
    struct value high;
    const struct value address =
        machine_address(step->machine, step->state, step->in, step->index, &high);
    const struct value inputs = machine_inputs(step->machine, step->state, step->in);

    if (in->opcode == OPCODE_LD && address.origin == ORIGIN_STACK)
        return load_stack(step, word);
    /* At one generic address, each thread has its own word of the stack. */
    if (!value_is_uniform(&address) || !value_is_uniform(&high) || !value_is_uniform(&inputs) ||
        (in->opcode == OPCODE_LD && address.origin < ORIGIN_CONSTANT &&
         high.origin != ORIGIN_SHARED))
        return value_divergent(WHY_DATA);
    return value_relied(value_loaded(), address.flags | high.flags | inputs.flags);
}

struct value transfer_load(const struct step *step, unsigned word)
{
    switch (step->in->opcode) {
    case OPCODE_LDC:
    case OPCODE_ULDC:
    case OPCODE_ULDC_INDEXED:
    case OPCODE_LDCU:
        return load_constant(step, word);
    case OPCODE_LDL:
        return load_stack(step, word);
    case OPCODE_LD:
    case OPCODE_LDG:
    case OPCODE_LDS:
        return load_memory(step, word);
    default:
        return value_divergent(WHY_DATA);
    }
}

/* The value that each lane gets by a shuffle. */
struct value transfer_shuffle(const struct step *step)
{
    enum { LANE_IN_REGISTER = 2, LANE_IN_CODE = 7 }; /* the form: the clamp is in the code */
    /* From one lane to all: by index, with all lanes in one part. */
    const bool by_index = step_field(step, FIELD_SHUFFLE_MODE) == 0,
               whole = step_field(step, FIELD_SHUFFLE_CLAMP) == WARP_LANES - 1;
    const unsigned form = step->in->form;
    const bool known_form = form == LANE_IN_REGISTER || form == LANE_IN_CODE;
    const struct value values = step_source(step, SOURCE_A, 0);
    const struct value lane = step_source(step, SOURCE_B, 0);
    const bool given = known_form && !((values.flags | lane.flags) & FLAG_DATA);
    struct value uniform = values.why == WHY_DATA ? value_loaded() : value_uniform(LEVEL_WARP), out;
    struct exchange exchange;

    if (by_index && whole && known_form && value_is_uniform(&lane) && !step->machine->partial) {
        uniform.flags = given ? 0 : uniform.flags;
        return value_relied(uniform, lane.flags);
    }
    if (given)
        out = value_relied(value_of_thread(WHY_LANES), values.flags | lane.flags);
    else
        out =
            value_divergent(values.why == WHY_DATA || lane.why == WHY_DATA ? WHY_DATA : WHY_LANES);
    if (transfer_exchange(step, &exchange))
        out.alike = value_alike(&values);
    return out;
}

bool is_r2ur(const struct instruction *in)
{
    return in->opcode == OPCODE_R2UR || in->opcode == OPCODE_R2UR_EARLY;
}

/* One value for all threads of a warp. */
struct value transfer_warp(const struct step *step)
{
    const struct value value = step_source(step, SOURCE_A, 0);
    const struct value inputs = machine_inputs(step->machine, step->state, step->in);
    const bool moved = is_r2ur(step->in), data = value.why == WHY_DATA || inputs.why == WHY_DATA;

    if (moved && value_is_uniform(&value))
        return value;
    if (step->machine->partial)
        return value_divergent(data ? WHY_DATA : WHY_LANES);
    return value_relied(data ? value_loaded() : value_uniform(LEVEL_WARP), moved ? value.flags : 0);
}

struct value transfer_lanes(const struct step *step)
{
    struct value all = machine_inputs(step->machine, step->state, step->in);

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        if (step->in->source[i].kind != OPERAND_NONE)
            all = value_of_both(all, step_source(step, i, 0));
    return value_divergent(all.why == WHY_DATA ? WHY_DATA : WHY_LANES);
}
