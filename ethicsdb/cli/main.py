"""The command `ethicsdb`: commands are loaded when they are run, so that help answers in a blink."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

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
    "versions": ("versions", "List the versions of a data set."),
    "diff": ("diff", "Show the rows that differ between two versions."),
    "report": ("report", "Show why rows of a version were dropped, mended or look odd."),
    "import": ("import_", "Bring in judge outputs or people's labels made elsewhere."),
    "leaderboard": ("leaderboard", "Show the board of a benchmark."),
    "agreement": ("agreement", "Show how judges agree with people."),
    "sql": ("sql", "Run a query in a read-only process of its own."),
    "rebuild": ("rebuild", "Make the database anew from declarations and journals."),
}


class Lazy(click.Group):
    """A group whose commands are imported when they are named."""

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
    """Run the command line; a fault on purpose is one sentence on stderr and a non-zero exit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character must not end a command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except EthicsdbError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped; the same command goes on from here", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        sys.exit(141)
