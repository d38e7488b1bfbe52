"""What XManager's documentation has of Vertex AI: requirements in capitals, and a repository to push to."""

from absl import app
from xmanager import xm, xm_local


def main(_):
    with xm_local.create_experiment(experiment_title="documented") as experiment:
        [executable] = experiment.package(
            [
                xm.python_container(
                    xm_local.Vertex.Spec(push_image_tag="gcr.io/acme/image:tag"), xm.ModuleName("train"), path="."
                )
            ]
        )
        for requirements in (
            xm.JobRequirements(cpu=1, ram=4 * xm.GiB, T4=1),
            xm.JobRequirements(cpu=1, ram=4 * xm.GiB, TPU_V2=8),
        ):
            experiment.add(xm.Job(executable, xm_local.Vertex(requirements)))


if __name__ == "__main__":
    app.run(main)
