"""Compile machine-learning experiments into Pulumi programs."""

__version__ = "0.1.0"
