/* SPDX-License-Identifier: MIT
 * The signal handler: takes one sample of the thread that it runs in. It allocates nothing,
 * takes no lock, and leaves errno alone. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_HANDLER_H
#define DW_PROBE_SAMPLE_SAMPLE_HANDLER_H

#include "native/unwind/unwind.h"

#include <stdbool.h>

#define DW_VIEW_SYSTEM_MAX 8

struct dw_code_range {
    uint64_t start, end;
};

/* What handlers need to know of native code; published as a whole, then never changed. */
struct dw_native_view {
    struct dw_unwind_modules modules;
    struct dw_code_functions made; /* rules that were made */
    struct dw_unwind_cache *cache; /* NULL: native frames are not wanted */
    uint64_t epoch;                /* of the cache */
    struct dw_code_range python;   /* the code of the interpreter */
    struct dw_code_range own;      /* and ours */
    /* Libraries that the interpreter uses: what it calls in them counts as its own work. */
    struct dw_code_range system[DW_VIEW_SYSTEM_MAX];
    uint32_t system_count;
};

/* The signal that handlers are installed for, or a negative enum dw_error: no signal is free. */
int dw_handler_install(void);
/* False when the program has put its own handler there. */
bool dw_handler_is_ours(void);
/* From now on signals take samples, or no longer do. The handler itself stays: a signal that is
 * late must not kill the program. */
void dw_handler_enable(bool on);
/* NULL: no view. The old one must stay until handlers are disabled. */
void dw_handler_publish(const struct dw_native_view *view);
/* What a signal that the sampler's thread sends has in si_value.sival_ptr. */
void *dw_handler_cookie(void);

#endif
