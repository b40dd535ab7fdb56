"""Tables of the papers, measured again: ``python -m benchmarks.papers.NAME`` prints one."""
