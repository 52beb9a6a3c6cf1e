"""Syscalls of one file that fail, or take long, for a node that is run under strace."""

import shutil
from pathlib import Path

import pytest

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def inject(file: Path, syscall: str, fault: str) -> list[str]:
    """A wrapper for a node (see node.py); the file must exist. `fault` is as strace has it."""
    return [
        *("strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "signal=none"),
        *("-P", str(file), "-e", f"trace={syscall}", "-e", f"inject={syscall}:{fault}"),
    ]
