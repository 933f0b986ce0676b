/* SPDX-License-Identifier: MIT
 * A walk over all paths that knows, at each, which keys are already open. */
#include "model/outermost.h"

#include "base/error.h"

#include <stdlib.h>

struct walk {
    const void *paths;
    size_t stride;
    const uint32_t *keys;
    dw_path_id *first, *next; /* child and sibling; 0: none */
    uint32_t *open;           /* of each key: how often it is on the way here */
    bool *outermost;
};

static dw_path_id parent_of(const struct walk *walk, dw_path_id path)
{
    return *(const dw_path_id *)((const char *)walk->paths + path * walk->stride);
}

static int walk_init(struct walk *walk, uint32_t count, uint32_t key_count)
{
    walk->first = calloc(count + 1u, sizeof *walk->first);
    walk->next = calloc(count + 1u, sizeof *walk->next);
    walk->open = calloc(key_count + 1u, sizeof *walk->open);
    if (!walk->first || !walk->next || !walk->open)
        return DW_ERR_MEMORY;
    for (dw_path_id path = count; path-- > 1;) {
        dw_path_id parent = parent_of(walk, path);
        walk->next[path] = walk->first[parent];
        walk->first[parent] = path;
    }
    return 0;
}

static void walk_release(struct walk *walk)
{
    free(walk->first);
    free(walk->next);
    free(walk->open);
}

static void enter(struct walk *walk, dw_path_id path)
{
    walk->outermost[path] = walk->open[walk->keys[path]]++ == 0;
}

static void find(struct walk *walk)
{
    dw_path_id at = DW_PATH_ROOT;
    enter(walk, at);
    for (;;) {
        dw_path_id next = walk->first[at];
        while (!next && at != DW_PATH_ROOT) {
            walk->open[walk->keys[at]]--;
            next = walk->next[at];
            at = parent_of(walk, at);
        }
        if (!next)
            return;
        at = next;
        enter(walk, at);
    }
}

int dw_outermost_find(const void *paths, size_t stride, uint32_t count, const uint32_t *keys,
                      uint32_t key_count, bool *outermost)
{
    struct walk walk = {.paths = paths, .stride = stride, .keys = keys, .outermost = outermost};
    int error = walk_init(&walk, count, key_count);
    if (!error && count)
        find(&walk);
    walk_release(&walk);
    return error;
}
