"""Run the command line by `python -m treesim`."""

import os
import sys

if not sys.flags.safe_path and sys.path and sys.path[0] == os.getcwd():
    del sys.path[0]  # added by `-m`; a file such as random.py in it is the user's, not a module

from .cli.main import main

main()
