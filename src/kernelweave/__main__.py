"""``python -m kernelweave`` is the command line."""

import sys

try:
    from .cli import main
except KeyboardInterrupt:  # importing takes a moment, too
    print("Interrupted.", file=sys.stderr)
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
