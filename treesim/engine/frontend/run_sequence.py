"""Kernel that runs a program: several compiled functions one after the other, see `engine.call.call_sequence`."""

import numpy as np

from ...kernels.entries.status import FINE, NOT_FINITE
from .fastcall import BAD_LAYOUT, OUT_OF_BOUNDS, WORDS_KNOWN, boxed, is_reals
from .memory import call_at, reals_at, words_at
from .object_layout import DATA, DIMENSIONS, WORDS

# words of a program, in this order: the number of arguments; of each, the number of its axes and the length of each;
# the number of calls, the size of the longest job, of each call its function, the number of words, and a pair for each:
# an argument and the offset of a part in bytes, or NO_ARGUMENT and the word itself; then the number of bounds, and of
# each the pair of its part, the part's size, and the bits of the largest number
NO_ARGUMENT = -1


def run_sequence(me, arguments, count):
    """Run the program of a built-in function on its arguments, as CPython calls it; return the worst status."""
    known = words_at(words_at(me, WORDS)[DATA], WORDS_KNOWN + 2)
    program = words_at(known[WORDS_KNOWN], known[WORDS_KNOWN + 1])
    n = program[0]
    if count != n:
        return boxed(known, BAD_LAYOUT)
    given, data, at = words_at(arguments, n), np.empty(n, np.int64), 1
    for k in range(n):
        words, axes = words_at(given[k], WORDS), program[at]
        if not is_reals(words, known, axes):
            return boxed(known, BAD_LAYOUT)
        shape = words_at(words[DIMENSIONS], axes)
        for d in range(axes):
            if shape[d] != program[at + 1 + d]:
                return boxed(known, BAD_LAYOUT)
        data[k] = words[DATA]
        at += 1 + axes
    calls, job, at, status = program[at], np.empty(program[at + 1], np.int64), at + 2, FINE
    for _ in range(calls):
        size = program[at + 1]
        for w in range(size):
            argument, word = program[at + 2 + 2 * w], program[at + 3 + 2 * w]
            job[w] = word
            if argument >= 0:
                job[w] = data[argument] + word
        if status <= NOT_FINITE:
            status = max(status, call_at(program[at], job))
        at += 2 + 2 * size
    if status == FINE and not are_within_bounds(known, program, at, data):
        status = OUT_OF_BOUNDS
    return boxed(known, status)


def are_within_bounds(known, program, at, data):
    """Return whether no number of a part is larger than its bound, or NaN; the bounds begin at program[at]."""
    bounds = reals_at(known[WORDS_KNOWN], known[WORDS_KNOWN + 1])  # the words of the program as numbers
    within = True
    for k in range(program[at]):
        first = at + 1 + 4 * k
        argument, word, size = program[first], program[first + 1], program[first + 2]
        if argument >= 0:
            word += data[argument]
        part = reals_at(word, size)
        for j in range(size):
            if not part[j] <= bounds[first + 3]:
                within = False
    return within
