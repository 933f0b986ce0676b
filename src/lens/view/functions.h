/* SPDX-License-Identifier: MIT
 * The functions of a profile and the calls between them, of all threads together, in
 * nanoseconds. A region between functions is left out: its time counts for the function
 * around it. In a profile without calls the regions stand in for functions. */
#ifndef DW_LENS_VIEW_FUNCTIONS_H
#define DW_LENS_VIEW_FUNCTIONS_H

#include "base/out.h"
#include "lens/view/measured.h"
#include "model/call_graph.h"
#include "model/profile.h"

/* The order, and what makes two of them one, is that of file, line and name. */
struct dw_function {
    struct dw_string file; /* "~" when it is not in a file, as pstats has it */
    uint32_t line;
    struct dw_string name;
    struct dw_call_sums sums;
};

/* The edges of function i are [start[i], start[i + 1]), in order of the other end. */
struct dw_function_edges {
    struct dw_call_edge *edges; /* caller and callee are indices of functions */
    uint32_t *start;
};

struct dw_functions {
    struct dw_function *functions;
    uint32_t count;
    uint32_t edge_count;
    struct dw_function_edges callees, callers;
    struct dw_call_sums all; /* of all functions; total is the sum of self */
};

/* Without directories, files are as short as tells the functions apart. Edges, of which there can
 * be as many as paths, are made for who asks for them. */
int dw_functions_make(const struct dw_profile *profile, enum dw_family family, bool strip_dirs,
                      bool with_edges, struct dw_functions *functions);
void dw_functions_release(struct dw_functions *functions);

/* Whether calls or samples were recorded, so that regions do not stand in for functions. */
bool dw_functions_are_in(const struct dw_profile *profile);

/* "x.py" of "/a/x.py". */
struct dw_string dw_file_without_dirs(struct dw_string file);
/* The same, but "a/__init__.py", of which there are many, with its package. */
struct dw_string dw_file_short(struct dw_string file);
/* Shortens the files, "pandas/__init__.py" where there is another "__init__.py" with a function of
 * the same name in the same line. Functions are `stride` bytes apart. */
int dw_functions_strip_dirs(void *functions, size_t stride, uint32_t count);
/* "x.py:12(f)", or "{built-in method builtins.len}": as pstats prints it; "libz.so(f)" of native
 * code, which has no first line. */
void dw_function_put_label(struct dw_out *out, const struct dw_function *function);
/* "x:12:f" as gprof2dot has it; the name alone when there is no file. A package's
 * __init__.py is named with the package, or one would look like all others. */
void dw_function_put_node(struct dw_out *out, const struct dw_function *function);

#endif
