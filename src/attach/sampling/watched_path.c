/* SPDX-License-Identifier: MIT
 * Turns frames into places and places into a path, from the outermost on. Frames that did not
 * change since the last sample keep their part of the path, so a deep stack costs little. */
#include "attach/sampling/watched.h"

#include "base/grow.h"

#define LOOK_UP_AFTER_NS 50000000 /* how long frames that did not change are believed */

/* Whether the frame was there before, wherever in its function. */
static bool was_there(const struct dw_watched *thread, uint32_t index,
                      const struct dw_raw_frame *frame)
{
    if (index >= thread->known_count)
        return false;
    const struct dw_raw_frame *known = &thread->known[index].frame;
    return known->address == frame->address && known->code == frame->code &&
           known->owner == frame->owner;
}

static bool is_known(const struct dw_watched *thread, uint32_t index,
                     const struct dw_raw_frame *frame)
{
    return was_there(thread, index, frame) &&
           thread->known[index].frame.instruction == frame->instruction;
}

/* How many frames are those of the last sample, the first `known` of which have not moved. */
static uint32_t count_same(const struct dw_watched *thread, const struct dw_raw_stack *stack,
                           uint32_t known)
{
    return known + (known + 1 == stack->count && was_there(thread, known, stack->frames));
}

/* A stack whose path is looked for, and how it was read. */
struct search {
    struct dw_sampler *sampler;
    struct dw_watched *thread;
    enum dw_reading reading;
    const struct dw_live_look *look;
    uint32_t last_identity; /* of the codes that were known before */
    uint64_t now_ns;
};

/* Whether the frame was called by the one outside of it for sure, and its code was known before.
 * What the innermost one runs may be gone a moment later, and another function there. */
static bool is_sure(const struct search *search, const struct dw_raw_frame *frame)
{
    const struct dw_sampler *sampler = search->sampler;
    const struct dw_raw_stack *stack = &sampler->stack;
    if (search->reading != DW_READING_LIKELY)
        return true;
    return sampler->cache.last_identity == search->last_identity &&
           (frame != stack->frames || search->look->code == frame->code) &&
           dw_live_is_steady(&sampler->reader, &search->thread->live, search->look, stack,
                             (uint32_t)(frame - stack->frames));
}

/* DW_ERR_EMPTY for a call that a sure reading has to show first. */
static int check_call(const struct search *search, const struct dw_raw_frame *frame,
                      dw_place_id caller, uint32_t callee)
{
    struct dw_sampler *sampler = search->sampler;
    bool is_proven, is_to_prove;
    int error = dw_call_table_check(&sampler->calls, caller, callee, &is_proven, &is_to_prove);
    if (error || is_proven)
        return error;
    if (is_sure(search, frame))
        return dw_call_table_prove(&sampler->calls, caller, callee);
    sampler->is_to_prove = is_to_prove;
    return DW_ERR_EMPTY;
}

/* Finds the path of a frame under the one that is known last, and makes it known. */
static int add_known(const struct search *search, const struct dw_raw_frame *frame)
{
    struct dw_sampler *sampler = search->sampler;
    struct dw_watched *thread = search->thread;
    struct dw_known_frame outer = {.path = DW_PATH_ROOT};
    struct dw_code_place code;
    if (thread->known_count)
        outer = thread->known[thread->known_count - 1];
    struct dw_known_frame known = {*frame, outer.path, outer.place};
    int error = dw_code_cache_place(&sampler->cache, &sampler->python, sampler->log, frame,
                                    search->now_ns, &code);
    if (!error && !code.has_begun && frame != sampler->stack.frames)
        error = DW_ERR_DAMAGED;
    if (!error && code.place)
        error = check_call(search, frame, outer.place, code.identity);
    if (!error && code.place) {
        known.place = code.place;
        error = dw_ledger_path(sampler->log, outer.path, code.place, &known.path);
    }
    if (!error)
        error = DW_GROW(thread->known, thread->known_count, thread->known_capacity);
    if (!error)
        thread->known[thread->known_count++] = known;
    return error;
}

/* Functions that are made anew for each call lie at the same addresses. What is known of the
 * innermost one must be what was there when the stack was read. DW_ERR_DAMAGED when nobody can
 * tell, since the thread went on; the next reading can. */
static int check_innermost(struct dw_sampler *sampler, enum dw_reading reading,
                           const struct dw_live_look *look, uint64_t now_ns, bool *is_same)
{
    const struct dw_raw_frame *frame = &sampler->stack.frames[0];
    const uint8_t *head = look->code == frame->code ? look->code_head : NULL;
    struct dw_code_place found;
    *is_same = dw_code_cache_check(&sampler->cache, &sampler->python, frame->code, head, now_ns);
    if (*is_same)
        return head || reading != DW_READING_SURE ? 0 : DW_ERR_DAMAGED;
    int error =
        dw_code_cache_place(&sampler->cache, &sampler->python, sampler->log, frame, now_ns, &found);
    if (error || reading == DW_READING_STOPPED)
        return error;
    return head && dw_code_cache_check(&sampler->cache, &sampler->python, frame->code, head, now_ns)
               ? 0
               : DW_ERR_DAMAGED;
}

/* A caller's code that is new may have come to its address after the stack was read:
 * DW_ERR_DAMAGED. The next reading knows it. */
static int find_codes(struct dw_sampler *sampler, uint64_t now_ns)
{
    uint32_t last_identity = sampler->cache.last_identity;
    struct dw_code_place found;
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->stack.count; i++)
        error = dw_code_cache_place(&sampler->cache, &sampler->python, sampler->log,
                                    &sampler->stack.frames[i], now_ns, &found);
    return !error && last_identity != sampler->cache.last_identity ? DW_ERR_DAMAGED : error;
}

/* The path of a stack. Frames that are the same as the last time, from the outermost on, need
 * no looking up. A call that is not proven, or a function that is not known yet, ends it: its time
 * is the caller's. To read again instead would be to miss what is short or rare. */
int dw_watched_find_path(struct dw_sampler *sampler, struct dw_watched *thread,
                         enum dw_reading reading, const struct dw_live_look *look, uint64_t now_ns)
{
    const struct dw_raw_stack *stack = &sampler->stack;
    struct search search = {sampler, thread, reading, look, sampler->cache.last_identity, now_ns};
    uint32_t index = 0, count = stack->count;
    bool all = now_ns - thread->looked_up_ns > LOOK_UP_AFTER_NS, same = false;
    int error = reading == DW_READING_SURE ? find_codes(sampler, now_ns) : 0;
    sampler->is_to_prove = thread->is_short = false;
    if (!error && count)
        error = check_innermost(sampler, reading, look, now_ns, &same);
    if (dw_is_foreign(error) && reading == DW_READING_LIKELY && count > 1) {
        count--;
        error = 0;
        sampler->is_to_prove = thread->is_short = true;
    }
    while (index < count && index + !same < stack->count &&
           is_known(thread, index, &stack->frames[stack->count - 1 - index]))
        index++;
    uint32_t same_count = count_same(thread, stack, index);
    thread->same_count = same_count < thread->same_count ? same_count : thread->same_count;
    index = all ? 0 : index;
    thread->known_count = index;
    for (; !error && index < count; index++)
        error = add_known(&search, &stack->frames[stack->count - 1 - index]);
    if (error == DW_ERR_EMPTY) {
        dw_live_doubt(&thread->live);
        thread->is_short = true;
        error = thread->known_count ? 0 : DW_ERR_DAMAGED;
    }
    if (error)
        return error;
    if (all)
        thread->looked_up_ns = now_ns;
    thread->path = thread->known_count ? thread->known[thread->known_count - 1].path : DW_PATH_ROOT;
    return 0;
}

/* The path of Python and native frames together. */
int dw_watched_find_merged_path(struct dw_sampler *sampler, struct dw_watched *thread,
                                uint64_t now_ns)
{
    struct dw_native_stack *native = &sampler->native_stack;
    dw_path_id path = DW_PATH_ROOT;
    int error = 0;
    uint32_t count = dw_stacks_merge(&sampler->stack, native, sampler->merged);
    for (uint32_t i = 0; !error && i < count; i++) {
        uint32_t index = sampler->merged[i].index;
        struct dw_code_place found = {0};
        if (sampler->merged[i].is_native)
            error =
                dw_native_code_place(&sampler->native, sampler->log, native, index, &found.place);
        else
            error = dw_code_cache_place(&sampler->cache, &sampler->python, sampler->log,
                                        &sampler->stack.frames[index], now_ns, &found);
        if (!error && found.place)
            error = dw_ledger_path(sampler->log, path, found.place, &path);
    }
    if (!error)
        thread->path = path;
    return error;
}
