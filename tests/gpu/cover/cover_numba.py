#!/usr/bin/env python3
"""Numba: a kernel launched a known number of times, on two streams."""
import cover_report

try:
  import numpy
  # numba-cuda names, while it loads, functions that NumPy 2.5 no longer has; none is used here.
  for gone, instead in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(numpy, gone):
      setattr(numpy, gone, getattr(numpy, instead))
  from numba import cuda
except ImportError as error:
  cover_report.skip(f"not installed: {error}")

LAUNCHES = 300


@cuda.jit
def cover_numba(out):
  i = cuda.grid(1)
  if i < out.size:
    out[i] += 1


def main():
  if not cuda.is_available():
    cover_report.skip("no CUDA device for Numba")
  streams = [cuda.stream(), cuda.stream()]
  outs = [cuda.to_device(numpy.zeros(5_000, dtype=numpy.float32)) for _ in streams]
  for i in range(LAUNCHES):
    cover_numba[20, 256, streams[i % 2]](outs[i % 2])
  cuda.synchronize()
  assert all((out.copy_to_host() == LAUNCHES // 2).all() for out in outs), "a launch is missing"
  cover_report.finish(kernels_named={"cover_numba": LAUNCHES})


if __name__ == "__main__":
  main()
