"""The winner, the tests, the nested choice and the words, against numbers worked out by hand."""

import numpy as np
import pytest
from scipy.stats import t

from kernelweave.compare import Problem
from kernelweave.compare import report as words
from kernelweave.compare.outcome import gather, simplicity
from kernelweave.compare.report import incomplete_sentence, nested_sentence, simpler_choice
from kernelweave.compare.run import MeasuredRow
from kernelweave.model_selection import NestedFolds, Split


def recommendation(outcome):
    return " ".join(words.recommendation(outcome))


LABELS = {"alone:rna": "rna alone", "mean": "mean of kernels", "localized": "localized MKL", "boosting": "boosting"}
SCORES = {
    "alone:rna": [0.70, 0.74, 0.71, 0.73],
    "mean": [0.81, 0.82, 0.81, 0.78],
    "localized": [0.90, 0.93, 0.91, 0.92],
    "boosting": [0.79, 0.83, 0.80, 0.82],
}
VALIDATIONS = {
    "alone:rna": [0.70, 0.70, 0.70, 0.70],
    "mean": [0.95, 0.80, 0.80, 0.80],
    "localized": [0.90, 0.90, 0.90, 0.90],
    "boosting": [0.90, 0.99, 0.90, 0.80],
}


def losses(score, n_samples=25):
    """Wrong labels of the first samples, and a part of one where a score leaves that."""
    return np.clip((1.0 - score) * n_samples - np.arange(n_samples), 0.0, 1.0)


def pvalue(first, second, n_train=75):
    """The p-value of two methods, from their scores on folds of 25 samples."""
    d = np.concatenate([losses(b) - losses(a) for a, b in zip(first, second, strict=True)]).round(9)
    n, u = len(d), np.sqrt(np.mean(d[d != 0] ** 2))
    variance = np.append(d, [u, -u]).var(ddof=1)
    return 2 * t.sf(abs(d.mean()) / np.sqrt((1 / n + 1 / n_train) * variance), n - 1)


def record(score, validation=0.9, stored=10, n_warnings=0, n_samples=25):
    return {
        "losses": losses(score, n_samples).tolist(),
        "candidate": "",
        "test": 100.0 * (1.0 - score),
        "validation": 100.0 * (1.0 - validation),
        "stored": stored,
        "setting": {"C": 1.0},
        "seconds": 2.0,
        "n_warnings": n_warnings,
        "warning": "ConvergenceWarning: slow" if n_warnings else None,
    }


def measured(scores=SCORES, validations=VALIDATIONS, without=(), is_classification=True):
    rng = np.random.default_rng(0)
    y = np.array(["ill"] * 60 + ["well"] * 40, dtype=object) if is_classification else rng.normal(size=100)
    problem = Problem(np.zeros((100, 1)), y, is_classification=is_classification)
    splits = NestedFolds(4).split(y, is_classification)
    cells = {
        (method, fold): [record(score, validations.get(method, [0.9] * 9)[fold])]
        for method, of_folds in scores.items()
        for fold, score in enumerate(of_folds)
        if (method, fold) not in without
    }
    return MeasuredRow(problem, splits, cells)


def test_methods_are_ranked_and_the_best_wins():
    outcome = gather(measured(), LABELS)
    assert [result.method for result in outcome.results] == ["localized", "boosting", "mean", "alone:rna"]
    assert outcome.winner.label == "localized MKL" and outcome.baseline.method == "boosting"
    assert outcome.winner.mean == pytest.approx(0.915)
    assert outcome.winner.std == pytest.approx(np.std([0.90, 0.93, 0.91, 0.92], ddof=1))
    assert outcome.is_complete and outcome.folds == [0, 1, 2, 3] and outcome.unfinished == []
    np.testing.assert_allclose(outcome.chance, 0.6)
    assert outcome.winner.mean_stored == 10.0


def test_pvalues_are_those_of_held_out_losses_against_the_best_simple_method():
    outcome = gather(measured(), LABELS)
    for result in outcome.results:
        if result.method == "boosting":
            assert result.pvalue is None and result.difference is None
            continue
        assert result.pvalue == pytest.approx(pvalue(SCORES["boosting"], SCORES[result.method]))
        difference = np.array(SCORES[result.method]) - np.array(SCORES["boosting"])
        assert result.difference == pytest.approx(difference.mean())


def test_the_same_loss_in_each_fold_is_no_proof():
    """Two of 20 in each of three folds: nothing varies from fold to fold, and six labels may be chance."""
    y = np.array(["ill", "well"] * 30, dtype=object)
    splits = NestedFolds(3).split(y, True)
    scores = {"mean": 1.0, "localized": 0.9}
    cells = {(name, fold): [record(score, n_samples=20)] for name, score in scores.items() for fold in range(3)}
    row = MeasuredRow(Problem(np.zeros((60, 1)), y), splits, cells)
    outcome = gather(row, {name: LABELS[name] for name in scores})
    # d: 54 zeros and six ones, +1 and -1; SE^2 = (1/60 + 1/40) * Var
    variance = np.var([0.0] * 54 + [1.0] * 6 + [1.0, -1.0], ddof=1)
    expected = 2 * t.sf(0.1 / np.sqrt((1 / 60 + 1 / 40) * variance), 59)
    assert outcome.pvalue(*outcome.results) == pytest.approx(expected) and 0.16 < expected < 0.17
    assert outcome.within_noise(*outcome.results)


def test_repeats_are_averaged_and_groups_count_as_one():
    y = np.array(["ill", "well"] * 20, dtype=object)
    groups = np.repeat(np.arange(20), 2)
    splits = NestedFolds(2, 3).split(y, True, groups=groups)
    rng = np.random.default_rng(0)
    wrong = {name: rng.integers(0, 2, (3, 40)).astype(float) for name in ("mean", "localized")}
    cells = {
        (name, fold): [record(0.5) | {"losses": rows[split.run, split.test].tolist()}]
        for name, rows in wrong.items()
        for fold, split in enumerate(splits)
    }
    outcome = gather(
        MeasuredRow(Problem(np.zeros((40, 1)), y, groups=groups), splits, cells), {name: LABELS[name] for name in wrong}
    )
    sums = (wrong["localized"] - wrong["mean"]).mean(axis=0).reshape(20, 2).sum(axis=1).round(9)
    u = np.sqrt(np.mean(sums[sums != 0] ** 2))
    error = np.sqrt((1 + 40 / 20) * np.append(sums, [u, -u]).var(ddof=1) / 20)
    expected = 2 * t.sf(abs(sums.mean()) / error, 19)
    assert outcome.pvalue(*outcome.results) == pytest.approx(expected)


def test_the_nested_choice_takes_the_method_that_validation_chooses_in_each_fold():
    outcome = gather(measured(), LABELS)
    # fold 0: mean 0.95; fold 1: boosting 0.99; fold 2: localized and boosting 0.9, the simpler; fold 3: localized
    assert outcome.nested_methods == ["mean", "boosting", "boosting", "localized"]
    np.testing.assert_allclose(outcome.nested, [0.81, 0.83, 0.80, 0.92])
    text = nested_sentence(outcome)
    assert "accuracy is 84.0 % ± 5.5 % (chosen: boosting, 2 of 4 times; " in text and "the best of 4" in text


def test_of_equal_methods_the_simplest_wins():
    same = {"localized": [0.8, 0.9], "boosting": [0.9, 0.8], "mean": [0.85, 0.85]}
    row = measured(same)
    row = MeasuredRow(row.problem, row.splits[:2], row.cells)
    outcome = gather(row, {method: LABELS[method] for method in same})
    assert [result.method for result in outcome.results] == ["mean", "boosting", "localized"]
    assert "as high as that of boosting and localized MKL; " in recommendation(outcome)
    order = ["alone:x", "linear", "concatenation", "mean", "least-squares", "lp", "convex", "stacking"]
    order += ["forest", "boosting", "localized", "projected", "else"]
    assert sorted(order, key=simplicity) == order


def test_boosting_is_not_the_simpler_choice_beside_the_mean_of_kernels():
    scores = {"alone:rna": [0.4] * 4, "mean": [0.95, 0.80, 0.99, 0.72], "boosting": [0.80, 0.83, 0.84, 0.81]}
    outcome = gather(measured(scores), {method: LABELS[method] for method in scores})
    assert outcome.winner.method == "mean" and outcome.baseline.method == "boosting"
    assert simpler_choice(outcome) is None and "simpler" not in recommendation(outcome)
    assert "The difference to the best simple method, boosting, of" in recommendation(outcome)
    assert "is within noise (p = " in recommendation(outcome)


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
    row.cells["mean", 1] = [record(0.8, n_warnings=3)]
    row.cells["mean", 2] = [record(0.8, n_warnings=2)]
    result = next(result for result in gather(row, LABELS).results if result.method == "mean")
    assert result.n_warnings == 5 and result.warning == "ConvergenceWarning: slow"


def test_two_whole_folds_count_of_a_run_that_was_stopped():
    outcome = gather(measured(without={("localized", 2), ("mean", 3), ("localized", 3)}), LABELS)
    assert outcome.folds == [0, 1] and len(outcome.results) == 4 and not outcome.is_complete
    np.testing.assert_allclose(outcome.winner.scores, [0.90, 0.93])
    text = incomplete_sentence(outcome)
    assert text == "13 of 16 results are there: 2 of 4 folds count. The same command goes on."


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


def test_words_for_a_clear_winner():
    outcome = gather(measured(), LABELS)
    text = recommendation(outcome)
    assert text.startswith("Use localized MKL: its accuracy of 91.5 % is the highest of 4 methods.")
    assert f"{pvalue(SCORES['boosting'], SCORES['localized']):.3f}" == "0.027"
    assert "better than the best simple method, boosting, by 10.5 percentage points (p = 0.027)" in text
    assert "noise" not in text and "chance" not in text and simpler_choice(outcome) is None


def test_words_for_a_winner_within_noise_name_the_simpler_choice():
    outcome = gather(measured(SCORES | {"localized": [0.95, 0.70, 0.99, 0.72]}), LABELS)
    assert outcome.winner.method == "localized" and simpler_choice(outcome).method == "boosting"
    text = recommendation(outcome)
    assert f"{pvalue(SCORES['boosting'], [0.95, 0.70, 0.99, 0.72]):.3f}" == "0.608"
    assert "The difference to boosting of 3.0 percentage points is within noise (p = 0.608)" in text
    assert "boosting is the simpler choice" in text


def test_words_where_a_simple_method_wins():
    scores = SCORES | {"localized": [0.70, 0.71, 0.70, 0.72], "boosting": [0.90, 0.92, 0.91, 0.91]}
    text = recommendation(gather(measured(scores), LABELS))
    assert (
        text.startswith("Use boosting") and "better than the next, mean of kernels, by 10.5 percentage points" in text
    )
    scores["alone:rna"] = [0.99, 0.82, 0.98, 0.80]
    text = recommendation(gather(measured(scores), LABELS))
    assert "rna alone is the simpler choice" in text
    scores |= {"alone:rna": [0.5] * 4, "localized": [0.99, 0.82, 0.98, 0.80]}
    text = recommendation(gather(measured(scores), LABELS))
    assert "The difference to the next, localized MKL, of" in text and "boosting is the simpler choice" in text


def test_words_where_nothing_beats_chance():
    scores = {"mean": [0.61, 0.58, 0.62, 0.60], "boosting": [0.5, 0.6, 0.5, 0.6]}
    text = recommendation(gather(measured(scores), {method: LABELS[method] for method in scores}))
    assert text.startswith("No method is clearly better than always predicting the most frequent class (60.0 %)")
    assert "If a model is needed nevertheless, use mean of kernels: its accuracy of 60.2 %" in text
    clear = gather(measured({"mean": [0.8, 0.7, 0.9, 0.8]}), {"mean": "mean of kernels"})
    assert clear.n_tested == 100 and clear.beats_chance
    assert not gather(measured({"mean": [0.55] * 4}), {"mean": "mean of kernels"}).beats_chance


def test_regression():
    row = measured(is_classification=False)
    outcome = gather(row, LABELS)
    for place, split in enumerate(row.splits):
        true, mean = row.problem.y[split.test], row.problem.y[split.train].mean()
        assert outcome.chance[place] == pytest.approx(1 - np.mean((true - mean) ** 2) / np.var(true))
    assert "its R² of 0.915" in recommendation(outcome) and "R² is 0.840" in nested_sentence(outcome)
    assert outcome.score_text(0.5) == "0.500"
    labels = {"mean": "mean of kernels"}
    assert gather(measured({"mean": [0.3] * 4}, is_classification=False), labels).beats_chance
    assert not gather(measured({"mean": [0.01] * 4}, is_classification=False), labels).beats_chance
    assert not gather(measured({"mean": [-0.1] * 4}, is_classification=False), labels).beats_chance


def test_one_method_alone():
    outcome = gather(measured({"localized": SCORES["localized"]}), {"localized": "localized MKL"})
    assert outcome.baseline is None and outcome.winner.pvalue is None
    assert recommendation(outcome) == "Use localized MKL: it is the only method here, with accuracy 91.5 %."


def test_the_best_simpler_method_is_named_where_simple_ones_are_clearly_worse():
    outcome = gather(measured(SCORES | {"mean": [0.95, 0.90, 0.92, 0.88]}), LABELS)
    assert outcome.winner.method == "localized" and simpler_choice(outcome).method == "mean"


@pytest.mark.parametrize("is_classification", [True, False])
def test_samples_of_one_group_with_one_target_count_as_one(is_classification):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 10)
    y = np.array(["ill", "well"])[groups % 2].astype(object) if is_classification else rng.normal(size=20)[groups]
    score = 0.65 if is_classification else 0.1
    for own, found in ((None, True), (groups, False), (np.arange(200), True), (np.arange(200) // 2 % 4, True)):
        problem = Problem(np.zeros((200, 1)), y, is_classification=is_classification, groups=own)
        splits = NestedFolds(4).split(y, is_classification)
        row = MeasuredRow(problem, splits, {("mean", fold): [record(score, n_samples=50)] for fold in range(4)})
        assert gather(row, {"mean": "mean"}).beats_chance is found


def test_a_majority_that_changes_from_fold_to_fold_makes_no_method_better_than_chance():
    # The majority of the training samples is the minority of the test samples where groups are of one class each.
    y = np.array(["ill"] * 50 + ["well"] * 50, dtype=object)
    rows = np.arange(100)
    splits = [Split(rows[50:], rows[:0], test=rows[:50]), Split(rows[:50], rows[:0], test=rows[50:])]
    problem = Problem(np.zeros((100, 1)), y, is_classification=True)
    outcome = gather(
        MeasuredRow(problem, splits, {("mean", fold): [record(0.5, n_samples=50)] for fold in (0, 1)}), {"mean": ""}
    )
    assert outcome.chance.tolist() == [0.0, 0.0] and not outcome.beats_chance
