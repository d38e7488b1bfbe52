"""Jobs on GKE."""
