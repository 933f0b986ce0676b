/* SPDX-License-Identifier: MIT
 * However the program ends or is suspended, the terminal gets back its state first; so this is done
 * in the signal handlers. */
#include "cli/top/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t is_entered, has_changed;

static void put(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void take_over(void)
{
    struct termios now = before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
    put(ENTER);
    is_entered = has_changed = 1;
}

static void give_back(void)
{
    if (!is_entered)
        return;
    is_entered = 0;
    put(LEAVE);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* For signals that end the program: restores the terminal, then lets the signal do its work. */
static void on_fatal(int number)
{
    give_back();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_suspend(int number)
{
    int saved = errno;
    give_back();
    raise(SIGSTOP);
    take_over(); /* continued */
    errno = saved;
    (void)number;
}

static void on_resize(int number)
{
    (void)number;
    has_changed = 1;
}

static void catch_all(void)
{
    static const int fatal[] = {SIGQUIT, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = on_fatal};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &action, NULL);
    action.sa_handler = on_suspend;
    sigaction(SIGTSTP, &action, NULL);
    action.sa_handler = on_resize;
    sigaction(SIGWINCH, &action, NULL);
}

bool dw_terminal_enter(void)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
        return false;
    catch_all();
    take_over();
    return true;
}

void dw_terminal_leave(void)
{
    give_back();
}

char dw_terminal_key(void)
{
    char key = 0;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, 0) <= 0 || !(input.revents & POLLIN) || read(STDIN_FILENO, &key, 1) != 1)
        return 0;
    return key;
}

void dw_terminal_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    *columns = 80;
    *rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
        return;
    *columns = size.ws_col;
    *rows = size.ws_row;
}

bool dw_terminal_has_changed(void)
{
    bool changed = has_changed;
    has_changed = 0;
    return changed;
}
