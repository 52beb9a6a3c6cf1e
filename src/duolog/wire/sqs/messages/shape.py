"""Base of the structs of the SQS API."""

from typing import Annotated

import msgspec


class Shape(
    msgspec.Struct,
    rename="pascal",
    omit_defaults=True,
    # Trees made by a decoder or an action; never part of a cycle.
    gc=False,
):
    """Structure of the API. Members that are None are left out on the wire.

    Fields are named as on the wire, in snake case; a field whose wire name does not follow from
    that rule states it.
    """


Integer = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""32-bit integer as on AWS, so that no later arithmetic meets numbers of a thousand digits."""

Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
