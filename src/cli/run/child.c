/* SPDX-License-Identifier: MIT
 * The child has its signals as we were given them, and we pass on what we get. If `dwell` is killed
 * outright the kernel kills the program too. */
#include "cli/run/child.h"

#include "base/clock.h"
#include "cli/memory_limit.h"
#include "cli/run/memory_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

/* What the terminal sends goes to the whole group, so the child has it already. */
static void forward(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0 && child > 0)
        kill(child, number);
}

static const int forwarded[] = {SIGINT,  SIGQUIT, SIGTERM,  SIGHUP, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};
#define FORWARDED (sizeof forwarded / sizeof *forwarded)

static void forward_signals(struct sigaction old[])
{
    struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; i < FORWARDED; i++)
        sigaction(forwarded[i], &action, &old[i]);
}

/* A signal that was ignored when we started is ignored in the program too. */
static void restore_signals(const struct sigaction old[])
{
    for (size_t i = 0; i < FORWARDED; i++)
        sigaction(forwarded[i], &old[i], NULL);
}

/* Only when the program cannot be started is anything written to the pipe. */
static void run_child(const char *program, char *const *arguments, pid_t parent, int report)
{
    size_t count = 0;
    while (arguments[count])
        count++;
    char **argv = calloc(count + 2, sizeof *argv);
    if (argv) {
        argv[0] = (char *)program;
        for (size_t i = 0; i < count; i++)
            argv[i + 1] = arguments[i];
        signal(SIGXFSZ, SIG_DFL); /* as we found it, unless it was ignored on purpose */
        dw_memory_unlimit();
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* killing us outright kills the program, as it should */
        if (getppid() == parent)
            execvp(program, argv);
    }
    int error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(127);
}

static int wait_for(pid_t process, struct rusage *usage)
{
    int status;
    while (wait4(process, &status, 0, usage) < 0)
        if (errno != EINTR)
            return -1;
    child = 0; /* the kernel may give its id to another process */
    return status;
}

int dw_child_wait(pid_t process)
{
    return wait_for(process, NULL);
}

/* The kernel keeps facts about a child that has ended until somebody waits for it. */
static FILE *open_facts(const char *name)
{
    char path[32];
    siginfo_t info;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)child, name);
    return fopen(path, "re");
}

/* In hundredths of a second, as far as the kernel tells it. */
static uint64_t read_children_cpu_ns(void)
{
    unsigned long long user = 0, system = 0;
    FILE *file = open_facts("stat");
    if (!file)
        return 0;
    if (fscanf(file, "%*d (%*[^)]) %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu",
               &user, &system) != 2)
        user = system = 0;
    fclose(file);
    return (user + system) * (1000000000u / (unsigned long long)sysconf(_SC_CLK_TCK));
}

static uint64_t read_delay_ns(void)
{
    unsigned long long delay_ns = 0;
    FILE *file = open_facts("schedstat");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &delay_ns) != 1)
        delay_ns = 0;
    fclose(file);
    return delay_ns;
}

static uint64_t timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static int wait_and_measure(uint64_t begin_ns, struct dw_child_times *times)
{
    struct rusage usage;
    uint64_t children_ns = read_children_cpu_ns();
    times->delay_ns = read_delay_ns();
    times->elapsed_ns = dw_clock_ns(CLOCK_MONOTONIC) - begin_ns;
    int status = wait_for(child, &usage);
    if (status < 0)
        return status;
    uint64_t all_ns = timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
    times->children_cpu_ns = children_ns < all_ns ? children_ns : all_ns;
    times->cpu_ns = all_ns - times->children_cpu_ns;
    return status;
}

/* Whether the child has become the program; if not, errno says why. */
static bool has_begun(const int report[2])
{
    int error = 0;
    close(report[1]);
    bool begun = child > 0 && read(report[0], &error, sizeof error) != sizeof error;
    if (!begun && child > 0)
        wait_for(child, NULL);
    close(report[0]);
    errno = error ? error : errno;
    return begun;
}

int dw_child_run(const char *program, char *const *arguments, uint64_t most_bytes,
                 struct dw_child_times *times)
{
    int report[2];
    uint64_t begin_ns = dw_clock_ns(CLOCK_MONOTONIC);
    struct sigaction old[FORWARDED];
    pid_t parent = getpid();
    if (pipe2(report, O_CLOEXEC))
        return -1;
    forward_signals(old);
    child = fork();
    if (child == 0) {
        restore_signals(old);
        run_child(program, arguments, parent, report[1]);
    }
    if (!has_begun(report))
        return -1;
    if (most_bytes)
        dw_memory_guard(child, most_bytes);
    return wait_and_measure(begin_ns, times);
}

pid_t dw_child_start(const char *program, char *const *arguments, const int files[3])
{
    int report[2];
    pid_t parent = getpid();
    if (pipe2(report, O_CLOEXEC))
        return -1;
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++)
            if (files[i] >= 0)
                dup2(files[i], i);
        run_child(program, arguments, parent, report[1]);
    }
    return has_begun(report) ? child : -1;
}

int dw_child_exit(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0}); /* one core file is enough */
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}
