/* SPDX-License-Identifier: MIT
 * Lines for people about what a profile could not keep: no lens hides a loss. */
#ifndef DW_LENS_NOTES_H
#define DW_LENS_NOTES_H

#include "base/out.h"
#include "model/profile.h"

/* Events that the recorders counted as dropped, in all processes. */
uint64_t dw_notes_dropped(const struct dw_profile *profile);
/* One line for each kind of loss, after `prefix`; nothing when there was none. */
void dw_notes_put_losses(struct dw_out *out, const struct dw_profile *profile, const char *prefix);
/* The same as numbers: a comma and the member "losses" of a JSON object. */
void dw_notes_put_json_losses(struct dw_out *out, const struct dw_profile *profile);

#endif
