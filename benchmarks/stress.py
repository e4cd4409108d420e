"""Every machine on thousands of hard problems: ``python -m benchmarks.stress [--problems 2000] [--seed 0]``.

A problem fails where the solve raises, is not converged although C max K_ii <= 1e6, says converged with a KKT violation
above tol or a relative gap above 10 tol, has a round that does not raise the objective, is worse than libsvm or
Clarabel by more than 10 tol, claims a gap that their objective contradicts, or changes its objective by more than that
when the rows are permuted. The number of failures must be 0.
"""

from __future__ import annotations

import argparse
from collections import Counter
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stress_problems import Problem, generate, one_against_many, reference
from kernelweave.machines import LeastSquaresMachine, OneClassMachine
from kernelweave.solvers import box_qp

TOL = 1e-3
EXACT_UP_TO = 1e6  # C max K_ii


class IdleRounds:
    """Counts rounds that neither raised the objective nor ended within the tolerance.

    Rounds that tighten a violation already within it, for the sake of the gap, may meet the end of floating point.
    """

    def __init__(self):
        self.count = 0
        self.tol = 0.0  # of the solve; what tightens asks for less
        self.solve_rounds = box_qp.solve_rounds

    def __enter__(self):
        def counted(*arguments):
            steps, drift, idle = self.solve_rounds(*arguments)
            self.tol = max(self.tol, arguments[7])
            self.count += idle if arguments[7] == self.tol else 0
            return steps, drift, idle

        box_qp.solve_rounds = counted
        return self

    def __exit__(self, *_):
        box_qp.solve_rounds = self.solve_rounds


def failures(problem: Problem, compare: bool = True, permute: bool = False, slow: float = np.inf) -> list[str]:
    """What is wrong with our solution of the problem, in words; solves that take more than `slow` seconds are shown."""
    start = perf_counter()
    with IdleRounds() as idle:
        try:
            solution = problem.machine.solve(problem.K, tol=TOL)
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]
    if perf_counter() - start > slow:
        print(f"  {perf_counter() - start:.1f} s, {solution.steps} steps: {problem.name}", flush=True)
    found = []
    least = 1e-6 * problem.scale if isinstance(problem.machine, OneClassMachine) else problem.machine.n_outputs
    limit = 10 * TOL * max(least, abs(solution.objective))
    rounding = 1e-9 * max(1.0, abs(solution.objective))
    demanded = problem.scale <= EXACT_UP_TO
    within = solution.gap <= limit * (1.0 + 1e-9) and solution.violation <= TOL * (1.0 + 1e-9)
    if demanded and not solution.converged:
        found.append(f"not converged: violation {solution.violation:.2g}, gap {solution.gap:.2g}")
    if demanded and idle.count:
        found.append(f"{idle.count} idle rounds")
    if solution.converged and not within and not isinstance(problem.machine, LeastSquaresMachine):
        found.append(f"converged with violation {solution.violation:.2g}, gap {solution.gap:.2g}")
    best = reference(problem) if compare else None
    if best is not None:
        slack = limit if solution.converged else max(limit, solution.gap)
        if best > solution.objective + slack + rounding:
            found.append(f"objective {solution.objective:.9g} where {best:.9g} is possible")
        if best > solution.objective + solution.gap + 1e-6 * max(1.0, abs(best)):  # their rounding, not ours
            found.append(
                f"gap {solution.gap:.3g} contradicted by an objective higher by {best - solution.objective:.3g}"
            )
    if permute and solution.converged:
        order = np.random.default_rng(0).permutation(problem.machine.n_samples)
        again = problem.machine.subset(order).solve(problem.K[np.ix_(order, order)], tol=TOL)
        if abs(again.objective - solution.objective) > max(limit, again.gap, solution.gap):
            found.append(f"objective {again.objective:.9g} instead of {solution.objective:.9g} with rows permuted")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--large", type=int, default=2, help="problems of 1:10 000")
    parser.add_argument("--slow", type=float, default=np.inf, help="show solves that take more seconds than this")
    options = parser.parse_args()
    begin = perf_counter()
    kinds, failed = Counter(), 0
    numbers = range(options.first, options.first + options.problems)
    problems = [(lambda k=k: generate(options.seed, k), k) for k in numbers]
    problems += [(lambda k=k: one_against_many(10_000, options.seed + k), -1) for k in range(options.large)]
    with threadpool_limits(1):
        for build, number in problems:
            problem = build()
            kinds[type(problem.machine).__name__] += 1
            wrong = failures(problem, number >= 0, number % 5 == 0, options.slow)
            failed += bool(wrong)
            if wrong:
                print(f"FAILED {problem.name}\n       {'; '.join(wrong)}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in kinds.most_common()))
    print(f"{sum(kinds.values())} problems, {failed} failures, {perf_counter() - begin:.0f} s")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
