/* SPDX-License-Identifier: MIT
 * The frames of a thread lie one after the other in memory, the outermost first, so a window
 * that ends with one frame has those that called it. Generators and the interpreter's own
 * frames are elsewhere and move the window. */
#include "attach/python/stack.h"

#include "attach/python/field.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define FIRST_INTERNAL_OWNER 3
#define LAST_OWNER 4
#define GENERATOR_OWNER 1
#define AGREEING_READINGS 4
#define MAX_READINGS 400

int dw_raw_stack_init(struct dw_raw_stack *stack, uint32_t capacity)
{
    *stack = (struct dw_raw_stack){.capacity = capacity};
    stack->frames = malloc(capacity * sizeof *stack->frames);
    return stack->frames ? 0 : DW_ERR_MEMORY;
}

void dw_raw_stack_release(struct dw_raw_stack *stack)
{
    free(stack->frames);
    *stack = (struct dw_raw_stack){0};
}

int dw_stack_reader_init(struct dw_stack_reader *reader, const struct dw_python *python,
                         uint32_t capacity)
{
    reader->python = python;
    reader->window_start = reader->window_end = 0;
    return dw_raw_stack_init(&reader->spare, capacity);
}

void dw_stack_reader_release(struct dw_stack_reader *reader)
{
    dw_raw_stack_release(&reader->spare);
}

/* Fills the window so that it ends with the bytes asked for. The page that holds them comes
 * first, because those below may be missing. */
static bool move_window(struct dw_stack_reader *reader, uint64_t address, size_t size)
{
    uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);
    size_t near = (size_t)(address + size - page);
    size_t below = (DW_STACK_WINDOW_BYTES - near) & ~(size_t)(PAGE_BYTES - 1);
    if (address > UINT64_MAX / 2 || page < below)
        return false;
    size_t got = dw_target_read_two(reader->python->target, (uint64_t[]){page, page - below},
                                    (void *[]){reader->window + below, reader->window},
                                    (size_t[]){near, below});
    reader->window_start = reader->window_end = 0;
    if (got < near)
        return false;
    /* A part of what is below would leave a hole, so it counts only as a whole. */
    reader->window_start = got == near + below ? page - below : page;
    reader->window_end = page + near;
    if (reader->window_start == page)
        memmove(reader->window, reader->window + below, near);
    return true;
}

static const uint8_t *bytes_at(struct dw_stack_reader *reader, uint64_t address, size_t size)
{
    bool inside = address >= reader->window_start && reader->window_end >= size &&
                  address <= reader->window_end - size;
    if (!inside && !move_window(reader, address, size))
        return NULL;
    return reader->window + (address - reader->window_start);
}

static bool read_innermost(const struct dw_python *python, uint64_t thread_state, uint64_t *frame)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t address;
    if (dw_target_read_u64(python->target, thread_state + offsets->thread_frame, &address))
        return false;
    if (offsets->has_cframe && address &&
        dw_target_read_u64(python->target, address + offsets->cframe_frame, &address))
        return false;
    *frame = address;
    return true;
}

bool dw_raw_frame_parse(const struct dw_py_offsets *offsets, uint64_t address, const uint8_t *bytes,
                        struct dw_raw_frame *frame, uint64_t *previous)
{
    uint8_t owner = bytes[offsets->frame_owner];
    *frame = (struct dw_raw_frame){.address = address, .owner = owner};
    *previous = dw_u64_at(bytes, offsets->frame_previous);
    if (owner >= FIRST_INTERNAL_OWNER)
        return owner <= LAST_OWNER;
    frame->code = dw_py_untagged(dw_u64_at(bytes, offsets->frame_code));
    frame->instruction = dw_u64_at(bytes, offsets->frame_instruction);
    frame->runs = dw_raw_frame_runs(offsets, bytes);
    frame->is_entry = offsets->frame_entry && bytes[offsets->frame_entry];
    return frame->code != 0;
}

void dw_raw_stack_add(struct dw_raw_stack *stack, const struct dw_raw_frame *frame)
{
    struct dw_raw_frame *last = stack->count ? &stack->frames[stack->count - 1] : NULL;
    if (frame->code && stack->count == stack->capacity) {
        stack->state = DW_STACK_CUT;
    } else if (frame->code) {
        stack->frames[stack->count++] = *frame;
    } else if (last && !last->is_entry) {
        last->is_entry = true;
        last->entry = frame->address;
    }
}

/* A generator that yields is cut off from its caller a moment before it is left; in 3.11, where
 * frames themselves say that C code called them, that looks like an end. */
bool dw_raw_stack_has_end(const struct dw_py_offsets *offsets, const struct dw_raw_stack *stack)
{
    if (!stack->count || stack->state == DW_STACK_CUT)
        return true;
    const struct dw_raw_frame *last = &stack->frames[stack->count - 1];
    return last->is_entry && !(offsets->frame_entry && last->owner == GENERATOR_OWNER);
}

void dw_raw_stack_swap(struct dw_raw_stack *a, struct dw_raw_stack *b)
{
    struct dw_raw_stack held = *a;
    *a = *b;
    *b = held;
}

/* Adds the frame, and moves *address to the one that called it. */
static bool read_frame(struct dw_stack_reader *reader, uint64_t *address,
                       struct dw_raw_stack *stack)
{
    const struct dw_py_offsets *offsets = &reader->python->offsets;
    struct dw_raw_frame frame;
    const uint8_t *bytes = *address % 8 ? NULL : bytes_at(reader, *address, offsets->frame_size);
    if (!bytes || !dw_raw_frame_parse(offsets, *address, bytes, &frame, address))
        return false;
    dw_raw_stack_add(stack, &frame);
    return true;
}

/* Walks to the outermost frame. A chain that comes back to a frame it had (found by
 * comparing with one that is left behind further and further) is broken. */
static bool read_frames(struct dw_stack_reader *reader, uint64_t address,
                        struct dw_raw_stack *stack)
{
    uint64_t steps = 0, next_mark = 64, marked = address;
    while (address && stack->state != DW_STACK_CUT) {
        if (!read_frame(reader, &address, stack) || address == marked)
            return false;
        if (++steps == next_mark) {
            marked = address;
            next_mark *= 2;
        }
    }
    return true;
}

void dw_stack_read(struct dw_stack_reader *reader, uint64_t thread_state,
                   struct dw_raw_stack *stack)
{
    uint64_t before, after;
    stack->count = 0;
    stack->state = DW_STACK_WHOLE;
    reader->window_start = reader->window_end = 0;
    bool whole = read_innermost(reader->python, thread_state, &before) &&
                 read_frames(reader, before, stack) &&
                 read_innermost(reader->python, thread_state, &after) && before == after;
    if (!whole)
        stack->state = DW_STACK_BROKEN;
}

static bool agree(const struct dw_raw_stack *a, const struct dw_raw_stack *b)
{
    if (a->state == DW_STACK_BROKEN || a->state != b->state || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct dw_raw_frame *one = &a->frames[i], *other = &b->frames[i];
        if (one->address != other->address || one->code != other->code ||
            one->owner != other->owner || (i && one->instruction != other->instruction))
            return false;
    }
    return true;
}

bool dw_stack_read_settled(struct dw_stack_reader *reader, uint64_t thread_state,
                           struct dw_raw_stack *stack)
{
    int agreed = 1;
    dw_stack_read(reader, thread_state, stack);
    for (int i = 1; i < MAX_READINGS && agreed < AGREEING_READINGS; i++) {
        dw_stack_read(reader, thread_state, &reader->spare);
        agreed = agree(stack, &reader->spare) ? agreed + 1 : 1;
        dw_raw_stack_swap(stack, &reader->spare);
    }
    return agreed == AGREEING_READINGS && dw_raw_stack_has_end(&reader->python->offsets, stack);
}
