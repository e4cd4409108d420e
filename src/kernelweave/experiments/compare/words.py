"""Which method to use and why, in plain words."""

from __future__ import annotations

from ...reporting.words import p_text
from .outcome import CompareOutcome, MethodResult, simplicity


def score_text(value: float, is_classification: bool) -> str:
    """A score as people read it: accuracy in per cent, R² as a number.

    Parameters
    ----------
    value : float
    is_classification : bool

    Examples
    --------
    >>> from kernelweave.experiments.compare.words import score_text
    >>> score_text(0.9534, True), score_text(0.9534, False)
    ('95.3 %', '0.953')
    """
    return f"{100.0 * value:.1f} %" if is_classification else f"{value:.3f}"


def gap_text(value: float, is_classification: bool) -> str:
    """A difference of two scores as people read it."""
    return f"{100.0 * value:.1f} percentage points" if is_classification else f"{value:.3f}"


def recommendation(outcome: CompareOutcome) -> list[str]:
    """What to use and why, in one to four sentences; the simpler choice where the difference is within noise."""
    winner = outcome.winner
    text = []
    if not outcome.beats_chance:
        text.append(
            f"No method is clearly better than always predicting {_chance_words(outcome)}: these data may not predict "
            "the target at all."
        )
    start = "Use" if outcome.beats_chance else "If a model is needed nevertheless, use"
    text.append(f"{start} {winner.label}: {_reason(outcome)}.")
    text += _ties(outcome)
    alternative = simpler_choice(outcome)
    if alternative is None:
        return [*text, *_beside(outcome)]
    gap = gap_text(abs(winner.mean - alternative.mean), outcome.is_classification)
    pvalue = outcome.pvalue(alternative, winner)
    text.append(
        f"The difference to {alternative.label} of {gap} is within noise ({p_text(pvalue)}): {alternative.label} is "
        "the simpler choice, and these data do not show that it is worse."
    )
    return text


def simpler_choice(outcome: CompareOutcome) -> MethodResult | None:
    """The best method that is simpler than the winner and within noise of it, a simple baseline first; None for none.

    Parameters
    ----------
    outcome : CompareOutcome
    """
    winner = outcome.winner
    simpler = [
        result
        for result in outcome.results[1:]
        if simplicity(result.method) < simplicity(winner.method) and outcome.within_noise(winner, result)
    ]
    simpler = [result for result in simpler if result.is_simple] or simpler
    return simpler[0] if simpler else None


def nested_sentence(outcome: CompareOutcome) -> str:
    """The score of the whole procedure, the choice of a method included."""
    what = "accuracy" if outcome.is_classification else "R²"
    mean = score_text(float(outcome.nested.mean()), outcome.is_classification)
    std = score_text(float(outcome.nested.std(ddof=1)), outcome.is_classification)
    names = {result.method: result.label for result in outcome.results}
    counts = {method: outcome.nested_methods.count(method) for method in dict.fromkeys(outcome.nested_methods)}
    chosen = "; ".join(
        f"{names[method]}, {count} of {len(outcome.folds)} times"
        for method, count in sorted(counts.items(), key=lambda pair: -pair[1])
    )
    count = len(outcome.results)
    best = f": an honest estimate for the winner, whose own score is the best of {count} and so a little too good"
    return (
        f"Where the training samples of each fold choose the method, too, {what} is {mean} ± {std} (chosen: {chosen})"
        f"{best if count > 1 else ''}."
    )


def incomplete_sentence(outcome: CompareOutcome) -> str:
    """What is missing of a run that was stopped early."""
    text = f"{outcome.n_done} of {outcome.n_cells} results are there: "
    text += f"{len(outcome.folds)} of {outcome.n_folds} folds count"
    if outcome.unfinished:
        text += f", without {', '.join(outcome.unfinished)}"
    return f"{text}. The same command goes on."


def _reason(outcome: CompareOutcome) -> str:
    winner = outcome.winner
    what = "accuracy" if outcome.is_classification else "R²"
    mean = score_text(winner.mean, outcome.is_classification)
    if len(outcome.results) == 1:
        return f"it is the only method here, with {what} {mean}"
    return f"its {what} of {mean} is the highest of {len(outcome.results)} methods"


def _ties(outcome: CompareOutcome) -> list[str]:
    """Which methods are as good as the winner to the last digit."""
    winner = outcome.winner
    others = [result.label for result in outcome.results[1:] if round(result.mean - winner.mean, 10) == 0.0]
    if not others:
        return []
    names = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    return [f"That is as high as that of {names}; {winner.label} is the simplest of them."]


def _beside(outcome: CompareOutcome) -> list[str]:
    """What stands beside the winner where no simpler method is within noise of it."""
    winner, base = outcome.winner, outcome.baseline
    if len(outcome.results) == 1:
        return []
    second = outcome.results[1]
    if winner.is_simple or base is None:
        is_open = outcome.within_noise(winner, second)
        margin = gap_text(winner.mean - second.mean, outcome.is_classification)
        pvalue = p_text(outcome.pvalue(second, winner))
        if is_open:
            is_simpler = simplicity(winner.method) < simplicity(second.method)
            simpler = f", but {winner.label} is the simpler choice" if is_simpler else ""
            return [f"The difference to the next, {second.label}, of {margin} is within noise ({pvalue}){simpler}."]
        return [f"It is better than the next, {second.label}, by {margin} ({pvalue})."]
    margin = gap_text(winner.mean - base.mean, outcome.is_classification)
    pvalue = p_text(outcome.pvalue(base, winner))
    if outcome.within_noise(winner, base):
        return [f"The difference to the best simple method, {base.label}, of {margin} is within noise ({pvalue})."]
    return [f"It is better than the best simple method, {base.label}, by {margin} ({pvalue})."]


def _chance_words(outcome: CompareOutcome) -> str:
    score = score_text(float(outcome.chance.mean()), outcome.is_classification)
    what = "the most frequent class" if outcome.is_classification else "the mean of the target"
    return f"{what} ({score})"
