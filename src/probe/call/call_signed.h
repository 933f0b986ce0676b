/* SPDX-License-Identifier: MIT
 * Functions of a calls profile that differ only in the types of their arguments. */
#ifndef DW_PROBE_CALL_CALL_SIGNED_H
#define DW_PROBE_CALL_CALL_SIGNED_H

#include "probe/call/calls.h"

/* The function with these arguments, or the one for signatures beyond the limit; or DW_MAP_NONE. */
uint32_t dw_signed_function_find(struct dw_call_profile *profile, PyCodeObject *code,
                                 const struct dw_signature_key *key);
/* Adds one that was not found; DW_MAP_NONE when out of memory. */
uint32_t dw_signed_function_add(struct dw_call_profile *profile, PyCodeObject *code,
                                const struct dw_signature_key *key);
/* "f(…)", which stands for signatures beyond the limit. */
uint32_t dw_signed_function_rest(struct dw_call_profile *profile, PyCodeObject *code);

#endif
