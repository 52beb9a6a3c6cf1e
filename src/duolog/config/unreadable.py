"""Error text for a file that cannot be read."""

from pathlib import Path


def unreadable(file: str | Path, problem: OSError, setting: str = "") -> str:
    """One sentence that says what happened, and one that says what to do."""
    named = f"{file} ({setting})" if setting else str(file)
    return f"The file {named} cannot be read: {problem.strerror or problem}. {_advice(problem)}"


def _advice(problem: OSError) -> str:
    if isinstance(problem, PermissionError):
        return "Let the user who runs this read it, and enter the directories above it."
    return "Check the path."
