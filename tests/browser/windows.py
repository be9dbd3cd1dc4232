"""A window for each of many cases, for commands that look at all there is."""

from playwright.sync_api import sync_playwright

from tests.browser.visit import FLAGS, Visit, chromium_path, serve


def visits(cases, parts):
    """For every case (a title and the window's options) whose title has one of the parts in it: the title, and a visit.

    The dashboard is there as long as there are cases; without parts all of them are.
    """
    address, server = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            for title, options in cases:
                if parts and not any(part in title for part in parts):
                    continue
                visit = Visit(browser, address, **options)
                yield title, visit
                visit.context.close()
            browser.close()
    finally:
        server.terminate()
