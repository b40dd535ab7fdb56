"""What is measured, and which bar it should meet: every ``Measure`` in a module of this folder."""
