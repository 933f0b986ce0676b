/* SPDX-License-Identifier: MIT
 * Lines for people about what a profile could not keep, and about how it was sampled: no lens
 * hides a loss. */
#ifndef DW_LENS_VIEW_NOTES_H
#define DW_LENS_VIEW_NOTES_H

#include "base/out.h"
#include "model/profile.h"

/* Events that the recorders counted as dropped, in all processes. */
uint64_t dw_notes_dropped(const struct dw_profile *profile);
/* One line for each kind of loss, after `prefix`; nothing when nothing was lost. */
void dw_notes_put_losses(struct dw_out *out, const struct dw_profile *profile, const char *prefix);
/* The same as numbers: a comma and the member "losses" of a JSON object. */
void dw_notes_put_json_losses(struct dw_out *out, const struct dw_profile *profile);

/* How samples were taken and how well that went, a line for each mode, after `prefix`; who had
 * the GIL, when that is known. Nothing when no samples were taken. */
void dw_notes_put_sampling(struct dw_out *out, const struct dw_profile *profile,
                           const char *prefix);
/* A line that says what shares of samples are of; nothing when samples have no times. When there
 * are several processes, another line says how evenly they worked. */
void dw_notes_put_whole(struct dw_out *out, const struct dw_profile *profile, const char *prefix);
/* What that is: "the CPU time of 3 threads". */
void dw_notes_put_whole_name(struct dw_out *out, const struct dw_profile *profile);
/* The sampling as one JSON string, for formats that have room for a text only. */
void dw_notes_put_json_text(struct dw_out *out, const struct dw_profile *profile);
/* The same of each process that was sampled: a comma and the member "sampling" of an object. */
void dw_notes_put_json_sampling(struct dw_out *out, const struct dw_profile *profile);

#endif
