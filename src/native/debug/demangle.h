/* SPDX-License-Identifier: MIT
 * Names of C++, Rust and Cython functions as people write them. Only where logs are read: this
 * needs the C++ library. */
#ifndef DW_NATIVE_DEBUG_DEMANGLE_H
#define DW_NATIVE_DEBUG_DEMANGLE_H

#include "native/debug/annotate.h"

/* On the heap; NULL when the name stays as it is, or when out of memory. SHORT also takes off
 * what compilers append to parts of functions (.cold, .part.0 and the like). */
char *dw_demangle(const char *name, enum dw_demangle how);

/* The whole name in Rust, of _R... or _ZN...17h...E; NULL when it is not Rust's mangling. */
char *dw_demangle_rust(const char *name);

/* The Python function that Cython made it from; NULL when Cython did not, or when two could be
 * meant. */
char *dw_demangle_cython(const char *name);

/* What SHORT makes of names that are demangled. In place. */
void dw_shorten_cpp(char *name);
void dw_shorten_rust(char *name);

#endif
