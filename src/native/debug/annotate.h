/* SPDX-License-Identifier: MIT
 * Completes the native places of a profile, where it is read: source lines and inlined
 * functions by DWARF, names that people can read. A file that is not the one that ran is
 * refused by its build id and named; nothing is guessed. */
#ifndef DW_NATIVE_DEBUG_ANNOTATE_H
#define DW_NATIVE_DEBUG_ANNOTATE_H

#include "model/profile.h"

enum dw_demangle {
    DW_DEMANGLE_SHORT, /* without arguments and template parameters */
    DW_DEMANGLE_FULL,
    DW_DEMANGLE_NONE,
};

/* Called once for each module whose lines are missing or doubtful, with the reason and what
 * follows. */
typedef void (*dw_annotate_complain)(void *context, const char *module, const char *reason);

struct dw_annotate_options {
    bool lines; /* source lines and inlines, which means reading debug information */
    enum dw_demangle names;
    dw_annotate_complain complain; /* NULL: silent */
    void *context;
};

/* Before dw_samples_fold. Debug files are also looked for in the directories of the environment
 * variable DWELL_DEBUG_PATH, which has colons between them. */
int dw_annotate(struct dw_profile *profile, const struct dw_annotate_options *options);

#endif
