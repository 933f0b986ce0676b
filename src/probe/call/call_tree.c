/* SPDX-License-Identifier: MIT
 * The call paths of a thread, and the functions that they go through. */
#include "probe/call/calls.h"

#include "base/grow.h"
#include "cpython/thread_name.h"

#include <string.h>

#define NODES_AT_ONCE 256

struct dw_call_node *dw_call_track_node(const struct dw_call_track *track, uint32_t index)
{
    return &track->chunks[index / NODES_AT_ONCE][index % NODES_AT_ONCE];
}

struct child_key {
    uint32_t parent;
    dw_labels_id labels;
    const void *key;
};

static uint64_t hash_child(const struct child_key *child)
{
    uint64_t where = (uint64_t)child->labels << 32 | child->parent;
    return dw_hash_mix(where * 31 ^ (uint64_t)(uintptr_t)child->key);
}

static struct child_key identity(const struct dw_call_node *node)
{
    return (struct child_key){node->parent, node->labels,
                              node->signature ? (const void *)node->signature : node->key};
}

static bool same_child(const void *track, uint32_t id, const void *wanted)
{
    const struct child_key child = identity(dw_call_track_node(track, id)), *key = wanted;
    return child.key == key->key && child.parent == key->parent && child.labels == key->labels;
}

static uint64_t child_hash_of(const void *track, uint32_t id)
{
    struct child_key child = identity(dw_call_track_node(track, id));
    return hash_child(&child);
}

static struct dw_call_node *new_node(struct dw_call_track *track)
{
    uint32_t chunk = track->node_count / NODES_AT_ONCE;
    if (chunk == track->chunk_count) {
        if (DW_GROW(track->chunks, track->chunk_count, track->chunk_capacity))
            return NULL;
        track->chunks[chunk] = calloc(NODES_AT_ONCE, sizeof **track->chunks);
        if (!track->chunks[chunk])
            return NULL;
        track->chunk_count++;
    }
    return dw_call_track_node(track, track->node_count);
}

static bool same_function(const void *functions, uint32_t id, const void *key)
{
    return ((const struct dw_call_function *)functions)[id].key == key;
}

static uint64_t function_hash_of(const void *functions, uint32_t id)
{
    return dw_hash_mix((uint64_t)(uintptr_t)((const struct dw_call_function *)functions)[id].key);
}

/* The index of a function, DW_MAP_NONE when it is not known yet. */
uint32_t dw_call_function_find(struct dw_call_profile *profile, const void *key)
{
    return dw_map_find(&profile->function_index, dw_hash_mix((uint64_t)(uintptr_t)key),
                       same_function, profile->functions, key);
}

/* Takes the name. */
uint32_t dw_call_function_add(struct dw_call_profile *profile, const void *key, PyObject *code,
                              PyObject *name)
{
    if (!name || DW_GROW(profile->functions, profile->function_count, profile->function_capacity)) {
        Py_XDECREF(name);
        PyErr_Clear();
        return DW_MAP_NONE;
    }
    profile->functions[profile->function_count] =
        (struct dw_call_function){.key = key, .code = Py_XNewRef(code), .name = name};
    dw_map_add(&profile->function_index, dw_hash_mix((uint64_t)(uintptr_t)key),
               profile->function_count, function_hash_of, profile->functions);
    return profile->function_count++;
}

/* A thread may not have its name yet when it makes its first calls. */
#define NAME_TRIES 64

static void name_thread(struct dw_call_track *track)
{
    if (!track->thread_name && track->node_count < NAME_TRIES)
        track->thread_name = dw_py_current_thread_name();
}

struct dw_call_node *dw_call_child_add(struct dw_call_track *track,
                                       const struct dw_call_node *parent, const void *key,
                                       dw_labels_id labels, uint32_t function)
{
    struct dw_call_node *node = function == DW_MAP_NONE ? NULL : new_node(track);
    if (!node)
        return NULL;
    const PyObject *code = track->profile->functions[function].code;
    *node = (struct dw_call_node){.key = code ? code : key,
                                  .signature = code && code != key ? key : NULL,
                                  .function = function,
                                  .index = track->node_count,
                                  .parent = parent->index,
                                  .labels = labels};
    if (dw_map_add(&track->index, child_hash_of(track, node->index), node->index, child_hash_of,
                   track))
        return NULL;
    track->node_count++;
    name_thread(track);
    return node;
}

struct dw_call_node *dw_call_child_find(struct dw_call_track *track,
                                        const struct dw_call_node *parent, const void *key,
                                        dw_labels_id labels)
{
    struct child_key wanted = {parent->index, labels, key};
    uint32_t found = dw_map_find(&track->index, hash_child(&wanted), same_child, track, &wanted);
    return found == DW_MAP_NONE ? NULL : dw_call_track_node(track, found);
}

void dw_call_track_suspend(struct dw_call_track *track, const struct dw_call_node *node,
                           uint64_t ticks)
{
    while (track->suspended_capacity <= node->index) {
        uint32_t before = track->suspended_capacity;
        if (dw_grow((void **)&track->suspended, &track->suspended_capacity,
                    sizeof *track->suspended))
            return;
        memset(track->suspended + before, 0,
               (track->suspended_capacity - before) * sizeof *track->suspended);
    }
    track->suspended[node->index] += ticks;
}

/* A new track begins with a root that is not a call. */
struct dw_call_track *dw_call_track_new(struct dw_call_profile *profile)
{
    struct dw_call_track *track = calloc(1, sizeof *track);
    if (!track || DW_GROW(profile->tracks, profile->track_count, profile->track_capacity) ||
        DW_GROW(track->stack, track->depth, track->capacity) || !new_node(track)) {
        free(track);
        return NULL;
    }
    track->profile = profile;
    track->thread = PyThread_get_thread_ident();
    track->thread_id = PyThread_get_thread_native_id();
    track->stack[0] = (struct dw_call_entry){.node = dw_call_track_node(track, 0)};
    track->stack[0].node->function = DW_MAP_NONE;
    track->node_count = 1;
    profile->tracks[profile->track_count++] = track;
    return track;
}

void dw_call_track_free(struct dw_call_track *track)
{
    track->serial = 0;
    for (uint32_t i = 0; i < track->chunk_count; i++)
        free(track->chunks[i]);
    free(track->chunks);
    free(track->stack);
    free(track->thread_name);
    free(track->suspended);
    dw_map_release(&track->index);
    *track = (struct dw_call_track){0};
}
