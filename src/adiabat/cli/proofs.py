"""A certificate in words, and as figures for machines."""

from __future__ import annotations

from typing import Any

from rich.table import Table as Grid

_FIGURES = {
    "kkt_violation": "an optimality condition is violated by at most",
    "equality_residual": "the equality constraint is missed by at most",
    "duality_gap": "value of the model and lower bound differ by",
    "decision_error_bound": "no decision value is off the optimum's by more than",
    "margin": "distance of the margin from the boundary",
}


def figures(proof: Any) -> dict[str, Any]:
    """What a certificate says, for machines."""
    sizes = {name: getattr(proof, f"n_{name}") for name in ("margin", "error", "reserve")}
    return {
        "holds": proof.holds(),
        "convex": proof.convex,
        **{name: _finite(getattr(proof, name)) for name in _FIGURES},
        **{f"n_{name}": count for name, count in sizes.items()},
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity; the margin of a machine that has one class only is none."""
    return float(value) if abs(value) < float("inf") else None


def verdict(proof: Any) -> str:
    """In one line whether the model is the optimum."""
    if proof.holds():
        return (
            "[green]The certificate holds[/green]: this is the optimum, decision values to "
            f"{proof.decision_error_bound:.0e}."
        )
    if not proof.convex:
        return (
            "[red]The certificate does not hold[/red]: with this kernel there is no unique "
            "optimum (it is not positive semidefinite)."
        )
    return (
        "[red]The certificate does not hold[/red]: decision values may be off the optimum's by "
        f"{proof.decision_error_bound:.0e}."
    )


def in_full(proof: Any) -> Grid:
    """Every figure of a certificate with its meaning."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right")
    for name, meaning in _FIGURES.items():
        value = getattr(proof, name)
        grid.add_row(f"  {meaning}", f"{value:.3g}" if name == "margin" else f"{value:.1e}")
    return grid


def sizes(proof: Any) -> str:
    """How many rows are what to the boundary."""
    members = getattr(proof, "members", None)
    where = f" (over {len(members)} pairs of classes)" if members else ""
    return (
        f"{proof.n_margin} margin, {proof.n_error} error and {proof.n_reserve} reserve rows{where}"
    )
