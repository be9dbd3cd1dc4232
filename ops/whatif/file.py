"""Lists of what-ifs as YAML: the words of the baseline, and for each variant its name and the words that differ."""

from collections.abc import Iterator

from ops.plan import Plan
from ops.plan.examples import example_captures
from ops.plan.notation import CHANGEABLE, RENAMED, Changes, renamed
from ops.plan.packing import packed, unpacked
from ops.plan.plan_file import LARGEST, line_of, plan_in, to_yaml
from ops.plan.words import value_of, wrong
from ops.whatif.sheet import LONGEST_NAME, MOST, Sheet, Variant
from sim.base.yaml import YamlNode, parse_yaml
from sim.errors import InputError

VERSION = "what-if-1"
KEYS = ("ringside", "baseline", "variants")
CLEARED = ("machine", "settings", "fault", "edits", "network", "placement", "calibration", "rates", "counts", "capture")
"""Words that a variant may leave empty."""


def is_sheet(text: str) -> bool:
    """Whether it is a list written by `to_yaml`, or by hand in its manner."""
    return any(line.startswith("ringside: what-if") for line in text.lstrip()[:2000].splitlines())


def write(sheet: Sheet) -> str:
    """Return a list as YAML."""
    lines = [f"ringside: {VERSION}", "baseline:"]
    lines += [f"  {line}" for line in to_yaml(sheet.baseline).splitlines()[1:]]
    lines += ["variants:"] if sheet.variants else ["variants: []"]
    for variant in sheet.variants:
        name = line_of("name", variant.name) if variant.name else []
        first, *rest = [*name, *_lines(dict(variant.changes))]
        lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return "\n".join(lines) + "\n"


def _lines(changes: Changes) -> Iterator[str]:
    for word, value in changes.items():
        text = unpacked(value, example_captures(), "capture") if word == "capture" and value else value
        yield from line_of(word, text)


def read(text: str, name: str) -> Sheet:
    """Return the list that a text describes. Raises InputError naming the line and the fix."""
    if len(text) > LARGEST:
        raise InputError("plan.too_long", name=name, most=LARGEST)
    root = parse_yaml(text, name)
    nodes = root.mapping("the list of what-ifs", KEYS)
    if "ringside" not in nodes or nodes["ringside"].text("ringside") != VERSION:
        root.refuse("plan.version", version=VERSION)
    baseline = plan_in(nodes["baseline"], "the baseline") if "baseline" in nodes else Plan()
    variants = nodes["variants"].items("variants") if "variants" in nodes else []
    if len(variants) > MOST:
        variants[MOST].refuse("whatif.most", most=MOST)
    sheet = Sheet(baseline)
    for node in variants:
        variant = _variant(node)
        before, sheet = sheet, sheet.added(dict(variant.changes), variant.name)
        if sheet is before:
            node.refuse("whatif.twice")
    return sheet


def _variant(node: YamlNode) -> Variant:
    nodes = renamed(node.mapping("a variant", ("name", *CHANGEABLE, *RENAMED)))
    title = nodes.pop("name", None)
    name = title.text("name").strip() if title else ""
    if title and len(name) > LONGEST_NAME:
        title.refuse("whatif.name", most=LONGEST_NAME)
    if not nodes:
        node.refuse("whatif.empty", choices=CHANGEABLE)
    return Variant(tuple((word, _value(word, value)) for word, value in nodes.items()), name)


def _value(word: str, node: YamlNode) -> str:
    if node.value == "" and word in CLEARED:
        return ""
    text = node.text(word)
    if value_of(word, text) is None:
        node.refuse("at.correct", what=wrong(word, text[:20]))
    return packed(text, {}) if word == "capture" else text
