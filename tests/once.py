"""What pages without a browser need do but once."""

from functools import cache

from streamlit.components.v2 import manifest_scanner


def look_for_components_once() -> None:
    """Each visit would look through every installed package for components of Streamlit's.

    Nothing is installed meanwhile, and looking takes ten times as long as to draw the page.
    """
    if not hasattr(manifest_scanner.scan_component_manifests, "cache_info"):
        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
