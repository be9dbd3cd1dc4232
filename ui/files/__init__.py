"""Runs as files: pictures, films, pages, traces."""
