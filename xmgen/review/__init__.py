"""What a change of the committed stacks means: for the trials, and for the resources."""
