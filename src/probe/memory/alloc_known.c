/* SPDX-License-Identifier: MIT
 * What is not in the cache is looked for among all steps and sites, with the lock. */
#include "probe/memory/alloc_known.h"

#include "probe/sample/sample_slot.h"

#include <errno.h>
#include <stdlib.h>

/* Where native code called malloc is part of the stack. */
static uint32_t enter_site(const struct dw_alloc_thread *thread, const struct dw_alloc_place *place,
                           uint32_t step)
{
    uint32_t inner = place->mark_inner_kind >> 16 & 0xffff;
    uint32_t kind = (uint32_t)(place->mark_inner_kind & 0xffff) - 1;
    struct dw_alloc_site_key key = {
        .step = step,
        .thread = thread->index,
        .labels = (dw_labels_id)(place->labels_region >> 32),
        .region = (dw_frame_id)place->labels_region,
        .mark = (uint32_t)(place->mark_inner_kind >> 32),
        .kind = kind,
    };
    if (kind == DW_ALLOC_KINDS)
        return 0;
    if (inner)
        key.step = dw_alloc_step(key.step, DW_TOKEN(DW_TOKEN_MARK, (uint64_t)inner - 1));
    if (place->caller)
        key.step = dw_alloc_step(key.step,
                                 DW_TOKEN(DW_TOKEN_NATIVE, (uint64_t)(uintptr_t)place->caller - 1));
    return dw_alloc_site(&key);
}

static uint32_t enter_step(const struct dw_alloc_place *place, dw_py_frame *frame)
{
    if (!frame)
        return 0;
    uint64_t token = dw_alloc_code_token(dw_py_frame_code(frame), _PyInterpreterFrame_LASTI(frame));
    return dw_alloc_step((uint32_t)place->version_parent, token);
}

/* Its own slot if that is free, or any of the others in turn. */
static struct dw_alloc_known *choose(struct dw_alloc_thread *thread, uint32_t slot)
{
    struct dw_alloc_known *known = &thread->known[slot];
    bool is_free = !known->place.mark_inner_kind;
    return is_free ? known : &thread->known[slot ^ (thread->replaced++ % DW_ALLOC_WAYS)];
}

static struct dw_alloc_known *enter(struct dw_alloc_thread *thread, uint32_t slot,
                                    const struct dw_alloc_place *place, dw_py_frame *frame)
{
    int saved_errno = errno;
    if (!thread->known && !(thread->known = calloc(DW_ALLOC_CACHE, sizeof *thread->known)))
        return NULL;
    struct dw_alloc_known *known = choose(thread, slot);
    known->place = *place;
    dw_alloc_lock();
    known->step = enter_step(place, frame);
    known->site = enter_site(thread, place, known->step);
    dw_alloc_unlock();
    if (!(known->step | known->site)) /* it is not known after all */
        known->place.mark_inner_kind = 0;
    errno = saved_errno;
    return known;
}

/* What is in use is found in its own slot the next time. */
static struct dw_alloc_known *move(struct dw_alloc_known *from, struct dw_alloc_known *to)
{
    struct dw_alloc_known former = *to;
    *to = *from;
    *from = former;
    return to;
}

struct dw_alloc_known *dw_alloc_known_elsewhere(struct dw_alloc_thread *thread, uint32_t slot,
                                                struct dw_alloc_place place, dw_py_frame *frame)
{
    for (uint32_t way = 1; thread->known && way < DW_ALLOC_WAYS; way++)
        if (dw_alloc_known_is(&thread->known[slot ^ way], &place))
            return move(&thread->known[slot ^ way], &thread->known[slot]);
    return enter(thread, slot, &place, frame);
}
