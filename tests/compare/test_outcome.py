"""Ranks, verdicts, the nested choice and the words, against numbers worked out by hand."""

import numpy as np
import pytest
from scipy.stats import t

from kernelweave.compare import Problem, words
from kernelweave.compare.outcome import gather, simplicity
from kernelweave.compare.run import MeasuredRow
from kernelweave.compare.words import expectation, incomplete_sentence
from kernelweave.model_selection import NestedFolds, Split
from kernelweave.model_selection.statistics import least_error


def recommendation(outcome):
    return " ".join(words.recommendation(outcome)).replace("\u00a0", " ")


LABELS = {"alone:rna": "rna alone", "mean": "mean of kernels", "localized": "localized MKL", "boosting": "boosting"}
SCORES = {
    "alone:rna": [0.70, 0.74, 0.72, 0.72],
    "mean": [0.82, 0.82, 0.80, 0.78],
    "localized": [0.90, 0.94, 0.92, 0.92],
    "boosting": [0.80, 0.82, 0.80, 0.82],
}
VALIDATIONS = {
    "alone:rna": [0.70, 0.70, 0.70, 0.70],
    "mean": [0.95, 0.80, 0.80, 0.80],
    "localized": [0.90, 0.90, 0.90, 0.90],
    "boosting": [0.90, 0.99, 0.90, 0.80],
}
PER_FOLD, N_FOLDS = 50, 4


def wrong_of(score, n_samples=PER_FOLD, first=0):
    """Which test samples of a fold are wrong: so many from the one with the number `first` on."""
    wrong = np.zeros(n_samples, dtype=bool)
    wrong[(first + np.arange(round((1.0 - score) * n_samples))) % n_samples] = True
    return wrong


def record(score, codes, validation=0.9, n_warnings=0, first=0):
    wrong = wrong_of(score, len(codes), first)
    sure = np.where(np.arange(len(codes)) % 2, 0.9, 0.6)
    predicted = np.where(wrong, 1 - codes, codes)
    shares = np.where(predicted == 1, sure, 1.0 - sure)
    return {
        "predicted": predicted.tolist(),
        "probabilities": np.column_stack([1.0 - shares, shares]).tolist(),
        "candidate": "",
        "test": 100.0 * (1.0 - score),
        "validation": 100.0 * (1.0 - validation),
        "stored": 10,
        "setting": {"C": 1.0},
        "seconds": 2.0,
        "n_warnings": n_warnings,
        "warning": "ConvergenceWarning: slow" if n_warnings else None,
    }


def measured(scores=SCORES, validations=VALIDATIONS, without=(), groups=None, first=None):
    """60 % of 200 samples are ill; each method is wrong on the first samples of each fold, or from `first` on."""
    y = np.array(["ill"] * 120 + ["well"] * 80, dtype=object)
    problem = Problem(np.zeros((200, 1)), y, groups=groups)
    splits = NestedFolds(N_FOLDS).split(y, True)
    codes = (y == "well").astype(int)
    cells = {
        (method, fold): [
            record(
                score,
                codes[splits[fold].test],
                validations.get(method, [0.9] * 9)[fold],
                first=(first or {}).get(method, 0),
            )
        ]
        for method, of_folds in scores.items()
        for fold, score in enumerate(of_folds)
        if (method, fold) not in without
    }
    return MeasuredRow(problem, splits, cells)


def gathered(scores, **options):
    found = {name: options.pop(name) for name in ("scoring", "margin") if name in options}
    return gather(measured(scores, **options), {method: LABELS.get(method, method) for method in scores}, **found)


def pvalue(first, second):
    """The p-value of two methods, from their scores on folds."""
    d = np.concatenate([wrong_of(b) * 1.0 - wrong_of(a) for a, b in zip(first, second, strict=True)])
    n, u = len(d), np.sqrt(np.mean(d[d != 0] ** 2))
    variance = np.append(d, [u, -u]).var(ddof=1)
    return 2 * t.sf(abs(d.mean()) / np.sqrt((1 / n + 1 / (n * 3 / 4)) * variance), n - 1)


def test_methods_are_ranked_and_the_best_is_the_highest():
    outcome = gathered(SCORES)
    assert [result.method for result in outcome.results] == ["localized", "boosting", "mean", "alone:rna"]
    assert outcome.highest.label == "localized MKL" and outcome.rival.method == "boosting"
    assert outcome.simpler.method == "boosting" and outcome.baseline.method == "boosting"
    assert outcome.highest.score == pytest.approx(0.92)
    np.testing.assert_allclose(outcome.highest.scores, SCORES["localized"])
    assert outcome.is_complete and outcome.folds == [0, 1, 2, 3] and outcome.unfinished == []
    assert outcome.chance_score == pytest.approx(0.6)
    assert outcome.highest.mean_stored == 10.0
    low, high = outcome.highest.interval
    assert low < 0.92 < high < 1.0


def test_pvalues_are_of_held_out_losses_against_the_best_simple_method_corrected_for_their_number():
    outcome = gathered(SCORES)
    plain = {name: pvalue(SCORES["boosting"], SCORES[name]) for name in ("localized", "mean", "alone:rna")}
    order = sorted(plain, key=plain.get)
    corrected, largest = {}, 0.0
    for place, name in enumerate(order):
        largest = max(largest, min(1.0, plain[name] * (3 - place)))
        corrected[name] = largest
    for result in outcome.results:
        if result.method == "boosting":
            assert result.pvalue is None and result.difference is None
            continue
        assert result.pvalue == pytest.approx(corrected[result.method])
        difference = np.mean(np.array(SCORES[result.method]) - np.array(SCORES["boosting"]))
        assert result.difference == pytest.approx(difference)


def test_the_nested_choice_takes_the_method_that_validation_chooses_in_each_fold():
    outcome = gathered(SCORES)
    # fold 0: mean 0.95; fold 1: boosting 0.99; fold 2: localized and boosting 0.9, the simpler; fold 3: localized
    assert outcome.nested_methods == ["mean", "boosting", "boosting", "localized"]
    assert outcome.nested_score == pytest.approx(np.mean([0.82, 0.82, 0.80, 0.92]))


def test_of_equal_methods_the_simplest_is_first():
    same = {"localized": [0.8, 0.9] * 2, "boosting": [0.9, 0.8] * 2, "mean": [0.86, 0.84] * 2}
    outcome = gathered(same)
    assert [result.method for result in outcome.results] == ["mean", "boosting", "localized"]
    assert "That is as good as that of boosting and localized MKL; mean of kernels is the simplest" in recommendation(
        outcome
    )
    order = ["alone:x", "linear", "concatenation", "mean", "least-squares", "lp", "convex", "stacking"]
    order += ["forest", "boosting", "localized", "projected", "else"]
    assert sorted(order, key=simplicity) == order


def test_failed_methods_stand_at_the_end_with_the_reason():
    row = measured()
    row.cells["localized", 2] = [{"candidate": "", "failed": "too few samples"}]
    outcome = gather(row, LABELS)
    assert [result.method for result in outcome.results] == ["boosting", "mean", "alone:rna"]
    assert [(result.label, result.failed) for result in outcome.failed] == [("localized MKL", "too few samples")]
    for fold in range(4):
        for method in LABELS:
            row.cells[method, fold] = [{"candidate": "", "failed": "no luck"}]
    with pytest.raises(ValueError, match="no method could be fitted; rna alone: no luck"):
        gather(row, LABELS)


def test_warnings_are_counted():
    row = measured()
    for fold, number in ((1, 3), (2, 2)):
        row.cells["mean", fold][0] |= {"n_warnings": number, "warning": "ConvergenceWarning: slow"}
    result = next(result for result in gather(row, LABELS).results if result.method == "mean")
    assert result.n_warnings == 5 and result.warning == "ConvergenceWarning: slow"
    assert words.warnings_text(result) == "5 warnings in the folds, such as ConvergenceWarning: slow"


def test_two_whole_folds_count_of_a_run_that_was_stopped():
    outcome = gather(measured(without={("localized", 2), ("mean", 3), ("localized", 3)}), LABELS)
    assert outcome.folds == [0, 1] and len(outcome.results) == 4 and not outcome.is_complete
    np.testing.assert_allclose(outcome.highest.scores, [0.90, 0.94])
    text = incomplete_sentence(outcome)
    assert text == "13 of 16 results are there: 2 of 4 folds count. The same command goes on."
    assert outcome.judge.n_train == 150 and outcome.n_tested == 100


def test_methods_that_finished_the_furthest_folds_count():
    without = {(method, fold) for method in LABELS for fold in (1, 3)}
    without |= {("localized", 0), ("localized", 2), ("boosting", 2)}
    without -= {("alone:rna", 1)}
    outcome = gather(measured(without=without), LABELS)
    assert outcome.folds == [0, 2] and [result.method for result in outcome.results] == ["mean", "alone:rna"]
    assert outcome.unfinished == ["localized MKL", "boosting"]
    assert "2 of 4 folds count, without localized MKL, boosting" in incomplete_sentence(outcome)


def test_too_little_is_an_error_that_says_how_much_there_is():
    without = {(method, fold) for method in LABELS for fold in (1, 2, 3)}
    with pytest.raises(ValueError, match="4 of 16 results are there, and no method is finished in two folds"):
        gather(measured(without=without), LABELS)


def test_better():
    outcome = gathered(SCORES)
    assert outcome.verdict.kind == "better" and outcome.winner is outcome.highest
    text = recommendation(outcome)
    assert text.startswith("Use localized MKL: its accuracy of 92.0 % (95 % interval ")
    assert "is the highest of 4 methods." in text
    assert "It is better than the best simple method, boosting, by 11.0 points (95 % interval +" in text
    assert text.endswith(", corrected for 3 comparisons).")
    low, high = outcome.verdict.interval
    assert low < 0.11 < high and outcome.verdict.pvalue < 0.05


def test_cannot_tell():
    scores = {"alone:rna": [0.72] * 4, "localized": [0.80, 0.78, 0.80, 0.78]}
    outcome = gathered(scores, first={"localized": 20})
    verdict = outcome.verdict
    assert verdict.kind == "cannot tell" and verdict.other.method == "alone:rna"
    assert outcome.winner.method == "localized"
    d = np.concatenate([wrong_of(0.72) * 1.0 - wrong_of(s, first=20) for s in scores["localized"]])
    variance = np.append(d, [1.0, -1.0]).var(ddof=1) * 201 / 200  # about; two digits are shown
    needed = (1 + 4 / 3) * (1.645 / 0.02) ** 2 * variance
    assert verdict.needed == pytest.approx(needed, rel=0.06)
    text = recommendation(outcome)
    assert "The best simple method, rna alone, has 72.0 %, a difference of 7.0 points (95 % interval \u2212" in text
    assert "these data cannot tell which of the two is better." in text
    assert f"About {verdict.needed:,} samples would tell." in text


def test_as_good():
    scores = {"linear": [0.90, 0.88, 0.90, 0.90], "localized": [0.90, 0.90, 0.90, 0.88], "alone:rna": [0.6] * 4}
    outcome = gathered(scores, margin=0.05)
    assert outcome.highest.method == "linear" and outcome.winner.method == "linear"  # equal, and the simplest
    scores["localized"] = [0.90, 0.90, 0.90, 0.90]
    outcome = gathered(scores, margin=0.05)
    verdict = outcome.verdict
    assert outcome.highest.method == "localized" and verdict.kind == "as good" and outcome.winner.method == "linear"
    text = recommendation(outcome)
    assert text.startswith("Use linear: its accuracy of 89.5 % (95 % interval ")
    assert "with 95 % confidence, less than 5.0 points below the highest of 3 methods, 90.0 % by localized MKL" in text
    test = outcome.test(verdict.other)
    assert test.upper() == pytest.approx(0.005 + t.ppf(0.95, 199) * test.error) and test.upper() < 0.05
    assert gathered(scores, margin=0.004).verdict.kind == "cannot tell"


def test_no_difference_at_all_is_no_proof_where_samples_are_few():
    scores = {"alone:rna": [0.8] * 4, "mean": [0.8] * 4, "localized": [0.82] * 4}
    outcome = gathered(scores)  # 4 of 200 labels differ
    assert outcome.verdict.kind == "cannot tell"
    least = least_error(200, outcome.judge.n_train)
    assert least == pytest.approx(np.sqrt((1 + 4 / 3) * 2 / (200 * 201)))


def test_the_simplest_has_the_highest_score():
    scores = {"alone:rna": [0.9, 0.92, 0.9, 0.9], "mean": [0.82, 0.8, 0.8, 0.8]}
    outcome = gathered(scores)
    assert outcome.verdict.kind == "simplest" and outcome.winner.method == "alone:rna"
    text = recommendation(outcome)
    assert "The next, mean of kernels, has 80.5 %" in text and "no method here is simpler than rna alone." in text


def test_the_next_method_is_as_good_as_the_simplest_where_it_loses_less_than_the_margin():
    scores = {"alone:rna": [0.9] * 4, "mean": [0.88, 0.9, 0.9, 0.9]}
    outcome = gathered(scores, margin=0.05)
    assert outcome.verdict.kind == "as good" and outcome.verdict.other.method == "mean"
    assert outcome.winner.method == "alone:rna"
    text = recommendation(outcome)
    assert text.startswith("Use rna alone: its accuracy of 90.0 % (95 % interval ")
    assert "with 95 % confidence it loses less than 5.0 points, and no method here is simpler than rna alone." in text
    assert gathered(scores, margin=0.004).verdict.kind == "simplest"


def test_a_simple_method_that_wins_is_compared_with_those_that_are_simpler():
    scores = SCORES | {"localized": [0.70] * 4, "boosting": [0.90, 0.92, 0.92, 0.92]}
    outcome = gathered(scores)
    assert outcome.rival.method == "alone:rna" and outcome.verdict.kind == "better"
    assert "better than the best of the simpler methods, rna alone, by 19.5 points" in recommendation(outcome)


def test_no_praise_for_what_is_no_better_than_chance():
    scores = {"mean": [0.62, 0.58, 0.62, 0.60], "boosting": [0.4, 0.4, 0.4, 0.4]}
    outcome = gathered(scores)
    assert not outcome.beats_chance and outcome.highest.pvalue < 0.05
    text = recommendation(outcome)
    assert text.startswith(
        "No method is clearly better than always predicting the most frequent class (accuracy 60.0 %)"
    )
    assert "better than the best simple method" not in text
    assert "If a model is needed nevertheless: mean of kernels has the highest accuracy, 60.5 %" in text
    assert gathered({"mean": [0.8, 0.7, 0.9, 0.8]}).beats_chance
    assert not gathered({"mean": [0.62] * 4}).beats_chance


def test_probabilities_that_rank_better_than_chance_are_said_to():
    row = measured({"mean": [0.60] * 4})
    codes = (row.problem.y == "well").astype(int)
    for (_, fold), (found,) in row.cells.items():
        own = codes[row.splits[fold].test]
        shares = np.where(own == 1, 0.4, 0.2) + 0.01 * np.arange(50) % 0.1  # never 1/2
        found |= {"predicted": [0] * 50, "probabilities": np.column_stack([1 - shares, shares]).tolist()}
    text = recommendation(gather(row, {"mean": "mean of kernels"}))
    assert "but the probabilities of mean of kernels rank the samples better than chance does (ROC AUC 1.00" in text
    assert "choose by --scoring roc_auc or balanced_accuracy" in text


def test_what_to_expect_is_one_corrected_score():
    outcome = gathered(SCORES)
    (text,) = expectation(outcome)
    found = outcome.corrected
    assert found.low < found.score <= 0.92 < 1.0 and outcome.corrected is found
    assert f"corrected for that choice, accuracy is {100 * found.score:.1f}" in text.replace("\u00a0", " ")
    assert expectation(gathered({"mean": [0.8] * 4})) == []
    (text,) = expectation(gathered(SCORES, scoring="f1_macro"))
    assert "where the training samples of each fold choose the method, too, F1 (macro) is 0." in text


def test_balanced_accuracy_and_errors_have_their_own_words():
    outcome = gathered(SCORES, scoring="balanced_accuracy")
    assert outcome.chance_score == pytest.approx(0.5) and "its balanced accuracy of" in recommendation(outcome)
    outcome = gathered(SCORES, scoring="neg_log_loss")
    text = recommendation(outcome)
    assert "its log loss of 0." in text and "is the lowest of 4 methods" in text and "-0." not in text
    chance = outcome.judge.losses(outcome.chance).mean()
    assert outcome.margin == pytest.approx(0.05 * chance)
    outcome = gathered(SCORES, scoring="roc_auc")
    assert "its ROC AUC of 0." in recommendation(outcome) and outcome.margin == 0.02
    assert outcome.corrected is None and outcome.chance_score == pytest.approx(0.5)


def test_regression():
    random = np.random.default_rng(0)
    y = random.normal(size=200)
    problem = Problem(np.zeros((200, 1)), y, is_classification=False)
    splits = NestedFolds(4).split(y, False)
    spreads = {"alone:rna": 1.2, "mean": 0.5, "localized": 0.3}
    noise = {method: spread * random.normal(size=200) for method, spread in spreads.items()}
    empty = {"validation": 50.0, "stored": 5, "setting": {}, "seconds": 1.0, "n_warnings": 0, "warning": None}
    cells = {
        (method, fold): [empty | {"predicted": (y + own)[split.test].tolist()}]
        for method, own in noise.items()
        for fold, split in enumerate(splits)
    }
    outcome = gather(MeasuredRow(problem, splits, cells), {name: LABELS[name] for name in noise})
    expected = 1 - np.mean(noise["localized"] ** 2) / np.var(y)
    assert outcome.highest.method == "localized" and outcome.highest.score == pytest.approx(expected)
    means = np.concatenate([np.full(len(s.test), y[s.train].mean()) for s in splits])
    tested = np.concatenate([s.test for s in splits])
    assert outcome.chance_score == pytest.approx(1 - np.mean((y[tested] - means) ** 2) / np.var(y))
    assert outcome.margin == pytest.approx(0.05, abs=0.002) and outcome.beats_chance
    text = recommendation(outcome)
    assert "its R² of 0." in text and "better than the best simple method, rna alone, by " in text
    assert set(outcome.highest.all_scores) == {"R2", "MAE", "RMSE"}


def test_one_method_alone():
    outcome = gathered({"localized": SCORES["localized"]})
    assert outcome.rival is None and outcome.baseline is None and outcome.highest.pvalue is None
    text = recommendation(outcome)
    assert text.startswith("Use localized MKL: it is the only method here, with an accuracy of 92.0 % (95 % interval")


def test_samples_of_one_group_count_as_one():
    groups = np.arange(200) // 20
    alone, together = gathered({"mean": [0.66] * 4}), gathered({"mean": [0.66] * 4}, groups=groups)
    assert together.judge.test(together.highest.predictions, together.chance).freedom == 9
    assert alone.judge.test(alone.highest.predictions, alone.chance).freedom == 199


def test_a_majority_that_changes_from_fold_to_fold_makes_no_method_better_than_chance():
    # The majority of the training samples is the minority of the test samples where groups are of one class each.
    y = np.array(["ill"] * 50 + ["well"] * 50, dtype=object)
    rows = np.arange(100)
    splits = [Split(rows[50:], rows[:0], test=rows[:50]), Split(rows[:50], rows[:0], test=rows[50:])]
    codes = (y == "well").astype(int)
    cells = {("mean", fold): [record(0.5, codes[splits[fold].test])] for fold in (0, 1)}
    outcome = gather(MeasuredRow(Problem(np.zeros((100, 1)), y), splits, cells), {"mean": "mean"})
    assert outcome.chance_score == 0.5 and not outcome.beats_chance
