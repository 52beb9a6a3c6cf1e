"""AWS Signature Version 4: verifies and signs requests. Told the time, never asks."""

from duolog.wire.sqs.sigv4.signer import sign
from duolog.wire.sqs.sigv4.verifier import verify

__all__ = ["sign", "verify"]
