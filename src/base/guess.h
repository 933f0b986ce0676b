/* SPDX-License-Identifier: MIT
 * Which word of a list somebody meant who typed one that is not in it. */
#ifndef DW_BASE_GUESS_H
#define DW_BASE_GUESS_H

#include <stddef.h>

/* Initialise `typed` alone; `meant` stays NULL while no word is near. */
struct dw_guess {
    const char *typed;
    const char *meant;
    size_t distance; /* between these two */
};

/* Takes the word when it is near, and nearer than those before it. */
void dw_guess_try(struct dw_guess *guess, const char *word);

#endif
