/* SPDX-License-Identifier: MIT
 * The labels that are open in a context: a chain with a link for each Label that was entered,
 * innermost first. A link never changes, so any number of contexts and threads share it. The value
 * of the context variable refers to the innermost one; entering and leaving change it in place
 * when no other context has it, else they put a new one into the context. */
#ifndef DW_PROBE_LABEL_LABEL_LINK_H
#define DW_PROBE_LABEL_LABEL_LINK_H

#include "cpython/context_labels.h"
#include "model/label_table.h"

struct dw_label_link {
    PyObject_HEAD dw_labels_id id; /* of all labels up to here */
    uint64_t serial;               /* of the Label, never used again; 0: the end of all chains */
    PyObject *texts;               /* its keys and values, bytes */
    struct dw_label_link *parent;  /* NULL at the end */
};

/* Makes the type of links. 0, or -1 with an exception. */
int dw_label_link_init(void);
/* Makes the context variable and finds out whether samples can have labels; before the first
 * link, and any number of times. 0, or -1 with an exception. */
int dw_label_link_start(void);

/* The innermost link of the current context, never NULL; borrowed. */
struct dw_label_link *dw_label_link_now(void);
/* A new link; NULL with an exception. */
struct dw_label_link *dw_label_link_new(struct dw_label_link *parent, uint64_t serial,
                                        PyObject *texts);
/* Makes it the current context's. 0, or -1 with an exception. */
int dw_label_link_set(struct dw_label_link *link);
/* A link under the innermost one becomes the current context's: what `make` gives, which is a new
 * reference. 0, or -1 with an exception. */
typedef struct dw_label_link *dw_make_label_link(void *context, struct dw_label_link *parent);
int dw_label_link_enter(dw_make_label_link *make, void *context);
/* Takes the innermost link of that Label out of the current context's chain; those that were
 * entered since stay. Nothing when the context has none. 0, or -1 with an exception. */
int dw_label_link_leave(uint64_t serial);

#endif
