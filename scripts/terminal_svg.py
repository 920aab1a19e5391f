#!/usr/bin/env python3
"""A picture (SVG) of what a terminal shows: reads lines with colours as `tmux capture-pane -e -p` writes them.

  terminal_svg.py TITLE COLUMNS <captured >picture.svg

Blocks and shades are drawn as rectangles, so that bars are whole in any font; text is text, to be searched and
read aloud. Colours are those of xterm on a dark ground.
"""
import html
import re
import sys
import unicodedata

CELL_W, CELL_H, MARGIN, BAR, SIZE = 8.0, 17.0, 14.0, 30.0, 13.3
GROUND, INK, FRAME = "#14171c", "#d5d9e0", "#262b33"
BASIC = ["#3b4048", "#e06c75", "#8ec07c", "#e5c07b", "#61a5ef", "#c678dd", "#56b6c2", "#d5d9e0",
         "#6b7280", "#ff8a93", "#a5d992", "#ffd98f", "#85bdff", "#da95ee", "#74d3df", "#ffffff"]
SGR = re.compile(r"\x1b\[([0-9;]*)m")
OTHER = re.compile(r"\x1b(\][^\x07\x1b]*(\x07|\x1b\\)|\[[0-9;?]*[A-Za-ln-z]|[()][A-Z0-9]|[=>])|[\x0e\x0f]")
SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75, "█": 1.0}


def indexed(n):
  if n < 16:
    return BASIC[n]
  if n >= 232:
    return "#" + "%02x" % (8 + 10 * (n - 232)) * 3
  level = [0, 95, 135, 175, 215, 255]
  n -= 16
  return "#%02x%02x%02x" % (level[n // 36], level[n // 6 % 6], level[n % 6])


class Pen:
  def __init__(self):
    self.ink = self.ground = None
    self.bold = self.dim = self.line = self.turned = False

  def apply(self, codes):
    codes = [int(code or 0) for code in codes.split(";")]
    while codes:
      code = codes.pop(0)
      if code == 0:
        self.__init__()
      elif code in (1, 2, 4, 7):
        setattr(self, {1: "bold", 2: "dim", 4: "line", 7: "turned"}[code], True)
      elif code == 22:
        self.bold = self.dim = False
      elif code in (24, 27):
        setattr(self, {24: "line", 27: "turned"}[code], False)
      elif code in (38, 48) and codes[:1] == [5]:
        setattr(self, "ink" if code == 38 else "ground", indexed(codes[1]))
        del codes[:2]
      elif code in (38, 48) and codes[:1] == [2]:
        setattr(self, "ink" if code == 38 else "ground", "#%02x%02x%02x" % tuple(codes[1:4]))
        del codes[:4]
      elif 30 <= code <= 37 or 90 <= code <= 97:
        self.ink = BASIC[code - 30 if code < 90 else code - 82]
      elif 40 <= code <= 47 or 100 <= code <= 107:
        self.ground = BASIC[code - 40 if code < 100 else code - 92]
      elif code == 39:
        self.ink = None
      elif code == 49:
        self.ground = None

  def look(self):
    ink, ground = self.ink or INK, self.ground
    if self.turned:
      ink, ground = ground or GROUND, ink
    return ink, ground, self.bold, self.dim, self.line


def cells_of(line, pen):
  """(character, columns, look) for each."""
  cells, at = [], 0
  line = OTHER.sub("", line)
  while at < len(line):
    match = SGR.match(line, at)
    if match:
      pen.apply(match.group(1))
      at = match.end()
      continue
    char, wide = line[at], unicodedata.east_asian_width(line[at]) in "WF"
    cells.append((char, 2 if wide else 1, pen.look()))
    at += 1
  return cells


def block(char, x, y, ink):
  """A rectangle for a character that is one, else None."""
  part = None
  if char in SHADES:
    part = (0, 0, 1, 1, SHADES[char])
  elif "▁" <= char <= "▇":
    eighths = ord(char) - ord("▁") + 1
    part = (0, 1 - eighths / 8, 1, eighths / 8, 1)
  elif "▉" <= char <= "▏":
    part = (0, 0, (ord("▏") - ord(char) + 1) / 8, 1, 1)
  if not part:
    return None
  left, top, width, height, opacity = part
  return '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"%s/>' % (
    x + left * CELL_W, y + top * CELL_H, width * CELL_W + (0.3 if width == 1 else 0), height * CELL_H + 0.3, ink,
    "" if opacity == 1 else ' fill-opacity="%g"' % opacity)


def merged_blocks(cells, row_y):
  """Runs of one block character are one rectangle."""
  out, column, at = [], 0, 0
  while at < len(cells):
    char, columns, look = cells[at]
    count = 1
    while char in SHADES and at + count < len(cells) and cells[at + count][::2] == (char, look):
      count += 1
    shape = block(char, MARGIN + column * CELL_W, row_y, look[0])
    if shape and count > 1:
      shape = shape.replace('width="%.1f"' % (CELL_W + 0.3), 'width="%.1f"' % (count * CELL_W + 0.3))
    if shape:
      out.append(shape)
    column += columns * count
    at += count
  return out


def row_of(cells, y):
  grounds, texts, column, at = [], [], 0, 0
  while at < len(cells):
    look, start, text, begin = cells[at][2], column, "", at
    while at < len(cells) and cells[at][2] == look:
      char = cells[at][0]
      text += " " if block(char, 0, 0, "") else char
      column += cells[at][1]
      at += 1
    ink, ground, bold, dim, line = look
    x = MARGIN + start * CELL_W
    if ground:
      grounds.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (
        x, y, (column - start) * CELL_W, CELL_H + 0.3, ground))
    # Words keep their columns whatever the font; a gap of two blanks begins a new one.
    for match in re.finditer(r"\S+( \S+)*", text):
      word_at = start + sum(cells[begin + i][1] for i in range(match.start()))
      columns = sum(cells[begin + i][1] for i in range(match.start(), match.end()))
      style = (' font-weight="bold"' if bold else "") + (' fill-opacity="0.65"' if dim else "") + (
        ' text-decoration="underline"' if line else "") + ("" if ink == INK else ' fill="%s"' % ink)
      texts.append('<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>' % (
        MARGIN + word_at * CELL_W, y + CELL_H * 0.76, columns * CELL_W, style, html.escape(match.group(0))))
  return grounds + merged_blocks(cells, y) + texts


def main():
  title, columns = sys.argv[1], int(sys.argv[2])
  pen, rows = Pen(), []
  lines = sys.stdin.read().rstrip().split("\n")
  for i, line in enumerate(lines):
    rows += row_of(cells_of(line, pen), BAR + MARGIN / 2 + i * CELL_H)
  width, height = 2 * MARGIN + columns * CELL_W, BAR + MARGIN * 1.5 + len(lines) * CELL_H
  print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">' % (
    width, height, width, height))
  print("<title>%s</title>" % html.escape(title))
  print('<rect width="100%%" height="100%%" rx="8" fill="%s"/>' % GROUND)
  print('<path d="M0 8a8 8 0 0 1 8-8h%ga8 8 0 0 1 8 8v%gH0z" fill="%s"/>' % (width - 16, BAR - 8, FRAME))
  for i, colour in enumerate(("#e06c75", "#e5c07b", "#8ec07c")):
    print('<circle cx="%g" cy="%g" r="5" fill="%s"/>' % (MARGIN + 5 + 17 * i, BAR / 2, colour))
  print('<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="%g" fill="%s" '
        'xml:space="preserve">' % (SIZE, INK))
  print('<text x="%g" y="%g" text-anchor="middle" fill="#9aa2ad">%s</text>' % (
    width / 2, BAR * 0.64, html.escape(title)))
  print("\n".join(rows))
  print("</g></svg>")


if __name__ == "__main__":
  main()
