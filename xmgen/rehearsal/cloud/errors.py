"""Google's errors, in the shape in which pulumi-gcp shows them."""

from __future__ import annotations

REASONS = {
    400: "badRequest",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    429: "rateLimitExceeded",
    500: "internalError",
    503: "backendError",
}


class Refusal(Exception):
    """A request that is refused. status: HTTP's. reason: Google's word for it; empty for the usual one."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason or REASONS[status]

    def __str__(self) -> str:
        return f"googleapi: Error {self.status}: {self.message}, {self.reason}"
