"""Comparisons with what other tools recorded: `python -m tests.vectors --help`."""
