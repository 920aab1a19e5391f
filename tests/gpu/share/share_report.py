"""What the programs of this folder print: for each way of using a profiler what it counted."""
import collections
import hashlib
import json
import statistics
import sys

EXIT_SKIP = 77


def skip(why):
  print("SKIP", " ".join(str(why).split())[:200])
  sys.exit(EXIT_SKIP)


class Report:
  def __init__(self, path=None):
    self.ways = collections.OrderedDict()
    self.file = open(path, "w", encoding="utf-8") if path else None

  def session(self, way, kernels, copies):
    """`kernels`: (name, correlation id or 0, ns) each."""
    found = self.ways.setdefault(way, {"each": [], "copies": 0, "ns": collections.defaultdict(list)})
    found["each"].append(len(kernels))
    found["copies"] += copies
    for name, correlation, duration_ns in kernels:
      found["ns"][name].append(duration_ns)
      if self.file:
        print(way, correlation, duration_ns, name, sep="\t", file=self.file)

  def totals(self, way, each, copies, time_ns, names):
    """Of a profiler that tells sums only: `names` is {name: kernels}."""
    found = self.ways.setdefault(way, {"each": [], "copies": 0, "ns": {}, "time_ns": 0,
                                       "names": collections.Counter()})
    found["each"].append(each)
    found["copies"] += copies
    found["time_ns"] += time_ns
    found["names"].update(names)

  def finish(self):
    """typical_ns: kernels times the median of their name, for the sum has every hiccup in it."""
    if self.file:
      self.file.close()
    for way, found in self.ways.items():
      lists = found["ns"]
      names = found.get("names") or {name: len(times) for name, times in lists.items()}
      time_ns = found.get("time_ns", sum(map(sum, lists.values())))
      typical = sum(len(times) * statistics.median(times) for times in lists.values())
      print("SHARE", json.dumps({
        "way": way, "sessions": len(found["each"]), "each": found["each"],
        "kernels": sum(found["each"]), "copies": found["copies"], "names": len(names),
        "digest": hashlib.sha256(repr(sorted(names.items())).encode()).hexdigest()[:16],
        "time_ns": round(time_ns), "typical_ns": round(typical or time_ns)}), flush=True)
