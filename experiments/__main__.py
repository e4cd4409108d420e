"""``python -m experiments`` is the command line of the experiments."""

import sys

try:
    from experiments.command import main
except KeyboardInterrupt:  # importing takes a moment, too
    print("Interrupted.", file=sys.stderr)
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
