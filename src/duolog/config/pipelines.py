"""Directory of the pipelines, as settings place it."""

from pathlib import Path

from duolog.config.settings import Settings

PIPELINES_FOLDER = "pipelines"
"""Folder within the data directory, unless another place is set."""


def pipelines_directory(settings: Settings) -> Path:
    given = settings.text("pipelines.dir")
    return Path(given) if given else Path(settings.text("data.dir")) / PIPELINES_FOLDER
