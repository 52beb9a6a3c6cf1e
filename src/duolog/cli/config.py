"""`duolog config`: the settings that a node would use, and a reference of all settings."""

from duolog.cli.command_line import App
from duolog.cli.given import ConfigOption, SetOption, load_settings
from duolog.cli.output import Format, FormatOption, print_rows

app = App(help="Settings of a node.")


@app.command()
def show(
    config: ConfigOption = None,
    assignments: SetOption = None,
    output: FormatOption = Format.table,
) -> None:
    """List every setting, its value, and where the value comes from."""
    settings = load_settings({}, assignments, config)
    rows = [
        {
            "name": name,
            "value": settings.shown(name),
            "unit": setting.unit,
            "source": settings.source(name),
            "default": setting.default_text,
            "doc": setting.doc,
        }
        for name, setting in settings.declared.items()
    ]
    print_rows(rows, output, ("name", "value", "unit", "source"))


@app.command()
def reference() -> None:
    """Print the reference page of all settings, as Markdown."""
    from duolog.config.reference import reference_page

    print(reference_page(), end="")
