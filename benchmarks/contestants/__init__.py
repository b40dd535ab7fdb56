"""Who takes part: every ``Contestant`` found in a module of this folder."""
