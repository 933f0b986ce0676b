/* SPDX-License-Identifier: MIT
 * Signals only set a flag, which loops look at; one that arrives during a sleep ends it. */
#include "cli/stop_signal.h"

#include <signal.h>
#include <stddef.h>

volatile int dw_cli_stopped;

static void on_signal(int number)
{
    (void)number;
    dw_cli_stopped = 1;
}

/* No SA_RESTART: sleeping ends at once. */
void dw_cli_catch_stop(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}
