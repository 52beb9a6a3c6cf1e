"""How a pipeline ends that did not do what was asked. Each kind has an exit code of its own."""


class PipelineError(Exception):
    """One sentence that says what happened, and one that says what to do."""


class InvalidInput(PipelineError):
    """What was given cannot be used: an option, a price list, a period."""


class NotAllowed(PipelineError):
    """It was understood, and is refused: a closed period, a pipeline that runs already."""


class Missing(PipelineError):
    """What was asked about is not there."""


class Unreachable(PipelineError):
    """No node answers."""
