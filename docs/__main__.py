"""Write the pages that are made from the code: `python -m docs`."""

from pathlib import Path

from docs import api_page, catalogue, fault_page, machine_page, published_page, validation_page
from sim.base.files.whole_file import write_whole
from sim.registry import one_sentence

MADE = {
    "algorithms.md": catalogue.page,
    "api.md": api_page.page,
    "machines.md": machine_page.page,
    "published.md": published_page.page,
    "validation.md": validation_page.page,
    "what-if.md": fault_page.page,
}

if __name__ == "__main__":
    with one_sentence():
        for name, page in MADE.items():
            write_whole(Path(__file__).parent / name, page())
