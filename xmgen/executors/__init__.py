"""What a job becomes, one module per executor: Job -> manifest, as plain data."""
