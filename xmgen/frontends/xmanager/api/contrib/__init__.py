"""`xmanager.contrib`."""
