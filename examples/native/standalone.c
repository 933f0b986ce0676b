/* SPDX-License-Identifier: MIT
 * A program without Python that records its regions and prints its own report. */
#include <dwell.h>
#include <stdio.h>

static unsigned long collatz(unsigned long n)
{
    DW_REGION("collatz");
    unsigned long steps = 0;
    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

int main(int argc, char **argv)
{
    const char *log = argc > 1 ? argv[1] : "standalone.dwell";
    struct dw_profile *profile;
    int error = dw_record_start(log, DW_RECORD_TIMELINE);
    if (!error) {
        DW_REGION("search");
        unsigned long most = 0;
        for (unsigned long n = 1; n < 1000; n++) {
            unsigned long steps = collatz(n);
            most = steps > most ? steps : most;
        }
        printf("%lu steps\n", most);
        fflush(stdout);
    }
    if (!error)
        error = dw_record_stop();
    if (!error)
        error = dw_profile_open(&log, 1, &profile);
    if (!error) {
        error = dw_profile_write(profile, "table", 1);
        dw_profile_free(profile);
    }
    if (error)
        fprintf(stderr, "%s: %s\n", log, dw_error_text(error));
    return error != 0;
}
