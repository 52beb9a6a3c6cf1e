"""The SQS and admin doors of a node, with credentials for the SQS door."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from duolog.cli.given import door_address, load_settings
from duolog.client.operator import OperatorClient
from duolog.client.queues import Credentials, QueueClient


@dataclass(frozen=True, slots=True)
class Doors:
    config: Path | None
    sqs: str | None = None
    admin: str | None = None

    def queue_client(self) -> QueueClient:
        address = door_address("sqs", self.sqs, self.config)
        return QueueClient(address, self._credentials(), lambda: int(time.time() * 1000))

    def operator_client(self) -> OperatorClient:
        return OperatorClient(door_address("admin", self.admin, self.config))

    def _credentials(self) -> Credentials | None:
        """Credentials from the environment variables that every AWS tool reads."""
        access_key = os.environ.get("AWS_ACCESS_KEY_ID")
        secret_key = os.environ.get("AWS_SECRET_ACCESS_KEY")
        if not access_key or not secret_key:
            return None
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if not region:
            region = load_settings({}, None, self.config).text("sqs.region")
        return Credentials(access_key, secret_key, region)
