"""Failures of requests to etcd, by what is known about their outcome."""


class RequestFailed(Exception):
    """One request to one endpoint got no useful answer."""


class NotSent(RequestFailed):
    """The endpoint received nothing of it: any request can safely be sent elsewhere."""


class NoAnswer(RequestFailed):
    """The request was sent, and may or may not have been carried out."""


class AnswerTooLarge(NoAnswer):
    """The answer exceeds the size limit."""


# gRPC status codes that are not about the request, only about etcd, or this member of it, being
# unable just now: cancelled, unknown, deadline exceeded, aborted, internal, unavailable.
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
        """True if another member, or the same one later, may answer otherwise."""
        return self.code in _PASSING_CODES

    @property
    def wants_token(self) -> bool:
        """True if etcd has forgotten the token, or received none."""
        return self.code == _UNAUTHENTICATED or "user name is empty" in self.message

    @property
    def means_lease_is_gone(self) -> bool:
        return self.code == _NOT_FOUND and "lease not found" in self.message

    @property
    def means_compacted(self) -> bool:
        return self.code == _OUT_OF_RANGE and "compacted" in self.message

    @property
    def advice(self) -> str:
        """Advice for operators, if etcd's message has none."""
        if "database space exceeded" in self.message:
            return "; compact and defragment it, then disarm its alarm"
        if self.wants_token:
            return "; it requires a user and a password"
        return ""
