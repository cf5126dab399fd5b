/* SPDX-License-Identifier: MIT
 * The transfer functions of instructions: see transfer.h. What is not known to be a sum, a product,
 * a shift, a selection or the like is some function of all that is read. */
#include "transfer.h"

/* What S2R reads. */
enum special_register {
    SPECIAL_LANE = 0x00,
    SPECIAL_CTAID_X = 0x25,
    SPECIAL_CTAID_Z = 0x27,
    SPECIAL_SHARED_WINDOW = 0x2f,
    SPECIAL_EQMASK = 0x38,
    SPECIAL_LTMASK,
    SPECIAL_LEMASK,
    SPECIAL_GTMASK,
    SPECIAL_GEMASK,
    SPECIAL_CLUSTER_CTAID = 0x88,
    SPECIAL_ZERO = 0xff
};

enum { WORD_BYTES = sizeof(uint32_t), X = 0, Y = 1, Z = 2 };

/* -- what is read ------------------------------------------------------------------------------ */

static struct value source(const struct step *step, unsigned i, unsigned word)
{
    return machine_source(step->machine, step->state, step->in, step->index, i, word);
}

static struct value input(const struct step *step, unsigned i)
{
    return machine_input(step->machine, step->state, step->in, i);
}

static uint32_t field(const struct step *step, enum bit_field field)
{
    return instruction_field(step->in, field);
}

/* A source with its sign. */
static struct value signed_source(const struct step *step, unsigned i)
{
    const struct operand *operand = &step->in->source[i];
    const struct value value = source(step, i, 0);

    return operand->negated && operand->kind != OPERAND_NONE
               ? value_negate(&step->machine->lanes, value)
               : value;
}

/* Some function of all that is read. */
static struct value function_of_all(const struct step *step)
{
    struct value out = machine_inputs(step->machine, step->state, step->in);

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        for (unsigned word = 0; word < step->in->source[i].words && word < 2; word++)
            out = value_of_both(out, source(step, i, word));
    return out;
}

/* -- sums, products, shifts -------------------------------------------------------------------- */

struct value transfer_high(const struct value *parts, size_t count, const struct value *low)
{
    struct value out = value_uniform(LEVEL_GRID);

    for (size_t i = 0; i < count + (low != NULL); i++) {
        const struct value *part = i < count ? &parts[i] : low;

        /* Lanes of a function that is not followed need not go as those of the low word do. */
        if (part->lanes == LANES_DIVERGENT || part->flags & FLAG_HALF ||
            (i < count && part->lanes == LANES_THREAD))
            return value_of_both(value_function(parts, count), low ? *low : value_number(0));
        out.level = part->level > out.level ? part->level : out.level;
        if (part->origin == ORIGIN_SHARED && i < count)
            out.origin = ORIGIN_SHARED;
        out.flags |= (part->flags & (FLAG_RELIED | FLAG_DATA)) |
                     (part->lanes != LANES_UNIFORM ? FLAG_HIGH : 0) |
                     (i < count ? part->flags & FLAG_HIGH : 0);
    }
    return out;
}

/* a + b + c. IADD3.X adds two carries, and is a high word. */
static struct value sum(const struct step *step, unsigned word)
{
    struct lane_tables *lanes = &step->machine->lanes;
    struct value parts[OPERANDS_MAX + 2], low;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        parts[i] = signed_source(step, i);
    if (step->in->transfer == TRANSFER_ADD && step->in->opcode != OPCODE_VIADD &&
        field(step, FIELD_EXTENDED)) {
        parts[OPERANDS_MAX] = input(step, 0);
        parts[OPERANDS_MAX + 1] = input(step, 1);
        return transfer_high(parts, OPERANDS_MAX + 2, NULL);
    }
    low = value_add(lanes, value_add(lanes, parts[SOURCE_A], parts[SOURCE_B]), parts[SOURCE_C]);
    if (word == 0)
        return low;
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        parts[i] = source(step, i, 1);
    return transfer_high(parts, OPERANDS_MAX, &low);
}

/* a * b + c */
static struct value product(const struct step *step, unsigned word)
{
    struct lane_tables *lanes = &step->machine->lanes;
    struct value a = source(step, SOURCE_A, 0), b = source(step, SOURCE_B, 0), low;

    if (step->in->transfer == TRANSFER_MULTIPLY && field(step, FIELD_EXTENDED)) {
        /* IMAD.X: compilers add a carry to a high word by it, with 0 as the product. */
        const struct value parts[] = {value_multiply(lanes, value_plain(a), value_plain(b)),
                                      source(step, SOURCE_C, 0), input(step, 0)};

        return transfer_high(parts, sizeof(parts) / sizeof(parts[0]), NULL);
    }
    b = signed_source(step, SOURCE_B);
    low = value_add(lanes, value_multiply(lanes, value_plain(a), value_plain(b)),
                    signed_source(step, SOURCE_C));
    if (word == 0)
        return low;
    struct value parts[] = {value_plain(a), value_plain(b), source(step, SOURCE_C, 1)};

    /* Where the low word differs by its factors, the high one does with it. */
    for (unsigned i = 0; i < SOURCE_C; i++)
        if (parts[i].lanes == LANES_THREAD && low.lanes == LANES_THREAD)
            parts[i].lanes = LANES_AFFINE;
    return transfer_high(parts, OPERANDS_MAX, &low);
}

/* LEA: a, shifted to the left, and b. LEA.HI: the bits of a with c above it that the shift brings
 * into the next word, and b. */
static struct value shifted_sum(const struct step *step)
{
    struct lane_tables *lanes = &step->machine->lanes;
    const unsigned by = field(step, FIELD_LEA_SHIFT);
    const bool high = field(step, FIELD_HIGH_WORD), extended = field(step, FIELD_EXTENDED);
    const struct value parts[] = {signed_source(step, SOURCE_A), source(step, SOURCE_B, 0),
                                  source(step, SOURCE_C, 0), input(step, 0)};
    const struct value a = value_plain(parts[SOURCE_A]), b = parts[SOURCE_B];
    struct value out;

    if (high && !extended && by > 0 && step->in->source[SOURCE_C].number == REGISTER_ZERO &&
        !step->in->source[SOURCE_A].negated) {
        /* The operand, shifted to the right: .SX32 brings its sign. */
        out = value_shift_right(lanes, a, WORD_BITS - by, field(step, FIELD_SIGNED));
        if (out.lanes != LANES_DIVERGENT && out.lanes != LANES_THREAD && !(b.flags & FLAG_HIGH))
            return value_add(lanes, out, b);
    }
    if (high || extended)
        return transfer_high(parts, sizeof(parts) / sizeof(parts[0]), NULL);
    return value_add(lanes, value_multiply(lanes, a, value_number(1u << by)), b);
}

/* SHF: a word of the pair c:a, shifted by b. */
static struct value shift(const struct step *step)
{
    struct lane_tables *lanes = &step->machine->lanes;
    const struct value parts[OPERANDS_MAX] = {source(step, SOURCE_A, 0), source(step, SOURCE_B, 0),
                                              source(step, SOURCE_C, 0)};
    const unsigned type = field(step, FIELD_SHIFT_TYPE);
    const bool right = field(step, FIELD_SHIFT_RIGHT), high = field(step, FIELD_HIGH_WORD);
    const bool one_word = type >= SHIFT_S32, is_signed = type == SHIFT_S32 || type == SHIFT_S64;
    const uint32_t a = step->in->source[SOURCE_A].number;
    const unsigned by = parts[SOURCE_B].known & UINT8_MAX;

    if (!value_is_number(&parts[SOURCE_B]))
        return value_function(parts, OPERANDS_MAX);
    if (!right && !high && (one_word || by < WORD_BITS))
        return by < WORD_BITS
                   ? value_multiply(lanes, value_plain(parts[SOURCE_A]), value_number(1u << by))
                   : value_number(0);
    if (right && high && one_word && (a == REGISTER_ZERO || a == UNIFORM_ZERO))
        return value_shift_right(lanes, value_plain(parts[SOURCE_C]), by, is_signed);
    return value_function(parts, OPERANDS_MAX);
}

/* -- bits and bytes ---------------------------------------------------------------------------- */

static struct value logic(const struct step *step)
{
    struct value operands[OPERANDS_MAX];

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        operands[i] = value_plain(source(step, i, 0));
    return value_logic(&step->machine->lanes, operands, field(step, FIELD_LOGIC_TABLE));
}

/* PRMT takes four bytes out of the eight of a and c, each by 4 bits of a selector: two for the
 * byte, one for the word, and one for its sign instead. Followed: bytes 0 and 1 of a word, which
 * stay where they are. Above are their sign, zeros, or what is left there. */
static struct value permutation(const struct step *step)
{
    enum {
        WORD_BIT = 1 << 2,
        SIGN_BIT = 1 << 3,
        BYTE_BITS = 4, /* of the selector */
        TWO_BYTES = 0x10, /* bytes 1 and 0 */
        TWO_BYTES_MASK = UINT8_MAX & ~(WORD_BIT | WORD_BIT << BYTE_BITS),
        BOTH = 0x11
    };
    struct lane_tables *lanes = &step->machine->lanes;
    const struct value selector = source(step, SOURCE_B, 0);
    const uint32_t bytes[] = {selector.known & 0xf, selector.known >> 4 & 0xf,
                              selector.known >> 8 & 0xf, selector.known >> 12 & 0xf};
    const unsigned word = bytes[0] & WORD_BIT ? SOURCE_C : SOURCE_A,
                   other_word = word == SOURCE_C ? SOURCE_A : SOURCE_C;
    const uint32_t sign = bytes[1] | SIGN_BIT;
    const bool extended = (selector.known >> 8 & UINT8_MAX) == sign * BOTH;
    const uint32_t zero = step->in->uniform ? UNIFORM_ZERO : REGISTER_ZERO;

    if (!value_is_number(&selector) || field(step, FIELD_PERMUTE_MODE) ||
        (selector.known & TWO_BYTES_MASK) != TWO_BYTES ||
        (bytes[0] & WORD_BIT) != (bytes[1] & WORD_BIT))
        return function_of_all(step);
    if (!extended && (step->in->source[bytes[2] & WORD_BIT ? SOURCE_C : SOURCE_A].number != zero ||
                      step->in->source[bytes[3] & WORD_BIT ? SOURCE_C : SOURCE_A].number != zero))
        return value_half(source(step, word, 0), source(step, other_word, 0).flags);
    return value_shift_right(lanes,
                             value_multiply(lanes, value_plain(source(step, word, 0)),
                                            value_number(1u << HALF_BITS)),
                             HALF_BITS, extended);
}

static struct value selection(const struct step *step, unsigned word)
{
    const struct instruction *in = step->in;
    const struct value yes = source(step, SOURCE_A, word), no = source(step, SOURCE_B, word);
    struct value out;

    /* FSEL changes the sign. */
    if (in->opcode != OPCODE_SEL && in->opcode != OPCODE_USEL &&
        (in->source[SOURCE_A].negated || in->source[SOURCE_B].negated))
        return function_of_all(step);
    out = value_select(&step->machine->lanes, input(step, 0), yes, no);
    if (value_is_number(&yes) && value_is_number(&no) && !value_is_number(&out))
        out.base = machine_base_of_both(step->machine, yes.known, no.known);
    return out;
}

/* HFMA2: 0 * 0 and a number is how compilers move one. */
static struct value halves(const struct step *step)
{
    const struct instruction *in = step->in;

    return in->form == FORM_IMMEDIATE_C && in->source[SOURCE_A].number == REGISTER_ZERO &&
                   in->source[SOURCE_B].number == REGISTER_ZERO &&
                   in->input[0].number == PREDICATE_TRUE
               ? source(step, SOURCE_C, 0)
               : function_of_all(step);
}

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

static struct value special(const struct step *step)
{
    const struct instruction *in = step->in;
    const unsigned number = field(step, FIELD_SPECIAL);
    const bool narrow = in->opcode == OPCODE_CS2R || in->opcode == OPCODE_CS2UR;
    const struct value value = special_value(step->machine, number);

    if (narrow)
        return number == SPECIAL_ZERO ? value_number(0) : value;
    return in->uniform && !value_is_uniform(&value) ? value_uniform(LEVEL_WARP) : value;
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
    const struct value address = step->in->source[SOURCE_ADDRESS].kind == OPERAND_NONE
                                     ? value_number(0)
                                     : source(step, SOURCE_ADDRESS, 0);

    if (value_is_number(&address) && field(step, FIELD_SIZE) >= SIZE_WORD)
        return machine_constant(step->machine, bank->bank,
                                bank->number + address.known + WORD_BYTES * word);
    if (!value_is_uniform(&address))
        return value_divergent(WHY_DATA);
    return value_relied(value_uniform((enum level)address.level),
                        address.flags | (address.level > LEVEL_GRID ? FLAG_DATA : 0));
}

static struct value load_stack(const struct step *step, unsigned word)
{
    struct value high;
    const struct value address =
        machine_address(step->machine, step->state, step->in, step->index, &high);

    if (stack_slot(&address) + word < SLOTS && field(step, FIELD_SIZE) >= SIZE_WORD)
        return step->state[REGISTER_COUNT + stack_slot(&address) + word];
    return value_divergent(WHY_DATA);
}

/* Threads that read one address read one value, whatever it is. */
static struct value load_memory(const struct step *step)
{
    struct value high;
    const struct value address =
        machine_address(step->machine, step->state, step->in, step->index, &high);
    const struct value inputs = machine_inputs(step->machine, step->state, step->in);

    if (!value_is_uniform(&address) || !value_is_uniform(&high) || !value_is_uniform(&inputs))
        return value_divergent(WHY_DATA);
    return value_relied(value_uniform(LEVEL_WARP), address.flags | high.flags | inputs.flags);
}

static struct value load(const struct step *step, unsigned word)
{
    switch (step->in->opcode) {
    case OPCODE_LDC:
    case OPCODE_ULDC:
    case OPCODE_ULDC_INDEXED:
    case OPCODE_LDCU:
        return load_constant(step, word);
    case OPCODE_LDL:
        return load_stack(step, word);
    case OPCODE_LDG:
    case OPCODE_LDS:
        return load_memory(step);
    default:
        return value_divergent(WHY_DATA);
    }
}

/* The value that each lane gets by a shuffle. */
static struct value shuffle(const struct step *step)
{
    enum { LANE_IN_REGISTER = 2, LANE_IN_CODE = 7 }; /* the form: the clamp is in the code */
    /* From one lane to all: by index, with all lanes in one part. */
    const bool by_index = field(step, FIELD_SHUFFLE_MODE) == 0,
               whole = field(step, FIELD_SHUFFLE_CLAMP) == WARP_LANES - 1;
    const unsigned form = step->in->form;
    const bool known_form = form == LANE_IN_REGISTER || form == LANE_IN_CODE;
    const struct value values = source(step, SOURCE_A, 0);
    const struct value lane =
        form == LANE_IN_CODE ? value_number(0)
                             : machine_register(step->machine, step->state, field(step, FIELD_B));
    const bool given = known_form && !((values.flags | lane.flags) & FLAG_DATA);
    struct value uniform = value_uniform(LEVEL_WARP);

    if (by_index && whole && known_form && value_is_uniform(&lane)) {
        uniform.flags = given ? 0 : uniform.flags;
        return value_relied(uniform, lane.flags);
    }
    if (given)
        return value_relied(value_of_thread(WHY_LANES), values.flags | lane.flags);
    return value_divergent(values.lanes == LANES_DIVERGENT && values.why == WHY_DATA ? WHY_DATA
                                                                                     : WHY_LANES);
}

static bool is_r2ur(const struct instruction *in)
{
    return in->opcode == OPCODE_R2UR || in->opcode == OPCODE_R2UR_EARLY;
}

/* One value for all threads of a warp. */
static struct value warp_value(const struct step *step)
{
    const struct value value = source(step, SOURCE_A, 0);
    const bool moved = is_r2ur(step->in);

    if (moved && value_is_uniform(&value))
        return value;
    if (step->machine->partial)
        return value_divergent(WHY_LANES);
    return value_relied(value_uniform(LEVEL_WARP), moved ? value.flags : 0);
}

/* -- results ----------------------------------------------------------------------------------- */

struct value transfer_register(const struct step *step, unsigned word)
{
    switch (step->in->transfer) {
    case TRANSFER_MOVE:
        return source(step, SOURCE_B, word == 0 ? 0 : 1);
    case TRANSFER_ADD_WIDE:
        /* .X: the upper half of 128 bits, with a carry. */
        return field(step, FIELD_EXTENDED) ? function_of_all(step) : sum(step, word);
    case TRANSFER_MULTIPLY_WIDE:
        return field(step, FIELD_EXTENDED) ? function_of_all(step) : product(step, word);
    case TRANSFER_ADD:
        return sum(step, word);
    case TRANSFER_MULTIPLY:
        return product(step, word);
    case TRANSFER_SHIFT_ADD:
        return shifted_sum(step);
    case TRANSFER_SHIFT:
        return shift(step);
    case TRANSFER_LOGIC:
        return logic(step);
    case TRANSFER_PERMUTE:
        return permutation(step);
    case TRANSFER_SELECT:
        return selection(step, word);
    case TRANSFER_HALVES:
        return halves(step);
    case TRANSFER_SPECIAL:
        return special(step);
    case TRANSFER_LOAD:
        return load(step, word);
    case TRANSFER_SHUFFLE:
        return shuffle(step);
    case TRANSFER_WARP:
        return warp_value(step);
    case TRANSFER_ATOMIC:
        return value_divergent(WHY_DATA);
    case TRANSFER_LANES:
        return value_divergent(WHY_LANES);
    case TRANSFER_UNKNOWN:
    case TRANSFER_BRANCH:
    case TRANSFER_STORE:
    case TRANSFER_NOTHING:
        return value_divergent(WHY_OPERATION);
    default:
        return function_of_all(step);
    }
}

/* The answer of each lane, where a comparison is of one word that all lanes know, and takes no
 * predicate, which branches would lose. False: it is not such a one. */
static bool known_answer(const struct step *step, struct value *out)
{
    enum { LESS = 1, EQUAL = 2, GREATER = 4 };
    const struct instruction *in = step->in;
    struct lane_tables *tables = &step->machine->lanes;
    const struct value a = source(step, SOURCE_A, 0), b = source(step, SOURCE_B, 0),
                       with = input(step, 0);
    const bool is_signed = field(step, FIELD_SIGNED);
    const unsigned test = field(step, FIELD_COMPARE_TEST);
    uint32_t lanes[WARP_LANES];

    if (in->transfer != TRANSFER_COMPARE || in->source[SOURCE_A].words != 1 ||
        field(step, FIELD_COMPARE_COMBINED) || field(step, FIELD_COMPARE_EXTENDED) ||
        !value_is_number(&with) || !(with.known & 1) || !value_is_known(&a) ||
        !value_is_known(&b) || a.origin != ORIGIN_NONE || b.origin != ORIGIN_NONE ||
        ((a.flags | b.flags) & FLAG_RELIED))
        return false;
    for (unsigned i = 0; i < WARP_LANES; i++) {
        const uint32_t x = a.known + lane_of(tables, &a, i), y = b.known + lane_of(tables, &b, i);
        const bool less = is_signed ? (int32_t)x < (int32_t)y : x < y;

        lanes[i] = (test & LESS && less) || (test & EQUAL && x == y) ||
                   (test & GREATER && !less && x != y);
    }
    *out = value_lanes(tables, lanes);
    return true;
}

/* A carry: it goes into the high word alone. */
static struct value carry(const struct step *step)
{
    struct value parts[OPERANDS_MAX + INPUTS_MAX + 1];
    size_t count = 0;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        parts[count++] = source(step, i, 0);
    for (unsigned i = 0; i < INPUTS_MAX; i++)
        parts[count++] = input(step, i);
    if (step->in->source[SOURCE_C].words == 2)
        parts[count++] = source(step, SOURCE_C, 1);
    return transfer_high(parts, count, NULL);
}

struct value transfer_predicate(const struct step *step, bool first)
{
    const struct instruction *in = step->in;
    struct value out;

    if (in->transfer == TRANSFER_WARP && in->opcode != OPCODE_REDUX && !is_r2ur(in))
        return step->machine->partial ? value_divergent(WHY_LANES) : value_uniform(LEVEL_WARP);
    if (in->transfer >= TRANSFER_SPECIAL || in->transfer <= TRANSFER_NOTHING)
        return value_divergent(in->transfer == TRANSFER_LOAD || in->transfer == TRANSFER_ATOMIC
                                   ? WHY_DATA
                                   : WHY_LANES);
    /* The predicates that a mask leaves as they are: which ones is not known. */
    if (in->opcode == OPCODE_R2P && in->source[SOURCE_B].kind != OPERAND_IMMEDIATE)
        return value_divergent(WHY_OPERATION);
    if (first && known_answer(step, &out))
        return out;
    if (in->transfer == TRANSFER_ADD || in->transfer == TRANSFER_SHIFT_ADD ||
        in->transfer == TRANSFER_MULTIPLY_WIDE)
        return carry(step);
    return function_of_all(step);
}
