"""`xmanager.cloud`, as far as a launch script can use it without a cloud."""
