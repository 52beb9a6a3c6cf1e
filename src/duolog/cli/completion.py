"""`duolog completion`: the script for a shell, and the words that it asks for."""

import contextlib
import io
import shlex
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


class Word(NamedTuple):
    text: str
    help: str
    """Empty if there is nothing to say about it."""


FILES = "files"
"""First line of an answer to a shell that should complete names of files."""
WORDS = "words"
"""First line of any other answer; a word stands on each line that follows, with a tab and help."""

_BASH = r"""
_duolog() {
    local -a answer
    mapfile -t answer < <("${1/#\~/$HOME}" complete bash -- "${COMP_LINE:0:COMP_POINT}" "$2" \
        2>/dev/null)
    COMPREPLY=()
    if [[ ${answer[0]-} == files ]]; then
        compopt -o default
    else
        COMPREPLY=("${answer[@]:1}")
        [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
    fi
}
complete -F _duolog duolog
"""
_ZSH = r"""#compdef duolog
_duolog() {
    local -a answer
    answer=("${(@f)$("${(Q)words[1]/#\~/$HOME}" complete zsh -- "${(@Q)words[2,CURRENT]}" \
        2>/dev/null)}")
    if [[ ${answer[1]} == files ]]; then
        _files
    elif (( ${#answer} > 1 )); then
        shift answer
        _describe -V duolog answer
    fi
}
if [[ ${funcstack[1]-} == _duolog ]]; then
    _duolog "$@"
else
    compdef _duolog duolog
fi
"""
_FISH = r"""
function __duolog_complete
    set -l tokens (commandline -opc) (commandline -ct)
    set -l answer ($tokens[1] complete fish -- $tokens[2..-1] 2>/dev/null)
    if test "$answer[1]" = files
        __fish_complete_path (commandline -ct)
    else if set -q answer[2]
        printf '%s\n' $answer[2..-1]
    end
end
complete -c duolog -f -a '(__duolog_complete)'
"""
_SCRIPTS = {Shell.bash: _BASH, Shell.zsh: _ZSH, Shell.fish: _FISH}


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print what makes the Tab key complete commands, options and names.

    bash: add `source <(duolog completion bash)` to ~/.bashrc.

    zsh: add `source <(duolog completion zsh)` to ~/.zshrc, after compinit.

    fish: run `duolog completion fish > ~/.config/fish/completions/duolog.fish`.

    Where duolog is not on the PATH, give its path, as in .venv/bin/duolog.
    """
    print(_SCRIPTS[shell].strip())


def complete(
    ctx: typer.Context, shell: Shell, typed: Annotated[list[str], typer.Argument()]
) -> None:
    """Print the words that could stand at the cursor. Shells call this."""
    in_bash = ""
    if shell is Shell.bash:
        line, in_bash = typed
        typed = split(line)[1:]
    try:
        # Words are all that the shell should see, whatever happens.
        with contextlib.redirect_stderr(io.StringIO()):
            found = words(ctx.find_root().command, typed)
    except (Exception, SystemExit):
        found = []
    if found is None:
        print(FILES)
        return
    print(WORDS)
    for each in found:
        if each.text.isprintable():
            print(_written(each, shell, typed[-1], in_bash))


def words(command: Any, typed: Sequence[str]) -> list[Word] | None:
    """Completions of the last word; None asks the shell for names of files."""
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete

    *before, incomplete = typed
    ctx = _resolve_context(command, {}, "duolog", before)
    wanted, incomplete = _resolve_incomplete(ctx, before, incomplete)
    found = wanted.shell_complete(ctx, incomplete)
    if any(each.type == "file" for each in found):
        return None
    # In `--output=js` only what is behind the sign is a value.
    name = typed[-1].removesuffix(incomplete)
    return [Word(f"{name}{each.value}", each.help or "") for each in found]


def split(line: str) -> list[str]:
    """The words of a line as a shell sees them; the last one may be unfinished, or empty."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    found = []
    try:
        for word in lexer:
            found.append(word)
    except ValueError:
        # A quote is still open.
        return [*found, lexer.token]
    return [*found, ""] if line[-1:].isspace() or not line else found


def _written(word: Word, shell: Shell, incomplete: str, in_bash: str) -> str:
    match shell:
        case Shell.bash:
            # To bash a word begins behind a colon or an equals sign.
            return shlex.quote(word.text[len(incomplete) - len(in_bash) :])
        case Shell.zsh:
            text = word.text.replace("\\", r"\\").replace(":", r"\:")
            return f"{text}:{word.help}" if word.help else text
        case Shell.fish:
            return f"{word.text}\t{word.help}" if word.help else word.text
