#!/usr/bin/env python3
"""CuPy: a raw kernel launched a known number of times, element-wise kernels, a reduction, cuBLAS,
from several threads. CUPY_CUDA_PER_THREAD_DEFAULT_STREAM=1 in the environment: as it says."""
import threading

import cover_report

try:
  import cupy
except ImportError as error:
  cover_report.skip(f"not installed: {error}")

LAUNCHES, THREADS = 100, 4
SOURCE = r"""
extern "C" __global__ void cover_cupy(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += 1.0f;
}
"""


def work(kernel, out):
  for _ in range(LAUNCHES):
    kernel((40,), (256,), (out, cupy.int32(out.size)))
  cupy.cuda.get_current_stream().synchronize()


def main():
  try:
    cupy.cuda.runtime.getDeviceCount()
  except cupy.cuda.runtime.CUDARuntimeError as error:
    cover_report.skip(f"no CUDA device for CuPy: {error}")
  kernel = cupy.RawKernel(SOURCE, "cover_cupy")
  outs = [cupy.zeros(10_000, dtype=cupy.float32) for _ in range(THREADS)]
  cupy.cuda.Device().synchronize()
  threads = [threading.Thread(target=work, args=(kernel, out)) for out in outs]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  assert all((out == LAUNCHES).all() for out in outs), "a launch is missing"
  a = cupy.random.random((512, 512), dtype=cupy.float32)
  for _ in range(20):
    a = (a @ a) / a.sum()
  with cupy.cuda.Stream(non_blocking=True) as stream:
    b = cupy.sort(cupy.random.random(1 << 18))
    stream.synchronize()
  assert float(b[0]) <= float(b[-1])
  cupy.cuda.Device().synchronize()
  cover_report.finish(kernels_named={"cover_cupy": LAUNCHES * THREADS})


if __name__ == "__main__":
  main()
