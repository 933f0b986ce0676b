/* SPDX-License-Identifier: MIT
 * /proc/PID/task/TID/status has nearly everything; the time of the start comes from stat. */
#include "attach/target/task.h"

#include "base/grow.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void read_name(const char *value, struct dw_task *task)
{
    size_t size = strcspn(value, "\n");
    size = size < sizeof task->name ? size : sizeof task->name - 1;
    memcpy(task->name, value, size);
    task->name[size] = 0;
}

/* "NSpid: outer ... inner"; the last one is what the thread itself sees. */
static void read_inner_id(const char *value, struct dw_task *task)
{
    char *end;
    for (uint64_t id; (id = strtoull(value, &end, 10)), end != value; value = end)
        task->inner_id = id;
}

static void read_line(const char *line, struct dw_task *task)
{
    const char *value = strchr(line, ':');
    if (!value)
        return;
    value += 1 + strspn(value + 1, " \t");
    if (!strncmp(line, "Name:", 5))
        read_name(value, task);
    else if (!strncmp(line, "State:", 6))
        task->state = *value;
    else if (!strncmp(line, "Tgid:", 5))
        task->group = (pid_t)strtol(value, NULL, 10);
    else if (!strncmp(line, "PPid:", 5))
        task->parent = (pid_t)strtol(value, NULL, 10);
    else if (!strncmp(line, "TracerPid:", 10))
        task->tracer = (pid_t)strtol(value, NULL, 10);
    else if (!strncmp(line, "NSpid:", 6))
        read_inner_id(value, task);
    else if (strstr(line, "_ctxt_switches:"))
        task->switches += strtoull(value, NULL, 10);
}

bool dw_task_read(pid_t pid, pid_t id, struct dw_task *task)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)id);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    struct dw_task found = {.id = id, .inner_id = (uint64_t)id};
    while (fgets(line, sizeof line, file))
        read_line(line, &found);
    fclose(file);
    *task = found;
    return found.state != 0;
}

/* The name is in parentheses and may hold any character, so fields are counted from its end. */
bool dw_task_stat_parse(const char *line, struct dw_task_stat *stat)
{
    const char *at = strrchr(line, ')');
    return at && sscanf(at + 1,
                        " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld "
                        "%*d %" SCNu64,
                        &stat->state, &stat->threads, &stat->start_ticks) == 3;
}

uint64_t dw_task_start_ticks(pid_t pid, pid_t id)
{
    char path[64], line[1024];
    struct dw_task_stat stat;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)id);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    return dw_task_stat_parse(line, &stat) ? stat.start_ticks : 0;
}

int dw_tasks_list(pid_t pid, struct dw_tasks *tasks)
{
    char path[64];
    int error = 0;
    tasks->count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return DW_ERR_ENDED;
    for (struct dirent *entry; !error && (entry = readdir(directory));) {
        pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
        error = id > 0 ? DW_GROW(tasks->tasks, tasks->count, tasks->capacity) : 0;
        if (id > 0 && !error)
            tasks->tasks[tasks->count++] = (struct dw_task){.id = id};
    }
    closedir(directory);
    return error;
}

int dw_tasks_read(pid_t pid, struct dw_tasks *tasks)
{
    int error = dw_tasks_list(pid, tasks);
    uint32_t listed = tasks->count;
    tasks->count = 0;
    for (uint32_t i = 0; i < listed; i++)
        tasks->count += dw_task_read(pid, tasks->tasks[i].id, &tasks->tasks[tasks->count]);
    return error;
}

void dw_tasks_release(struct dw_tasks *tasks)
{
    free(tasks->tasks);
    *tasks = (struct dw_tasks){0};
}

const struct dw_task *dw_tasks_find(const struct dw_tasks *tasks, uint64_t inner_id)
{
    for (uint32_t i = 0; i < tasks->count; i++)
        if (tasks->tasks[i].inner_id == inner_id)
            return &tasks->tasks[i];
    return NULL;
}

bool dw_task_slept(const struct dw_task *before, const struct dw_task *after)
{
    return before->state != 'R' && after->state != 'R' && before->switches == after->switches;
}
