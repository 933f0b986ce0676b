/* SPDX-License-Identifier: MIT
 * Names of C++, Rust and Cython functions as people write them. Only where logs are read: this
 * needs the C++ library. */
#ifndef DW_NATIVE_DEBUG_DEMANGLE_H
#define DW_NATIVE_DEBUG_DEMANGLE_H

#include "native/debug/annotate.h"

/* On the heap; NULL when the name stays as it is, or when out of memory. SHORT also takes off
 * what compilers append to parts of functions (.cold, .part.0 and the like). */
char *dw_demangle(const char *name, enum dw_demangle how);

/* Of Rust's mangling (_R..., or _ZN...17h...E), whole; NULL when it is another one. */
char *dw_demangle_rust(const char *name);

/* The Python function that Cython made it of; NULL when it is none, or may be one of two. */
char *dw_demangle_cython(const char *name);

/* What SHORT makes of names that are demangled. In place. */
void dw_shorten_cpp(char *name);
void dw_shorten_rust(char *name);

#endif
