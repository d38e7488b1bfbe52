"""A group of one job on the machines that a flag chooses, of an image that is built or given; only the first trial."""

from absl import app, flags
from xmanager import xm, xm_local

_PLATFORM = flags.DEFINE_enum("platform", "cpu", ["cpu", "gpu", "tpu"], "Kind of machines.")
_CORES = flags.DEFINE_integer("cores", 1, "Accelerators of a job.")
_IMAGE = flags.DEFINE_string("image", None, "An image that there is.")


def requirements():
    match _PLATFORM.value:
        case "gpu":
            return xm.JobRequirements(t4=_CORES.value)
        case "tpu":
            return xm.JobRequirements(tpu_v3=8)
    return xm.JobRequirements()


def main(_):
    with xm_local.create_experiment(experiment_title="any platform") as experiment:
        if _IMAGE.value:
            spec = xm.Container(image_path=_IMAGE.value)
        else:
            spec = xm.PythonContainer(path=".", base_image="python:3.12", entrypoint=xm.ModuleName("train"))
        [trainer] = experiment.package(
            [xm.Packageable(spec, xm_local.Vertex.Spec(), args={"platform": _PLATFORM.value})]
        )
        for size in (32, 512):
            jobs = {"lead": xm.Job(executable=trainer, executor=xm_local.Vertex(requirements()), args={"size": size})}
            experiment.add(xm.JobGroup(**jobs))
            break


if __name__ == "__main__":
    app.run(main)
