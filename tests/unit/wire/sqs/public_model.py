"""The public model of the SQS API as botocore ships it, for both protocols.

botocore's copy speaks JSON only. What the Query protocol calls things, and which codes and
statuses errors have in it, moto ships as an addition to that same file; what moto lacks is
below, from the API reference.
"""

import gzip
import json
from copy import deepcopy
from importlib.resources import files
from typing import Any

from botocore.loaders import Loader
from botocore.model import ServiceModel

_QUERY_NAME = "locationNameForQueryCompatibility"

_LACKING: dict[str, Any] = {
    "operations": {
        name: {"output": {"resultWrapper": f"{name}Result"}}
        for name in ("CancelMessageMoveTask", "ListMessageMoveTasks", "StartMessageMoveTask")
    },
    "shapes": {
        "ListMessageMoveTasksResultEntryList": {
            "member": {"locationName": "ListMessageMoveTasksResultEntry"}
        },
        "MessageSystemAttributeList": {"member": {"locationName": "MessageSystemAttributeName"}},
        "ResourceNotFoundException": {
            "error": {
                "code": "ResourceNotFoundException",
                "httpStatusCode": 404,
                "senderFault": True,
            }
        },
        "TagQueueRequest": {"members": {"Tags": {"locationName": "Tag"}}},
    },
}


def _merged(base: dict[str, Any], addition: dict[str, Any]) -> dict[str, Any]:
    for name, value in addition.items():
        target = "locationName" if name == _QUERY_NAME else name
        if isinstance(value, dict):
            base[target] = _merged(base.get(target, {}), value)
        else:
            base[target] = value
    return base


def _query_description(description: dict[str, Any]) -> dict[str, Any]:
    extras = files("moto") / "sqs" / "2012-11-05" / "service-2.moto-extras.json.gz"
    addition = json.loads(gzip.decompress(extras.read_bytes()))["merge"]
    merged = _merged(_merged(deepcopy(description), addition), _LACKING)
    merged["metadata"] |= {"protocol": "query", "protocols": ["query"]}
    return merged


_DESCRIPTION: dict[str, Any] = Loader().load_service_model("sqs", "service-2")

JSON_MODEL = ServiceModel(_DESCRIPTION, "sqs")
QUERY_DESCRIPTION = _query_description(_DESCRIPTION)
QUERY_MODEL = ServiceModel(QUERY_DESCRIPTION, "sqs")

OPERATIONS: list[str] = sorted(JSON_MODEL.operation_names)
STRUCTURES = sorted(
    name
    for name, shape in _DESCRIPTION["shapes"].items()
    if shape["type"] == "structure" and not shape.get("exception")
)
ERRORS = sorted(name for name, shape in _DESCRIPTION["shapes"].items() if shape.get("exception"))
ENUMERATIONS = {
    name: frozenset(shape["enum"])
    for name, shape in _DESCRIPTION["shapes"].items()
    if "enum" in shape
}
