"""Where processes of a test run: this machine, or one that the test has made."""

from contextlib import AbstractContextManager, nullcontext


class Machine:
    """This one. Processes and connections made while it is entered are its own."""

    host = "127.0.0.1"

    def entered(self) -> AbstractContextManager[None]:
        return nullcontext()


THIS_MACHINE = Machine()
