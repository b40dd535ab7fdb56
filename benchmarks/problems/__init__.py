"""What data, with which settings: every ``Problem`` found in a module of this folder."""
