"""matmul.py make FOLDER, then matmul.py check FOLDER: A (128 x 96) times B^T
(64 x 96) in bf16, small integers, so that every sum is exact."""
import sys

import numpy as np

what, folder = sys.argv[1:]
a = (np.arange(128 * 96).reshape(128, 96) * 7 % 13 - 6).astype(np.float32)
b = (np.arange(64 * 96).reshape(64, 96) * 5 % 11 - 5).astype(np.float32)
if what == "make":
    for name, x in (("a", a), ("b", b)):
        np.save(f"{folder}/{name}.npy", (x.view(np.uint32) >> 16).astype("u2"))
else:
    print("right" if (np.load(f"{folder}/c.npy") == a @ b.T).all() else "wrong")
