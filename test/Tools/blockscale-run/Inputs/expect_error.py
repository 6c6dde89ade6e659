"""expect_error.py MESSAGE COMMAND...: the command must end with exit code 1,
nothing on stdout, one `error:` line with MESSAGE, and no file more or less."""
import os
import subprocess
import sys

message, command = sys.argv[1], sys.argv[2:]
before = sorted(os.listdir())
done = subprocess.run(command, capture_output=True, text=True)
lines = done.stderr.splitlines()
if (done.returncode != 1 or done.stdout or len(lines) != 1
        or not lines[0].startswith("error: ") or message not in lines[0]
        or sorted(os.listdir()) != before):
    sys.exit(f"expects exit code 1 and only 'error: ...{message}...', but "
             f"{command} gave {done.returncode} and\n{done.stdout}"
             f"{done.stderr}files {sorted(os.listdir())}")
