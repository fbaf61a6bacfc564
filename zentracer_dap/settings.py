"""What the adapter's command line can set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The command line."""

    log_dir: str | None = None
    """Folder for the transcripts of ours and of debugpy."""
    errors_to: str | None = None
    """File that takes what goes wrong, ours and debugpy's, instead of stderr."""

    def debugpy_arguments(self) -> list[str]:
        """Return the options for the debugpy adapter."""
        return ["--log-dir", self.log_dir] if self.log_dir else []
