"""An image from a Dockerfile of the user's, with arguments that a shell would take apart."""

from absl import app
from xmanager import xm, xm_local


def main(argv):
    assert len(argv) == 1
    with xm_local.create_experiment(experiment_title="own 'Dockerfile'") as experiment:
        [executable] = experiment.package(
            [
                xm.Packageable(
                    executable_spec=xm.Dockerfile(path=".", dockerfile="build/Dockerfile"),
                    executor_spec=xm_local.Vertex.Spec(),
                    env_vars={"LEVEL": 1, "MODE": "fast"},
                )
            ]
        )
        experiment.add(
            xm.Job(
                executable=executable,
                executor=xm_local.Vertex(),
                env_vars={"MODE": 'it\'s {quoted} "twice"', "LAST": ""},
                args=["--a=1", "two words", "--b=$HOME", "", "ünï"],
            )
        )


if __name__ == "__main__":
    app.run(main)
