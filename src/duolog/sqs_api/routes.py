"""What requests that are alike have in common: by which protocol and by whom what is asked for."""

from typing import NamedTuple

from duolog.observe.metrics import OperationStats
from duolog.sqs_api.context import Context
from duolog.sqs_api.dispatch import CallingBack
from duolog.sqs_api.protocols import WireProtocol
from duolog.wire.sqs.apis import Action


class Route(NamedTuple):
    protocol: WireProtocol
    action: Action
    stats: OperationStats
    call_back: CallingBack | None
    """None for an action that has to be waited for in a task."""
    has_text: bool
    """Whether what is asked may have text of which every character counts."""
    context: Context
    plain_context: Context
    """Of a request all of whose text is ASCII, and certainly without control characters."""
