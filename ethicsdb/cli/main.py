"""The command `ethicsdb`: commands are loaded when they are run, so that help answers in a blink."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import ethicsdb
from ethicsdb.schemas.errors import EthicsdbError

__all__ = ["cli", "main"]

# name: (module, one line of help); a test holds these lines to the commands' own help.
COMMANDS = {
    "quickstart": ("quickstart", "Build, run, judge and show boards with nothing but this package."),
    "check": ("check", "Check every declaration; names file and line of each fault."),
    "list": ("list_", "List what is declared."),
    "show": ("show", "Show a declaration."),
    "build": ("build", "Make a version of a data set."),
    "bootstrap": ("bootstrap", "Let a model write a data set out of demonstrations."),
    "versions": ("versions", "List the versions of a data set."),
    "diff": ("diff", "Show the rows that differ between two versions."),
    "report": ("report", "Show why rows of a version were dropped, mended or look odd."),
    "lengths": ("lengths", "Count the instances and lengths of conversations."),
    "run": ("run", "Put a benchmark to a model."),
    "judge": ("judge", "Judge a run's stored answers, without asking its model."),
    "runs": ("runs", "List the runs, newest first."),
    "cost": ("cost", "Show what calls cost: all of them, or those for a run."),
    "why": ("why", "Show what an item's number rests on."),
    "import": ("import_", "Bring in judge outputs, people's labels, answers or scores made elsewhere."),
    "annotate": ("annotate", "Let people label a run's answers: draw blind sheets, and take them back."),
    "withdraw": ("withdraw", "Take a mistaken run, import of labels or judgement off the boards."),
    "leaderboard": ("leaderboard", "Show the board of a benchmark."),
    "agreement": ("agreement", "Show how judges agree with people."),
    "gold": ("gold", "Measure a judge against a gold set: precision and recall with intervals."),
    "judges": ("judges", "Show how much more one judge finds than another."),
    "sql": ("sql", "Run a query in a read-only process of its own."),
    "rebuild": ("rebuild", "Make the database anew from declarations and journals."),
}


class ReaderGoneError(Exception):
    """Nobody reads our output any more."""


class Lazy(click.Group):
    """A group whose commands are imported when they are named."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. A closed pipe is told under a name of its own: Click would end the process with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGoneError from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; an unknown one is an error with a suggestion."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1, cutoff=0.5)
            hint = f"Did you mean `{close[0]}`?" if close else "`ethicsdb --help` lists them."
            ctx.fail(f"There is no command `{args[0]}`. {hint}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a first visit."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ethicsdb.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(ethicsdb.__version__, prog_name="ethicsdb")
@click.option(
    "--database",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The DuckDB file (ETHICSDB_DATABASE; ./benchmarks.db).",
)
@click.option(
    "--declarations",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A folder of your own declarations (ETHICSDB_DECLARATIONS; ./ethicsdb.d).",
)
@click.pass_context
def cli(context: click.Context, database: Path | None, declarations: tuple[Path, ...]) -> None:
    """A registry of ethics and safety evaluations of language models in one DuckDB file.

    Data sets have versions, answers and verdicts have identities, and every number on a board has n, coverage and an
    interval. `ethicsdb quickstart` shows all of it in a minute.
    """
    context.obj = {"database": database, "declarations": list(declarations)}


def main() -> None:
    """Run the command line; a fault is one sentence on stderr and a non-zero exit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character must not end a command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGINT, _interrupt)
    sys.exit(_run())


_interrupted = False


def _interrupt(_number: int, _frame: object) -> None:
    """Ctrl-C. Libraries make faults of their own of the exception, so it is remembered too."""
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def _run() -> int:
    try:
        status = cli.main(prog_name="ethicsdb", standalone_mode=False) or 0
        sys.stdout.flush()
        return int(status)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _stopped()
    except (ReaderGoneError, BrokenPipeError):
        # What is left in the buffer has nowhere to go, which must not be an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if _interrupted:
            return _stopped()
        sentence = _sentence(error)
        if sentence is None:
            raise
        click.echo(f"error: {sentence}", err=True)
        return getattr(error, "exit_code", 1)


def _stopped() -> int:
    click.echo("stopped; the same command goes on from here", err=True)
    return 130


def _sentence(error: Exception) -> str | None:
    """What to tell a person; None for a fault of this package, whose traceback is needed."""
    if isinstance(error, EthicsdbError):
        sentence = str(error)
    elif isinstance(error, OSError):
        sentence = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
    elif type(error).__module__.endswith("duckdb") and "INTERNAL" not in str(error):
        sentence = f"the database failed: {str(error).splitlines()[0]}; what the journals hold is not touched"
    else:
        return None
    # Names and texts from files may hold what moves the cursor.
    return "".join(each if each.isprintable() else " " for each in sentence)
