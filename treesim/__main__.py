"""Run the command line by `python -m treesim`."""

from .cli.main import main

main()
