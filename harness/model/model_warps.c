/* SPDX-License-Identifier: MIT */
#include "model_warps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "model_events.h"
#include "model_levels.h"
#include "sass.h"

/* Loads at a time of a quarter of the SM that are looked up in turn, and cycles: of one pass through the level, from the
 * request for a line to the pass that finds it, and from one load that waited for it to the next (lookups in lockstep, four in
 * flight or many warps, say that: results/advise/h200.json). */
enum {
    QUARTERS = 4,
    LOADS_PASSING = 2,
    PASS_CYCLES = MODEL_WARPS_PASS_CYCLES,
    RETRY_CYCLES = 3 * PASS_CYCLES,
    LINE_CYCLES = 70,
    WAKE_CYCLES = 4,
};

/* From a block's first warp to the next: lookups of one or two loads in a few blocks of 1024 leave room for no more, in
 * results/advise/h200.json. And from an SM's first block to its second: a guess, since of all warps together the time hardly depends
 * on it; on GH100 a second block is too late to wait for lines that its first waits for. */
enum { STAGGER_CYCLES = 2, NEXT_BLOCK_CYCLES = 400 };

/* Stops what would not end: lookups of one payload address, on average. */
enum { LOOKUPS_MAX = 64 };

static const uint32_t NOBODY = UINT32_MAX;

/* A place of a set. */
struct place {
    uint64_t line;
    uint64_t used; /* lookup that used it last; 0: empty */
    double comes; /* when the line is there */
    bool coming; /* its coming was not yet taken note of */
    uint32_t owner; /* load that has fetched it and not read it; else NOBODY */
    uint32_t last; /* of the loads that wait for it, while it comes */
};

/* Why a load is to be looked up. */
enum errand { ERRAND_NEW, ERRAND_PASSING, ERRAND_WOKEN };

/* A load of a warp. Warps have as many places for one as they have loads under way at a time. */
struct load {
    uint64_t lines[CBANK_WARP_THREADS]; /* of its addresses */
    uint32_t count, at; /* addresses, and the one that is looked up */
    bool of_table; /* or of parameters */
    bool begun; /* its first address was looked up: then the warp's next load comes */
    uint32_t next; /* that waits for the same line; NOBODY: none */
    enum errand errand;
};

struct warp {
    uint32_t seat, block, first; /* first: thread */
    int64_t step; /* of the first of the loads that are under way, -1 for parameters */
    uint32_t left; /* of those, to be read */
    bool strode; /* it is at a further element of its threads */
    double ready; /* when it has the first index of that */
};

/* A block of those that are resident. */
struct seat {
    uint32_t warps_left;
    double begin;
};

/* Loads that wait for their turn, first come first served. Of one quarter. */
struct queue {
    uint32_t *loads; /* room for all */
    uint32_t first, count;
};

struct quarter {
    uint32_t passing;
    struct queue refused, fresh; /* in the order in which they are admitted */
};

struct run {
    const struct cell *cell;
    struct problem problem; /* the cell's */
    const struct card *card;
    const struct card_level *level;
    struct model_sm sm;
    uint32_t sets, seat_warps; /* warps of a seat */
    uint64_t table_line; /* first line of the table, which may hold other parameters, too */
    uint32_t group; /* loads of a warp that are under way at a time */
    uint32_t blocks, started; /* to simulate */
    uint32_t half_at; /* the block that begins the second half: whole waves before the last */
    double fill_cycles; /* from one line to the next */
    struct place *places; /* sets x ways, owned */
    uint8_t *turns; /* of trees, owned */
    struct warp *warps; /* owned, as the next four */
    struct load *loads;
    struct seat *seats;
    struct events events; /* those to come */
    struct quarter quarters[QUARTERS];
    uint32_t *queues; /* owned: of the quarters */
    uint32_t load_count;
    uint64_t order, lookups_max;
    double port, fill_port; /* when the next lookup, and the next line, can be */
    bool fetched[CBANK_TABLE_BYTES]; /* lines so far, by number */
    uint32_t seen[ACCESS_TURNS(CBANK_TABLE_BYTES)]; /* see access_distinct */
    struct model_warps tally; /* cycles: the last end */
    struct model_warps half, last; /* when half of the blocks, and the last, began; cycles: that time */
};

/* The load is looked up then, for that reason. */
static void event_push(struct run *run, double time, uint32_t load, enum errand errand)
{
    run->loads[load].errand = errand;
    events_push(&run->events, (struct event){time, run->order++, load});
}

/* -- lines -------------------------------------------------------------------------------------------- */

static struct place *set_of(const struct run *run, uint64_t line)
{
    return &run->places[line % run->sets * run->level->ways];
}

static void use_place(struct run *run, struct place *place)
{
    const uint32_t ways = run->level->ways;
    const size_t at = (size_t)(place - run->places);

    if (run->level->replacement == CACHE_TREE)
        cache_turn_from(&run->turns[at / ways * ways], ways, (uint32_t)(at % ways));
    if (run->level->replacement != CACHE_FIFO || !place->used)
        place->used = ++run->order;
}

/* Lines of the set that have come by now count as used then, in the order of their coming. */
static void note_lines(struct run *run, struct place *set, double now)
{
    for (;;) {
        struct place *come = NULL;

        for (struct place *place = set; place < set + run->level->ways; place++)
            if (place->coming && place->comes <= now && (!come || place->comes < come->comes))
                come = place;
        if (!come)
            return;
        come->coming = false;
        use_place(run, come);
    }
}

static struct place *find_line(const struct run *run, uint64_t line)
{
    struct place *set = set_of(run, line);

    for (uint32_t way = 0; way < run->level->ways; way++)
        if (set[way].used && set[way].line == line)
            return &set[way];
    return NULL;
}

/* The place that the line gets: an empty one, or that whose line replacement chooses. NULL: that must not go, it is still to
 * come or not read by whoever fetched it. */
static struct place *find_place(const struct run *run, uint64_t line)
{
    struct place *set = set_of(run, line), *goes = set;
    const uint32_t ways = run->level->ways;

    for (uint32_t way = 0; way < ways; way++) {
        if (!set[way].used)
            return &set[way];
        if (set[way].used < goes->used)
            goes = &set[way];
    }
    if (run->level->replacement == CACHE_TREE)
        goes = &set[cache_led_to(&run->turns[set - run->places], ways)];
    return goes->coming || goes->owner != NOBODY ? NULL : goes;
}

/* -- loads -------------------------------------------------------------------------------------------- */

static void queue_push(const struct run *run, struct queue *queue, uint32_t load)
{
    queue->loads[(queue->first + queue->count++) % run->load_count] = load;
}

static uint32_t queue_pop(const struct run *run, struct queue *queue)
{
    const uint32_t load = queue->loads[queue->first];

    queue->first = (queue->first + 1) % run->load_count;
    queue->count--;
    return load;
}

static struct quarter *quarter_of(struct run *run, uint32_t load)
{
    return &run->quarters[load / run->group % QUARTERS];
}

/* The load passes no more: others take its turn. */
static void leave(struct run *run, uint32_t number, double now)
{
    struct quarter *quarter = quarter_of(run, number);

    quarter->passing--;
    while (quarter->passing < LOADS_PASSING && quarter->refused.count + quarter->fresh.count > 0) {
        quarter->passing++;
        event_push(run, now, queue_pop(run, quarter->refused.count > 0 ? &quarter->refused : &quarter->fresh),
                   ERRAND_PASSING);
    }
}

/* Whether the load passes: those that a line has woken always do, others wait for a turn. */
static bool enter(struct run *run, uint32_t number)
{
    struct quarter *quarter = quarter_of(run, number);
    const enum errand errand = run->loads[number].errand;

    if (errand == ERRAND_PASSING)
        return true;
    if (errand != ERRAND_WOKEN && quarter->passing >= LOADS_PASSING) {
        queue_push(run, &quarter->fresh, number);
        return false;
    }
    quarter->passing++;
    run->loads[number].errand = ERRAND_PASSING;
    return true;
}

/* The addresses of the warp's load of that step. */
static void want_step(struct run *run, const struct warp *warp, uint64_t at, struct load *load)
{
    const struct cell *cell = run->cell;
    const uint32_t threads = cell_block_threads(cell, warp->block) - warp->first;
    const uint32_t width = table_width(cell->parameters), pieces = image_pieces(cell);
    const uint32_t step = (uint32_t)(at / pieces), piece = (uint32_t)(at % pieces);
    const uint32_t active = cell->pattern->scope == INDEX_IMMEDIATE ? 1 : threads < 32 ? threads : 32;
    uint32_t index[CBANK_WARP_THREADS], distinct[CBANK_WARP_THREADS];

    problem_indices(&run->problem, (struct thread_range){warp->block, warp->first, active}, step, index);
    load->count = access_distinct(index, active, run->seen, distinct);
    for (uint32_t i = 0; i < load->count; i++)
        load->lines[i] = (model_table_begin(cell) + (uint64_t)distinct[i] * width + piece * (width / pieces)) /
                         run->level->line_bytes;
}

/* The lines of parameters that a warp reads: at a further element its kernel's own alone, for the length of the row. */
static void want_parameters(const struct run *run, const struct warp *warp, struct load *load)
{
    load->count = model_other_lines(run->cell, run->level->line_bytes, load->lines);
    if (warp->strode) {
        load->lines[0] = load->lines[1];
        load->count = 1;
    }
}

/* The loads of a warp from its step on that are under way together: of parameters one. */
static void begin_loads(struct run *run, uint32_t number, double time)
{
    struct warp *warp = &run->warps[number];

    warp->left = warp->step < 0 ? 1 : run->group;
    for (uint32_t i = 0; i < warp->left; i++) {
        struct load *load = &run->loads[number * run->group + i];

        *load = (struct load){.of_table = warp->step >= 0, .next = NOBODY};
        if (load->of_table)
            want_step(run, warp, (uint64_t)warp->step + i, load);
        else
            want_parameters(run, warp, load);
    }
    event_push(run, time, number * run->group, ERRAND_NEW);
}

static bool strides(const struct run *run)
{
    return run->sm.index_cycles > 0;
}

/* Before a warp's first load of the table. */
static double first_wait(const struct run *run)
{
    return strides(run) ? run->sm.index_cycles : run->sm.input_cycles;
}

/* What was so far, where one more block begins. */
static void note_block(struct run *run, double time)
{
    run->last = run->tally;
    run->last.cycles = time;
    if (run->started++ == run->half_at)
        run->half = run->last;
}

static void begin_block(struct run *run, uint32_t number, double time)
{
    struct seat *seat = &run->seats[number];
    const uint64_t block = (uint64_t)(strides(run) ? number : run->started) * run->card->sm_count;
    const double begin = time + MODEL_WARPS_BEGIN_CYCLES + (run->card->parameter_lines ? 0 : first_wait(run));
    uint32_t threads;

    if (run->started == run->blocks || block >= cell_blocks(run->cell))
        return;
    *seat = (struct seat){.begin = time};
    threads = cell_block_threads(run->cell, block);
    note_block(run, time);
    for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS) {
        const uint32_t warp = number * run->seat_warps + seat->warps_left++;

        run->warps[warp] = (struct warp){.block = (uint32_t)block,
                                         .step = run->card->parameter_lines ? -1 : 0,
                                         .first = first,
                                         .seat = number};
        begin_loads(run, warp, begin + STAGGER_CYCLES * (double)(first / CBANK_WARP_THREADS));
    }
}

/* The warp goes on to its threads' next elements, a grid further. False where there are none, or no more are simulated. */
static bool stride(struct run *run, struct warp *warp, double now)
{
    const uint64_t block = warp->block + (uint64_t)run->sm.resident * run->card->sm_count;

    if (block >= (uint64_t)run->blocks * run->card->sm_count || block >= cell_blocks(run->cell) ||
        warp->first >= cell_block_threads(run->cell, block))
        return false;
    warp->block = (uint32_t)block;
    warp->step = run->card->parameter_lines ? -1 : 0;
    warp->strode = true;
    warp->ready = now + PASS_CYCLES + run->sm.index_cycles;
    if (warp->first == 0)
        note_block(run, now);
    return true;
}

/* When a warp's next loads come, after its parameters or others: those of a further element's parameters at once, beside its
 * index. */
static double next_loads(const struct run *run, const struct warp *warp, bool after_parameters, double now)
{
    const double soon = now + PASS_CYCLES;

    if (warp->step < 0)
        return soon;
    if (after_parameters)
        return warp->strode ? fmax(soon, warp->ready) : soon + first_wait(run);
    return soon + run->sm.index_cycles;
}

/* A warp's loads that were under way have been read. */
static void end_loads(struct run *run, struct warp *warp, double now)
{
    struct seat *seat = &run->seats[warp->seat];
    const int64_t steps = (int64_t)workload_steps(run->cell->workload, run->cell->parameters) * image_pieces(run->cell);
    const bool first = warp->step < 0;

    warp->step = first ? 0 : warp->step + run->group;
    if (warp->step < steps || (strides(run) && stride(run, warp, now))) {
        begin_loads(run, (uint32_t)(warp - run->warps), next_loads(run, warp, first, now));
        return;
    }
    if (--seat->warps_left == 0) {
        const double end = fmax(seat->begin + run->sm.life_cycles, now + run->sm.end_cycles);

        run->tally.cycles = fmax(run->tally.cycles, end);
        if (!strides(run))
            begin_block(run, warp->seat, end);
    }
}

/* All of the load has been read. */
static void end_load(struct run *run, uint32_t number, double now)
{
    struct warp *warp = &run->warps[number / run->group];

    leave(run, number, now);
    if (--warp->left == 0)
        end_loads(run, warp, now);
}

/* Fetches the line, and wakes the load when it comes. Refused where there is no place for it. */
static bool fetch_line(struct run *run, uint64_t line, uint32_t number, double now)
{
    struct place *place = find_place(run, line);
    const bool of_table = line >= run->table_line && line < MODEL_OTHER_BANK_LINE;
    bool *fetched = &run->fetched[line % CBANK_TABLE_BYTES];

    if (!place)
        return false;
    run->fill_port = fmax(now + LINE_CYCLES, run->fill_port + run->fill_cycles);
    *place = (struct place){
        .line = line, .used = ++run->order, .comes = run->fill_port, .coming = true, .owner = number, .last = number};
    run->tally.fills += of_table;
    run->tally.refills += of_table && *fetched;
    run->tally.parameter_refills += !of_table && *fetched;
    *fetched = true;
    event_push(run, place->comes, number, ERRAND_WOKEN);
    return true;
}

/* The address is read: on to the next. */
static void read_address(struct run *run, struct place *place, uint32_t number, double now)
{
    struct load *load = &run->loads[number];

    use_place(run, place);
    place->owner = place->owner == number ? NOBODY : place->owner;
    if (++load->at == load->count)
        end_load(run, number, now + run->level->request_cycles);
    else
        event_push(run, now + PASS_CYCLES, number, ERRAND_PASSING);
}

/* There is no place for the load's line: it tries again, and keeps its turn unless it was woken beyond those that there are. */
static void refuse(struct run *run, uint32_t number, double now)
{
    struct quarter *quarter = quarter_of(run, number);

    if (quarter->passing <= LOADS_PASSING) {
        event_push(run, now + RETRY_CYCLES, number, ERRAND_PASSING);
        return;
    }
    queue_push(run, &quarter->refused, number);
    leave(run, number, now);
}

/* The load passes for the first time: the warp's next one comes. */
static void begin_load(struct run *run, uint32_t number, double now)
{
    const bool last = number % run->group == run->group - 1 || !run->loads[number].of_table;

    run->loads[number].begun = true;
    if (!last)
        event_push(run, now + PASS_CYCLES, number + 1, ERRAND_NEW);
}

/* One lookup. */
static void look_up(struct run *run, uint32_t number, double now)
{
    struct load *load = &run->loads[number];
    const uint64_t line = load->lines[load->at];
    struct place *place = find_line(run, line);

    run->tally.lookups++;
    if (!load->begun)
        begin_load(run, number, now);
    note_lines(run, set_of(run, line), now);
    if (load->next != NOBODY)
        event_push(run, now + WAKE_CYCLES, load->next, ERRAND_WOKEN);
    load->next = NOBODY;
    if (place && !place->coming) {
        read_address(run, place, number, now);
        return;
    }
    if (place) {
        use_place(run, place);
        run->loads[place->last].next = number;
        place->last = number;
    } else if (!fetch_line(run, line, number, now)) {
        refuse(run, number, now);
        return;
    }
    leave(run, number, now);
}

/* -- a launch ----------------------------------------------------------------------------------------- */

/* An SM begins its first blocks one after the other. */
static void run_events(struct run *run)
{
    for (uint32_t seat = 0; seat < run->sm.resident; seat++)
        begin_block(run, seat,
                    strides(run) ? fmax(seat - 1.0, 0) * run->sm.next_cycles : (double)seat * NEXT_BLOCK_CYCLES);
    while (run->events.count > 0 && run->tally.lookups < (double)run->lookups_max) {
        const struct event event = events_pop(&run->events);
        const double now = fmax(event.time, run->port);

        if (!enter(run, event.load))
            continue;
        run->port = now + run->level->request_cycles;
        look_up(run, event.load, now);
    }
}

/* Blocks to simulate: all, or as many as MODEL_WARPS_LOOKUPS allows. */
static uint32_t blocks_simulated(const struct run *run)
{
    const struct cell *cell = run->cell;
    const double most = ceil(run->sm.blocks), least = 3.0 * run->sm.resident;
    const double steps = workload_steps(cell->workload, cell->parameters);
    const uint32_t warps = cell->block_size / CBANK_WARP_THREADS;
    struct run first = *run;
    struct load load;

    if (run->sm.whole)
        return (uint32_t)most;
    want_step(&first, &(struct warp){0}, 0, &load);
    return (uint32_t)fmin(most, fmax(least, MODEL_WARPS_LOOKUPS / (steps * warps * fmax(load.count, 1))));
}

/* From a line of one SM to the next: its turn among all SMs that share the second level, and the sooner the fewer of them have
 * blocks, but not sooner than a pass. */
static double fill_cycles(const struct card *card, double sms)
{
    const double units = ceil((double)card->sm_count / card->levels[1].sms);
    const double of_all = card->levels[1].request_cycles * card->sm_count / units;

    return of_all < PASS_CYCLES ? of_all : PASS_CYCLES + (of_all - PASS_CYCLES) * sms / card->sm_count;
}

static enum status run_open(struct run *run, const struct cell *cell, const struct card *card,
                            const struct model_sm *sm)
{
    const struct card_level *level = &card->levels[0];
    uint32_t *queues;

    *run = (struct run){.cell = cell, .problem = cell_problem(cell), .card = card, .level = level, .sm = *sm};
    run->table_line = model_table_begin(cell) / level->line_bytes;
    run->sets = level->capacity_bytes / (level->line_bytes * level->ways);
    run->seat_warps = cell->block_size / CBANK_WARP_THREADS;
    run->group = image_pieces(cell) * (strides(run) ? cell->parameters[PARAMETER_in_flight] : 1);
    run->load_count = sm->resident * run->seat_warps * run->group;
    run->blocks = blocks_simulated(run);
    run->half_at = run->blocks - 1 - run->blocks / 2 / sm->resident * sm->resident;
    run->lookups_max = (uint64_t)LOOKUPS_MAX * CBANK_WARP_THREADS * run->blocks * run->seat_warps *
                       (workload_steps(cell->workload, cell->parameters) + 1);
    if (card->level_count > 1)
        run->fill_cycles = fill_cycles(card, fmin(cell_blocks(cell), card->sm_count));
    run->places = calloc((size_t)run->sets * level->ways, sizeof(*run->places));
    run->turns = calloc((size_t)run->sets * level->ways, sizeof(*run->turns));
    run->warps = calloc((size_t)sm->resident * run->seat_warps, sizeof(*run->warps));
    run->loads = calloc(run->load_count, sizeof(*run->loads));
    run->seats = calloc(sm->resident, sizeof(*run->seats));
    run->events.of = calloc(run->load_count, sizeof(*run->events.of));
    queues = calloc((size_t)2 * QUARTERS * run->load_count, sizeof(*queues));
    run->queues = queues;
    for (uint32_t i = 0; i < QUARTERS && queues; i++) {
        run->quarters[i].refused.loads = queues + (size_t)2 * i * run->load_count;
        run->quarters[i].fresh.loads = queues + (size_t)(2 * i + 1) * run->load_count;
    }
    if (!run->places || !run->turns || !run->warps || !run->loads || !run->seats || !run->events.of || !queues)
        return log_memory("a simulated SM");
    return STATUS_OK;
}

static void run_close(struct run *run)
{
    free(run->places);
    free(run->turns);
    free(run->warps);
    free(run->loads);
    free(run->seats);
    free(run->events.of);
    free(run->queues);
}

/* The rest of the SM's part is so many times what was between half of the blocks and the last. */
static struct model_warps whole_part(const struct run *run)
{
    const double blocks = run->started - 1.0 - run->half_at;
    const double rest = blocks > 0 ? fmax(run->sm.blocks - run->started, 0) / blocks : 0;

    return (struct model_warps){
        .fills = run->tally.fills + rest * (run->last.fills - run->half.fills),
        .parameter_refills =
            run->tally.parameter_refills + rest * (run->last.parameter_refills - run->half.parameter_refills),
        .refills = run->tally.refills + rest * (run->last.refills - run->half.refills),
        .lookups = run->tally.lookups + rest * (run->last.lookups - run->half.lookups),
        .cycles = run->tally.cycles + rest * (run->last.cycles - run->half.cycles),
    };
}

enum status model_warps_run(const struct cell *cell, const struct card *card, const struct model_sm *sm,
                            struct model_warps *out)
{
    struct run run;
    const enum status status = run_open(&run, cell, card, sm);

    if (status == STATUS_OK) {
        run_events(&run);
        *out = whole_part(&run);
    }
    run_close(&run);
    return status;
}
