"""marimo with a script that shows the player, in Chromium."""

from tests.notebook.jupyter import PATIENCE, PLAYER, free_port, guarded, started

SCRIPT = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    from ringside import Plan
    from ringside.notebook import show
    return Plan, mo, show


@app.cell
def _(Plan, mo, show):
    run = mo.ui.anywidget(show(Plan(machine="switch:ranks=4", size="1MiB")))
    run
    return (run,)


@app.cell
def _(mo, run):
    mo.md(f"stands at {run.value['time']!r}")
    return


if __name__ == "__main__":
    app.run()
"""


def walk(browser, folder, log):
    """Show the script as an app; another cell follows the player."""
    (folder / "app.py").write_text(SCRIPT, encoding="utf-8")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    words = ["marimo", "run", "app.py", "--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port)]
    server = started(words, f"{address}/health", folder, log)
    try:
        page = guarded(browser, address)
        page.goto(address)
        player = page.locator(PLAYER).first
        player.wait_for(timeout=PATIENCE)
        page.get_by_text("stands at 0").wait_for(timeout=PATIENCE)
        player.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(1500)
        stands = float(player.get_attribute("data-time-s"))
        assert stands > 0
        page.get_by_text(f"stands at {stands!r}").wait_for(timeout=PATIENCE)
        assert page.strangers == [], page.strangers
    finally:
        server.terminate()
        server.wait()
