"""One job whose image fetches a file that a flag names; what it writes goes to the environment's bucket."""

import asyncio
import os
import posixpath

from absl import app, flags
from xmanager import xm, xm_local
from xmanager.cloud import vertex

_CONFIG = flags.DEFINE_string("config", "https://configs.example/agents/small.gin", "Address of a file, or its path.")


def main(_):
    with xm_local.create_experiment(experiment_title="downloaded config") as experiment:
        name = posixpath.basename(_CONFIG.value)
        fetched = _CONFIG.value.startswith("https://")
        image = xm.PythonContainer(
            docker_instructions=[
                "RUN pip install gin-config",
                "COPY downloaded_config/ workdir",
                "WORKDIR workdir",
                f"RUN wget -O ./{name} {_CONFIG.value}" if fetched else f"ADD {_CONFIG.value} {name}",
            ],
            entrypoint=xm.ModuleName("train"),
        )
        [agent] = experiment.package([xm.Packageable(image, xm_local.Vertex.Spec(), args={"configs": name})])
        client = vertex.get_default_client()
        board = asyncio.get_event_loop().run_until_complete(client.get_or_create_tensorboard("agents"))
        folder = os.path.join(os.environ["GOOGLE_CLOUD_BUCKET_NAME"], str(experiment.experiment_id))  # noqa: PTH118
        capability = xm_local.TensorboardCapability(name=board, base_output_directory=folder)
        experiment.add(xm.Job(agent, xm_local.Vertex(xm.JobRequirements(t4=1), tensorboard=capability)))


if __name__ == "__main__":
    app.run(main)
