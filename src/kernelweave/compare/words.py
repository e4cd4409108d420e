"""The sentences at the top of a comparison; `benchmarks.verdicts` simulates how often each is said, and is true."""

from __future__ import annotations

from ..reporting.formatting import without_minus_zero
from ..reporting.words import counted, p_text
from .outcome import AS_GOOD, BETTER, CANNOT_TELL, CompareOutcome, MethodResult, Verdict


def headline(outcome: CompareOutcome) -> list[str]:
    sentences = [*recommendation(outcome), *expectation(outcome)]
    return sentences if outcome.is_complete else [*sentences, incomplete_sentence(outcome)]


def recommendation(outcome: CompareOutcome) -> list[str]:
    if not outcome.beats_chance:
        return [*no_better_than_chance(outcome), _nevertheless(outcome)]
    verdict, highest = outcome.verdict, outcome.highest
    if outcome.winner is not highest:
        return [_as_good(outcome, outcome.winner)]
    return [f"Use {highest.label}: {_highest(outcome)}.", *(_ties(outcome) or _against_other(outcome, verdict))]


def no_better_than_chance(outcome: CompareOutcome) -> list[str]:
    score = f"{_score_name(outcome)} {outcome.written(outcome.chance_score)}"
    text = f"No method is clearly better than {outcome.task.no_information} ({score})"
    if not outcome.is_classification or outcome.ranked is None:
        return [f"{text}: these data do not show that they can predict the target."]
    best, (low, high) = outcome.ranked
    area = best.all_scores["ROC AUC"]
    other = "" if outcome.scoring.name == "balanced_accuracy" else " or balanced_accuracy"
    return [
        f"{text}, but the probabilities of {best.label} rank the samples better than chance does (ROC AUC {area:.2f}, "
        f"95 % interval {low:.2f} to {high:.2f}): rank by them, or choose by --scoring roc_auc{other}."
    ]


def _nevertheless(outcome: CompareOutcome) -> str:
    winner = outcome.highest
    return (
        f"If a model is needed nevertheless: {winner.label} has the highest {_score_name(outcome)}, "
        f"{outcome.written(winner.score)}{_interval(outcome, winner)}; nothing is said of which method is better."
    )


def _as_good(outcome: CompareOutcome, other: MethodResult) -> str:
    return (
        f"Use {other.label}: its {_score_name(outcome)} of {outcome.written(other.score)}{_interval(outcome, other)} "
        f"is, with 95 % confidence, less than {outcome.written_difference(outcome.margin)} below the highest of "
        f"{counted(len(outcome.results), 'method')}, {outcome.written(outcome.highest.score)} by "
        f"{outcome.highest.label}, and it is the simpler method."
    )


def _highest(outcome: CompareOutcome) -> str:
    highest = outcome.highest
    score = f"{_score_name(outcome)} of {outcome.written(highest.score)}{_interval(outcome, highest)}"
    if len(outcome.results) == 1:
        return f"it is the only method here, with {'an' if score[0] in 'aeF' else 'a'} {score}"
    return f"its {score} is the {_extreme(outcome)} of {len(outcome.results)} methods"


def _extreme(outcome: CompareOutcome) -> str:
    return "lowest" if outcome.scoring.is_error else "highest"


def _interval(outcome: CompareOutcome, result: MethodResult) -> str:
    low, high = result.interval
    if not low <= high:  # not defined
        return ""
    low, high = (high, low) if outcome.scoring.is_error else (low, high)
    ends = [outcome.written(low), outcome.written(high)]
    if outcome.scoring.is_share:
        ends[0] = ends[0].removesuffix(" %")
    return f" (95 % interval {ends[0]} to {ends[1]})"


def _ties(outcome: CompareOutcome) -> list[str]:
    highest = outcome.highest
    others = [result.label for result in outcome.results[1:] if round(result.score - highest.score, 10) == 0.0]
    if not others:
        return []
    names = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    return [f"That is as good as that of {names}; {highest.label} is the simplest of them."]


def _against_other(outcome: CompareOutcome, verdict: Verdict) -> list[str]:
    other = verdict.other
    if other is None:
        return []
    low, high = verdict.interval
    gap = f"{outcome.written_difference(abs(verdict.difference))}"
    ends = f"95 % interval {_signed(outcome, low)} to {_signed(outcome, high)}"
    what = f"the {best_of_rivals(outcome)}, {other.label}," if other.is_simple else f"the next, {other.label},"
    if verdict.kind == BETTER:
        number = len(outcome.results) - 1
        corrected = f", corrected for {number} comparisons" if number > 1 else ""
        return [f"It is better than {what} by {gap} ({ends}; {p_text(verdict.pvalue)}{corrected})."]
    lead = f"{what} has {outcome.written(other.score)}, a difference of {gap} ({ends})"
    lead = f"{lead[:1].upper()}{lead[1:]}"
    simplest = f"no method here is simpler than {outcome.highest.label}"
    if verdict.kind == AS_GOOD:
        margin = outcome.written_difference(outcome.margin)
        return [f"{lead}: with 95 % confidence it loses less than {margin}, and {simplest}."]
    if verdict.kind != CANNOT_TELL:
        return [f"{lead}; {simplest}."]
    about = "" if verdict.needed is None else f" About {verdict.needed:,} samples would tell."
    return [f"{lead}: these data cannot tell which of the two is better.{about}"]


def best_of_rivals(outcome: CompareOutcome) -> str:
    return "best of the simpler methods" if outcome.highest.is_simple else "best simple method"


def _signed(outcome: CompareOutcome, value: float) -> str:
    text = f"{100.0 * value:+.1f}" if outcome.scoring.is_share else f"{value:+.3f}"
    return without_minus_zero(text).replace("-", "\u2212")


def expectation(outcome: CompareOutcome) -> list[str]:
    """What to expect of the method with the highest score, which is too high because it was chosen by it."""
    number = len(outcome.results)
    if number == 1:
        return []
    found = outcome.corrected
    if found is not None:
        low, high = (found.high, found.low) if outcome.scoring.is_error else (found.low, found.high)
        first = outcome.written(low).removesuffix(" %") if outcome.scoring.is_share else outcome.written(low)
        return [
            f"The highest of {number} scores is a little too good: corrected for that choice, "
            f"{_score_name(outcome)} is {outcome.written(found.score)} (95 % interval {first} to "
            f"{outcome.written(high)}; a bootstrap of the out-of-fold predictions)."
        ]
    return [
        f"The highest of {number} scores is a little too good: where the training samples of each fold choose the "
        f"method, too, {_score_name(outcome)} is {outcome.written(outcome.nested_score)} (nested cross-validation)."
    ]


def incomplete_sentence(outcome: CompareOutcome) -> str:
    text = f"{outcome.n_done} of {outcome.n_cells} results are there: "
    text += f"{len(outcome.folds)} of {outcome.n_folds} folds count"
    if outcome.unfinished:
        text += f", without {', '.join(outcome.unfinished)}"
    return f"{text}. The same command goes on."


def _score_name(outcome: CompareOutcome) -> str:
    return outcome.scoring.label


def chance_label(outcome: CompareOutcome) -> str:
    return outcome.task.chance


def warnings_text(result: MethodResult) -> str:
    if not result.n_warnings:
        return ""
    return f"{counted(result.n_warnings, 'warning')} in the folds, such as {result.warning}"
