"""Modules in one bundle do what they do as files: both are run by the same Node."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from package.bundle import bundle
from tests.js.test_js import node
from tests.tables import each_row
from ui.player.scripts import WITHOUT_VIEWS, script

ROOT = Path(__file__).parents[2]
MODULES = {
    "main.js": """
import otherwise, { a as b, "odd name" as odd } from "./lib/b.js";
import * as all from "./lib/b.js";
import data from "./d.json" with { type: "json" };
import "./lib/effect.js";
import { again, k, ns, renamed, default as Named, viaStar } from "./c.js";
// only for readers: "a quote
const same = /* only for readers */ 1; // only for readers
const pattern = /import { x } from "y"/, template = `
import { z } from "./nowhere.js";
export const zz = ${`1 // } ${same} /`};
`;
console.log(JSON.stringify([
  b, odd, otherwise(), Object.keys(all).sort(), data, k, ns.a, renamed, Named.name, viaStar, again, same,
  template, pattern.source, globalThis.effects, typeof this, ((a, b) => a / b / 2)(4, 2),
]));
export { same as default };
""",
    "lib/b.js": """
const same = 2; export const a = same; export { same as "odd name" }; export default () => "default";
export const { q, r: [s] = [7], ...rest } = { q: 5, z: 1 }, last = hoisted();
export function hoisted() { return "hoisted"; }
""",
    "lib/effect.js": "globalThis.effects = (globalThis.effects ?? 0) + 1;",
    "lib/e.js": """
export async function* waiting() { for await (const x of []) yield await x; }
export const viaStar = "star"; export default 1;
""",
    "c.js": """
export * from "./lib/e.js"; export * as ns from "./lib/b.js"; export { a as renamed, a as again } from "./lib/b.js";
import "./lib/effect.js";
const same = 3; export const k = same, l = 4; export default class Foo {}
""",
    "d.json": '{"x": [1, 2]}',
}


def output(path):
    done = subprocess.run([node(), path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_bundle_runs_as_the_modules_do(tmp_path):
    for name, text in {**MODULES, "package.json": '{"type": "module"}'}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bundle.mjs").write_text(f"export default {bundle('main.js', MODULES.__getitem__)}.default;\n")
    as_files = output(tmp_path / "main.js")
    assert as_files[:4] == [2, 2, "default", ["a", "default", "hoisted", "last", "odd name", "q", "rest", "s"]]
    assert output(tmp_path / "bundle.mjs") == as_files


def test_modules_run_once_each_after_what_they_import():
    code = bundle("main.js", MODULES.__getitem__)
    places = [code.index(f"// {name}\n") for name in ("lib/e.js", "c.js", "main.js")]
    assert places == sorted(places)
    assert code.count("globalThis.effects = ") == 1


@each_row(
    "text, says",
    [
        ("const a = 1;\nexport let x = a;", "main.js, line 2: only what stays as it is can be exported"),
        ("export var x;", "only what stays as it is can be exported"),
        ("await 1;", "await cannot be part of a bundle here"),
        ("for await (const x of []) x;", "await cannot be part of a bundle here"),
        ('import("./c.js");', "import cannot be part of a bundle here"),
        ("const u = import.meta.url;", "import.meta cannot be part of a bundle here"),
        ('import x from "y";', "'y' is no file beside this one"),
        ('import { no } from "./lib/b.js";', "main.js takes no from lib/b.js, which exports no such name"),
        ('export { no } from "./lib/b.js";', "main.js takes no from lib/b.js, which exports no such name"),
        ('import "./main.js"', "modules import each other in a circle: main.js → main.js"),
        ("const a = 1;\n\nconst = 3;", "main.js, line 3: this is no JavaScript"),
        ("const $module1 = 1;", "$module is a name of the bundle's own"),
    ],
)
def test_what_would_not_mean_the_same_is_refused_in_a_sentence(text, says):
    with pytest.raises(ValueError, match=r".") as refusal:
        bundle("main.js", {**MODULES, "main.js": text}.__getitem__)
    assert says in str(refusal.value)


def test_the_player_is_one_expression_that_needs_no_other_file(tmp_path):
    page = "globalThis.matchMedia = () => ({}); console.log(JSON.stringify(typeof "
    (tmp_path / "player.mjs").write_text(f"{page}{script()}));")
    assert output(tmp_path / "player.mjs") == "function"
    assert "import " not in [line.strip()[:7] for line in script().splitlines()]


def test_every_script_of_a_page_is_a_part_of_the_package():
    mounted = re.compile(r'page_script\("(\w+)"(?:, "(\w+)")?\)')
    sources = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "ui").rglob("*.py")))
    calls = [each for source in sources for each in mounted.findall(source)]
    assert {f"{folder or 'page'}/{name}.js" for name, folder in calls} == set(WITHOUT_VIEWS)
