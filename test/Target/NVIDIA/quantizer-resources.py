# REQUIRES: blockscale-compile, numpy, ptxas
# RUN: %python %s
"""ptxas assembles the quantizers of quantizers.py without spills."""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from quantizers import cases  # noqa: E402

ALL = [(name, text) for name, (text, _, _) in cases()]
# Every case for one chip, every third for others.
JOBS = [(chip, *case) for chip, chosen in
        (("sm_120a", ALL), ("sm_90a", ALL[::3]), ("sm_80", ALL[1::3]))
        for case in chosen]


def assemble(job):
    """Whether all is well, and a line that says so."""
    chip, name, text = job
    with tempfile.TemporaryDirectory() as folder:
        source, ptx = Path(folder) / "a.mlir", Path(folder) / "a.ptx"
        source.write_text(text)
        subprocess.run(["blockscale-compile", source, f"--target={chip}",
                        "--emit=ptx", "-o", ptx], check=True,
                       stderr=subprocess.DEVNULL)
        done = subprocess.run(
            [os.environ["PTXAS"], "-v", f"-arch={chip}", ptx, "-o",
             Path(folder) / "a.cubin"], text=True, capture_output=True)
    report = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads",
                        report)
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", report)]
    good = done.returncode == 0 and bool(spills) and all(
        pair == ("0", "0") for pair in spills)
    return good, (f"{'ok    ' if good else 'FAILED'} {chip} {name}: "
                  f"{registers} registers{'' if good else report}")


if __name__ == "__main__":
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(assemble, JOBS))
    for _, line in results:
        print(line)
    sys.exit(sum(not good for good, _ in results))
