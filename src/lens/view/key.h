/* SPDX-License-Identifier: MIT
 * What the rows of a view are told apart by. One table lists the keys that every profile has; any
 * other word is the key of a label, of rows or of whole processes. A key is of the place where time
 * was spent, or of the row. */
#ifndef DW_LENS_VIEW_KEY_H
#define DW_LENS_VIEW_KEY_H

#include "base/out.h"
#include "model/profile.h"

/* One row of one thread. */
struct dw_key_row {
    const struct dw_profile *profile;
    uint32_t thread;
    const struct dw_value_row *row;
    dw_string_id label; /* of a key that is a label: its name */
};

typedef uint64_t dw_key_value; /* what it means is the key's concern */

typedef dw_key_value dw_key_of_place(const struct dw_profile *profile,
                                     const struct dw_place *place);

/* What of a place a key tells apart; the first keys are these, in this order. */
enum dw_key_part { DW_KEY_FUNCTION, DW_KEY_LINE, DW_KEY_MODULE, DW_KEY_TYPE, DW_KEY_OBJECT };

struct dw_key {
    const char *name;
    const char *meaning;
    enum dw_key_part part;
    /* Of a place; NULL: it is a key of rows. */
    dw_key_of_place *of_place;
    dw_key_value (*of_row)(const struct dw_key_row *row);
    /* Of a key of rows; view_names.c has those of places. */
    void (*put)(struct dw_out *out, const struct dw_profile *profile, dw_key_value value);
    bool of_caller; /* native code has the key of what called it */
};

/* Whether a key of places tells frames of that kind apart. */
bool dw_key_tells(const struct dw_key *key, uint32_t kind);
/* The i-th key, NULL past the end. */
const struct dw_key *dw_key_at(size_t index);
/* The key of that name; that of labels when some row or process has such a label, whose name
 * becomes *label; NULL when nothing is known by it. This looks at all processes. */
const struct dw_key *dw_key_find(const struct dw_profile *profile, const char *name,
                                 dw_string_id *label);
/* Whether an entry of a region is inside another of the same name. */
bool dw_key_is_inside_itself(const struct dw_key_row *row);

#endif
