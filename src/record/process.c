/* SPDX-License-Identifier: MIT
 * Properties that were described stay for the life of the process; those that may change, such as
 * the directory, are read again for every log. */
#include "record/process.h"

#include "base/grow.h"
#include "log/redaction.h"
#include "record/rank.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define TITLE_MAX 256

static _Atomic uint32_t changes; /* how often something was described */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_string_table described_strings;
static struct dw_process described; /* its properties only */

void dw_process_lock(void)
{
    pthread_mutex_lock(&lock);
}

void dw_process_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* The property of that key, made when absent; NULL when out of memory. */
static struct dw_property *property_of(struct dw_process *process, dw_string_id key)
{
    for (uint32_t i = 0; i < process->property_count; i++)
        if (process->properties[i].key == key)
            return &process->properties[i];
    if (DW_GROW(process->properties, process->property_count, process->property_capacity))
        return NULL;
    process->properties[process->property_count] = (struct dw_property){.key = key};
    return &process->properties[process->property_count++];
}

int dw_process_add_property(struct dw_process *process, struct dw_string_table *strings,
                            struct dw_string key, struct dw_string value)
{
    struct dw_property made;
    if (dw_redacts_property(key.bytes, key.size))
        return 0;
    int error = dw_string_intern(strings, key.bytes, key.size, &made.key);
    if (!error)
        error = dw_string_intern(strings, value.bytes, value.size, &made.value);
    struct dw_property *property = error ? NULL : property_of(process, made.key);
    if (!property)
        return DW_ERR_MEMORY;
    *property = made;
    return 0;
}

static void describe(const char *key, const void *value, size_t size)
{
    pthread_mutex_lock(&lock);
    dw_process_add_property(&described, &described_strings, (struct dw_string){key, strlen(key)},
                            (struct dw_string){value, size});
    pthread_mutex_unlock(&lock);
}

void dw_process_describe(const char *key, const void *value, size_t size)
{
    describe(key, value, size);
    atomic_fetch_add(&changes, 1);
}

uint32_t dw_process_changes(void)
{
    return atomic_load(&changes);
}

static void describe_text(const char *key, const char *value)
{
    describe(key, value, strlen(value));
}

static bool is_described(const char *key)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < described.property_count && !found; i++)
        found = !strcmp(described_strings.strings[described.properties[i].key].bytes, key);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Servers tell their workers apart by the command line that ps shows. */
static void describe_title(void)
{
    static char at_first[TITLE_MAX];
    char now[TITLE_MAX];
    if (dw_redacts(DW_REDACT_ARGV))
        return;
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, now, sizeof now - 1);
    if (file >= 0)
        close(file);
    if (size <= 0)
        return;
    memset(now + size, 0, sizeof now - (size_t)size);
    if (!at_first[0])
        memcpy(at_first, now, sizeof now);
    else if (memcmp(at_first, now, sizeof now) != 0 && now[0] && !is_described("name"))
        describe_text("name", now);
}

static void describe_number(const char *key, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, number);
    describe_text(key, text);
}

static void describe_rank(void)
{
    struct dw_rank rank;
    if (dw_rank_now(&rank)) {
        describe_number("rank", rank.rank);
        describe_number("ranks", rank.size);
    }
}

static void describe_what_may_change(void)
{
    char text[PATH_MAX];
    describe_text("dwell", DW_VERSION);
    if (!gethostname(text, sizeof text - 1))
        describe_text("host", text);
    if (getcwd(text, sizeof text))
        describe_text("cwd", text);
    describe_number("ppid", (uint32_t)getppid());
    describe_rank();
    describe_text("clock", dw_tick_is_tsc ? "tsc" : "monotonic");
    describe_title();
}

int dw_process_update(struct dw_process *process, struct dw_string_table *strings)
{
    int error = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < described.property_count && !error; i++)
        error = dw_process_add_property(process, strings,
                                        described_strings.strings[described.properties[i].key],
                                        described_strings.strings[described.properties[i].value]);
    pthread_mutex_unlock(&lock);
    return error;
}

int dw_process_introduce(struct dw_process *process, struct dw_string_table *strings)
{
    describe_what_may_change();
    *process = (struct dw_process){.pid = (uint64_t)getpid()};
    process->first_clock = process->last_clock = dw_clock_pair_now();
    if (getrandom(process->uuid, sizeof process->uuid, 0) < 0)
        memcpy(process->uuid, &process->first_clock, sizeof process->uuid);
    return dw_process_update(process, strings);
}
