"""How a request to etcd can fail, by what is known about its outcome."""


class RequestFailed(Exception):
    """One request to one endpoint got no useful answer."""


class NotSent(RequestFailed):
    """The endpoint got nothing of it: it can be sent elsewhere, whatever it is."""


class NoAnswer(RequestFailed):
    """It was sent; whether it was done is unknown."""


class AnswerTooLarge(NoAnswer):
    """The answer is longer than what is taken."""


# Of gRPC's status codes, those that say nothing about what was asked, only that etcd, or this
# member of it, could not do it just now: cancelled, unknown, deadline exceeded, aborted,
# internal, unavailable.
_PASSING_CODES = frozenset({1, 2, 4, 10, 13, 14})
PERMISSION_DENIED = 7
_UNAUTHENTICATED = 16
_NOT_FOUND = 5
_OUT_OF_RANGE = 11


class Refused(RequestFailed):
    """etcd answered with an error: nothing was done, unless the error is a passing one."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def is_passing(self) -> bool:
        """Whether another member, or the same one later, may answer otherwise."""
        return self.code in _PASSING_CODES

    @property
    def wants_token(self) -> bool:
        """etcd has forgotten the token, or was given none."""
        return self.code == _UNAUTHENTICATED or "user name is empty" in self.message

    @property
    def means_lease_is_gone(self) -> bool:
        return self.code == _NOT_FOUND and "lease not found" in self.message

    @property
    def means_compacted(self) -> bool:
        return self.code == _OUT_OF_RANGE and "compacted" in self.message

    @property
    def advice(self) -> str:
        """What an operator can do about it, where etcd does not say."""
        if "database space exceeded" in self.message:
            return "; compact and defragment it, then disarm its alarm"
        if self.wants_token:
            return "; it wants a user and a password"
        return ""
