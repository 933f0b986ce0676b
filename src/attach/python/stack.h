/* SPDX-License-Identifier: MIT
 * The Python stack of a thread that goes on running while it is read. One reading is a few
 * system calls, and allocates nothing; names are looked up elsewhere. */
#ifndef DW_ATTACH_PYTHON_STACK_H
#define DW_ATTACH_PYTHON_STACK_H

#include "attach/python/field.h"
#include "attach/python/python_runtime.h"

#define DW_STACK_WINDOW_BYTES (16 * 1024)

struct dw_raw_frame {
    uint64_t address, code, instruction;
    uint8_t owner;
    bool runs;      /* it executes now: it does not wait for a Python function that it called */
    bool is_entry;  /* C code called it, not the Python code of the frame outside of it */
    uint64_t entry; /* from 3.12 on, if so: the interpreter's frame for that, on the C stack */
};

enum dw_stack_state {
    DW_STACK_WHOLE,
    DW_STACK_CUT,    /* deeper than there is room for; the outermost frames are missing */
    DW_STACK_BROKEN, /* does not hold together; what is there may be wrong */
};

/* Innermost first, without the frames that only the interpreter itself knows. */
struct dw_raw_stack {
    struct dw_raw_frame *frames; /* owned */
    uint32_t count, capacity;
    enum dw_stack_state state;
};

struct dw_stack_reader {
    const struct dw_python *python;
    struct dw_raw_stack spare;
    uint64_t window_start, window_end; /* of the process's memory, held in `window` */
    uint8_t window[DW_STACK_WINDOW_BYTES];
};

int dw_raw_stack_init(struct dw_raw_stack *stack, uint32_t capacity);
void dw_raw_stack_release(struct dw_raw_stack *stack);
/* `capacity` is the number of frames that are read at most. */
int dw_stack_reader_init(struct dw_stack_reader *reader, const struct dw_python *python,
                         uint32_t capacity);
void dw_stack_reader_release(struct dw_stack_reader *reader);

/* Parses a frame from a copy of its bytes, and the address of its caller. False when it cannot be a
 * frame. A frame without code is one that only the interpreter knows. */
bool dw_raw_frame_parse(const struct dw_py_offsets *offsets, uint64_t address, const uint8_t *bytes,
                        struct dw_raw_frame *frame, uint64_t *previous);
/* Whether it executes now. */
static inline bool dw_raw_frame_runs(const struct dw_py_offsets *offsets, const uint8_t *bytes)
{
    return offsets->saved_is_pointer ? !dw_u64_at(bytes, offsets->frame_saved)
                                     : dw_u32_at(bytes, offsets->frame_saved) == UINT32_MAX;
}
/* Appends it, or notes that what was appended last was called by C code. */
void dw_raw_stack_add(struct dw_raw_stack *stack, const struct dw_raw_frame *frame);

void dw_raw_stack_swap(struct dw_raw_stack *a, struct dw_raw_stack *b);
/* Whether it ends with a frame that C code called, as every whole stack does. */
bool dw_raw_stack_has_end(const struct dw_py_offsets *offsets, const struct dw_raw_stack *stack);

/* One reading: right when the thread did not run meanwhile, likely right when it did. */
void dw_stack_read(struct dw_stack_reader *reader, uint64_t thread_state,
                   struct dw_raw_stack *stack);
/* Reads until several readings in a row agree on everything but the place in the innermost
 * function, which may have moved. False when they never did: then the stack is the last one
 * read, and may mix frames of different moments. */
bool dw_stack_read_settled(struct dw_stack_reader *reader, uint64_t thread_state,
                           struct dw_raw_stack *stack);

#endif
