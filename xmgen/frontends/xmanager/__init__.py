"""XManager launch scripts: run here, recorded instead of launched."""
