"""What runs the documents cannot be content with a page that does not do what it says."""

from pathlib import Path

import pytest
from tests.documents.blocks import CLUSTER, NODE, SPARK, PageFault, parse_blocks
from tests.documents.commands import why_not
from tests.documents.running import PageRun
from tests.documents.shown import differences

FENCE = "`" * 3


def fenced(language: str, text: str) -> str:
    return f"{FENCE}{language}\n{text}\n{FENCE}\n"


def run(tmp_path: Path, page: str) -> int:
    """How many blocks of a page ran, on a node that is started only if one of them needs it."""
    run = PageRun(parse_blocks(page, "page.md"), NODE, tmp_path)
    run.run()
    return len(run.ran)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("one\ntwo", "one\ntwo\n"),
        ("one  \n\n", "one"),
        ("...\ntwo", "one\nand a half\ntwo"),
        ("one\n...\n", "one"),
        ("at ... o'clock", "at 12 o'clock"),
        ("a+b (c)", "a+b (c)"),
    ],
)
def test_output_is_as_it_is_shown(shown: str, printed: str) -> None:
    assert differences(shown, printed) == ""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("one\ntwo", "one"),
        ("one", "one\ntwo"),
        ("one ... three", "one two"),
        ("a.c", "abc"),
        ("", "something"),
        ("...\ntwo", "two\nthree"),
    ],
)
def test_output_that_is_another_is_shown_with_what_it_should_be(shown: str, printed: str) -> None:
    assert "+++ printed" in differences(shown, printed)


@pytest.mark.parametrize("language", ["", "console", "sql"])
def test_a_block_that_nothing_runs_must_say_why(language: str) -> None:
    page = "# Page\n\n" + fenced(language, "some text")
    with pytest.raises(PageFault, match=r"^page\.md:4: .*<!-- not run: reason -->"):
        parse_blocks(page, "page.md")
    (block,) = parse_blocks(
        page.replace(FENCE, f"<!-- not run: nobody has it -->\n{FENCE}", 1), "page.md"
    )
    assert block.is_excused


@pytest.mark.parametrize(
    "page",
    [
        fenced("sh", "echo")[:-4],
        "<!-- not run: far from any fence -->\n\n" + fenced("sh", "echo"),
        "<!-- needs: quiet -->\n" + fenced("sh", "echo"),
        "<!-- skip: this one -->\n" + fenced("sh", "echo"),
        "<!-- not run -->\n" + fenced("sh", "echo"),
        "<!-- file: a.py -->\n" + fenced("python", "print()") + "\n" + fenced("sh", "echo b.py"),
    ],
)
def test_a_comment_or_a_fence_that_is_mistaken_is_found(page: str) -> None:
    with pytest.raises(PageFault):
        parse_blocks(page, "page.md")


def test_other_comments_are_other_peoples() -> None:
    (block,) = parse_blocks("<!-- figures: begin -->\n\n" + fenced("sh", "echo"), "page.md")
    assert block.notes == {}


def test_an_output_belongs_to_the_block_directly_before_it() -> None:
    page = fenced("sh", "echo") + "\n" + fenced("text", "one") + "\nAnd\n" + fenced("text", "two")
    shell, picture = parse_blocks(page, "page.md")
    assert shell.output == "one"
    assert picture.is_picture
    assert picture.text == "two"


def test_what_a_page_needs_can_be_said_once_and_otherwise_for_a_block() -> None:
    page = "# Page\n<!-- needs: spark -->\n\n" + fenced("sh", "echo")
    page += "\n<!-- needs: cluster -->\n" + fenced("sh", "echo")
    assert [each.needs for each in parse_blocks(page, "page.md")] == [SPARK, CLUSTER]


def test_blocks_find_what_earlier_ones_left(tmp_path: Path) -> None:
    page = fenced("sh", "mkdir folder && cd folder && export NAME=Ada && echo 7 > number")
    page += "\n" + fenced("sh", "echo $NAME; cat number") + fenced("text", "Ada\n7")
    page += "\n" + fenced("python", "number = int(open('folder/number').read())")
    page += "\n" + fenced("python", "print(number + 1)") + fenced("text", "8")
    assert run(tmp_path, page) == 4


def test_a_page_names_the_addresses_that_a_node_usually_has(tmp_path: Path) -> None:
    page = fenced("sh", "curl -s http://localhost:9325/livez > /dev/null; echo 127.0.0.1:9092")
    page += fenced("text", "127.0.0.1:9092")
    page += "\n" + fenced("sh", "make run ARGS='--set num.partitions=3'")
    page += "\n" + fenced("sh", "duolog topic create three")
    page += fenced("text", "...\nthree ...3...")
    assert run(tmp_path, page) == 3


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (fenced("sh", "echo one; false; echo two"), "code 1, and printed\none"),
        (fenced("sh", "echo one") + fenced("text", "two"), "-two\n+one"),
        (fenced("python", "print(1)\n1 / 0"), 'page.md", line 5.*\n.*ZeroDivisionError'),
        (fenced("toml", "[kafka]\nlisten = 7"), "kafka.listen"),
        (fenced("toml", "currency = 'EUR'\nlist = 7"), "list"),
        (fenced("json", "{"), "JSONDecodeError"),
        (fenced("sh", "make test"), "'make test' cannot run"),
        (fenced("sh", "pip install 'duolog[spark]'"), "no index has"),
        (fenced("sh", "pip install nobody-made-this"), "not installed here"),
        (fenced("sh", "echo ok && sudo reboot"), "'sudo' changes the machine"),
    ],
)
def test_a_block_that_fails_is_told_with_its_line(tmp_path: Path, block: str, told: str) -> None:
    with pytest.raises(PageFault, match=rf"(?s)^page\.md:4: .*{told}".replace("+", r"\+")):
        run(tmp_path, f"# Page\n\n{block}")


@pytest.mark.parametrize(
    "line", ["cp a /opt/b", "ln -s x /usr/bin/y", "apt-get install z", "cat /w"]
)
def test_a_page_leaves_the_machine_as_it_is(line: str) -> None:
    assert why_not(f"echo\n{line}")


@pytest.mark.parametrize(
    "line", ["cd a/b && ./c", "curl http://a:1/b/c -d '{}' > /dev/null", "duolog queue ls | cat"]
)
def test_what_stays_in_the_scratch_folder_may_run(line: str) -> None:
    assert why_not(line) == ""


def test_a_code_that_a_page_announces_must_be_it(tmp_path: Path) -> None:
    assert run(tmp_path, "<!-- exit: 3 -->\n" + fenced("sh", "exit 3")) == 1
    with pytest.raises(PageFault, match="code 0"):
        run(tmp_path / "again", "<!-- exit: 3 -->\n" + fenced("sh", "true"))
