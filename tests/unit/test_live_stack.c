/* SPDX-License-Identifier: MIT
 * Stacks of a thread that is made up in memory of this process, as 3.12 has them. */
#include "check.h"

#include "attach/sampling/live_stack.h"
#include "attach/target/target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREAD_BYTES 288
#define COROUTINES 400
#define PAGE_BYTES 4096
#define INTERPRETER_OWNER 3
#define GENERATOR_OWNER 1

struct frame {
    uint64_t code, previous, unused[5], instruction;
    int32_t saved;
    uint8_t padding[2], owner, more;
    uint64_t local;
};

struct cframe {
    uint64_t frame, previous;
};

/* The C stack, the frames of calls and the heap are further apart than what is read in one go. */
struct memory {
    uint8_t thread[THREAD_BYTES];
    uint64_t gil[8];
    struct cframe cframe, inner_cframe;
    struct frame shim, inner_shim;
    uint8_t gap[32 * 1024];
    struct frame calls[64];
    uint8_t other_gap[32 * 1024];
    struct frame other_calls[64];
    uint8_t last_gap[32 * 1024];
    struct {
        struct frame frame;
        uint8_t rest[300];
    } heap[COROUTINES];
};

struct fixture {
    struct memory *memory;
    struct dw_target target;
    struct dw_python python;
    struct dw_live_reader reader;
    struct dw_live_thread thread;
    struct dw_raw_stack stack;
};

static uint64_t address_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static void put(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Fills in a frame, which runs, or has put its stack away. */
static void call(struct frame *frame, const struct frame *caller, uint8_t owner, bool runs)
{
    *frame = (struct frame){.code = owner == INTERPRETER_OWNER ? 8 : address_of(frame) + 1,
                            .previous = address_of(caller),
                            .owner = owner,
                            .saved = runs ? -1 : 0};
}

static void enter(struct fixture *fixture, struct cframe *cframe, const struct frame *innermost)
{
    cframe->frame = address_of(innermost);
    put(fixture->memory->thread + fixture->python.offsets.thread_frame, address_of(cframe));
}

static struct fixture *set_up(void)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct memory *memory =
        aligned_alloc(PAGE_BYTES, (sizeof *memory + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    assert_non_null(memory);
    memset(memory, 0, sizeof *memory);
    *fixture = (struct fixture){.memory = memory, .python.target = &fixture->target};
    assert_int_equal(dw_target_open(getpid(), &fixture->target), 0);
    assert_int_equal(dw_py_offsets_init(12, NULL, &fixture->python.offsets), 0);
    assert_int_equal(dw_live_reader_init(&fixture->reader, &fixture->python, 1000), 0);
    assert_int_equal(dw_raw_stack_init(&fixture->stack, 1000), 0);
    fixture->thread = (struct dw_live_thread){.state = address_of(memory->thread),
                                              .interpreter = 1,
                                              .native_id = 2,
                                              .gil = address_of(memory->gil)};
    put(memory->thread + fixture->python.offsets.thread_interpreter, 1);
    put(memory->thread + fixture->python.offsets.thread_native_id, 2);
    call(&memory->shim, NULL, INTERPRETER_OWNER, false);
    call(&memory->calls[0], &memory->shim, 0, true);
    enter(fixture, &memory->cframe, &memory->calls[0]);
    return fixture;
}

static void tear_down(struct fixture *fixture)
{
    dw_live_reader_release(&fixture->reader);
    dw_raw_stack_release(&fixture->stack);
    dw_target_release(&fixture->target);
    free(fixture->memory);
    free(fixture);
}

static void read_live(struct fixture *fixture)
{
    struct dw_live_look look = {.code = 0};
    assert_int_equal(
        dw_live_read(&fixture->reader, &fixture->thread, false, &fixture->stack, &look),
        DW_LIVE_GOOD);
}

static void assert_stack(const struct fixture *fixture, const struct frame *const *frames,
                         uint32_t count)
{
    assert_int_equal(fixture->stack.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(fixture->stack.frames[i].address, address_of(frames[i]));
}

#define ASSERT_STACK(fixture, ...)                                                                 \
    assert_stack(fixture, (const struct frame *const[]){__VA_ARGS__},                              \
                 COUNT_OF(((const struct frame *const[]){__VA_ARGS__})))

/* The outermost function is in C code that runs a coroutine, and that calls a function. */
static struct frame *run_coroutine(struct fixture *fixture, uint32_t index, struct cframe *cframe)
{
    struct memory *memory = fixture->memory;
    struct frame *coroutine = &memory->heap[index].frame;
    call(&memory->inner_shim, &memory->calls[0], INTERPRETER_OWNER, false);
    call(coroutine, &memory->inner_shim, GENERATOR_OWNER, false);
    call(&memory->calls[1], coroutine, 0, true);
    enter(fixture, cframe, &memory->calls[1]);
    return coroutine;
}

static void test_what_c_code_called_is_not_left_out(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    struct cframe *cframes[] = {&memory->cframe, &memory->inner_cframe};
    for (uint32_t i = 0; i < 20; i++) {
        enter(fixture, &memory->cframe, &memory->calls[0]);
        memory->calls[1] = (struct frame){0};
        read_live(fixture);
        ASSERT_STACK(fixture, &memory->calls[0]);
        struct frame *coroutine = run_coroutine(fixture, i, cframes[i % 2]);
        read_live(fixture);
        ASSERT_STACK(fixture, &memory->calls[1], coroutine, &memory->calls[0]);
        coroutine->previous = 0;
    }
    tear_down(fixture);
}

/* Each is read at the first look: else short ones would be missed. */
static void test_coroutines_that_take_turns_are_known(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    for (uint32_t i = 0; i < 60; i++) {
        struct frame *coroutine = run_coroutine(fixture, i % 20 * 3, &fixture->memory->cframe);
        uint64_t looks = fixture->thread.looks;
        read_live(fixture);
        ASSERT_STACK(fixture, &fixture->memory->calls[1], coroutine, &fixture->memory->calls[0]);
        assert_int_equal(fixture->thread.looks, looks + 1);
        assert_true(fixture->thread.area_count < 20);
        coroutine->previous = 0;
    }
    tear_down(fixture);
}

/* A greenlet that has ended leaves a frame that looks as if it ran. */
static void test_where_frames_are_only_looked_for_is_forgotten(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    read_live(fixture);
    uint32_t needed = fixture->thread.area_count;
    call(&memory->other_calls[0], &memory->shim, 0, true);
    enter(fixture, &memory->cframe, &memory->other_calls[0]);
    read_live(fixture);
    assert_int_equal(fixture->thread.area_count, needed + 1);
    enter(fixture, &memory->cframe, &memory->calls[0]);
    for (uint32_t i = 0; i < 20; i++) {
        read_live(fixture);
        ASSERT_STACK(fixture, &memory->calls[0]);
    }
    assert_int_equal(fixture->thread.area_count, needed);
    tear_down(fixture);
}

static void test_more_coroutines_than_are_read_at_once(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    for (uint32_t i = 0; i < 3 * COROUTINES; i++) {
        struct frame *coroutine =
            run_coroutine(fixture, i % COROUTINES, &fixture->memory->inner_cframe);
        read_live(fixture);
        ASSERT_STACK(fixture, &fixture->memory->calls[1], coroutine, &fixture->memory->calls[0]);
        assert_false(dw_live_is_astray(&fixture->thread)); /* the rest of each stack is read, too */
        coroutine->previous = 0;
    }
    tear_down(fixture);
}

/* A stack whose outer part cannot be read is not one, though it ends where C code was called. */
static void test_rest_of_a_stack_that_breaks_off(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    struct dw_live_look look = {.code = 0};
    read_live(fixture);
    run_coroutine(fixture, 0, &memory->cframe);
    memory->inner_shim.previous = 8;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            dw_live_read(&fixture->reader, &fixture->thread, false, &fixture->stack, &look),
            DW_LIVE_AGAIN);
    memory->inner_shim.previous = address_of(&memory->calls[0]);
    read_live(fixture);
    ASSERT_STACK(fixture, &memory->calls[1], &memory->heap[0].frame, &memory->calls[0]);
    tear_down(fixture);
}

static bool is_steady(struct fixture *fixture, const struct dw_live_look *look, uint32_t callee)
{
    return dw_live_is_steady(&fixture->reader, &fixture->thread, look, &fixture->stack, callee);
}

/* Only of looks that were in doubt is there a second copy, which counts if nothing came between. */
static void test_calls_that_two_copies_show_are_steady(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    for (uint32_t i = 0; i < 4; i++)
        call(&memory->calls[i], i ? &memory->calls[i - 1] : &memory->shim, 0, i == 3);
    enter(fixture, &memory->cframe, &memory->calls[3]);
    for (uint32_t doubt = 0; doubt < 2; doubt++) {
        struct dw_live_look look;
        do {
            look = (struct dw_live_look){.code = 0};
            if (doubt)
                dw_live_doubt(&fixture->thread);
            assert_int_equal(
                dw_live_read(&fixture->reader, &fixture->thread, false, &fixture->stack, &look),
                DW_LIVE_GOOD);
        } while (doubt && !look.is_at_once);
        assert_int_equal(is_steady(fixture, &look, 0), doubt);
        assert_int_equal(is_steady(fixture, &look, 2), doubt);
        assert_false(is_steady(fixture, &look, 3)); /* nobody called it */
        fixture->stack.frames[1] = fixture->stack.frames[3];
        assert_false(is_steady(fixture, &look, 0)); /* it was another one that called it */
    }
    tear_down(fixture);
}

/* A thread that goes on while it is asked is not in C code that the innermost function called. */
static void test_an_instruction_that_changes_does_not_stay(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct frame *innermost = &fixture->memory->calls[0];
    innermost->instruction = 8;
    read_live(fixture);
    assert_true(dw_live_stays(&fixture->reader, &fixture->stack.frames[0]));
    innermost->instruction = 16;
    assert_false(dw_live_stays(&fixture->reader, &fixture->stack.frames[0]));
    tear_down(fixture);
}

/* A greenlet that waits has a stack of its own that looks live, since it is in C code; its entry
 * frame is where that of the other one was. */
static void test_another_stack_of_the_thread_is_not_taken_for_it(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    for (uint32_t i = 0; i < 10; i++)
        call(&memory->other_calls[i], i ? &memory->other_calls[i - 1] : &memory->shim, 0, i == 9);
    enter(fixture, &memory->cframe, &memory->other_calls[9]);
    read_live(fixture);
    assert_int_equal(fixture->stack.count, 10);
    enter(fixture, &memory->cframe, &memory->calls[0]);
    for (int i = 0; i < 3; i++) {
        read_live(fixture);
        ASSERT_STACK(fixture, &memory->calls[0]);
    }
    tear_down(fixture);
}

static void test_memory_of_frames_that_is_gone(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    struct frame *frames =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(frames != MAP_FAILED);
    call(&memory->inner_shim, &memory->calls[0], INTERPRETER_OWNER, false);
    call(frames, &memory->inner_shim, GENERATOR_OWNER, true);
    enter(fixture, &memory->cframe, frames);
    read_live(fixture);
    ASSERT_STACK(fixture, frames, &memory->calls[0]);
    uint32_t area_count = fixture->thread.area_count;
    enter(fixture, &memory->cframe, &memory->calls[0]);
    assert_int_equal(munmap(frames, PAGE_BYTES), 0);
    read_live(fixture);
    ASSERT_STACK(fixture, &memory->calls[0]);
    assert_int_equal(fixture->thread.area_count, area_count - 1);
    tear_down(fixture);
}

/* What was called between the reading of the innermost frame and the copy is seen. */
static void test_frame_that_returned_gives_way_to_the_one_that_runs(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    call(&memory->calls[0], &memory->shim, 0, false);
    call(&memory->calls[1], &memory->calls[0], 0, true);
    enter(fixture, &memory->cframe, &memory->calls[0]);
    read_live(fixture);
    ASSERT_STACK(fixture, &memory->calls[1], &memory->calls[0]);
    call(&memory->calls[0], &memory->shim, 0, true);
    call(&memory->calls[1], &memory->calls[0], 0, false);
    enter(fixture, &memory->cframe, &memory->calls[1]);
    read_live(fixture);
    ASSERT_STACK(fixture, &memory->calls[0]);
    tear_down(fixture);
}

static void test_chain_that_leads_in_a_circle(void **state)
{
    (void)state;
    struct fixture *fixture = set_up();
    struct memory *memory = fixture->memory;
    struct dw_live_look look = {.code = 0};
    call(&memory->calls[0], &memory->shim, 0, false);
    for (uint32_t i = 1; i < 10; i++)
        call(&memory->calls[i], &memory->calls[i - 1], 0, i == 9);
    enter(fixture, &memory->cframe, &memory->calls[9]);
    read_live(fixture);
    assert_int_equal(fixture->stack.count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        memory->calls[0].previous = address_of(&memory->calls[i]);
        assert_int_equal(
            dw_live_read(&fixture->reader, &fixture->thread, false, &fixture->stack, &look),
            DW_LIVE_AGAIN);
        assert_int_equal(fixture->stack.count, 0);
    }
    tear_down(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_c_code_called_is_not_left_out),
        cmocka_unit_test(test_coroutines_that_take_turns_are_known),
        cmocka_unit_test(test_where_frames_are_only_looked_for_is_forgotten),
        cmocka_unit_test(test_more_coroutines_than_are_read_at_once),
        cmocka_unit_test(test_rest_of_a_stack_that_breaks_off),
        cmocka_unit_test(test_calls_that_two_copies_show_are_steady),
        cmocka_unit_test(test_an_instruction_that_changes_does_not_stay),
        cmocka_unit_test(test_another_stack_of_the_thread_is_not_taken_for_it),
        cmocka_unit_test(test_memory_of_frames_that_is_gone),
        cmocka_unit_test(test_frame_that_returned_gives_way_to_the_one_that_runs),
        cmocka_unit_test(test_chain_that_leads_in_a_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
