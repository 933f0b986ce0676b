/* SPDX-License-Identifier: MIT
 * The native code of another process: its stacks, unwound from a copy, and its functions as
 * places of a recording. */
#ifndef DW_ATTACH_NATIVE_NATIVE_CODE_H
#define DW_ATTACH_NATIVE_NATIVE_CODE_H

#include "attach/native/native_names.h"
#include "attach/python/python_runtime.h"

#define DW_NATIVE_DEPTH 512
#define DW_NATIVE_COPY_BYTES (256u << 10)

struct dw_native_address;

struct dw_native_code {
    const struct dw_python *python; /* borrowed */
    struct dw_target maps;          /* where everything was mapped when it was looked at last */
    struct dw_native_modules modules;
    struct dw_unwind_modules unwind;
    struct dw_unwind_cache *cache;
    uint64_t epoch;           /* in it */
    struct dw_code_book book; /* rules of functions that nothing describes */
    struct dw_native_names names;
    struct dw_native_address *addresses; /* owned; the places of addresses in these modules */
    uint32_t address_count, address_capacity;
    struct dw_map address_index;
    uint64_t refreshed_ns;
    uint8_t *copy; /* owned; of a stack */
};

/* A native stack, innermost first. */
struct dw_native_stack {
    struct dw_registers registers; /* given */
    uint64_t end;                  /* of the copy, in the process */
    struct dw_native_frame frames[DW_NATIVE_DEPTH];
    uint32_t count;
    bool is_complete, is_guessed;
};

int dw_native_code_init(struct dw_native_code *code, const struct dw_python *python);
void dw_native_code_release(struct dw_native_code *code);
/* Looks at what is mapped again, if the last time is long ago. */
int dw_native_code_refresh(struct dw_native_code *code, uint64_t now_ns);
/* Copies the stack above the stack pointer: this is what has to be done while the thread stands
 * still. False when it cannot be read. */
bool dw_native_stack_copy(struct dw_native_code *code, struct dw_native_stack *stack);
/* Unwinds the copy that was made last. */
void dw_native_stack_unwind(struct dw_native_code *code, struct dw_native_stack *stack);
/* The place of a frame of the stack; 0 for one that is left out. */
int dw_native_code_place(struct dw_native_code *code, struct dw_ledger *log,
                         const struct dw_native_stack *stack, uint32_t frame_index,
                         dw_place_id *place);
/* Whether the address is code of the interpreter itself. */
bool dw_native_code_is_python(const struct dw_native_code *code, uint64_t address);

#endif
