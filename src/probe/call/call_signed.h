/* SPDX-License-Identifier: MIT
 * Functions of a calls profile that are told apart by the types of their arguments. */
#ifndef DW_PROBE_CALL_CALL_SIGNED_H
#define DW_PROBE_CALL_CALL_SIGNED_H

#include "probe/call/calls.h"

/* The function with these arguments, or the one for all that are too many; or DW_MAP_NONE. */
uint32_t dw_signed_function_find(struct dw_call_profile *profile, PyCodeObject *code,
                                 const struct dw_signature_key *key);
/* One that was not found; DW_MAP_NONE when out of memory. */
uint32_t dw_signed_function_add(struct dw_call_profile *profile, PyCodeObject *code,
                                const struct dw_signature_key *key);
/* "f(…)", which is also what is found for a signature when there is no place for it. */
uint32_t dw_signed_function_rest(struct dw_call_profile *profile, PyCodeObject *code);

#endif
