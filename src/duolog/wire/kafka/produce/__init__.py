"""Produce, versions 3-13.

Versions 3-8 have fixed-width lengths, 9 and later compact ones and tagged fields, and 13 names
topics by id.
"""

from duolog.wire.kafka.produce.request import ProduceRequest, Topic, parse_request
from duolog.wire.kafka.produce.response import Produced, encode_response
from duolog.wire.kafka.produce.shape import records_after, shape_of
from duolog.wire.kafka.produce.template import TEMPLATES_FROM, SuccessTemplate

__all__ = [
    "TEMPLATES_FROM",
    "ProduceRequest",
    "Produced",
    "SuccessTemplate",
    "Topic",
    "encode_response",
    "parse_request",
    "records_after",
    "shape_of",
]
