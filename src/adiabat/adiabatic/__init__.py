"""A solution moved exactly, along the path of optima from one problem to the next."""
