/* SPDX-License-Identifier: MIT
 * The native code of this process: what handlers need to unwind it, and the names of its
 * functions. For the sampler's thread. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_NATIVES_H
#define DW_PROBE_SAMPLE_SAMPLE_NATIVES_H

#include "attach/native/native_names.h"
#include "probe/sample/sample_handler.h"

struct dw_sample_natives {
    void (*publish)(const struct dw_native_view *view); /* to those who unwind; NULL: none */
    bool with_frames; /* native frames are wanted, not only where Python's own code is */
    bool is_rare;     /* stacks are walked so rarely that nothing is made ready for it */
    uint64_t generation;
    struct dw_native_modules modules; /* as of that generation */
    struct dw_native_modules former;  /* those before that, while older samples are read */
    struct dw_native_names names;
    bool is_renamed;               /* made code has new names: older places may be wrong */
    struct dw_native_view **views; /* all that were published; old ones may be in use */
    uint32_t view_count, view_capacity;
    struct dw_unwind_cache *cache;
    uint64_t epoch;           /* in it */
    struct dw_code_book book; /* rules of functions that nothing describes */
    uint64_t copied_bytes;    /* of unwind information */
};

/* with_frames and is_rare are set, and all else is zero. */
int dw_sample_natives_init(struct dw_sample_natives *natives,
                           void (*publish)(const struct dw_native_view *view));
/* In a forked child, whose code is its parent's: what is known of it goes on, but for ids of the
 * parent's log. Nothing does when code is made at run time. Handlers must be disabled. */
void dw_sample_natives_leave(struct dw_sample_natives *natives, struct dw_sample_natives *heir);
/* In the place of init, with what was left. */
int dw_sample_natives_inherit(struct dw_sample_natives *natives, struct dw_sample_natives *heir);
/* Handlers must be disabled. */
void dw_sample_natives_release(struct dw_sample_natives *natives);
/* Whether modules came or went since the last refresh. */
bool dw_sample_natives_changed(const struct dw_sample_natives *natives);
/* Reads the list again. Then samples from before are read, and the former modules are let go. */
int dw_sample_natives_refresh(struct dw_sample_natives *natives);
void dw_sample_natives_forget_former(struct dw_sample_natives *natives);
/* Frees older views; the caller says that no handler uses them any more. */
void dw_sample_natives_reap(struct dw_sample_natives *natives);
/* Whether code that is made at run time has other names now, or may have. */
bool dw_sample_natives_made_changed(const struct dw_sample_natives *natives);
/* Looks at it again. Samples from before are to be read before that. */
int dw_sample_natives_look_at_made(struct dw_sample_natives *natives);
/* The place of an address; 0 for one that is left out. Unless it lasts, it is valid only under the
 * path `outer`. */
dw_place_id dw_sample_natives_place(struct dw_sample_natives *natives, struct dw_ledger *log,
                                    uint64_t address, dw_path_id outer, bool *lasts);

#endif
