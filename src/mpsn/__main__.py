"""Run the command line as ``python -m mpsn``."""

from mpsn.cli import main

if __name__ == "__main__":
    main()
