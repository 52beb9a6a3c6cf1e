from typing import Any

import pytest

from duolog.wire.kafka.api_versions import encode_response
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.schema import entity


@pytest.mark.parametrize("version", range(5))
def test_every_version_lists_every_api(kio: Any, version: int) -> None:
    values = {
        "error_code": 0,
        "throttle_time": 0,
        "api_keys": [
            {
                "api_key": api.key,
                "min_version": 0 if api.key == ApiKey.PRODUCE else api.min_version,
                "max_version": api.max_version,
            }
            for api in APIS.values()
        ],
    }
    assert encode_response(version) == kio.bytes_of(
        ApiKey.API_VERSIONS, version, "response", values
    )


@pytest.mark.parametrize("version", [-1, 5, 32_767])
def test_an_unknown_version_is_refused_in_version_0_with_the_supported_range(
    kio: Any, version: int
) -> None:
    response = kio.read(entity(ApiKey.API_VERSIONS, 0, "response"), encode_response(version))
    assert response.error_code == 35
    (supported,) = response.api_keys
    assert (supported.api_key, supported.min_version, supported.max_version) == (18, 0, 4)
