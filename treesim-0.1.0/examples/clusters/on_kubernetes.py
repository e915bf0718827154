"""A sweep on Kubernetes: python -m pip install dask-kubernetes; python on_kubernetes.py IMAGE /data/run.zarr 20.

IMAGE has treesim, distributed and zarr. The claim "treesim-data" is a volume that many pods may write at once
(ReadWriteMany); this script runs in a pod that has it under /data, too.
"""

import sys

from arm import run
from dask_kubernetes.operator import KubeCluster, make_cluster_spec

CORES = 16

if __name__ == "__main__":
    image, store, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    spec = make_cluster_spec(
        name="treesim",
        image=image,
        n_workers=workers,
        env={"TREESIM_NUM_THREADS": str(CORES), "TREESIM_CACHE_DIR": "/data/cache"},
        resources={"requests": {"cpu": str(CORES), "memory": "16Gi"}},
    )
    pod = spec["spec"]["worker"]["spec"]
    pod["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "treesim-data"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    pod["containers"][0]["args"] += ["--nthreads", "1"]  # Dask's: one task at a time
    with KubeCluster(custom_cluster_spec=spec) as cluster, cluster.get_client() as client:
        client.wait_for_workers(1)
        run(client, store, samples=1_000_000)
