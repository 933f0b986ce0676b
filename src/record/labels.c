/* SPDX-License-Identifier: MIT
 * A set is written before its id is below the count, and never again, so readers need no lock.
 * The texts that a set has from its parent are the parent's. */
#include "record/labels.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX (64u << 20) /* of all sets */

struct draft {
    uint32_t count;
    bool is_too_large;
    struct dw_label_text labels[DW_LABELS_KEYS_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_map by_labels;
static const struct dw_labels empty_set;
static const struct dw_labels *sets[DW_LABEL_SETS_MAX] = {&empty_set};
static _Atomic uint32_t set_count = 1;
static size_t text_bytes;

uint32_t dw_labels_count(void)
{
    return atomic_load_explicit(&set_count, memory_order_acquire);
}

const struct dw_labels *dw_labels_get(dw_labels_id id)
{
    return sets[id];
}

static uint64_t hash_labels(const struct dw_label_text *labels, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        hash = dw_hash_mix(hash ^ dw_hash_bytes(labels[i].key.bytes, labels[i].key.size));
        hash = dw_hash_mix(hash ^ dw_hash_bytes(labels[i].value.bytes, labels[i].value.size));
    }
    return hash;
}

static bool equal(const void *entries, uint32_t id, const void *key)
{
    (void)entries;
    const struct dw_labels *set = sets[id];
    const struct draft *draft = key;
    if (set->count != draft->count)
        return false;
    for (uint32_t i = 0; i < set->count; i++)
        if (dw_string_compare(set->labels[i].key, draft->labels[i].key) ||
            dw_string_compare(set->labels[i].value, draft->labels[i].value))
            return false;
    return true;
}

static struct dw_string cut(struct dw_string text)
{
    size_t size = text.size;
    if (size > DW_LABELS_BYTES_MAX) {
        size = DW_LABELS_BYTES_MAX;
        while (size > DW_LABELS_BYTES_MAX - 3 && (text.bytes[size] & 0xc0) == 0x80)
            size--; /* not inside of a character */
    }
    return (struct dw_string){text.bytes, size};
}

static void put_label(struct draft *draft, struct dw_label_text label)
{
    uint32_t at = 0;
    int order = 1;
    while (at < draft->count && (order = dw_string_compare(draft->labels[at].key, label.key)) < 0)
        at++;
    if (at < draft->count && order == 0) {
        draft->labels[at].value = label.value;
        return;
    }
    if (draft->count == DW_LABELS_KEYS_MAX) {
        draft->is_too_large = true;
        return;
    }
    memmove(&draft->labels[at + 1], &draft->labels[at], (draft->count - at) * sizeof label);
    draft->labels[at] = label;
    draft->count++;
}

static void draft_more(struct draft *draft)
{
    draft->count = 1;
    draft->is_too_large = false;
    draft->labels[0] = (struct dw_label_text){
        {DW_LABELS_MORE_KEY, sizeof DW_LABELS_MORE_KEY - 1},
        {DW_LABELS_MORE_VALUE, sizeof DW_LABELS_MORE_VALUE - 1},
    };
}

/* Whether the text is one of the set's own, which stays for good. */
static bool is_kept(const struct dw_labels *set, const char *text)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->labels[i].key.bytes == text || set->labels[i].value.bytes == text)
            return true;
    return false;
}

static size_t size_to_copy(const struct dw_labels *parent, struct dw_string text)
{
    return is_kept(parent, text.bytes) ? 0 : text.size + 1;
}

static struct dw_string keep(const struct dw_labels *parent, struct dw_string text, char **room)
{
    size_t size = size_to_copy(parent, text);
    if (!size)
        return text;
    char *copy = *room;
    if (text.size)
        memcpy(copy, text.bytes, text.size);
    copy[text.size] = 0;
    *room += size;
    return (struct dw_string){copy, text.size};
}

static int add_set(const struct draft *draft, const struct dw_labels *parent, dw_labels_id *id)
{
    size_t size = 0;
    for (uint32_t i = 0; i < draft->count; i++)
        size += size_to_copy(parent, draft->labels[i].key) +
                size_to_copy(parent, draft->labels[i].value);
    struct dw_labels *set = malloc(sizeof *set + draft->count * sizeof *set->labels + size);
    if (!set)
        return DW_ERR_MEMORY;
    char *room = (char *)&set->labels[draft->count];
    set->count = draft->count;
    for (uint32_t i = 0; i < draft->count; i++)
        set->labels[i] = (struct dw_label_text){keep(parent, draft->labels[i].key, &room),
                                                keep(parent, draft->labels[i].value, &room)};
    dw_labels_id next = dw_labels_count();
    int error = dw_map_put(&by_labels, hash_labels(set->labels, set->count), next);
    if (error) {
        free(set);
        return error;
    }
    sets[next] = set;
    text_bytes += size;
    atomic_store_explicit(&set_count, next + 1, memory_order_release);
    *id = next;
    return 0;
}

static uint32_t find_set(const struct draft *draft)
{
    if (!draft->count)
        return 0;
    return dw_map_find(&by_labels, hash_labels(draft->labels, draft->count), equal, NULL, draft);
}

/* One place is kept for the set of all that is beyond the limits. */
static bool is_full(void)
{
    return dw_labels_count() >= DW_LABEL_SETS_MAX - 1 || text_bytes > TEXT_BYTES_MAX;
}

static int intern(struct draft *draft, const struct dw_labels *parent, dw_labels_id *id)
{
    uint32_t found = draft->is_too_large ? DW_MAP_NONE : find_set(draft);
    if (found == DW_MAP_NONE && (draft->is_too_large || is_full())) {
        draft_more(draft);
        found = find_set(draft);
    }
    if (found == DW_MAP_NONE)
        return add_set(draft, parent, id);
    *id = found;
    return 0;
}

int dw_labels_extend(dw_labels_id parent, const struct dw_label_text *labels, size_t count,
                     dw_labels_id *id)
{
    const struct dw_labels *base = dw_labels_get(parent);
    struct draft draft = {.count = base->count};
    memcpy(draft.labels, base->labels, base->count * sizeof *labels);
    for (size_t i = 0; i < count; i++)
        put_label(&draft, (struct dw_label_text){cut(labels[i].key), cut(labels[i].value)});
    pthread_mutex_lock(&lock);
    int error = intern(&draft, base, id);
    pthread_mutex_unlock(&lock);
    return error;
}

void dw_labels_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

void dw_labels_forked(void)
{
    pthread_mutex_unlock(&lock);
}
