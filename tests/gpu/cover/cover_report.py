"""What the Python programs of this folder print at their end, and how they bow out."""
import json
import sys

EXIT_SKIP = 77


def skip(why):
  print("SKIP", " ".join(str(why).split())[:200])
  sys.exit(EXIT_SKIP)


def finish(**facts):
  """Facts: kernels_named = {part of a kernel's name: launches}, note = words for the table."""
  print("COVER", json.dumps(facts), flush=True)
