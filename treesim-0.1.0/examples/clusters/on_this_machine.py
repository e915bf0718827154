"""A sweep on a Dask cluster of this machine: python on_this_machine.py run.zarr.

Without a client, treesim starts such processes itself.
"""

import sys

from arm import run

from treesim.sweeps import local_cluster

if __name__ == "__main__":  # Dask's processes import this file
    with local_cluster(dashboard_address=None) as client:
        run(client, sys.argv[1])
        client.cluster.close()
