"""`python -m sim_node` is the command `sim_node`."""

import sys

from sim_node.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
