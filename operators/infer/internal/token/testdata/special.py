"""Writes special.json, what the tokenizers library makes of texts that hold special and added tokens: python special.py [minilm.tokenizer.json]"""
import json
import sys

from tokenizers import Tokenizer

TEXTS = [
    "[SEP]", "a [SEP] b", "a[SEP]b", "[CLS][MASK][PAD][UNK]", "[sep] [cls]", "[ SEP ]", "[[SEP]]", "[SEP", "Paris is the [MASK] of France.", "[MASK] [MASK]\n[MASK]",
    "naïve[SEP]CAFÉ", "数[SEP]据", "the quick [SEP] brown fox [SEP] jumps over the lazy dog and so on for long", "[CLS]" * 20, "  [SEP]  ",
    "quickfox", "a quickfox b", "aquickfoxb", "QuickFox", "QUICKFOX quick", "<a>", "x <a> y", "x  <a>  y", "<a><a>  <a>", "<ab> <a>b", "wörd", "a WÖRD b", "wordy <w> <w>y y<w> _<w> -<w>-",
    "<l> x  <l>  x", "x <r>  x <r>", "é<l>\u3000<r>\u3000", "",
]
ADDED = [  # content, special, single_word, lstrip, rstrip, normalized
    ("quickfox", False, False, False, False, True), ("<a>", True, False, True, True, False), ("<ab>", True, False, False, False, False), ("WÖRD", False, False, False, False, True),
    ("<w>", False, True, False, False, False), ("<l>", False, False, True, False, False), ("<r>", False, False, False, True, False), ("the", False, False, False, False, False),
]


def cases(file, name, add):
    t = json.load(open(file))
    t["padding"] = None
    size = max(t["model"]["vocab"].values()) + 1
    new = [dict(id=size + i, content=c, special=s, single_word=w, lstrip=left, rstrip=r, normalized=n) for i, (c, s, w, left, r, n) in enumerate(ADDED if add else [])]
    t["added_tokens"] += new
    if name == "bpe.json" and add:
        t["pre_tokenizer"]["add_prefix_space"] = True
    tok = Tokenizer.from_str(json.dumps(t))
    return {"file": name, "added": new, "prefix_space": name == "bpe.json" and add, "texts": [{"text": x, "ids": tok.encode(x).ids} for x in TEXTS]}


out = [cases(n, n, add) for n in ("wordpiece.json", "bpe.json") for add in (False, True)]
if len(sys.argv) > 1:
    out.append(cases(sys.argv[1], "minilm", False))
with open("special.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n")
