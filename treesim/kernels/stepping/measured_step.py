"""Steps of rollouts with measures: any step, followed by a reduction of its end state."""

from functools import lru_cache

from ..algebra.numbers import less, select

# state of a rollout's measures, before their own: number of steps, number of substeps of the next one; number of
# measured steps; whether the rollout has ended
STEP, SUBSTEP, SEEN, ENDED = range(4)
HEADER = 4


@lru_cache(maxsize=64)
def measured_step_entry(one_step, fixed, first, moving):
    """Return the step of an entry with a reduction(q, v, p, c, kept) of its end state, for traces.

    The entry has the arguments (*constants, *states, *others, *next states), with `fixed` constants and `moving`
    states; states[first] and the next one are q and v. A control step has `substeps` substeps, of which this is one.
    States do not change after the rollout has ended. The result's arguments are (reduction, substeps, *constants,
    *states, kept, p, *others, *next states, kept_new).
    """

    def measured_step_states(reduction, substeps, *given):
        constants, states = given[:fixed], given[fixed : fixed + moving]
        kept, p = given[fixed + moving : fixed + moving + 2]
        others, news, kept_new = given[fixed + moving + 2 : -moving - 1], given[-moving - 1 : -1], given[-1]
        status = one_step(*constants, *states, *others, *news)
        if reduction.stops:
            for x, x_new in zip(states[first:], news[first:], strict=True):
                for i in range(len(x)):
                    x_new[i] = select(kept[ENDED], x[i], x_new[i])
        reduced = reduction(news[first], news[first + 1], p, (), kept)
        last = less(substeps - 1.5, kept[SUBSTEP]) if substeps > 1 else 1
        for i in range(len(kept)):
            kept_new[i] = select(last, reduced[i], kept[i])
        kept_new[SUBSTEP] = (kept[SUBSTEP] + 1) * (1 - last)
        return status

    measured_step_states.__name__ = f"measured_{one_step.__name__}"
    return measured_step_states
