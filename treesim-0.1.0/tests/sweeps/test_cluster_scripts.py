"""Scripts of examples/clusters: run on this machine, those for other clusters with stand-ins for their libraries."""

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from treesim.sweeps import local_cluster, open_study

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parents[2] / "examples" / "clusters"
SAMPLES = 500


class Cluster:
    """Stand-in for a cluster of another library: two workers on this machine."""

    made: dict[str, Any]
    client: Any  # begun before the script, whose libraries its workers do not have

    def __init__(self, **options: Any) -> None:
        type(self).made = options

    def scale(self, jobs: int) -> None:
        self.made["jobs"] = jobs

    def get_client(self) -> Any:
        return self.client

    def close(self) -> None:
        self.made["closed"] = True

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def make_cluster_spec(name: str, image: str, n_workers: int, env: dict[str, str], resources: Any) -> dict[str, Any]:
    """Return a specification as of dask_kubernetes.operator."""
    container = {"name": "worker", "image": image, "args": ["dask", "worker"], "env": env, "resources": resources}
    return {"name": name, "spec": {"worker": {"replicas": n_workers, "spec": {"containers": [container]}}}}


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Return a function that runs a script with a smaller sweep, and returns the study in its store."""
    pytest.importorskip("distributed")
    pytest.importorskip("zarr")
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "arm", raising=False)
    import arm

    whole, store = arm.run, tmp_path / "run.zarr"
    monkeypatch.setattr(arm, "run", lambda client, path, samples=SAMPLES: whole(client, path, samples=SAMPLES))

    def run(name: str, *arguments: str) -> Any:
        monkeypatch.setattr(sys, "argv", [name, *(str(store) if each == "STORE" else each for each in arguments)])
        runpy.run_path(str(FOLDER / name), run_name="__main__")
        return open_study(store)

    return run


@pytest.fixture
def expected(tmp_path):
    """Mean of the same sweep without a cluster."""
    sys.path.insert(0, str(FOLDER))
    try:
        import arm
    finally:
        sys.path.remove(str(FOLDER))
    return arm.run(None, tmp_path / "alone.zarr", samples=SAMPLES).summary["fastest"].mean()


@pytest.fixture
def cluster(monkeypatch):
    """Stand-in for the class of a cluster."""
    pytest.importorskip("distributed")
    client = local_cluster(2, dashboard_address=None)
    workers = client.cluster  # a closed client has none
    monkeypatch.setattr(Cluster, "client", client, raising=False)
    yield Cluster
    client.close()
    workers.close()


def module(monkeypatch, name: str, **content: Any) -> None:
    made = ModuleType(name)
    vars(made).update(content)
    monkeypatch.setitem(sys.modules, name, made)


def test_on_this_machine(expected, script):
    study = script("on_this_machine.py", "STORE")
    assert study.summary["fastest"].mean() == expected


def test_on_slurm(expected, script, cluster, monkeypatch):
    module(monkeypatch, "dask_jobqueue", SLURMCluster=cluster)
    assert script("on_slurm.py", "STORE", "3").summary["fastest"].mean() == expected
    assert (
        cluster.made["closed"] and cluster.made["jobs"] == 3 and cluster.made["cores"] == cluster.made["processes"] == 1
    )
    assert any(f"TREESIM_NUM_THREADS={cluster.made['job_cpu']}" in line for line in cluster.made["job_script_prologue"])


def test_on_kubernetes(expected, script, cluster, monkeypatch):
    content = {"KubeCluster": cluster, "make_cluster_spec": make_cluster_spec}
    module(monkeypatch, "dask_kubernetes")
    module(monkeypatch, "dask_kubernetes.operator", **content)
    assert script("on_kubernetes.py", "treesim:latest", "STORE", "4").summary["fastest"].mean() == expected
    worker = cluster.made["custom_cluster_spec"]["spec"]["worker"]
    (container,) = worker["spec"]["containers"]
    assert worker["replicas"] == 4 and container["args"][-2:] == ["--nthreads", "1"]
    assert container["volumeMounts"][0]["name"] == worker["spec"]["volumes"][0]["name"]
    assert container["image"] == "treesim:latest"
