/* SPDX-License-Identifier: MIT
 * Most of it comes from /proc, so it is read at the beginning of a recording, while the process
 * lives. */
#include "attach/sampling/describe.h"

#include "base/error.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENT_BYTES (1u << 20)
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"

void dw_python_put_version(uint32_t version, struct dw_out *out)
{
    dw_out_printf(out, "%u.%u", version >> 24, version >> 16 & 0xff);
    if (version & 0xffff)
        dw_out_printf(out, ".%u", version >> 8 & 0xff);
}

/* The words of the command line, each ended by a 0. */
static void read_arguments(pid_t pid, struct dw_buffer *words)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && words->size < MAX_ARGUMENT_BYTES;) {
        uint8_t *room = dw_buffer_reserve(words, PATH_MAX);
        got = room ? read(fd, room, PATH_MAX) : 0;
        words->size += got > 0 ? (size_t)got : 0;
    }
    dw_buffer_append(words, "", 1);
    if (fd >= 0)
        close(fd);
}

/* The word as a shell would need it. */
static void put_quoted(struct dw_out *out, const char *word)
{
    if (*word && !word[strspn(word, PLAIN)]) {
        dw_out_text(out, word);
        return;
    }
    dw_out_char(out, '\'');
    for (; *word; word++)
        dw_out_text(out, *word == '\'' ? "'\\''" : (char[]){*word, 0});
    dw_out_char(out, '\'');
}

static const char *next_word(const struct dw_buffer *words, const char *word)
{
    const char *end = (const char *)words->data + words->size - 1;
    const char *next = word + strlen(word) + 1;
    return next < end ? next : NULL;
}

static void put_arguments(const struct dw_buffer *words, struct dw_out *out)
{
    const char *word = words->size > 1 ? (const char *)words->data : NULL;
    for (; word; word = next_word(words, word)) {
        put_quoted(out, word);
        if (next_word(words, word))
            dw_out_char(out, ' ');
    }
}

static const char *find_program(const struct dw_buffer *words)
{
    const char *word = words->size > 1 ? next_word(words, (const char *)words->data) : NULL;
    for (; word; word = next_word(words, word)) {
        const char *next = next_word(words, word);
        if (!strcmp(word, "-m") && next)
            return next;
        if (!strcmp(word, "-c"))
            return word;
        if (word[0] != '-')
            return basename(word);
    }
    return "python";
}

void dw_target_put_program(const struct dw_target *target, struct dw_out *out)
{
    struct dw_buffer words = {0};
    read_arguments(target->pid, &words);
    dw_out_text(out, words.failed ? "python" : find_program(&words));
    dw_buffer_release(&words);
}

void dw_target_put_command(const struct dw_target *target, struct dw_out *out)
{
    struct dw_buffer words = {0};
    read_arguments(target->pid, &words);
    if (!words.failed)
        put_arguments(&words, out);
    dw_buffer_release(&words);
}

typedef void put_text(const struct dw_python *python, struct dw_out *out);

static void put_argv(const struct dw_python *python, struct dw_out *out)
{
    dw_target_put_command(python->target, out);
}

static void put_program(const struct dw_python *python, struct dw_out *out)
{
    dw_target_put_program(python->target, out);
}

static void put_version(const struct dw_python *python, struct dw_out *out)
{
    dw_python_put_version(python->version, out);
}

static void put_directory(const struct dw_python *python, struct dw_out *out)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)python->target->pid);
    ssize_t size = readlink(link, path, sizeof path);
    dw_out_write(out, path, size > 0 ? (size_t)size : 0);
}

static void put_host(const struct dw_python *python, struct dw_out *out)
{
    char name[HOST_NAME_MAX + 1] = "";
    (void)python;
    gethostname(name, sizeof name - 1);
    dw_out_text(out, name);
}

static void put_clock(const struct dw_python *python, struct dw_out *out)
{
    (void)python;
    dw_out_text(out, "monotonic");
}

static const struct {
    const char *key;
    put_text *put;
} properties[] = {{"host", put_host}, {"cwd", put_directory},   {"clock", put_clock},
                  {"argv", put_argv}, {"program", put_program}, {"python", put_version}};

int dw_target_describe(const struct dw_python *python, struct dw_ledger *log)
{
    int error = 0;
    dw_ledger_of(log, (uint64_t)python->target->pid);
    for (size_t i = 0; !error && i < sizeof properties / sizeof *properties; i++) {
        struct dw_out text;
        dw_out_init_memory(&text);
        properties[i].put(python, &text);
        dw_out_char(&text, 0);
        error = text.error
                    ? text.error
                    : dw_ledger_describe(log, properties[i].key, (const char *)text.buffer.data);
        dw_out_close(&text);
    }
    return error;
}
