"""The Pulumi CLI: how it is found and called, where its state lives, what its events and its state say about trials."""
