"""Settings: a TOML file, then the environment, then flags. Every field can be left out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from jobs.errors import UsageError
from jobs.spec_problems import described

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class SettingsError(UsageError):
    """The settings cannot be read. The message is one sentence for people."""


class Settings(BaseModel):
    """What can be configured."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    jobs_interval: float = Field(default=5.0, ge=1, description="Seconds between two looks at the queue, at least.")
    nodes_interval: float = Field(default=15.0, ge=1, description="Seconds between two looks at the nodes, at least.")
    job_root: Path | None = Field(
        default=None, description="Where submissions keep their folders; compute nodes must see it."
    )
    theme: str = Field(
        default="textual-dark", description="A Textual theme; `textual-ansi` uses the terminal's own colours."
    )
    read_only: bool = Field(default=False, description="Refuse to submit or change anything.")

    @field_validator("job_root")
    @classmethod
    def _whole_path(cls, value: Path | None) -> Path | None:
        """`~` is the home folder. A relative path would mean another folder in each directory."""
        if value is None:
            return None
        text = str(value)
        path = Path.home() / text[2:] if text.startswith("~/") else value
        if not path.is_absolute():
            raise ValueError("must be an absolute path, or begin with ~/")
        return path


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """`$SLURMCONSOLE_CONFIG`, or config.toml in the user's configuration folder."""
    given = environ.get("SLURMCONSOLE_CONFIG")
    return Path(given) if given else user_config_path("slurmconsole") / "config.toml"


def load_settings(path: Path | None = None, *, read_only: bool = False) -> Settings:
    """Read the settings; a missing file means the defaults, unless it was named. Raises SettingsError."""
    named = path is not None
    path = path or config_path()
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if named:
            raise SettingsError(f"There is no configuration file {path}.") from None
        values = {}
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from None
    if read_only:
        values["read_only"] = True
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        field, text = described(error, list(Settings.model_fields))[0]
        if error.errors()[0]["type"] == "extra_forbidden":
            text = f"is not a setting: there are {', '.join(Settings.model_fields)}"
        raise SettingsError(f"{path}: {field} {text}.") from None
