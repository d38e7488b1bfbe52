"""Caliban projects; docs/caliban.md lists each decision. This module stays empty: the launcher starts every trial."""
