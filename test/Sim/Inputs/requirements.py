"""ptxas accepts the instructions of Requirements.txt for the targets and PTX
versions that the file names, and for no others."""
import os
import re
import subprocess
import sys
import tempfile

TARGETS = {"75": 6.3, "80": 7.0, "86": 7.1, "87": 7.4, "88": 9.0, "89": 7.8,
           "90": 7.8, "90a": 8.0, "100": 8.6, "100a": 8.6, "100f": 8.8,
           "103": 8.8, "103a": 8.8, "103f": 8.8, "110": 9.0, "110a": 9.0,
           "110f": 9.0, "120": 8.7, "120a": 8.7, "120f": 8.8, "121": 8.8,
           "121a": 8.8, "121f": 8.8}
VERSIONS = [6.3, 6.4, 6.5, 7.0, 7.1, 7.2, 7.3, 7.4, 7.5, 7.6, 7.7, 7.8, 8.0,
            8.1, 8.2, 8.3, 8.4, 8.5, 8.6, 8.7, 8.8, 9.0]


def has(target, version, need):
    name, since = need[3:].split("@")
    number, suffix = re.fullmatch(r"(\d+)([af]?)", target).groups()
    base, kind = re.fullmatch(r"(\d+)([af]?)", name).groups()
    if kind == "a":
        good = target == name
    elif kind == "f":
        good = (number[:-1] == base[:-1] and int(number) >= int(base)
                and suffix != "")
    else:
        good = int(number) >= int(base)
    return good and version >= float(since)


def refused(target, version, declarations, cases, folder):
    """The lines of `cases` that ptxas has an error for. It stops after the
    first kind of error, so those with one are left out and it is asked again.
    """
    bad = set()
    path = os.path.join(folder, "k.ptx")
    while True:
        lines = [f".version {version}", f".target sm_{target}",
                 ".address_size 64", ".visible .entry k(.param .u64 p)", "{",
                 *declarations, "bra over;"]
        first = len(lines) + 1
        lines += ["" if i in bad else c for i, c in enumerate(cases)]
        with open(path, "w") as f:
            f.write("\n".join(lines + ["over: ret;", "}", ""]))
        done = subprocess.run([os.environ["PTXAS"], f"-arch=sm_{target}", path,
                               "-o", os.devnull], stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
        found = {int(n) - first for n in
                 re.findall(r"line (\d+); (?:error|fatal)", done.stderr + done.stdout)}
        if done.returncode and not found - bad:
            sys.exit(f"sm_{target} {version}: {done.stderr}")
        if not done.returncode:
            return bad
        bad |= found


declarations, cases, needs = [], [], []
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    if line.startswith("declare "):
        declarations.append(line[8:])
    elif line.startswith("needs "):
        need = line[6:].split()
    elif line and not line.startswith("#"):
        cases.append(line)
        needs.append(need)
wrong = 0
with tempfile.TemporaryDirectory() as folder:
    for target, since in TARGETS.items():
        # All versions where they matter most, and the first and last.
        every = target in ("75", "80", "90a", "100a", "120a")
        for version in VERSIONS:
            if version < since or not (every or version in (since, 9.0)):
                continue
            bad = refused(target, version, declarations, cases, folder)
            for i, case in enumerate(cases):
                good = any(has(target, version, n) for n in needs[i])
                if good != (i not in bad):
                    wrong += 1
                    print(f"sm_{target}, PTX {version}: ptxas",
                          "refuses" if good else "accepts", case)
sys.exit(wrong != 0)
