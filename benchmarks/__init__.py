"""Adiabat beside its rivals: what is timed, on what, and against whom."""
