"""What a job writes: kept in its log file as it is, and passed on to Pulumi's log line by line."""

from __future__ import annotations

import asyncio
import codecs
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from pathlib import Path

from xmgen.provider import faults
from xmgen.provider.wire import masked
from xmgen.terminal_lines import cut, drawn

Tell = Callable[[str], Awaitable[None]]

_FLUSH_SECONDS = 0.2
_MOST_PER_FLUSH = 16_384
_LONGEST_LINE = 8_192
_LINES_KEPT = 20


class JobOutput:
    """prefix: begins every line on Pulumi's log. tell: sends text there; None when the output is not streamed.
    hidden: secrets, which are blotted out of what Pulumi logs and keeps in its state.
    """

    def __init__(self, log: Path, *, prefix: str, tell: Tell | None, hidden: Collection[str]) -> None:
        self._log = log
        self._prefix = prefix
        self._tell = tell
        self._hidden = hidden
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""
        self._pending: list[str] = []
        self._last: deque[str] = deque(maxlen=_LINES_KEPT)

    async def consume(self, output: AsyncIterator[bytes]) -> None:
        """Until the output ends."""
        flusher = asyncio.create_task(self._keep_flushing()) if self._tell else None
        try:
            with self._log.open("ab", buffering=0) as log:
                async for chunk in output:
                    faults.at("running")
                    log.write(chunk)
                    self._add(self._decoder.decode(chunk))
            self._add(self._decoder.decode(b"", final=True), last=True)
        finally:
            if flusher is not None:
                flusher.cancel()
            await self._flush()

    def last_lines(self) -> list[str]:
        # Cut last: half a secret is not found any more.
        whole = (masked(line, self._hidden) for line in self._last)
        return [cut(line) for line in whole]

    def _add(self, text: str, *, last: bool = False) -> None:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        if len(self._unfinished) > _LONGEST_LINE or (last and self._unfinished):
            lines.append(self._unfinished)
            self._unfinished = ""
        seen = [drawn(line) for line in lines]
        self._last.extend(seen)
        if self._tell:
            self._pending.extend(seen)

    async def _keep_flushing(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            await self._flush()

    async def _flush(self) -> None:
        """One message for what has come since the last. Of a flood only the beginning is passed on."""
        if not self._pending or self._tell is None:
            return
        lines, self._pending = self._pending, []
        kept = 0
        size = 0
        while kept < len(lines) and size < _MOST_PER_FLUSH:
            size += len(lines[kept])
            kept += 1
        told = [f"{self._prefix}{line}" for line in lines[:kept]]
        if kept < len(lines):
            told.append(f"{self._prefix}[{len(lines) - kept} more lines in {self._log.name}]")
        await self._tell(masked("\n".join(told), self._hidden))
