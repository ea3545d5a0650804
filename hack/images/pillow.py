"""Decodes pictures with Pillow (and pillow-heif) for tests to compare with.

    python pillow.py OUT FILE...

Each frame of each file is appended to OUT as upright RGBA pixels; standard output has a line of JSON for each file:
{"path", "error"} or {"path", "format", "frames": [{"width", "height", "delay_ms"}]}.
"""

import json
import sys
import warnings

from PIL import Image, ImageOps, ImageSequence

try:
    import pillow_heif

    pillow_heif.register_heif_opener()
except ImportError:
    pass

Image.MAX_IMAGE_PIXELS = None
warnings.simplefilter("ignore")


def frames(path, write):
    with Image.open(path) as im:
        animated = getattr(im, "is_animated", False) and im.format in ("GIF", "WEBP", "PNG", "AVIF")
        found = []
        skip = 1 if getattr(im, "default_image", False) else 0  # of an animated PNG: no part of the animation
        for i, frame in enumerate(ImageSequence.Iterator(im) if animated else [im]):
            if i < skip:
                continue
            frame.load()
            delay = frame.info.get("duration", 0) or 0
            up = ImageOps.exif_transpose(frame)
            if up.mode.startswith("I;16") or up.mode == "I":
                up = up.point(lambda v: v / 257).convert("L")
            rgba = up.convert("RGBA")
            write(rgba.tobytes())
            found.append({"width": rgba.width, "height": rgba.height, "delay_ms": round(delay)})
        return {"path": path, "format": im.format.lower(), "frames": found}


def main():
    with open(sys.argv[1], "wb") as out:
        for path in sys.argv[2:]:
            at = out.tell()
            try:
                line = frames(path, out.write)
            except Exception as e:  # whatever a decoder says of a file
                out.seek(at)
                out.truncate()
                line = {"path": path, "error": f"{type(e).__name__}: {e}"}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
