"""Banner that a person sees when a node is ready: its addresses, and examples to try."""

from collections.abc import Mapping
from typing import NamedTuple


class SqsDoor(NamedTuple):
    """Properties of the SQS door that its examples depend on."""

    account_id: str
    region: str
    has_credentials: bool
    """True if requests must be signed; no example is shown then, as it would need a secret."""


_DOORS = {"kafka": "Kafka", "sqs": "SQS", "admin": "health and metrics"}

_EXAMPLES = {
    "sqs": {
        "boto3": """\
import boto3
sqs = boto3.client("sqs", endpoint_url="http://{sqs}", region_name="{region}",
                   aws_access_key_id="any", aws_secret_access_key="any")
url = sqs.create_queue(QueueName="greetings")["QueueUrl"]
sqs.send_message(QueueUrl=url, MessageBody="hello")
""",
        "aws": """\
export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION={region}
alias sqs='aws --endpoint-url http://{sqs} sqs'
sqs create-queue --queue-name greetings
sqs receive-message --queue-url http://{sqs}/{account_id}/greetings --wait-time-seconds 5
""",
    },
    "kafka": {
        "kcat": """\
echo hello | kcat -b {kafka} -P -t greetings
kcat -b {kafka} -C -t greetings -o beginning -e
""",
        "confluent-kafka": """\
from confluent_kafka import Producer
producer = Producer({{"bootstrap.servers": "{kafka}"}})
producer.produce("greetings", b"hello")
producer.flush()
""",
        "aiokafka": """\
from aiokafka import AIOKafkaProducer
async def main():
    async with AIOKafkaProducer(bootstrap_servers="{kafka}") as producer:
        await producer.send_and_wait("greetings", b"hello")
import asyncio; asyncio.run(main())
""",
        "kafka-python": """\
from kafka import KafkaConsumer
consumer = KafkaConsumer("greetings", bootstrap_servers="{kafka}",
                         auto_offset_reset="earliest", consumer_timeout_ms=5000)
for record in consumer:
    print(record.offset, record.value)
""",
    },
}
"""Examples, by the door that they need and the client that they use."""


def banner(addresses: Mapping[str, str], sqs_door: SqsDoor) -> str:
    """The text; `addresses` has host:port of every open door, as reached from this machine."""
    lines = ["", "Duolog is ready.", ""]
    for door, label in _DOORS.items():
        if door in addresses:
            scheme = "" if door == "kafka" else "http://"
            lines.append(f"  {label:<20}{scheme}{addresses[door]}")
    for door, examples in _EXAMPLES.items():
        if door not in addresses or (door == "sqs" and sqs_door.has_credentials):
            continue
        for client, example in examples.items():
            lines += ["", f"  {client}"]
            filled = example.format(**addresses, **sqs_door._asdict())
            lines += [f"    {line}" for line in filled.splitlines()]
    return "\n".join([*lines, "", "  Stop with Ctrl-C.", ""])
