/* SPDX-License-Identifier: MIT
 * Code objects of another process as places of a recording. Names and line tables are read once;
 * when freed memory holds another code object, that is noticed. */
#ifndef DW_ATTACH_SAMPLING_CODE_CACHE_H
#define DW_ATTACH_SAMPLING_CODE_CACHE_H

#include "attach/python/stack.h"
#include "base/buffer.h"
#include "record/ledger.h"

struct dw_code_cache {
    struct dw_cached_code *codes;
    uint32_t code_count, code_capacity;
    struct dw_map code_index; /* by address */
    struct dw_cached_place *places;
    uint32_t place_count, place_capacity;
    struct dw_map place_index; /* by code and instruction */
    uint32_t last_identity;
    struct dw_buffer text;
};

void dw_code_cache_release(struct dw_code_cache *cache);
/* Whether the address still holds the same object, which is otherwise believed for a while. `head`
 * has the first bytes of the object as they were read with the frame; NULL: they are read now. */
bool dw_code_cache_check(struct dw_code_cache *cache, const struct dw_python *python,
                         uint64_t address, const uint8_t *head, uint64_t now_ns);

struct dw_code_place {
    dw_place_id place; /* 0: a frame that Python does not show either */
    uint32_t identity; /* of the code object */
    bool has_begun;    /* so that it may have called somebody */
};
/* DW_ERR_DAMAGED or DW_ERR_UNREADABLE when the frame cannot be right: it changed while it was
 * read. */
int dw_code_cache_place(struct dw_code_cache *cache, const struct dw_python *python,
                        struct dw_ledger *log, const struct dw_raw_frame *frame, uint64_t now_ns,
                        struct dw_code_place *found);

#endif
