"""The contract: stored answers of commands, links, files, pages and the package, which must stay equal to the bit.

Words may change: `words.json` maps a stored word to the one that is used now. Every call into the project is in
`adapter`, so that a change of names edits that file and the table, never a stored value.
`python -m tests.contract record` writes answers of new cases; a stored answer changes only with `--accept PATTERN`.
"""
