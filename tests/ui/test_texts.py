"""Texts of every language: of things there are, with the same placeholders, and each used somewhere."""

import re
from pathlib import Path
from typing import get_args

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.collectives.table import WORDS
from ops.ladder import TASKS
from ops.plan.library_choice import options_of
from ops.whatif.curve import QUANTITIES
from ops.whatif.table import SORTS
from ops.workloads import WORKLOADS
from sim.faults.edits import EDITS
from sim.faults.kinds import FAULTS
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.schedule.numeric import OPS
from sim.topology import DeviceKind, LinkKind
from sim.trace.breakdown import PARTS
from tests.ui.test_page import page
from ui.build.words import SPOILED
from ui.controls.compare import COMPARED
from ui.explore.menu import GROUPS as ENTRIES
from ui.export.exports import EXPORTS
from ui.pages import PAGES
from ui.pages.talk import FIELDS
from ui.plan.examples import EXAMPLES
from ui.plan.gallery import GROUPS
from ui.player.page_script import ASSETS
from ui.player.views import VIEWS
from ui.server.health import health
from ui.story import CHAPTERS
from ui.text import ERROR, catalogue, languages, things, written
from ui.whatif.adding import WORDS as VARIED

TRAIN = ("train.about.", "train.name.", "train.fact.", "train.kind.", "train.beside.", "train.download.")
"""Texts of the Train page that its own tests look after."""
OWN = ("summary.", "offer.", "use.", "task.", "name.")
"""Texts whose English stands in the thing itself."""


def test_texts_of_every_language_are_of_english_ones_with_the_same_placeholders():
    english = written("en")
    for language in languages():
        texts = {key: text for key, text in written(language).items() if not key.startswith((*OWN, ERROR))}
        assert texts.keys() <= english.keys()
        for key, text in texts.items():
            assert {p.split("}")[0].split(":")[0] for p in text.split("{")[1:]} == {
                p.split("}")[0].split(":")[0] for p in english[key].split("{")[1:]
            }, key


def test_summaries_and_offers_in_other_languages_are_of_things_there_are():
    there = {f"summary.{name}" for name in (*ALGORITHMS, *COLLECTIVES, *MACHINES, *FAULTS, *EDITS)}
    there |= {key for key in things() if key.startswith(("offer.", "use.", "task.", "name."))}
    for language in set(languages()) - {"en"}:
        assert {key for key in written(language) if key.startswith(OWN)} <= there


def test_a_summary_is_told_in_the_language_of_the_visit():
    at = page(algorithm="allgatherv.ring", machine="switch:ranks=4", lang="zh")
    assert "每个块绕环走一圈。" in [caption.value for caption in at.sidebar.caption]


def left_out():
    """Names of parameters that some default leaves to the simulator."""
    everything = [*(a.params for a in ALGORITHMS.values()), *(w.params for w in WORKLOADS.values())]
    everything += [kinds.parameters(name) for kinds in (FAULTS, EDITS, MACHINES) for name in kinds]
    everything.append(options_of("nccl"))
    return {name for params in everything for name, p in params.items() if not p.default and p.kind != "bool"}


def test_every_text_is_used_somewhere():
    root = Path(__file__).parents[2]
    code = "".join(p.read_text(encoding="utf-8") for p in [*root.glob("ui/**/*.py"), *root.glob("assets/**/*.js")])
    spoken = set(re.findall(r"[\"'](\w+(?:\.\w+)+)[\"']", code))
    spoken |= {f"player.{name}" for name in re.findall(r"say\(\"(\w+)\"\)", code)}
    spoken |= {f"player.{name}" for name in ("back", "forward", "full", "play", "pause")}
    spoken |= {f"page.source.{name}" for name in ("model", "capture", "catalogue", "file")}
    spoken |= {"page.time", "page.algbw", "page.busbw"} | {f"page.{name}.title" for name in PAGES}
    spoken |= {f"page.{what}{part}" for what in ("schedule", "capture") for part in ("", ".file", ".help")}
    spoken |= {f"export.{ending}" for ending in EXPORTS} | {f"worksheet.op.{op}" for op in OPS}
    spoken |= {f"answer.{name}" for name, example in EXAMPLES.items() if example.asks and not example.words}
    spoken |= {f"example.{name}" for name in EXAMPLES} | {f"fault.{name}" for name in FAULTS}
    spoken |= {f"player.{name}" for name in ("waitsfor", "sendsnext")}
    spoken |= {"player.critical.help", "player.why.sum"} | {f"edit.{name}" for name in EDITS}
    spoken |= {f"page.{word}{more}" for word in ("fault", "edits") for more in ("", ".add")}
    spoken |= {f"player.why.{part}{more}" for part in PARTS for more in ("", ".is")}
    spoken |= {f"player.order.{order}" for order in ("machine", "name", "busy", "rank")}
    spoken |= {f"page.{figure}.help" for figure in ("time", "algbw", "busbw", "bottleneck")}
    spoken |= {f"player.view.{name}" for name in VIEWS} | {f"page.compare.{name}" for name in COMPARED}
    spoken |= {f"player.sent.{word}" for word in ("top", "mean", "bottom")} | {f"format.{name}" for name in FORMATS}
    spoken |= {f"collectives.{word}" for word in WORDS}
    reducing = ("reduce", "switch_reduce", "local_reduce")
    spoken |= {f"caption.{name}" for name in ("copy", "local_copy", *reducing, *(f"{r}_many" for r in reducing))}
    spoken |= {f"page.learn.{name}" for name in ("next", "finish", "right", "answer", "unit.ranks")}
    spoken |= {f"page.measured.{name}" for name in ("above", "below", "add.machine", "add.ranks")}
    spoken |= {f"field.left_out.{name}" for name in left_out()}
    spoken |= {f"field.{name}" for kinds in (FAULTS, EDITS) for kind in kinds for name in kinds.parameters(kind)}
    spoken |= {f"page.health.{name}" for name in health()}
    spoken |= {
        f"board.{name}" for name in ("alike", "undo", "redo", "next", "clear", "way.auto", "way.copy", "way.add")
    }
    spoken |= {f"board.row.{name}" for name in ("in", "out", "spare")} | {f"board.holds-{k}" for k in range(1, 5)}
    spoken |= {f"draw.kind.{kind}" for kind in (*get_args(DeviceKind), "host")}
    spoken |= {f"draw.line.{kind}" for kind in get_args(LinkKind)}
    spoken |= {f"draw.all.{kind}" for kind in ("GPU", "NIC")} | {
        f"draw.template.{name}" for name in ("switched", "dgx")
    }
    acts = (ASSETS / "draw" / "acts.js").read_text(encoding="utf-8")
    spoken |= {f"draw.{name}" for name in re.findall(r'"([a-z]+)"', acts)}
    spoken |= {f"draw.hint.{name}" for name in ("hosts", "devices", "links")}
    spoken |= {f"build.fault.{kind}" for kind in (*SPOILED.values(), "absent", "lacks", "extra", "other")}
    spoken |= {f"page.explore.{group}" for group in ENTRIES}
    share = (ASSETS / "share" / "share.js").read_text(encoding="utf-8")
    spoken |= {f"page.share.{name}" for name in re.findall(r'"([a-z.]+)"', share)}
    spoken |= {f"page.share.film.{name}" for name in ("begin", "end", "seconds", "width", "theme", "light", "dark")}
    spoken |= {f"page.share.{name}" for name in ("embed.hint", "embed.frame")}
    spoken |= {f"page.talk.scene.{name}{end}" for name in FIELDS for end in ("", ".help")}
    spoken |= {f"examples.{name}" for name in (*GROUPS, "link", "file", "notebook")}
    spoken |= {f"ladder.{name}.title" for name in (*TASKS, "own")}
    spoken |= {f"story.{chapter.name}.{k}" for chapter in CHAPTERS for k, _ in enumerate(chapter.stretches, 1)}
    spoken |= {f"story.{chapter.name}" for chapter in CHAPTERS}
    spoken |= {f"story.say.{word}" for word in ("play", "pause", "next", "own")}
    spoken |= {f"page.measured.reached.{verdict}" for verdict in ("below", "inside", "above", "untold")}
    spoken |= {f"page.measured.{what}.{kind}" for what in ("kind", "look") for kind in ("NVL", "PCI", "SYS", "NET")}
    spoken |= {f"report.set.{name}{end}" for name in ("hosts", "nics") for end in ("", ".help")}
    spoken |= {f"report.ring.{key}" for key in ("now", "best")}
    spoken |= {f"report.class.{kind}" for kind in ("NVL", "PCI", "SYS", "NET")}
    spoken |= {f"report.change.{kind}" for kind in ("order", "algorithm", "class", "link")}
    spoken |= {f"report.column.{key}" for key in ("size", "time", "busbw", "band", "link", "choice")}
    spoken |= {f"report.column.{key}" for key in ("gpu", "rate", "narrow", "next")}
    spoken |= {f"whatif.word.{word}{end}" for word in VARIED for end in ("", ".example")}
    spoken |= {f"whatif.quantity.{name}" for name in QUANTITIES} | {f"whatif.sort.{name}" for name in SORTS}
    spoken |= {f"settings.{group}" for group in ("run", "machine", "faults", "algorithm")}
    mentioned = {key for key in catalogue("en") if not key.startswith(("lesson.", *TRAIN))}
    assert mentioned - spoken == set()
