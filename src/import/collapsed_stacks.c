/* SPDX-License-Identifier: MIT
 * Collapsed stacks: "a;b;c 12", outermost first. The number may be of samples, of bytes or of
 * microseconds, and nothing says which: it is kept as a number. Frames are names, or
 * "name (file.py:12)" as samplers of Python write them. */
#include "import/foreign.h"

#include <string.h>

#define LOOKED_AT 20 /* so many first lines must have the format */

/* Cuts the number off the end of the line. Nothing may stand before it: py-spy counts what it could
 * not read. */
static bool split_line(struct dw_string line, struct dw_string *stack, uint64_t *count)
{
    const char *space = dw_text_last(line, ' ');
    if (!space)
        return false;
    struct dw_string number = {space + 1, line.size - (size_t)(space + 1 - line.bytes)};
    *stack = (struct dw_string){line.bytes, (size_t)(space - line.bytes)};
    return dw_text_number(&number, 10, count) && !number.size;
}

static bool is_comment(struct dw_string line)
{
    return !line.size || *line.bytes == '#';
}

bool dw_collapsed_is(struct dw_string text)
{
    struct dw_string line, stack;
    uint64_t count;
    uint32_t seen = 0;
    bool has_stacks = false;
    while (seen < LOOKED_AT && dw_text_line(&text, &line)) {
        if (is_comment(line))
            continue;
        if (!split_line(line, &stack, &count))
            return false;
        has_stacks = has_stacks || stack.size;
        seen++;
    }
    return has_stacks;
}

/* Splits "f (x.py:12)" into its parts; anything else is a name. */
static void split_name(struct dw_string text, struct dw_string *name, struct dw_string *file,
                       uint64_t *line)
{
    const char *open = dw_text_last(text, '(');
    const char *colon = dw_text_last(text, ':');
    *name = text;
    *file = (struct dw_string){"", 0};
    *line = 0;
    if (!open || open < text.bytes + 2 || open[-1] != ' ' || !colon || colon < open + 2 ||
        text.bytes[text.size - 1] != ')')
        return;
    struct dw_string number = {colon + 1, (size_t)(text.bytes + text.size - colon - 2)};
    if (!dw_text_number(&number, 10, line) || number.size || *line > UINT32_MAX) {
        *line = 0;
        return;
    }
    *name = (struct dw_string){text.bytes, (size_t)(open - 1 - text.bytes)};
    *file = (struct dw_string){open + 1, (size_t)(colon - open - 1)};
}

static bool ends_with(struct dw_string text, const char *end)
{
    size_t size = strlen(end);
    return text.size > size && !memcmp(text.bytes + text.size - size, end, size);
}

/* "_[k]" behind a name marks the kernel's, as the scripts for flame graphs have it. */
static dw_path_id add_frame(struct dw_foreign *foreign, dw_path_id parent, struct dw_string text,
                            uint32_t *state)
{
    struct dw_string name, file;
    uint64_t line;
    bool is_kernel = ends_with(text, "_[k]");
    if (is_kernel)
        text.size -= 4;
    *state = is_kernel ? DW_SAMPLE_KERNEL : DW_SAMPLE_RUNNING;
    split_name(text, &name, &file, &line);
    struct dw_frame frame = {.kind = is_kernel ? DW_FRAME_NATIVE : DW_FRAME_FUNCTION,
                             .name = dw_foreign_string(foreign, name),
                             .file = dw_foreign_string(foreign, file)};
    return dw_foreign_stack(foreign, parent, &frame, (struct dw_place){.line = (uint32_t)line});
}

static void add_stack(struct dw_foreign *foreign, uint32_t thread, struct dw_string stack,
                      uint64_t count)
{
    dw_path_id path = DW_PATH_ROOT;
    uint32_t state = DW_SAMPLE_RUNNING;
    const char *at = stack.bytes, *end = at + stack.size, *next;
    for (; at < end && !foreign->error; at = next + 1) {
        next = memchr(at, ';', (size_t)(end - at));
        next = next ? next : end;
        struct dw_string name = {at, (size_t)(next - at)};
        bool is_our_root = at == stack.bytes && dw_text_is(name, "<main>");
        if (name.size && !is_our_root)
            path = add_frame(foreign, path, name, &state);
    }
    dw_foreign_add(foreign, thread, path, state, count, count);
}

void dw_collapsed_read(struct dw_foreign *foreign, struct dw_string text)
{
    struct dw_string line, stack, none = {"", 0};
    uint64_t count;
    foreign->sampling.mode = DW_SAMPLE_COUNTS;
    uint32_t process = dw_foreign_process(foreign, 0, none);
    uint32_t thread = dw_foreign_thread(foreign, process, 0, (struct dw_string){"all", 3});
    while (!foreign->error && dw_text_line(&text, &line)) {
        if (is_comment(line))
            continue;
        if (split_line(line, &stack, &count))
            add_stack(foreign, thread, stack, count);
        else
            dw_foreign_lose(foreign, line.size);
    }
}
