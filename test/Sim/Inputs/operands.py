"""Registers of every type in instructions of every kind: blockscale-sim and
ptxas refuse the same ones. python operands.py BLOCKSCALE_SIM FOLDER"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SIM, FOLDER = sys.argv[1], Path(sys.argv[2])
REGISTERS = ("b8 u8 s8 b16 u16 s16 f16 b32 u32 s32 f32 b64 u64 s64 f64 "
             "b128").split()
HEAD = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k()
{
.reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %p<4>; .reg .f32 %f<4>;
.shared .align 16 .b8 sm[64];
bra over;
"""
# x, y and z are registers of one type.
BY_TYPE = {
    "u16 s16 u32 s32 u64 s64 f16 bf16 f16x2 bf16x2 u16x2": ["add.T x, y, z;"],
    "f32 f64 f32x2": ["add.rn.T x, y, z;"],
    "b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64": ["mov.T x, y;"],
    "b16 b32 b64": ["and.T x, y, z;"],
    "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64":
        ["ld.global.T x, [%d0];", "st.global.T [%d0], x;"],
}
REST = """\
{ .reg .b16 q; cvt.f32.f16 x, q; }
{ .reg .b32 q; cvt.f32.f16 q, x; }
{ .reg .b16 q; cvt.u32.u16 x, q; }
{ .reg .b32 q; cvt.u32.u16 q, x; }
{ .reg .b32 q; cvt.u16.u32 x, q; }
{ .reg .b16 q; cvt.u16.u32 q, x; }
{ .reg .b16 q; cvt.f32.bf16 x, q; }
{ .reg .b32 q; cvt.f32.bf16 q, x; }
{ .reg .b64 q; cvt.f64.f32 q, x; }
cvt.rna.tf32.f32 x, %f0;
cvt.rn.bf16x2.f32 x, %f0, %f1;
cvt.rn.f16.f32 x, %f0;
cvt.rn.satfinite.e4m3x2.f32 x, %f0, %f1;
cvt.rn.satfinite.e2m1x2.f32 x, %f0, %f1;
cvt.rn.f16x2.e4m3x2 %r0, x;
cvt.pack.sat.s16.s32 x, %r0, %r1;
atom.global.add.u32 x, [%d0], y;
atom.global.exch.b32 x, [%d0], y;
atom.global.add.f32 x, [%d0], y;
atom.global.add.u64 x, [%d0], y;
atom.global.exch.b64 x, [%d0], y;
atom.global.cas.b32 x, [%d0], y, z;
atom.global.add.noftz.f16x2 x, [%d0], y;
red.global.add.f32 [%d0], y;
shfl.sync.idx.b32 x, y, 0, 31, -1;
shfl.sync.idx.b32 %r0, %r1, x, 31, -1;
selp.b32 x, y, z, %p0;
selp.f32 x, y, z, %p0;
selp.b16 x, y, z, %p0;
setp.lt.u32 %p0, x, y;
setp.eq.b32 %p0, x, y;
setp.lt.f16x2 %p0|%p1, x, y;
shl.b64 %d0, %d1, x;
prmt.b32 x, y, z, 1;
popc.b64 x, %d0;
lop3.b32 x, y, z, z, 1;
dp4a.u32.u32 %r0, x, y, %r1;
mul.wide.u32 x, y, z;
mad.wide.s32 x, %r0, %r1, y;
redux.sync.add.s32 x, y, -1;
vote.sync.ballot.b32 x, %p0, -1;
shf.l.wrap.b32 x, y, z, %r0;
ex2.approx.f32 x, y;
bfe.u32 %r0, %r1, x, 4;
bfi.b32 x, y, z, 1, 2;
fma.rn.f32 x, y, z, 1.5;
fma.rn.f32.f16 %f0, x, y, %f1;
slct.u32.s32 x, y, z, %r0;
brev.b32 x, y;
szext.clamp.s32 x, y, %r0;
bar.sync x;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {x, x, x, x}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {x, x, x, x};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {x, x, x, x}, {%r0, %r1}, {%f0, %f1, %f2, %f3};
mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {x, x, x, x}, {%r0, %r1}, {%r0}, {x, x, x, x};
mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r0, %r1, %r2, %r3}, {x, x}, {x}, {%r0, %r1, %r2, %r3};
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {x}, [sm];
mbarrier.arrive.shared.b64 x, [sm];
mbarrier.try_wait.parity.shared.b64 %p0, [sm], x;
mbarrier.try_wait.shared.b64 %p0, [sm], x;
cvta.global.u64 x, y;
mapa.u64 x, y, 1;
set.lt.u32.f32 x, %f0, %f1;
set.lt.f32.s32 x, %r0, %r1;
mov.b64 %d0, {x, y};
mov.b64 {x, y}, %d0;
mov.b64 %d0, {x, y, x, y};
""".splitlines()
ALONE = """\
mov.f32 %f0, 1;
mov.b32 %r0, 1.0;
mov.b32 %r0, 0f3F800000;
mov.u32 %r0, 0f3F800000;
mov.b64 %d0, 0d3FF0000000000000;
mov.b32 %r0, -1;
mov.pred %p0, 1;
mov.u32 %r0, sm;
mov.u64 %d0, sm;
mov.u64 %d0, %tid.x;
mov.u16 %r0, %tid.x;
mov.b32 %f0, %tid.x;
mov.u32 %f0, %tid.x;
mov.u64 %d0, %clock64;
mov.u32 %r0, %clock64;
cvt.u64.u32 %d0, %tid.x;
add.u32 %r0, %r1, %tid.x;
add.u32 %r0, %r1, 1.0;
add.f32 %f0, %f1, 1;
add.f32 %f0, %f1, 0d3FF0000000000000;
fma.rn.f32 %f0, %f1, 1.5, %f2;
setp.eq.f32 %p0, %f0, 0;
setp.eq.u32 %r0, %r1, %r1;
setp.lt.and.u32 %p0, %r0, %r1, %p1;
setp.lt.and.u32 %p0, %r0, %r1, %r2;
selp.b32 %r0, %r1, %r2, %r3;
and.pred %p0, %p1, %r0;
and.pred %p0, %p1, %p2;
st.global.f32 [%d0], 1;
@%r0 mov.u32 %r1, 1;
""".splitlines()


def ptxas(cases):
    """Whether it accepts each. It stops after the first kind of error, so
    those with one are left out and it is asked again."""
    bad = set()
    path = FOLDER / "all.ptx"
    first = HEAD.count("\n") + 1
    while True:
        lines = ["" if i in bad else case for i, case in enumerate(cases)]
        path.write_text(HEAD + "\n".join(lines) + "\nover: ret;\n}\n")
        done = subprocess.run([os.environ["PTXAS"], "-arch=sm_100a", path, "-o",
                               os.devnull], stderr=subprocess.PIPE, text=True)
        found = {int(n) - first for n in
                 re.findall(r"line (\d+); (?:error|fatal)", done.stderr)}
        if not done.returncode:
            return [i not in bad for i in range(len(cases))]
        if not found - bad:
            sys.exit(done.stderr)
        bad |= found


def simulator(numbered):
    number, case = numbered
    path = FOLDER / f"{number}.ptx"
    path.write_text(HEAD + case + "\nover: ret;\n}\n")
    return subprocess.run([SIM, path], stderr=subprocess.DEVNULL).returncode == 0


forms = REST + [form.replace("T", kind) for kinds, forms in BY_TYPE.items()
                for kind in kinds.split() for form in forms]
cases = ALONE + [f"{{ .reg .{register} x, y, z; {form} }}"
                 for form in forms for register in REGISTERS]
FOLDER.mkdir(parents=True, exist_ok=True)
expected = ptxas(cases)
with ThreadPoolExecutor() as pool:
    got = list(pool.map(simulator, enumerate(cases)))
wrong = [(want, case) for want, is_good, case in zip(expected, got, cases)
         if want != is_good]
for want, case in wrong:
    print("ptxas", "accepts" if want else "refuses", case)
print(len(cases), "cases,", len(wrong), "differ")
sys.exit(bool(wrong))
