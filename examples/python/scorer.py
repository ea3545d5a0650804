"""What the example calls: a class on batches, and a generator. It needs pyarrow and nothing else."""

import pyarrow.compute as pc


class Scorer:
    """Scores texts by a few words, which stand for a model."""

    schema = {"words": "int64", "mood": "float32"}
    columns = ["text"]

    def __init__(self, good="gut, good, pünktlich", bad="leider, late"):
        self.good = "|".join(w.strip() for w in good.split(","))
        self.bad = "|".join(w.strip() for w in bad.split(","))

    def __call__(self, batch):
        text = batch.column("text")
        good = pc.count_substring_regex(text, self.good, ignore_case=True)
        bad = pc.count_substring_regex(text, self.bad, ignore_case=True)
        words = pc.list_value_length(pc.utf8_split_whitespace(text))
        return {"words": words, "mood": pc.cast(pc.subtract(good, bad), "float32")}


def words(batch):
    """Makes a row of each word."""
    for i, text in enumerate(batch.column("text").to_pylist()):
        for w in (text or "").split():
            yield i, {"word": w}


words.schema = {"word": "string"}
words.columns = ["text"]
