/* SPDX-License-Identifier: MIT
 * Says why a process could not be read in words that help: the rights, the settings of the system
 * or the versions that would have to change. */
#include "cli/process_text.h"

#include "base/error.h"
#include "cli/cli.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int dw_cli_parse_pid(const char *command, const char *word, pid_t *pid)
{
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno || value <= 0 || value > INT32_MAX)
        return dw_cli_usage("'%s' is not a process id; see 'dwell %s --help'", word, command);
    *pid = (pid_t)value;
    return 0;
}

int dw_cli_parse_process(const struct dw_option *options, int argc, char **argv, pid_t *pid)
{
    const char *command = argv[0];
    int operands = dw_cli_parse(options, argc, argv);
    if (operands < 0)
        return DW_EXIT_USAGE;
    if (operands != 1)
        return dw_cli_usage("%s needs one process id; see 'dwell %s --help'", command, command);
    return dw_cli_parse_pid(command, argv[1], pid);
}

static int read_ptrace_scope(void)
{
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%d", &scope) != 1)
        scope = 0;
    fclose(file);
    return scope;
}

static bool is_ours(pid_t pid)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return !stat(path, &status) && status.st_uid == geteuid();
}

static bool may_trace(void)
{
    unsigned long long effective = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "CapEff: %llx", &effective) != 1)
        ;
    if (file)
        fclose(file);
    return effective >> CAP_SYS_PTRACE & 1;
}

/* Why the system says no, and what helps. */
static const char *permission_advice(pid_t pid)
{
    int scope = read_ptrace_scope();
    if (scope >= 3)
        return "kernel.yama.ptrace_scope is 3, which forbids it to everybody until a reboot";
    if (!geteuid() && may_trace())
        return "the system forbids it even to root (another user namespace, or a security module)";
    if (!geteuid())
        return "root lacks CAP_SYS_PTRACE here; in a container, start it with "
               "--cap-add=SYS_PTRACE";
    if (!is_ours(pid))
        return "it is another user's (or runs with other privileges); run dwell as root";
    if (scope)
        return "kernel.yama.ptrace_scope forbids it; run dwell as root, set that to 0 with sysctl, "
               "or, in a "
               "container, start that with --cap-add=SYS_PTRACE";
    return "the system forbids it (another namespace, or a seccomp filter); run dwell as root, or, "
           "in a container, start that with --cap-add=SYS_PTRACE";
}

int dw_cli_process_trouble(pid_t pid, const struct dw_python *python, int error)
{
    char name[32];
    if (error == DW_ERR_PERMISSION) {
        fprintf(stderr, "dwell: process %d: %s: %s\n", (int)pid, dw_error_text(error),
                permission_advice(pid));
        return DW_EXIT_TROUBLE;
    }
    if (error == DW_ERR_PYTHON_VERSION) {
        fprintf(stderr,
                "dwell: process %d: Python %u.%u%s is not supported; dwell reads 3.%d to 3.%d%s\n",
                (int)pid, python->version >> 24, dw_python_minor(python),
                python->free_threaded ? ", free-threaded," : "", DW_PYTHON_OLDEST, DW_PYTHON_NEWEST,
                python->free_threaded ? " with a GIL" : "");
        return DW_EXIT_TROUBLE;
    }
    snprintf(name, sizeof name, "process %d", (int)pid);
    return dw_cli_error(name, error);
}

void dw_cli_process_end(pid_t pid, bool is_barred)
{
    fprintf(stderr, "dwell: process %d %s\n", (int)pid,
            is_barred ? "has other privileges now, and can no longer be read" : "has ended");
}
