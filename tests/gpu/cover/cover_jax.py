#!/usr/bin/env python3
"""JAX: a jitted training step, run many times. XLA puts its kernels into command buffers (CUDA
graphs) as XLA_FLAGS say."""
import cover_report

try:
  import jax
  from jax import numpy as jnp
except ImportError as error:
  cover_report.skip(f"not installed: {error}")

STEPS = 200


def loss(weights, x, y):
  for w in weights:
    x = jax.nn.gelu(x @ w)
  return jnp.mean(jnp.sum((x - y) ** 2, axis=1))


@jax.jit
def step(weights, x, y):
  value, gradients = jax.value_and_grad(loss)(weights, x, y)
  return [w - 1e-3 * g for w, g in zip(weights, gradients)], value


def main():
  try:
    devices = [device for device in jax.devices() if device.platform == "gpu"]
  except RuntimeError as error:
    cover_report.skip(f"no GPU for JAX: {error}")
  if not devices:
    cover_report.skip("JAX has no GPU support here")
  keys = jax.random.split(jax.random.PRNGKey(1), 6)
  weights = [jax.random.normal(key, (256, 256)) * 0.05 for key in keys[:4]]
  x, y = (jax.random.normal(key, (512, 256)) for key in keys[4:])
  first = None
  for _ in range(STEPS):
    weights, value = step(weights, x, y)
    first = float(value) if first is None else first
  last = float(value)
  assert last < first, f"the loss rose from {first} to {last}"
  cover_report.finish(note=f"{STEPS} steps of a jitted function")


if __name__ == "__main__":
  main()
