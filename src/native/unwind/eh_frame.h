/* SPDX-License-Identifier: MIT
 * Finds the record of .eh_frame that describes an address (an FDE, with the CIE that it shares
 * with others), by the sorted table of .eh_frame_hdr. [signal-safe] */
#ifndef DW_NATIVE_UNWIND_EH_FRAME_H
#define DW_NATIVE_UNWIND_EH_FRAME_H

#include "native/unwind/cfi_cursor.h"

struct dw_eh_record {
    uint64_t start, end;           /* the code */
    struct dw_cfi_cursor cie, fde; /* at their instructions: the CIE's come first */
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t return_column;
    uint8_t encoding;      /* of addresses */
    bool has_augmentation; /* data of a size that is given, before the FDE's instructions */
    bool is_signal; /* the frame that the kernel makes: it was interrupted, it did not call */
};

/* Finds the FDE that describes the address. */
bool dw_eh_search(const struct dw_cfi_source *source, const struct dw_unwind_module *module,
                  uint64_t address, uint64_t *fde);
/* The FDE there, whatever it describes; false when there is none. */
bool dw_eh_parse(const struct dw_cfi_source *source, uint64_t hdr, uint64_t fde,
                 struct dw_eh_record *record);
/* False when there is none, or it describes other addresses. */
bool dw_eh_read(const struct dw_cfi_source *source, const struct dw_unwind_module *module,
                uint64_t fde, uint64_t address, struct dw_eh_record *record);

#endif
