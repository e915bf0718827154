"""A sweep on a Slurm cluster: python -m pip install dask-jobqueue; python on_slurm.py /shared/run.zarr 20.

Each job is one worker with all cores of a node with one NUMA node; with two of them, take processes=2 and half the
threads. The store lies on a disk that all nodes share.
"""

import sys

from arm import run
from dask_jobqueue import SLURMCluster

CORES = 64

if __name__ == "__main__":
    store, jobs = sys.argv[1], int(sys.argv[2])
    cluster = SLURMCluster(
        cores=1,  # Dask's: one task at a time; treesim's own threads take the job's
        processes=1,
        job_cpu=CORES,
        memory="64GB",
        walltime="02:00:00",
        job_script_prologue=[f"export TREESIM_NUM_THREADS={CORES}", "export TREESIM_CACHE_DIR=$HOME/.cache/treesim"],
    )
    cluster.scale(jobs=jobs)
    with cluster.get_client() as client:
        client.wait_for_workers(1)
        run(client, store, samples=1_000_000)
    cluster.close()
