"""Makes the pictures of operators/media/internal/imaging/testdata (see the README there). Needs hack/images/requirements.txt; run in the repository root."""

import json
import os

import pillow_heif
from PIL import Image, ImageCms, ImageDraw

import pillow

pillow_heif.register_heif_opener()
OUT = "operators/media/internal/imaging/testdata"


def scene(w, h, shift=0):
    """A picture in which a turn, a mirror, or a wrong colour shows."""
    im = Image.new("RGB", (w, h), (40, 60, 90))
    d = ImageDraw.Draw(im)
    for y in range(h):
        for x in range(w):
            im.putpixel((x, y), (x * 255 // w, y * 255 // h, (x + y + shift) * 127 // (w + h)))
    d.rectangle((2, 2, w // 3, h // 4), fill=(230, 30, 30))
    d.ellipse((w // 2, h // 3, w - 4, h - 4), fill=(30, 200, 60))
    d.line((0, h - 1, w // 2, h // 2), fill=(250, 250, 250), width=2)
    return im


def save(name, im, **options):
    im.save(os.path.join(OUT, name), **options)


def main():
    os.makedirs(OUT, exist_ok=True)
    base = scene(61, 47)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    alpha = base.copy()
    alpha.putalpha(Image.linear_gradient("L").resize(base.size))

    save("rgb.avif", base, quality=90)
    save("full.avif", base, quality=90, subsampling="4:4:4", range="limited")
    save("tile.avif", scene(64, 64), quality=90, subsampling="4:4:4")
    save("alpha.avif", alpha, quality=90, subsampling="4:4:4")
    save("grey.avif", base, quality=90, subsampling="4:0:0")
    save("icc.avif", base, quality=90, subsampling="4:4:4", icc_profile=srgb)
    for o in range(2, 9):
        exif = Image.Exif()
        exif[0x112] = o
        save(f"turned{o}.avif", base, quality=90, subsampling="4:4:4", exif=exif)
    moves = [scene(40, 30, 9 * i) for i in range(5)]
    save("moving.avif", moves[0], quality=80, subsampling="4:4:4", save_all=True, append_images=moves[1:], duration=[100, 40, 250, 33, 500])

    save("rgb.heic", base, quality=90)
    save("alpha.heic", alpha, quality=90)
    save("grey.heic", base.convert("L"), quality=90)
    save("icc.heic", base, quality=90, icc_profile=srgb)
    exif = Image.Exif()
    exif[0x112] = 6
    save("turned6.heic", base, quality=90, exif=exif)
    wide = bytearray()
    for v in base.tobytes():
        wide += (v * 257).to_bytes(2, "little")
    deep = pillow_heif.from_bytes(mode="RGB;16", size=base.size, data=bytes(wide))
    for bits in (10, 12):
        pillow_heif.options.SAVE_HDR_TO_12_BIT = bits == 12
        deep.save(os.path.join(OUT, f"deep{bits}.heic"), quality=90)

    stripes = Image.new("RGB", (80, 16))
    for i, colour in enumerate([(0, 0, 0), (255, 255, 255), (128, 128, 128), (255, 0, 0), (0, 0, 255)]):
        ImageDraw.Draw(stripes).rectangle((i * 16, 0, i * 16 + 15, 15), fill=colour)
    save("range.webp", stripes, quality=95)

    # Animations with every way to dispose of a frame.
    frames = [alpha.resize((40, 30))]
    for i in range(1, 6):
        f = Image.new("RGBA", (40, 30), (0, 0, 0, 0))
        ImageDraw.Draw(f).ellipse((4 * i, 2 * i, 4 * i + 14, 2 * i + 10), fill=(40 * i, 250 - 40 * i, 120, 255 if i % 2 else 120))
        frames.append(f)
    times = [100, 50, 20, 330, 70, 110]
    # Pillow lays the half transparent frames of a PNG on others in a way of its own, and the first on the hidden picture; so there are none here.
    solid = [f.copy() for f in frames]
    for f in solid[1:]:
        f.putalpha(f.getchannel("A").point(lambda v: 255 if v else 0))
    save("moving.png", frames[0], save_all=True, append_images=solid[1:], duration=times, disposal=[0, 1, 2, 0, 1, 0], blend=[0, 1, 1, 0, 1, 1])
    save("hidden.png", scene(40, 30), save_all=True, append_images=frames, duration=times, default_image=True, blend=0)
    save("moving.webp", frames[0], save_all=True, append_images=frames[1:], duration=times, lossless=True, minimize_size=True)
    save("lossy.webp", frames[0], save_all=True, append_images=frames[1:], duration=times, quality=90)
    save("moving.gif", frames[0], save_all=True, append_images=frames[1:], duration=times, disposal=[1, 2, 3, 1, 2, 3])
    flat = [scene(40, 30, 9 * i) for i in range(4)]
    save("flat.gif", flat[0], save_all=True, append_images=flat[1:], duration=40, loop=0)
    expect()


def expect():
    """What Pillow reads of them: the frames side by side, and their sizes and times."""
    os.makedirs(os.path.join(OUT, "expected"), exist_ok=True)
    index = {}
    for name in sorted(os.listdir(OUT)):
        path = os.path.join(OUT, name)
        if not os.path.isfile(path) or name.endswith((".md", ".json")):
            continue
        pixels = []
        found = pillow.frames(path, pixels.append)
        index[name] = {"format": found["format"], "frames": found["frames"]}
        w, h = found["frames"][0]["width"], found["frames"][0]["height"]
        strip = Image.new("RGBA", (w * len(pixels), h))
        for i, p in enumerate(pixels):
            strip.paste(Image.frombytes("RGBA", (w, h), p), (i * w, 0))
        save(f"expected/{name}.png", strip)
    with open(os.path.join(OUT, "expected.json"), "w") as f:
        json.dump(index, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
