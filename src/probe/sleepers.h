/* SPDX-License-Identifier: MIT
 * Spans of generators that sleep, found by the generator. The GIL guards it. */
#ifndef DW_PROBE_SLEEPERS_H
#define DW_PROBE_SLEEPERS_H

#include "record/track.h"

/* Sleeping generators now; most programs have none, and pay one load for that. */
extern size_t dw_sleepers_count;

/* False when out of memory. */
bool dw_sleepers_put(const void *generator, struct dw_span *segment);
/* Removes and returns the generator's spans, or NULL. */
struct dw_span *dw_sleepers_take(const void *generator);

#endif
