"""First steps: learn, look at the proof, hold it against scikit-learn's SVC, edit.

The data are scikit-learn's handwritten digits, 1,797 pictures of 8 by 8 points; the question
is whether a digit is even or odd. Takes a few seconds, most of them for compiling the inner
loops, which happens once in an installation.
"""

import textwrap
from time import perf_counter

import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

from adiabat import SVC


def title(words):
    print(f"\n{words}\n{'-' * len(words)}")


def timed(model, X, y):
    """The fitted model and the seconds of its fastest fit out of three."""
    seconds = []
    for _ in range(3):
        start = perf_counter()
        model.fit(X, y)
        seconds.append(perf_counter() - start)
    return model, min(seconds)


def objective(model, X, y):
    """1/2 |w|^2 + C sum(slacks), from scratch: the value that an SVC is to make small."""
    alpha = model.dual_coef_[0]
    K = rbf_kernel(X[model.support_], gamma=1 / (X.shape[1] * X.var()))
    sign = np.where(y == model.classes_[1], 1, -1)
    slack = np.maximum(0, 1 - sign * model.decision_function(X))
    return alpha @ K @ alpha / 2 + model.C * slack.sum()


def say_what_was_learned(clf):
    print(f"held      {len(clf.ids_):5} rows")
    print(f"margin    {len(clf.margin_):5} rows carry the boundary and lie on their margin")
    print(f"error     {len(clf.error_):5} rows lie inside it or on the wrong side")
    print(f"reserve   {len(clf.reserve_):5} rows could be left out and nothing would change")


def say_what_is_proved(proof):
    print("Computed from the data and the coefficients, whatever the solver believed:")
    print(f"  an optimality condition is violated by at most   {proof.kkt_violation:9.1e}")
    print(f"  the equality constraint is missed by             {proof.equality_residual:9.1e}")
    print(f"  primal and dual objective differ by              {proof.duality_gap:9.1e}")
    print(f"  no decision value is off the optimum by more than {proof.decision_error_bound:8.1e}")
    print(f"  so this is {'the' if proof.holds() else 'not proved to be the'} optimum.")


def compare(ours, seconds, X, y, X_new, y_new):
    least = ours.certificate().dual  # a lower bound for every machine's objective
    truth = ours.decision_function(X_new)
    print("The objective, computed from scratch, and how far it is above the lower bound:\n")
    print(
        f"{'':24}{'ms':>6}  {'accuracy':>8}  {'objective':>10}  {'above':>6}  {'decisions off':>13}"
    )
    contestants = [
        ("adiabat", ours, seconds),
        ("scikit-learn", *timed(svm.SVC(C=ours.C), X, y)),
        ("scikit-learn, tol=1e-9", *timed(svm.SVC(C=ours.C, tol=1e-9), X, y)),
    ]
    for name, model, took in contestants:
        off = np.abs(model.decision_function(X_new) - truth).max()
        shown = f"{off:13.0e}" if model is not ours else f"{'see above':>13}"
        value, accuracy = objective(model, X, y), model.score(X_new, y_new)
        excess = max(value / least - 1, 0)
        print(
            f"{name:24}{1000 * took:6.0f}  {accuracy:8.1%}  {value:10.4f}  {excess:6.0e}  {shown}"
        )


def edit(clf, X, y, X_new, y_new):
    """Learn rows and unlearn some, and hold the result against a fit on what is left."""
    clf.partial_fit(X_new[:1], y_new[:1])  # the first edit waits for its loops to be compiled
    start = perf_counter()
    for row, label in zip(X_new[1:100], y_new[1:100], strict=True):
        clf.partial_fit([row], [label])
    clf.unlearn(clf.margin_[:20])
    took = 1000 * (perf_counter() - start)
    print(f"99 digits learned one by one and 20 rows of the margin unlearned: {took:.0f} ms.")
    rows, labels = np.vstack([X, X_new]), np.concatenate([y, y_new])
    held = clf.ids_  # nobody gave ids, so rows are counted as they come
    fresh = clf.fresh().fit(rows[held], labels[held])
    apart = np.abs(fresh.decision_function(X_new) - clf.decision_function(X_new)).max()
    print(f"A fresh fit on the {len(held)} rows that are left decides the same, to {apart:.0e},")
    print(f"and the proof {'holds' if clf.certificate().holds() else 'does not hold'}.")


def main():
    digits = load_digits()
    parity = np.where(digits.target % 2, "odd", "even")
    X, X_new, y, y_new = train_test_split(digits.data, parity, test_size=300, random_state=0)

    title("Learn")
    start = perf_counter()
    SVC(C=10.0).fit(X, y)
    print(f"The first fit took {perf_counter() - start:.1f} s, compiling included; then it takes")
    clf, seconds = timed(SVC(C=10.0), X, y)
    accuracy = clf.score(X_new, y_new)
    print(
        f"{1000 * seconds:.0f} ms, and {accuracy:.1%} of {len(y_new)} new digits are told right.\n"
    )
    say_what_was_learned(clf)

    title("Prove")
    say_what_is_proved(clf.certificate())

    title("Beside scikit-learn")
    compare(clf, seconds, X, y, X_new, y_new)

    title("Edit")
    edit(clf.copy(), X, y, X_new, y_new)

    title("Hard margin: no slack at any price")
    hard = SVC(C=np.inf).fit(X, y)
    margin, accuracy = hard.certificate().margin, hard.score(X_new, y_new)
    print(f"C=np.inf separates the classes by a margin of {margin:.4f} in feature space;")
    print(
        f"{len(hard.margin_)} rows lie on it, and {accuracy:.1%} of the new digits are told right."
    )
    print(textwrap.fill(f"The certificate in one line: {hard.certificate()}.", 78))


if __name__ == "__main__":
    main()
