/* SPDX-License-Identifier: MIT
 * Nearness is the number of letters that were left out, added, changed or swapped with their
 * neighbour. */
#include "base/guess.h"

#include <stdbool.h>
#include <string.h>

#define LENGTH_MAX 31
#define SHORTEST_BEGINNING 3 /* letters of a word that was not typed to its end */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance_of(const char *typed, const char *word)
{
    size_t rows[3][LENGTH_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    size_t typed_size = strlen(typed), size = strlen(word);
    for (size_t j = 0; j <= size; j++)
        last[j] = j;
    for (size_t i = 1; i <= typed_size; i++) {
        now[0] = i;
        for (size_t j = 1; j <= size; j++) {
            now[j] =
                least(least(last[j], now[j - 1]) + 1, last[j - 1] + (typed[i - 1] != word[j - 1]));
            if (i > 1 && j > 1 && typed[i - 1] == word[j - 2] && typed[i - 2] == word[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *unused = before;
        before = last, last = now, now = unused;
    }
    return last[size];
}

void dw_guess_try(struct dw_guess *guess, const char *word)
{
    size_t typed_size = strlen(guess->typed), farthest = (typed_size + 2) / 4;
    if (typed_size > LENGTH_MAX || strlen(word) > LENGTH_MAX)
        return;
    bool is_beginning =
        typed_size >= SHORTEST_BEGINNING && !strncmp(word, guess->typed, typed_size);
    size_t distance = is_beginning ? 1 : distance_of(guess->typed, word);
    if (distance > farthest || (guess->meant && distance >= guess->distance))
        return;
    guess->meant = word;
    guess->distance = distance;
}
