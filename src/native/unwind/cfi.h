/* SPDX-License-Identifier: MIT
 * Runs the instructions of unwind information up to an address, for the rule that is in force
 * there. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_CFI_H
#define DW_NATIVE_UNWIND_CFI_H

#include "native/unwind/cfi_rule.h"
#include "native/unwind/eh_frame.h"

/* False where the instructions say nothing that can be followed. Uses the record up. */
bool dw_cfi_run(struct dw_eh_record *record, uint64_t address, struct dw_cfi_rule *rule);

#endif
