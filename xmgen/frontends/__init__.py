"""What reads foreign formats: launch scripts, Caliban projects, experiment.yaml. Each gives an Experiment."""
