/* SPDX-License-Identifier: MIT
 * Turns frames into places and places into a path, from the outermost on. Frames that did not
 * change since the last sample keep their part of the path, so a deep stack costs little. */
#include "attach/sampling/watched.h"

#include "base/grow.h"

#define LOOK_UP_AFTER_NS 50000000 /* how long frames that did not change are believed */

static bool is_known(const struct dw_watched *thread, uint32_t index,
                     const struct dw_raw_frame *frame)
{
    if (index >= thread->known_count)
        return false;
    const struct dw_raw_frame *known = &thread->known[index].frame;
    return known->address == frame->address && known->code == frame->code &&
           known->instruction == frame->instruction && known->owner == frame->owner;
}

/* DW_ERR_DAMAGED for a call that a sure reading has to show first. */
static int check_call(struct dw_sampler *sampler, dw_place_id caller, uint32_t callee,
                      enum dw_reading reading)
{
    bool is_proven;
    if (reading != DW_READING_LIKELY)
        return dw_call_table_prove(&sampler->calls, caller, callee);
    int error =
        dw_call_table_check(&sampler->calls, caller, callee, &is_proven, &sampler->is_to_prove);
    return !error && !is_proven ? DW_ERR_DAMAGED : error;
}

/* Finds the path of a frame under the one that is known last, and makes it known. */
static int add_known(struct dw_sampler *sampler, struct dw_watched *thread,
                     const struct dw_raw_frame *frame, bool is_innermost, enum dw_reading reading,
                     uint64_t now_ns)
{
    struct dw_known_frame outer = {.path = DW_PATH_ROOT};
    struct dw_code_place code;
    if (thread->known_count)
        outer = thread->known[thread->known_count - 1];
    struct dw_known_frame known = {*frame, outer.path, outer.place};
    int error =
        dw_code_cache_place(&sampler->cache, &sampler->python, sampler->log, frame, now_ns, &code);
    if (!error && !code.has_begun && !is_innermost)
        error = DW_ERR_DAMAGED;
    if (!error && code.place)
        error = check_call(sampler, outer.place, code.identity, reading);
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
 * no looking up. */
int dw_watched_find_path(struct dw_sampler *sampler, struct dw_watched *thread,
                         enum dw_reading reading, const struct dw_live_look *look, uint64_t now_ns)
{
    const struct dw_raw_stack *stack = &sampler->stack;
    uint32_t index = 0;
    bool all = now_ns - thread->looked_up_ns > LOOK_UP_AFTER_NS, same = false;
    int error = reading == DW_READING_SURE ? find_codes(sampler, now_ns) : 0;
    sampler->is_to_prove = true;
    if (!error && stack->count)
        error = check_innermost(sampler, reading, look, now_ns, &same);
    while (!all && index + !same < stack->count &&
           is_known(thread, index, &stack->frames[stack->count - 1 - index]))
        index++;
    thread->known_count = index;
    for (; !error && index < stack->count; index++)
        error = add_known(sampler, thread, &stack->frames[stack->count - 1 - index],
                          index + 1 == stack->count, reading, now_ns);
    if (error)
        return error;
    if (all)
        thread->looked_up_ns = now_ns;
    thread->path = stack->count ? thread->known[stack->count - 1].path : DW_PATH_ROOT;
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
