"""What the structs of the SQS API have in common."""

from typing import Annotated

import msgspec


class Shape(
    msgspec.Struct,
    rename="pascal",
    omit_defaults=True,
    # Made by a decoder or by an action, they are trees and never part of a cycle.
    gc=False,
):
    """A structure of the API. Members that are None are left out on the wire.

    Fields are named as on the wire, in snake case; where that rule cannot give the name of
    the wire, the field says it.
    """


Integer = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""Bounded as on AWS, so that no later arithmetic meets numbers of a thousand digits."""

Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
