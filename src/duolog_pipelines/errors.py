"""Errors that end a pipeline; each kind has its own exit code."""


class PipelineError(Exception):
    """One sentence that says what happened, and one that says what to do."""


class InvalidInput(PipelineError):
    """Unusable input: an option, a price list, a period."""


class NotAllowed(PipelineError):
    """Valid input that is refused: a closed period, a pipeline that runs already."""


class Missing(PipelineError):
    """A thing named in the command does not exist."""


class Unreachable(PipelineError):
    """No node answers."""
