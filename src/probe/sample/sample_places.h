/* SPDX-License-Identifier: MIT
 * From tokens to places of a log, in the sampler's thread. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_PLACES_H
#define DW_PROBE_SAMPLE_SAMPLE_PLACES_H

#include "probe/sample/sample_code.h"
#include "probe/sample/sample_natives.h"
#include "probe/sample/sample_slot.h"
#include "probe/sample/sample_task.h"
#include "record/samples.h"

#define DW_PLACE_CACHE 16384u

struct dw_described_code;

struct dw_cached_token {
    uint64_t token;
    dw_place_id place;
};

/* A Python function as its code has it. */
struct dw_function_name {
    const char *name, *file;
    uint32_t line;
};

struct dw_sample_places {
    struct dw_ledger *log;
    struct dw_number_set *numbers; /* of codes */
    struct dw_sample_natives natives;
    uint32_t *code_ids;              /* by number - 1: the index of what is described, plus 1 */
    struct dw_described_code *codes; /* one after the other: each page that is new is a fault */
    uint32_t code_count, code_capacity;
    dw_place_id marks[DW_MARKS];
    dw_place_id tasks[DW_TASK_NUMBERS]; /* by number - 1 */
    dw_frame_id base;                   /* stacks begin behind it; 0: nowhere */
    bool has_event_loop;                /* asyncio's was seen */
    bool may_be_held_back; /* a timer may be silent for other reasons than the kernel's work */
    struct dw_buffer text;
    struct dw_cached_token *cache; /* owned; most of it is never touched */
};

int dw_sample_places_init(struct dw_sample_places *places, struct dw_ledger *log,
                          struct dw_number_set *numbers);
void dw_sample_places_release(struct dw_sample_places *places);

void dw_sample_places_learn(struct dw_sample_places *places, const struct dw_code_record *record);
void dw_sample_places_learn_task(struct dw_sample_places *places, uint32_t number,
                                 const struct dw_py_task_name *name);
/* From now on stacks leave out this function and what is outside of it: in a notebook, that is what
 * runs its cells. */
int dw_sample_places_set_base(struct dw_sample_places *places, const struct dw_function_name *base);
/* The path of what the innermost frame of a path calls. */
int dw_sample_places_extend(struct dw_sample_places *places, uint64_t token, dw_path_id *path);
/* The place of a frame that the innermost frame of `outer` calls; 0 for one that is left out. */
dw_place_id dw_sample_places_of(struct dw_sample_places *places, dw_path_id outer, uint64_t token);
/* After modules came, or some `went`: addresses mean something else. */
void dw_sample_places_forget(struct dw_sample_places *places, bool went);

/* Makes the slot's thread known to the log. */
int dw_sample_enter_thread(struct dw_sample_places *places, struct dw_slot *slot);
/* Empties the slot's ring into the log. */
void dw_sample_drain(struct dw_sample_places *places, struct dw_slot *slot);
/* Finds the places of the slot's last stack again: the next record only says how it differs from
 * that. */
void dw_sample_drain_rename(struct dw_sample_places *places, struct dw_slot *slot);
/* The thread has ended: the time since its last sample goes to the stack of that sample. */
void dw_sample_drain_rest(struct dw_sample_places *places, struct dw_slot *slot, uint64_t now_ns);

#endif
