import pytest
from kio.index import load_request_schema, load_response_schema

from duolog.wire.kafka import apis
from duolog.wire.kafka.apis import APIS, ApiKey, request_header_version, response_header_version


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_the_headers_of_every_version_are_those_of_kio(api: apis.Api) -> None:
    for version in range(api.min_version, api.max_version + 1):
        for load, header_version in (
            (load_request_schema, request_header_version),
            (load_response_schema, response_header_version),
        ):
            struct = load(api.key, version)
            assert struct.__header_schema__.__version__ == header_version(api.key, version)
            assert struct.__flexible__ == (version >= api.flexible_from)
            assert int(struct.__api_key__) == int(api.key)


def test_old_produce_versions_are_advertised_and_not_served() -> None:
    produce = APIS[ApiKey.PRODUCE]
    assert produce.advertised_min_version == 0
    assert not apis.serves(ApiKey.PRODUCE, 2)
    assert apis.serves(ApiKey.PRODUCE, 3)


def test_an_unknown_api_is_not_served_and_has_old_headers() -> None:
    assert not apis.serves(999, 0)
    assert request_header_version(999, 40) == 1
    assert response_header_version(999, 40) == 0


def test_the_api_versions_answer_keeps_the_old_header() -> None:
    assert request_header_version(ApiKey.API_VERSIONS, 4) == 2
    assert response_header_version(ApiKey.API_VERSIONS, 4) == 0
