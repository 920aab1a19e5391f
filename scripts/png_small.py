#!/usr/bin/env python3
"""Makes a PNG of a page small: at most 256 colours, the most frequent ones; others become the nearest of these.

  png_small.py IN.png OUT.png

Reads what Chromium writes: eight bits, RGB or RGBA, not interlaced. Transparency is dropped.
"""
import collections
import struct
import sys
import zlib


def chunks(data):
  at = 8
  while at < len(data):
    size, = struct.unpack(">I", data[at:at + 4])
    yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
    at += 12 + size


def unfiltered(raw, width, height, step):
  """Rows as bytes, by the five filters of PNG."""
  rows, before, stride, at = [], bytearray(width * step), width * step, 0
  for _ in range(height):
    kind, row = raw[at], bytearray(raw[at + 1:at + 1 + stride])
    at += 1 + stride
    for i in range(stride if kind else 0):
      left = row[i - step] if i >= step else 0
      up, corner = before[i], before[i - step] if i >= step else 0
      if kind == 1:
        add = left
      elif kind == 2:
        add = up
      elif kind == 3:
        add = (left + up) // 2
      else:
        guess = left + up - corner
        far = (abs(guess - left), abs(guess - up), abs(guess - corner))
        add = (left, up, corner)[far.index(min(far))]
      row[i] = (row[i] + add) & 255
    rows.append(bytes(row))
    before = row
  return rows


def main():
  data = open(sys.argv[1], "rb").read()
  head = next(body for kind, body in chunks(data) if kind == b"IHDR")
  width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", head)
  if depth != 8 or colour not in (2, 6) or interlace:
    sys.exit("png_small.py: a PNG of another kind")
  step = 3 if colour == 2 else 4
  raw = zlib.decompress(b"".join(body for kind, body in chunks(data) if kind == b"IDAT"))
  rows = [[row[i:i + 3] for i in range(0, len(row), step)] for row in unfiltered(raw, width, height, step)]
  counts = collections.Counter(pixel for row in rows for pixel in row)
  palette = [pixel for pixel, _ in counts.most_common(256)]
  index = {pixel: i for i, pixel in enumerate(palette)}
  for pixel in counts:
    if pixel not in index:
      index[pixel] = min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(palette[i], pixel)))
  packed = zlib.compress(b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in rows), 9)
  with open(sys.argv[2], "wb") as out:
    out.write(b"\x89PNG\r\n\x1a\n")
    for kind, body in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
                       (b"PLTE", b"".join(palette)), (b"IDAT", packed), (b"IEND", b"")):
      out.write(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))


if __name__ == "__main__":
  main()
