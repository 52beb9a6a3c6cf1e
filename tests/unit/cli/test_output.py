"""What programs read is JSON whatever happens, and what people read cannot hurt a terminal."""

import json

import pytest

from duolog.cli.output import (
    CELL_CHARACTERS_MAX,
    Format,
    RowStream,
    cell_text,
    cut_text,
    print_facts,
    print_rows,
)

COLUMNS = {"name": 6, "value": 0}


def stream(form: Format, *rows: dict[str, object]) -> None:
    with RowStream(form, COLUMNS) as out:
        for row in rows:
            out.write(row)


def test_no_rows_are_an_empty_array_never_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], Format.json, ("name",))
    stream(Format.json)
    assert capsys.readouterr().out == "[]\n[]\n"


def test_no_rows_are_no_lines_of_jsonl(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], Format.jsonl, ("name",))
    stream(Format.jsonl)
    assert capsys.readouterr().out == ""


def test_a_stream_of_rows_is_the_same_array_as_all_of_them_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{"name": "a", "value": {"deep": [1, None]}}, {"name": "é", "value": "x\ny"}]
    print_rows(rows, Format.json, ())
    at_once = capsys.readouterr().out
    stream(Format.json, *rows)
    assert capsys.readouterr().out == at_once
    assert json.loads(at_once) == rows


def test_an_interrupted_stream_is_still_an_array(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        with RowStream(Format.json, COLUMNS) as out:
            out.write({"name": "a", "value": 1})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert json.loads(capsys.readouterr().out) == [{"name": "a", "value": 1}]


def test_jsonl_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    stream(Format.jsonl, {"name": "a", "value": "x\ny"}, {"name": "b", "value": None})
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["value"] for line in lines] == ["x\ny", None]


def test_a_table_is_as_wide_as_what_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "a", "value": True}, {"name": "longer", "value": None}]
    print_rows(rows, Format.table, ("name", "value"))
    assert capsys.readouterr().out == "NAME    VALUE\na       yes\nlonger  -\n"


def test_a_stream_has_its_header_once(capsys: pytest.CaptureFixture[str]) -> None:
    stream(Format.table, {"name": "a", "value": 1}, {"name": "longer than that", "value": 2})
    out = capsys.readouterr().out
    assert out == "NAME    VALUE\na       1\nlonger than that  2\n"


def test_facts_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"name": "a", "description": "", "n": 0})
    assert capsys.readouterr().out == "name         a\ndescription\nn            0\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (False, "no"),
        (0, "0"),
        ([1, 2], "1,2"),
        ({"a": [0], "b": None}, "a=0,b=-"),
        ("plain ünïcode", "plain ünïcode"),
        ("a\nb\x1b[31m\u202e", r"a\nb\x1b[31m" + r"\u202e"),
    ],
)
def test_a_cell_is_one_harmless_line(value: object, text: str) -> None:
    assert cell_text(value) == text


@pytest.mark.parametrize("value", ["x" * CELL_CHARACTERS_MAX, [1] * 200, None])
def test_what_fits_is_not_cut(value: object) -> None:
    assert cut_text(value) == cell_text(value)


@pytest.mark.parametrize("value", ["x" * 1_500, "\n" * 1_500, ["x"] * 2_000])
def test_what_is_cut_says_how_much_is_missing(value: object) -> None:
    shown = cut_text(value)
    assert shown.startswith(cell_text(value)[:CELL_CHARACTERS_MAX] + "… (")
    assert shown.endswith(" more characters; -o json has all)")
