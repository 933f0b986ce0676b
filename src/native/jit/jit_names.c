/* SPDX-License-Identifier: MIT
 * Names are added in any order and sorted when the first is looked up. A number that counts up
 * tells which of two that overlap is the later one. */
#include "native/jit/jit_names.h"

#include "base/grow.h"

#include <string.h>

int dw_jit_names_add(struct dw_jit_names *names, uint64_t start, uint64_t size, const char *text,
                     size_t text_size)
{
    size_t length = strnlen(text, text_size);
    if (!start || !size || size > UINT64_MAX - start || !length ||
        names->count >= DW_JIT_NAMES_MAX || names->texts.size + length >= DW_JIT_TEXTS_MAX)
        return 0;
    int error = DW_GROW(names->names, names->count, names->capacity);
    if (error)
        return error;
    uint32_t at = (uint32_t)names->texts.size;
    dw_buffer_append(&names->texts, text, length);
    dw_buffer_append(&names->texts, "", 1);
    if (names->texts.failed)
        return DW_ERR_MEMORY;
    names->names[names->count++] =
        (struct dw_jit_name){start, start + size, at, ++names->last_number};
    names->is_settled = false;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct dw_jit_name *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->number < b->number) - (a->number > b->number);
}

/* A function whose beginning was written over is gone; one whose end was is cut. */
void dw_jit_names_settle(struct dw_jit_names *names)
{
    uint32_t kept = 0;
    if (names->is_settled || !names->count)
        return;
    qsort(names->names, names->count, sizeof *names->names, compare);
    for (uint32_t i = 0; i < names->count; i++) {
        const struct dw_jit_name *next = &names->names[i];
        struct dw_jit_name *last = kept ? &names->names[kept - 1] : NULL;
        if (last && next->start < last->end) {
            if (next->number < last->number || next->start == last->start)
                continue;
            last->end = next->start;
        }
        names->names[kept++] = *next;
    }
    names->count = kept;
    names->is_settled = true;
}

static int by_address(const void *key, const void *entry)
{
    const struct dw_jit_name *name = entry;
    uint64_t address = *(const uint64_t *)key;
    return address < name->start ? -1 : address >= name->end;
}

const struct dw_jit_name *dw_jit_names_find(struct dw_jit_names *names, uint64_t address)
{
    dw_jit_names_settle(names);
    if (!names->count)
        return NULL;
    return bsearch(&address, names->names, names->count, sizeof *names->names, by_address);
}

const char *dw_jit_name_text(const struct dw_jit_names *names, const struct dw_jit_name *name)
{
    return (const char *)names->texts.data + name->text;
}

void dw_jit_names_release(struct dw_jit_names *names)
{
    free(names->names);
    dw_buffer_release(&names->texts);
    *names = (struct dw_jit_names){0};
}
