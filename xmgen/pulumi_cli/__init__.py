"""The Pulumi CLI: how it is called, what its events and its state mean."""
