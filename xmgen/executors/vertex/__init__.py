"""Jobs on Vertex AI."""
