/* SPDX-License-Identifier: MIT
 * Single samples become slices that are open as long as samples agree on the outer part of the
 * stack. */
#include "lens/export/slice_walk.h"

#include "lens/view/speller.h"

#include <string.h>

bool dw_slice_walk_can(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (profile->threads[i].timed_count)
            return true;
    return false;
}

/* Of any thread. */
static uint32_t most_samples(const struct dw_profile *profile)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        most = profile->threads[i].timed_count > most ? profile->threads[i].timed_count : most;
    return most;
}

int dw_slice_walk_init(struct dw_slice_walk *walk, const struct dw_profile *profile,
                       uint64_t epoch_ns)
{
    uint32_t deepest = 0;
    *walk = (struct dw_slice_walk){.profile = profile, .epoch_ns = epoch_ns};
    DW_ROOM_GET(&walk->room, walk->depths, profile->paths.count);
    DW_ROOM_GET(&walk->room, walk->shown, profile->paths.count);
    if (walk->room.failed)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 1; path < profile->paths.count; path++) {
        dw_path_id parent = profile->paths.paths[path].parent;
        bool is_shown = walk->depths[parent] < DW_SPELL_MAX;
        walk->depths[path] = walk->depths[parent] + is_shown;
        walk->shown[path] = is_shown ? path : walk->shown[parent];
        deepest = walk->depths[path] > deepest ? walk->depths[path] : deepest;
    }
    DW_ROOM_GET(&walk->room, walk->open, deepest);
    DW_ROOM_GET(&walk->room, walk->wanted, deepest);
    DW_ROOM_GET(&walk->room, walk->ends, most_samples(profile));
    return dw_room_error(&walk->room);
}

void dw_slice_walk_release(struct dw_slice_walk *walk)
{
    dw_room_release(&walk->room);
}

static void close_to(struct dw_slice_walk *walk, uint32_t depth, uint64_t time_ns,
                     dw_slice_visit *visit, void *context)
{
    walk->at = depth ? walk->at : DW_PATH_ROOT;
    while (walk->open_count > depth)
        visit(context, false, walk->open[--walk->open_count], walk->labels, time_ns);
}

static uint32_t spell(struct dw_slice_walk *walk, dw_path_id path)
{
    uint32_t depth = walk->depths[path];
    const struct dw_profile *profile = walk->profile;
    for (uint32_t at = depth; at-- > 0; path = profile->paths.paths[path].parent)
        walk->wanted[at] = profile->places.places[profile->paths.paths[path].step].frame;
    return depth;
}

/* What the thread did does not count: a slice is open through many changes of that. */
static bool says_the_same(const struct dw_label_table *table, dw_labels_id a, dw_labels_id b)
{
    const struct dw_label_set *one = &table->sets[a], *other = &table->sets[b];
    return one->count == other->count &&
           (!one->count || !memcmp(&table->pairs[one->first], &table->pairs[other->first],
                                   one->count * sizeof *table->pairs));
}

static void change_to(struct dw_slice_walk *walk, const struct dw_timed_sample *sample,
                      uint64_t time_ns, dw_slice_visit *visit, void *context)
{
    dw_path_id path = walk->shown[sample->path];
    bool is_same = says_the_same(&walk->profile->labels, walk->labels, sample->labels);
    if (path == walk->at && is_same)
        return;
    uint32_t depth = spell(walk, path), same = 0;
    while (is_same && same < depth && same < walk->open_count &&
           walk->open[same] == walk->wanted[same])
        same++;
    close_to(walk, same, time_ns, visit, context);
    walk->labels = is_same ? walk->labels : sample->labels;
    for (uint32_t i = same; i < depth; i++) {
        walk->open[i] = walk->wanted[i];
        visit(context, true, walk->wanted[i], walk->labels, time_ns);
    }
    walk->open_count = depth;
    walk->at = path;
}

/* Time is never told early but may be told late, after samples that were taken since: how long a
 * thread waited in small pieces, or what it spent in the kernel. These samples lie over those
 * before, which move back to where there is room. */
static void make_room(struct dw_slice_walk *walk, const struct dw_thread *thread)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = thread->timed_count; i-- > 0;) {
        const struct dw_timed_sample *sample = &thread->timed[i];
        uint64_t end = sample->time_ns > walk->epoch_ns ? sample->time_ns - walk->epoch_ns : 0;
        walk->ends[i] = end < next ? end : next;
        next = walk->ends[i] > sample->weight_ns ? walk->ends[i] - sample->weight_ns : 0;
    }
}

/* Between samples that do not touch nothing is known, so nothing is open. Where there was no room
 * before the first ones the next move on, so that each is as long as its weight. */
void dw_slice_walk_thread(struct dw_slice_walk *walk, uint32_t index, dw_slice_visit *visit,
                          void *context)
{
    const struct dw_thread *thread = &walk->profile->threads[index];
    uint64_t last = 0;
    walk->open_count = 0;
    walk->at = DW_PATH_ROOT;
    walk->labels = DW_LABELS_NONE;
    make_room(walk, thread);
    for (uint32_t i = 0; i < thread->timed_count; i++) {
        const struct dw_timed_sample *sample = &thread->timed[i];
        if (walk->ends[i] > last + sample->weight_ns) {
            close_to(walk, 0, last, visit, context);
            last = walk->ends[i] - sample->weight_ns;
        }
        change_to(walk, sample, last, visit, context);
        last += sample->weight_ns;
    }
    close_to(walk, 0, last, visit, context);
}
