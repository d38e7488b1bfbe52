"""A stack's folder: what is committed of it, and how it is written, read and configured."""
