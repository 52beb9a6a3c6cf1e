"""A Python program that is given block by block. Run by `sessions.PythonSession`.

Arguments: descriptors to read blocks from and to answer on, JSON lines both.
"""

import json
import os
import sys
import traceback
import types


def main(given: int, answering: int) -> None:
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    with os.fdopen(given) as blocks, os.fdopen(answering, "w") as answers:
        for line in blocks:
            block = json.loads(line)
            # A traceback names the line of the page.
            source = "\n" * (block["line"] - 1) + block["text"]
            is_done = True
            try:
                exec(compile(source, block["page"], "exec"), program.__dict__)
            except BaseException:
                traceback.print_exc()
                is_done = False
            sys.stdout.flush()
            sys.stderr.flush()
            answers.write(json.dumps({"done": is_done}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
