"""Write the pages that are made from the code: `python -m docs`."""

from pathlib import Path

from ops import api_page, catalogue, trouble_page
from ops.measured import validation_page
from sim.whole_file import write_whole

FOLDER = Path(__file__).parent
VALIDATION = FOLDER / "validation.md"
MADE = {
    "algorithms.md": catalogue.page,
    "api.md": api_page.page,
    "what-if.md": trouble_page.page,
}

if __name__ == "__main__":
    for name, page in MADE.items():
        write_whole(FOLDER / name, page())
    write_whole(VALIDATION, validation_page.page(VALIDATION.read_text(encoding="utf-8")))
