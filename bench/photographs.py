"""Makes a data set of JPEGs that cost what photographs cost to decode, in Python alone.

A picture is drawn as the coefficients of its blocks, whose spread falls with frequency as that of
photographs does: 500 x 375 pixels, color at half the resolution, about 100 KB.
"""
import multiprocessing
import os
import random
import struct
import sys

WIDTH, HEIGHT = 500, 375
# Rows and columns of a block's coefficients in zigzag order.
ZIGZAG = sorted(((r, c) for r in range(8) for c in range(8)), key=lambda p: (p[0] + p[1], p[0] if (p[0] + p[1]) % 2 else p[1]))
STEP = 8  # every coefficient's quantization
AC = [16 * run + size for run in range(16) for size in range(11) if size or run in (0, 15)]
# Codes are the lists' places: 4 bits for a DC category, 8 for an AC symbol. No code is all ones.
DC_CODE = {c: c for c in range(12)}
AC_CODE = {s: i for i, s in enumerate(AC)}


class Bits:
    def __init__(self):
        self.done, self.value, self.count = bytearray(), 0, 0

    def put(self, value, count):
        self.value, self.count = self.value << count | value, self.count + count
        if self.count >= 256:
            rest = self.count % 8
            self.done += (self.value >> rest).to_bytes(self.count // 8, "big")
            self.value, self.count = self.value & (1 << rest) - 1, rest

    def put_number(self, v):
        """The bits of a coefficient, after its category."""
        size = abs(v).bit_length()
        if size:
            self.put(v if v > 0 else v + (1 << size) - 1, size)

    def bytes(self):
        fill = -self.count % 8
        last = (self.value << fill | (1 << fill) - 1).to_bytes((self.count + fill) // 8, "big")
        return bytes(self.done + last).replace(b"\xff", b"\xff\x00")


def block(rng, bits, before, level, contrast):
    """Writes a block of 8 x 8 whose mean is level; returns its DC coefficient."""
    dc = int(level * 8 / STEP)
    bits.put(DC_CODE[abs(dc - before).bit_length()], 4)
    bits.put_number(dc - before)
    run = 0
    for r, c in ZIGZAG[1:]:
        v = int(rng.gauss(0, contrast / (r + c) ** 1.3) / STEP)
        if v == 0:
            run += 1
            continue
        while run > 15:
            bits.put(AC_CODE[0xF0], 8)
            run -= 16
        v = max(-1023, min(1023, v))
        bits.put(AC_CODE[16 * run + abs(v).bit_length()], 8)
        bits.put_number(v)
        run = 0
    if run:
        bits.put(AC_CODE[0], 8)
    return dc


def segment(marker, body):
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def picture(seed):
    """The bytes of a JPEG file."""
    rng = random.Random(seed)
    head = b"\xff\xd8" + segment(0xDB, b"\0" + bytes([STEP]) * 64)
    head += segment(0xC0, struct.pack(">BHHB", 8, HEIGHT, WIDTH, 3) + bytes([1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]))
    head += segment(0xC4, b"\x00" + bytes([0, 0, 0, 12] + 12 * [0]) + bytes(range(12)))
    head += segment(0xC4, b"\x10" + bytes(7 * [0] + [len(AC)] + 8 * [0]) + bytes(AC))
    head += segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0]))
    parts, before, level = [], [0, 0, 0], [rng.uniform(-60, 60), rng.uniform(-40, 40), rng.uniform(-40, 40)]
    bits = Bits()
    for _ in range(-(-HEIGHT // 16)):
        contrast = rng.uniform(40, 240)
        for _ in range(-(-WIDTH // 16)):
            for component, blocks in ((0, 4), (1, 1), (2, 1)):
                for _ in range(blocks):
                    level[component] = max(-100, min(100, level[component] + rng.gauss(0, 6)))
                    before[component] = block(rng, bits, before[component], level[component], contrast / (1 if component == 0 else 3))
    return head + bits.bytes() + b"\xff\xd9"


def write(folder, classes=32, each=32, distinct=128):
    """Writes a folder for each class, with files that repeat distinct pictures."""
    with multiprocessing.Pool() as pool:
        pictures = pool.map(picture, range(distinct))
    for c in range(classes):
        os.makedirs(os.path.join(folder, "class%02d" % c))
        for i in range(each):
            with open(os.path.join(folder, "class%02d" % c, "%02d.jpg" % i), "wb") as f:
                f.write(pictures[(c * each + i) % distinct])


if __name__ == "__main__":
    write(sys.argv[1])
