"""Our own classifier with its default tolerance."""

from __future__ import annotations

from typing import Any

from benchmarks.declarations import Contestant


def make(**settings: Any) -> Any:
    """Build adiabat.SVC."""
    from adiabat import SVC

    return SVC(**settings)


def describe(model: Any) -> str:
    """Show what the certificate says about the fitted model."""
    certificate = model.certificate()
    held = "holds" if certificate.holds() else "DOES NOT HOLD"
    return f"KKT {certificate.kkt_violation:.1e}, certificate {held}"


ADIABAT = Contestant("adiabat", distribution="adiabat", make=make, ours=True, describe=describe)
