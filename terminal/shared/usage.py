"""What click says about a command line that is wrong, in this program's words."""

import click


def usage_message(error: click.UsageError) -> str:
    """One sentence: what is wrong, and where to look it up."""
    path = error.ctx.command_path if error.ctx else ""
    return f"{_what(error)}: see `{path} --help`"


def _what(error: click.UsageError) -> str:
    param = getattr(error, "param", None)
    if isinstance(error, click.MissingParameter) and param is not None:
        return f"the following arguments are required: {_name(param)}"
    if isinstance(error, click.BadOptionUsage):
        option = _option(error)
        if option is not None and not (isinstance(option, click.Option) and option.is_flag):
            count = "one argument" if option.nargs == 1 else f"{option.nargs} arguments"
            return f"argument {_name(option)}: expected {count}"
        return f"argument {error.option_name}: takes no value"
    if isinstance(error, click.BadParameter) and isinstance(param and param.type, click.Choice):
        assert param is not None
        return f"argument {_name(param)}: invalid choice: {error.message.rstrip('.')}"
    message = error.format_message().rstrip(".")
    for beginning in ("Got unexpected extra argument (", "Got unexpected extra arguments ("):
        if message.startswith(beginning):
            return f"unrecognized arguments: {message.removeprefix(beginning).removesuffix(')')}"
    return {"Missing command": "the following arguments are required: COMMAND"}.get(message, message)


def _option(error: click.BadOptionUsage) -> click.Parameter | None:
    params = error.ctx.command.params if error.ctx else []
    return next((param for param in params if error.option_name in param.opts), None)


def _name(param: click.Parameter) -> str:
    """As a person finds it in the help: `-o/--output`, or an argument's word."""
    return (
        "/".join(param.opts)
        if isinstance(param, click.Option)
        else param.make_metavar(click.Context(click.Command("")))
    )
