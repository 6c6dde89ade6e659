# -*- Python -*-
"""What a test may use: the tools of this build and of LLVM, %python (one with
NumPy), and the features `blockscale-compile`, `blockscale-run`,
`blockscale-sim`, `numpy`, `ptxas` and `cuda`, each present where the tool,
package or device is."""
import os
import shutil
import subprocess

import lit.formats
from lit.llvm import llvm_config

config.name = "BLOCKSCALE"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.blockscale_obj_root, "test")

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.blockscale_tools_dir,
                             append_path=True)

config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%blockscale_src", config.blockscale_src_root))
config.substitutions.append(("%blockscale_obj", config.blockscale_obj_root))

tools = ["blockscale-opt", "blockscale-compile", "blockscale-run",
         "blockscale-sim", "blockscale-lsp-server"]
directories = [config.blockscale_tools_dir, config.llvm_tools_dir]
for tool in tools:
    if os.path.exists(os.path.join(config.blockscale_tools_dir, tool)):
        config.available_features.add(tool)
        llvm_config.add_tool_substitutions([tool], directories)

if subprocess.run([config.python_executable, "-c", "import numpy"],
                  stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("numpy")
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda")
ptxas = shutil.which("ptxas") or shutil.which(
    "ptxas", path=os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                               "bin"))
if ptxas:
    config.available_features.add("ptxas")
    config.environment["PTXAS"] = ptxas
