"""Published counts: the paper's number stands here, the measured one is printed beside it."""

from dataclasses import replace

import pytest

from adiabat import SVC
from benchmarks.papers import pima_counts, pima_kernel_width, pima_regularisation, pima_tables
from benchmarks.papers.pima_counts import Case, all_at_once, one_at_a_time
from tests import datasets

# 004, table III, sigma^2 = 4, C = 1: full retraining
PERTURBATIONS, KERNEL_EVALUATIONS = 825, 965_000
# The paper has 150, 328 and 290; it does not say how its columns were prepared.
CATEGORIES = (145, 330, 293)
ONE_AT_A_TIME = 2500  # of the same order in any implementation, not printed in the table


@pytest.fixture(scope="module")
def pima():
    return Case.of(*datasets.load("pima"), C=1.0, gamma=0.25)


@pytest.fixture(scope="module")
def together(pima):
    return all_at_once(pima)


@pytest.fixture(scope="module")
def singly(pima):
    return one_at_a_time(pima)


def categories(counts):
    return counts.margin, counts.error, counts.reserve


def test_learning_all_at_once_takes_as_many_perturbations_as_in_the_paper(together):
    print(f"{together.perturbations} perturbations, {PERTURBATIONS} in the paper")
    assert together.perturbations == pytest.approx(PERTURBATIONS, rel=0.05)


def test_learning_all_at_once_takes_no_more_kernel_values_than_in_the_paper(together):
    print(f"{together.kernel_evaluations} kernel values, {KERNEL_EVALUATIONS} in the paper")
    assert together.kernel_evaluations <= KERNEL_EVALUATIONS


def test_learning_one_at_a_time_takes_three_times_the_perturbations(singly):
    print(f"{singly.perturbations} perturbations one at a time")
    assert singly.perturbations == pytest.approx(ONE_AT_A_TIME, rel=0.05)


def test_both_ways_end_with_the_same_categories(together, singly):
    assert categories(together) == categories(singly) == CATEGORIES


def test_the_table_shows_both(together, singly):
    text = "\n".join(pima_counts.table(together, singly))
    assert "825" in text
    assert str(together.kernel_evaluations) in text


# ---------------------------------------------------------------- 004, table IV

# k: initial |U|, perturbations and kernel values of the incremental rows; sigma^2 = 2^(k/2)
WIDTHS = {
    1: (500, 721, 1_000_000),
    2: (483, 740, 975_000),
    3: (442, 760, 944_000),
    5: (205, 286, 533_000),
    6: (154, 224, 479_000),
    7: (120, 197, 446_000),
}
# |S|, |E|, |R| and perturbations of full retraining
RETRAINED = {
    1: (347, 260, 161, 730),
    2: (269, 286, 213, 774),
    3: (204, 299, 265, 813),
    4: (150, 328, 290, 825),
    5: (109, 341, 318, 832),
    6: (81, 356, 331, 836),
    7: (51, 370, 347, 818),
}


@pytest.fixture(scope="module")
def widths(pima):
    return pima_kernel_width.measured(pima)


@pytest.mark.parametrize("k", WIDTHS)
def test_another_width_takes_no_more_than_in_the_paper(widths, k):
    unlearned, perturbations, evaluations = WIDTHS[k]
    width = widths[k]
    print(f"{width.unlearned} unlearned, {unlearned} in the paper")
    print(f"{width.led.perturbations} perturbations, {perturbations} in the paper")
    print(f"{width.led.kernel_evaluations} kernel values, {evaluations} in the paper;")
    print(f"{width.by_the_paper} counted in its way, {width.adapted} by the classifier")
    assert width.unlearned == pytest.approx(unlearned, rel=0.05)
    assert width.led.perturbations <= 1.1 * perturbations
    assert width.led.kernel_evaluations <= evaluations
    assert width.by_the_paper == pytest.approx(evaluations, rel=0.1)
    assert width.adapted <= evaluations


@pytest.mark.parametrize("k", RETRAINED)
def test_learning_all_at_once_with_any_width_is_as_in_the_paper(widths, k):
    *printed, perturbations = RETRAINED[k]
    full = widths[k].full
    print(f"{categories(full)}, {printed} in the paper; {full.perturbations} perturbations")
    assert categories(full) == pytest.approx(printed, abs=6)
    assert full.perturbations == pytest.approx(perturbations, rel=0.05)
    if k != pima_kernel_width.CENTRE:
        assert categories(widths[k].led) == categories(full)


def test_the_table_of_widths_shows_all_of_them(widths):
    lines = pima_kernel_width.table(widths)
    assert len(lines) == 2 + len(RETRAINED)
    for k, line in zip(RETRAINED, lines[2:], strict=True):
        assert f"{RETRAINED[k][-1]} | {widths[k].full.perturbations}" in line
        if k in WIDTHS:
            assert f"{WIDTHS[k][1]} | {widths[k].led.perturbations}" in line


# 004, table III: the incremental rows, each from the neighbouring C = 2^(k/2): perturbations and
# kernel evaluations
INCREMENTAL = {
    -1: (60, 263_000),
    -2: (67, 296_000),
    -3: (58, 320_000),
    1: (73, 294_000),
    2: (64, 256_000),
    3: (53, 217_000),
}
# measured; the paper has 145 + 5, 330 - 2 and 293 - 3 for C = 1, and the like for the others
CATEGORIES_BY_C = {
    -3: (74, 430, 264),
    -2: (96, 403, 269),
    -1: (122, 363, 283),
    1: (186, 283, 299),
    2: (221, 244, 303),
    3: (246, 210, 312),
}


@pytest.fixture(scope="module")
def changes(pima):
    return pima_regularisation.incremental(pima)


@pytest.mark.parametrize("k", INCREMENTAL)
def test_a_change_of_c_costs_no_more_than_in_the_paper(changes, k):
    perturbations, values = INCREMENTAL[k]
    after = changes[k].after
    print(f"C = {2 ** (k / 2):.3f}: {after.perturbations} perturbations ({perturbations}), ")
    print(f"{after.kernel_evaluations} kernel values ({values})")
    assert after.perturbations <= 1.1 * perturbations
    assert after.kernel_evaluations <= values
    assert categories(after) == CATEGORIES_BY_C[k]


@pytest.mark.parametrize("k", INCREMENTAL)
def test_counted_in_their_way_the_kernel_values_are_theirs(changes, k):
    assert changes[k].by_their_count == pytest.approx(INCREMENTAL[k][1], rel=0.02)


@pytest.fixture(scope="module")
def adapted():
    """Kernel values of the classifier's own ``adapt``, along the same chains, by k."""
    spent = {}
    for sign in (-1, 1):
        model = SVC(gamma=0.25).fit(*datasets.load("pima"))
        for k in (sign, 2 * sign, 3 * sign):
            before = model.work_.kernel_evaluations
            model.adapt(C=2.0 ** (k / 2))
            assert model.last_change_.solved == 0
            spent[k] = model.work_.kernel_evaluations - before
    return spent


@pytest.mark.parametrize("sign", [-1, 1])
def test_adapting_c_costs_no_more_kernel_values_than_in_the_paper(adapted, sign):
    # the first step founds the living machine with the columns of all members, which the paper
    # has from its training: the later ones take next to nothing
    chain = [sign, 2 * sign, 3 * sign]
    for k in chain:
        print(f"C = {2 ** (k / 2):.3f}: {adapted[k]} kernel values ({INCREMENTAL[k][1]})")
    for k in chain[1:]:
        assert adapted[k] <= 0.2 * INCREMENTAL[k][1]
    assert sum(adapted[k] for k in chain) <= 0.65 * sum(INCREMENTAL[k][1] for k in chain)


def test_learning_everything_at_once_for_twice_the_c_is_what_the_paper_did(pima):
    counts = all_at_once(replace(pima, C=2.0))
    assert counts.perturbations == pytest.approx(944, rel=0.02)
    assert counts.kernel_evaluations <= 1_040_000


def test_the_table_of_changes_shows_both(pima, changes):
    wholes = dict.fromkeys(pima_regularisation.PRINTED, all_at_once(pima))
    text = "\n".join(pima_regularisation.table(changes, wholes))
    for k, (perturbations, values) in INCREMENTAL.items():
        assert str(perturbations) in text
        assert f"{values / 1e6:.3f}" in text
        assert f"{changes[k].by_their_count / 1e6:.3f}" in text


def test_one_command_shows_both_tables(capsys):
    datasets.load("pima")  # or there is nothing to show
    assert pima_tables.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("004, table")] == [
        "004, table III: another C",
        "004, table IV: another width of the kernel",
    ]
