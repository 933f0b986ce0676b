/* SPDX-License-Identifier: MIT
 * Rust's second mangling. */
#ifndef DW_NATIVE_DEBUG_DEMANGLE_RUST_V0_H
#define DW_NATIVE_DEBUG_DEMANGLE_RUST_V0_H

/* Demangles a name that begins with _R, on the heap; NULL when it is not such a name. */
char *dw_demangle_rust_v0(const char *name);

#endif
