"""What a job of the tests would run."""
