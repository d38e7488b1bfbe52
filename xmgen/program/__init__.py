"""Plan -> the files of a stack: the program, its manifests, its summary."""
