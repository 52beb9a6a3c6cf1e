"""Fetch, versions 4-18.

Versions 4-11 have fixed-width lengths, 12 and later compact ones and tagged fields, and 13 and
later name topics by id.
"""

from duolog.wire.kafka.fetch.request import FetchRequest, Topic, Wanted, parse_request
from duolog.wire.kafka.fetch.response import Fetched, encode_response

__all__ = ["FetchRequest", "Fetched", "Topic", "Wanted", "encode_response", "parse_request"]
