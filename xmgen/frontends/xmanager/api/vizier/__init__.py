"""`xmanager.vizier`: studies that choose each trial's parameters from the results of those before it."""
