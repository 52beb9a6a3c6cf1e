"""Signs requests as an SDK does (Signature Version 4), apart from the broker's own code. Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

_ALGORITHM = "AWS4-HMAC-SHA256"
_REGION, _SERVICE = "us-east-1", "sqs"
_SIGNED = ("content-type", "host", "x-amz-date", "x-amz-target", "x-amzn-query-mode")


@dataclass(frozen=True, slots=True)
class AccessKey:
    name: str
    secret: str

    def authorization(self, headers: Mapping[str, str], body: bytes) -> str:
        """The header for a POST to / with these headers, X-Amz-Date among them."""
        values = {name.lower(): value for name, value in headers.items()}
        timestamp = values["x-amz-date"]
        scope = f"{timestamp[:8]}/{_REGION}/{_SERVICE}/aws4_request"
        lines = [f"{name}:{values[name]}" for name in _SIGNED]
        digest = hashlib.sha256(body).hexdigest()
        canonical = "\n".join(["POST", "/", "", *lines, "", ";".join(_SIGNED), digest])
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        text = "\n".join([_ALGORITHM, timestamp, scope, hashed])
        key = f"AWS4{self.secret}".encode()
        for part in (*scope.split("/"), text):
            key = hmac.digest(key, part.encode(), "sha256")
        return (
            f"{_ALGORITHM} Credential={self.name}/{scope}, "
            f"SignedHeaders={';'.join(_SIGNED)}, Signature={key.hex()}"
        )
