/* SPDX-License-Identifier: MIT
 * What the thread itself wrote before the signal is there in order, so a chain of frames holds
 * together with two exceptions: 3.11 and 3.12 announce a cframe a few instructions before it is
 * filled, and all versions let go of the frame of a generator function before the thread has
 * another one. */
#define _GNU_SOURCE
#include "cpython/sample_walk.h"

#include "cpython/task_name.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOWEST_ADDRESS 65536u

PyThreadState *dw_py_sampled_thread(void)
{
    return PyGILState_GetThisThreadState();
}

bool dw_py_holds_gil(PyThreadState *thread)
{
    struct _gil_runtime_state *gil = DW_PY_GIL(thread);
    /* 3.12 makes the thread state of a new interpreter current before it has a GIL. */
    return gil && DW_PY_GIL_LOCKED(gil) > 0 && DW_PY_GIL_HOLDER(gil) == thread;
}

bool dw_py_read(void *to, const void *address, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* What was left in memory is often a small number. No object of Python lies so low. */
static bool may_be_pointer(const void *address)
{
    return (uintptr_t)address >= LOWEST_ADDRESS && (uintptr_t)address % sizeof(void *) == 0;
}

static bool is_code(const PyCodeObject *code)
{
    return may_be_pointer(code) && Py_TYPE(code) == &PyCode_Type;
}

#if DW_PY_HAS_CFRAMES

#define MAX_CALLS_CHECKED 64
#define CODES_KNOWN 256

static bool is_on_datastack(const PyThreadState *thread, const dw_py_frame *frame)
{
    const _PyStackChunk *chunk = thread->datastack_chunk;
    return chunk && (uintptr_t)frame >= (uintptr_t)chunk->data &&
           (uintptr_t)(frame + 1) <= (uintptr_t)thread->datastack_top;
}

static bool is_of_running_generator(dw_py_frame *frame)
{
    int8_t state;
    const PyGenObject *generator = DW_PY_FRAME_GENERATOR(frame);
    return dw_py_read(&state, &generator->gi_frame_state, sizeof state) && state == FRAME_EXECUTING;
}

/* Whether all its fields look like those of a frame. */
static bool is_frame(const dw_py_frame *address, dw_py_frame *frame)
{
    PyVarObject code; /* its head */
    if (!may_be_pointer(address) || !dw_py_read(frame, address, sizeof *frame))
        return false;
    if (DW_PY_FRAME_IS_SHIM(frame))
        return true;
    if (!may_be_pointer(frame->f_code) || !dw_py_read(&code, frame->f_code, sizeof code) ||
        Py_TYPE(&code) != &PyCode_Type)
        return false;
    Py_ssize_t units = Py_SIZE(&code);
    intptr_t unit = frame->prev_instr - _PyCode_CODE(frame->f_code);
    return unit >= -1 && unit < units;
}

/* Whether it is a frame that runs. An address that was left on the C stack may be that of a frame
 * that is gone, or of the middle of another one. */
static bool is_live(const PyThreadState *thread, dw_py_frame *address)
{
    dw_py_frame frame;
    if (!is_frame(address, &frame))
        return false;
    if (DW_PY_FRAME_IS_SHIM(&frame))
        return true;
    return frame.owner == FRAME_OWNED_BY_GENERATOR ? is_of_running_generator(address)
                                                   : is_on_datastack(thread, address);
}

/* Whether there is a code object. Those that were read with care before are not read again. */
static bool is_known_code(const PyCodeObject *code)
{
    static const PyCodeObject *_Atomic known[CODES_KNOWN];
    const PyCodeObject *_Atomic *place = &known[(uintptr_t)code / 64 % CODES_KNOWN];
    PyObject head;
    if (atomic_load_explicit(place, memory_order_relaxed) == code)
        return code != NULL;
    if (!may_be_pointer(code) || !dw_py_read(&head, code, sizeof head) ||
        Py_TYPE(&head) != &PyCode_Type)
        return false;
    atomic_store_explicit(place, code, memory_order_relaxed);
    return true;
}

/* Whether a frame that one names which may be gone can be read, with what it runs. */
static bool is_readable(const PyThreadState *thread, const dw_py_frame *address)
{
    dw_py_frame copy;
    const dw_py_frame *frame = address;
    if (!is_on_datastack(thread, address)) {
        if (!may_be_pointer(address) || !dw_py_read(&copy, address, sizeof copy))
            return false;
        frame = &copy;
    }
    return DW_PY_FRAME_IS_SHIM(frame) || is_known_code(frame->f_code);
}

/* Whether the frames of a call lead back to the frame that the call before it runs. */
static bool is_filled(PyThreadState *thread, const _PyCFrame *call, const dw_py_frame *caller)
{
    dw_py_frame *frame = call->current_frame;
    if (!frame || frame == caller)
        return true;
    if (!is_live(thread, frame))
        return false;
    while (!DW_PY_FRAME_IS_ENTRY(frame) && !DW_PY_FRAME_IS_SHIM(frame)) {
        frame = frame->previous;
        if (frame == caller || !is_readable(thread, frame))
            return false;
    }
    return frame->previous == caller;
}

/* Whether calls lead from there to the thread's outermost; enough of them when there are many. */
static bool is_chain(PyThreadState *thread, const _PyCFrame *call)
{
    for (int i = 0; i < MAX_CALLS_CHECKED && call != &thread->root_cframe; i++) {
        _PyCFrame copy;
        dw_py_frame frame;
        if (!may_be_pointer(call) || !dw_py_read(&copy, call, sizeof copy) ||
            (copy.current_frame && !is_frame(copy.current_frame, &frame)) ||
            (copy.previous != &thread->root_cframe && copy.previous <= call))
            return false;
        call = copy.previous;
    }
    return true;
}

/* The innermost call that is complete, or NULL. One that is not filled yet does not even tell the
 * call before it: it holds what was left on the C stack. */
static const _PyCFrame *innermost_call(PyThreadState *thread)
{
    _PyCFrame before;
    const _PyCFrame *call = thread->cframe;
    if (!call || call == &thread->root_cframe)
        return call;
    if (call->previous == &thread->root_cframe)
        before = thread->root_cframe;
    else if (!may_be_pointer(call->previous) || !dw_py_read(&before, call->previous, sizeof before))
        return NULL;
    if (is_filled(thread, call, before.current_frame))
        return call;
    return is_chain(thread, call->previous) ? call->previous : NULL;
}

void dw_py_walk_begin(struct dw_py_walk *walk, PyThreadState *thread)
{
    const _PyCFrame *call = innermost_call(thread);
    *walk = (struct dw_py_walk){.frame = call ? call->current_frame : NULL, .call = call};
}

/* Leaves the call; returns where it was on the C stack. */
static uintptr_t leave_call(struct dw_py_walk *walk)
{
    const _PyCFrame *call = walk->call;
    walk->call = call ? call->previous : NULL;
    return (uintptr_t)call;
}

void dw_py_sleeper_begin(struct dw_py_walk *walk, const PyThreadState *thread,
                         struct dw_py_page *page)
{
    _PyCFrame call;
    *walk = (struct dw_py_walk){.page = page};
    page->start = 0;
    if (!dw_py_read(&walk->call, &thread->cframe, sizeof walk->call) || !walk->call ||
        !dw_py_read(&call, walk->call, sizeof call))
        walk->broken = true;
    else
        walk->frame = call.current_frame;
}

static uintptr_t leave_sleepers_call(struct dw_py_walk *walk)
{
    _PyCFrame call = {0};
    uintptr_t address = (uintptr_t)walk->call;
    if (!walk->call || !dw_py_read(&call, walk->call, sizeof call))
        walk->broken = true;
    walk->call = call.previous;
    return address;
}

#else

void dw_py_sleeper_begin(struct dw_py_walk *walk, const PyThreadState *thread,
                         struct dw_py_page *page)
{
    *walk = (struct dw_py_walk){.page = page};
    page->start = 0;
    walk->broken = !dw_py_read(&walk->frame, &thread->current_frame, sizeof walk->frame);
}

static uintptr_t leave_sleepers_call(struct dw_py_walk *walk)
{
    (void)walk;
    return 0;
}

/* A chunk of frames is unmapped when the first one in it is popped. That one may still be the
 * thread's current one, while a generator function returns its generator. A generator's frame that
 * happens to lie like that in its page is asked for, too. */
static bool is_gone(const PyThreadState *thread, const dw_py_frame *frame)
{
    const _PyStackChunk *chunk = thread->datastack_chunk;
    bool is_first = (uintptr_t)frame % DW_PY_PAGE_BYTES == offsetof(_PyStackChunk, data);
    dw_py_frame copy;
    return is_first && (!chunk || (const void *)frame != (const void *)chunk->data) &&
           !dw_py_read(&copy, frame, sizeof copy);
}

void dw_py_walk_begin(struct dw_py_walk *walk, PyThreadState *thread)
{
    *walk = (struct dw_py_walk){.frame = DW_PY_CURRENT_FRAME(thread)};
    walk->broken = is_gone(thread, walk->frame);
}

static uintptr_t leave_call(struct dw_py_walk *walk)
{
    (void)walk;
    return 0;
}

#endif

/* Frames that Python itself does not show: not begun yet, or the interpreter's own. */
static bool skip_incomplete(struct dw_py_walk *walk)
{
    while (walk->frame && !walk->entered && !DW_PY_FRAME_IS_SHIM(walk->frame)) {
        dw_py_frame *frame = walk->frame;
        if (!may_be_pointer(frame) || !is_code(dw_py_frame_code(frame)))
            return false;
        if (!_PyFrame_IsIncomplete(frame))
            break;
        walk->entered = DW_PY_FRAME_IS_ENTRY(frame);
        walk->frame = frame->previous;
    }
    return true;
}

bool dw_py_walk_next(struct dw_py_walk *walk, struct dw_py_step *step)
{
    walk->broken = walk->broken || !skip_incomplete(walk);
    dw_py_frame *frame = walk->frame;
    if (walk->entered) {
        walk->entered = false;
        *step = (struct dw_py_step){.boundary = leave_call(walk)};
        return true;
    }
    if (!frame || walk->broken)
        return false;
    walk->frame = frame->previous;
    if (DW_PY_FRAME_IS_SHIM(frame)) {
        *step = (struct dw_py_step){.boundary = (uintptr_t)frame};
        return true;
    }
    *step = (struct dw_py_step){
        .code = dw_py_frame_code(frame),
        .unit = _PyInterpreterFrame_LASTI(frame),
    };
    step->handle = dw_py_frame_handle(frame, step->code);
    walk->entered = DW_PY_FRAME_IS_ENTRY(frame);
    return true;
}

static bool read_frame(struct dw_py_page *page, const dw_py_frame *address, dw_py_frame *to)
{
    uintptr_t at = (uintptr_t)address % DW_PY_PAGE_BYTES, start = (uintptr_t)address - at;
    if (at + sizeof *to > DW_PY_PAGE_BYTES)
        return dw_py_read(to, address, sizeof *to);
    if (page->start != start && !dw_py_read(page->bytes, (const void *)start, sizeof page->bytes)) {
        page->start = 0;
        return false;
    }
    page->start = start;
    memcpy(to, page->bytes + at, sizeof *to);
    return true;
}

bool dw_py_sleeper_next(struct dw_py_walk *walk, struct dw_py_step *step)
{
    dw_py_frame copy;
    uintptr_t address = (uintptr_t)walk->frame;
    if (walk->entered) {
        walk->entered = false;
        *step = (struct dw_py_step){.boundary = leave_sleepers_call(walk)};
        return !walk->broken;
    }
    if (!address || walk->broken)
        return false;
    if (!may_be_pointer(walk->frame) || !read_frame(walk->page, walk->frame, &copy)) {
        walk->broken = true;
        return false;
    }
    walk->frame = copy.previous;
    if (DW_PY_FRAME_IS_SHIM(&copy)) {
        *step = (struct dw_py_step){.boundary = address};
        return true;
    }
    *step = (struct dw_py_step){
        .code = dw_py_frame_code(&copy),
        .frame = address,
        .instruction = (uintptr_t)DW_PY_FRAME_INSTRUCTION(&copy),
        .owner = (uint8_t)copy.owner,
    };
    step->handle = dw_py_frame_handle(&copy, step->code);
    walk->entered = DW_PY_FRAME_IS_ENTRY(&copy);
    walk->broken = !step->code;
    return !walk->broken;
}
