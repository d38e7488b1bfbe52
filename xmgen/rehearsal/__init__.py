"""A simulated Google Cloud on this machine: a real Kubernetes control plane, and stand-ins for what Google answers."""
