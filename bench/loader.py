#!/usr/bin/env python3
"""Images a second from disk to batches: vernier's loader beside torchvision's.

Both read the same 500 x 375 JPEGs on the same machine, with two workers, and make
batches of 32 with a random resized crop at 224 and a flip. The two alternate, so
that both meet the same load. Needs Go, torch, torchvision, numpy and Pillow:

    python3 bench/loader.py                  # pictures of coloured 1/f noise
    python3 bench/loader.py --photos DIR     # mosaics of the photographs below DIR
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, QUALITY, CLASSES = 500, 375, 90, 8


def noise(rng):
    """A picture whose spectrum falls as that of photographs does."""
    import numpy as np
    from PIL import Image

    fy, fx = np.fft.fftfreq(HEIGHT)[:, None], np.fft.fftfreq(WIDTH)[None, :]
    fall = np.hypot(fy, fx)
    fall[0, 0] = 1
    grey = np.fft.ifft2(np.fft.fft2(rng.standard_normal((HEIGHT, WIDTH))) / fall).real
    tint = [np.fft.ifft2(np.fft.fft2(rng.standard_normal((HEIGHT, WIDTH))) / fall**1.6).real for _ in range(3)]
    picture = np.stack([grey / grey.std() + 0.5 * t / t.std() for t in tint], axis=2)
    return Image.fromarray((128 + 45 * picture).clip(0, 255).astype("uint8"))


def mosaic(files, rng):
    """A picture of parts of photographs, at their own scale."""
    from PIL import Image

    picture = Image.new("RGB", (WIDTH, HEIGHT))
    y = 0
    while y < HEIGHT:
        x, low = 0, HEIGHT
        while x < WIDTH:
            part = Image.open(rng.choice(files)).convert("RGB")
            picture.paste(part, (x, y))
            x, low = x + part.width, min(low, part.height)
        y += low
    return picture


def write_images(folder, count, photos):
    import numpy as np

    files = sorted(p for p in pathlib.Path(photos).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png")) if photos else None
    if photos and not files:
        sys.exit(f"{photos}: no photographs below it")
    bytes_written = 0
    for i in range(count):
        picture = mosaic(files, random.Random(i)) if files else noise(np.random.default_rng(i))
        path = folder / str(i % CLASSES) / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        picture.save(path, quality=QUALITY)
        bytes_written += path.stat().st_size
    return bytes_written / count


def torchvision_once(folder, epochs):
    import torch
    from torchvision import datasets, transforms as t

    torch.set_num_threads(1)
    pipeline = t.Compose([
        t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.ToTensor(),
        t.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    data = datasets.ImageFolder(folder, pipeline)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=2, drop_last=True, persistent_workers=True)

    def epoch():
        return sum(len(x) for x, _ in loader)

    epoch()  # workers start, files come into the page cache
    begin, images = time.monotonic(), sum(epoch() for _ in range(epochs))
    return {"images/s": images / (time.monotonic() - begin)}


def go_once(binary, folder, name, epochs):
    command = [binary, "-test.run", "^$", "-test.bench", f"Loader/{name}$", "-test.benchtime", f"{epochs}x"]
    text = subprocess.run(command, env={**os.environ, "VERNIER_BENCH_IMAGES": str(folder), "GOMAXPROCS": "2"},
                          cwd=ROOT / "data", check=True, capture_output=True, text=True).stdout
    return {unit: float(value) for value, unit in re.findall(r"([\d.e+]+) (images/s|cpu-µs/image)", text)}


def cpu_seconds():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=512, help="how many pictures")
    parser.add_argument("--photos", help="folder of photographs that the pictures are made of")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2, help="timed passes a round")
    parser.add_argument("--torchvision", metavar="DIR", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torchvision:
        print(json.dumps(torchvision_once(args.torchvision, args.epochs)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "images"
        folder.mkdir()
        size = write_images(folder, args.images, args.photos)
        print(f"{args.images} pictures of {WIDTH} x {HEIGHT}, JPEG quality {QUALITY}, {size / 1000:.0f} kB each; {os.cpu_count()} processors")
        binary = pathlib.Path(temporary) / "data.test"
        subprocess.run(["go", "test", "-c", "-o", binary, "./data"], cwd=ROOT, check=True)
        found = {"torchvision": [], "files": [], "prepared": []}
        for r in range(args.rounds):
            before = cpu_seconds()
            out = subprocess.run([sys.executable, __file__, "--torchvision", folder, "--epochs", str(args.epochs)], check=True, capture_output=True, text=True).stdout
            figures = json.loads(out)
            # Starting Python and the workers counts too; more epochs make it little.
            figures["cpu-µs/image"] = (cpu_seconds() - before) * 1e6 / (args.images * (args.epochs + 1))
            found["torchvision"].append(figures)
            for name in ("files", "prepared"):
                found[name].append(go_once(binary, folder, name, args.epochs))
            print(f"round {r + 1}: " + ", ".join(f"{k} {v[-1]['images/s']:.0f} images/s ({v[-1]['cpu-µs/image']:.0f} µs of CPU each)" for k, v in found.items()), flush=True)
        for name in ("files", "prepared"):
            ratios = [a["images/s"] / b["images/s"] for a, b in zip(found[name], found["torchvision"])]
            print(f"{name}: {statistics.median(ratios):.2f} times torchvision (median of {len(ratios)} rounds, {min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
