"""The player's clock without a page: over every machine and many sizes, its end is the end of everything."""

import pytest

from ops import ALGORITHMS
from package.bundle import bundle
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import MACHINES, build
from sim.schedule import NOTHING
from sim.schedule.verify import prove
from ui.drawing.frames import Film
from ui.player.payload import pack
from ui.player.scripts import ASSETS

pytestmark = pytest.mark.browser
SIZES = (1 << 10, 1 << 20, 1 << 26, 1 << 30, 123_456_792)
IMPORT = """async (code) => {
  globalThis.read = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
}"""
LOOK = """async (tl) => {
  const line = await globalThis.read.decode(tl);
  const found = (t) => ({
    flying: line.blocks(t).length, step: line.step(t), over: line.over(t), landed: line.held(t).done,
    block: [...line.held(t).block], busy: line.loads(t).filter((rate) => rate > 0).length,
  });
  return { end: found(line.time), time: line.time, steps: line.meta.steps, rows: line.count,
    stops: line.bounds.map((t) => [t, line.step(t), line.step(Number(t.toPrecision(12)))]) };
}"""


@pytest.fixture(scope="module")
def look(chromium):
    context = chromium.new_context()
    page = context.new_page()
    modules = bundle("trace/decode.js", lambda path: (ASSETS / path).read_text(encoding="utf-8"))
    page.evaluate(IMPORT, f"export const {{ decode }} = {modules};")
    yield lambda trace: page.evaluate(LOOK, pack(trace)["tl"])
    context.close()


def traces(machine):
    """A ring, and an all-to-all that shares links, at several sizes."""
    topology = build(machine)
    for name in ("allreduce.ring", "alltoall.linear"):
        schedule = ALGORITHMS[name].schedule(min(topology.n, 16))
        proof = prove(schedule)
        for size in SIZES:
            try:
                yield simulate(topology, schedule, size, history=True, proof=proof)
            except InputError:  # blocks of less than a byte
                continue


@pytest.mark.turns("machine")
@pytest.mark.parametrize("three, machine", [(k // 3, name) for k, name in enumerate(sorted(MACHINES))])
def test_at_the_end_nothing_flies_and_every_place_holds_what_it_was_owed(look, three, machine):
    for trace in traces(machine):
        seen = look(trace)
        assert seen["time"] == trace.time
        end = seen["end"]
        assert (end["flying"], end["busy"], end["over"]) == (0, 0, True)
        assert (end["step"], end["landed"]) == (seen["steps"], seen["rows"])
        owed, slots = trace.schedule.promise.owed, trace.schedule.slots
        held = [end["block"][r * slots : (r + 1) * slots] for r in range(trace.schedule.n)]
        for rank, row in enumerate(owed[: trace.schedule.n]):
            assert all(held[rank][slot] == block for slot, block in enumerate(row) if block != NOTHING)


@pytest.mark.parametrize("machine", ["dual_socket_pcie", "a40_pairs", "numa", "dgx_a100"])
def test_the_end_of_a_step_is_the_same_instant_in_the_player_its_link_and_its_files(look, machine):
    for trace in traces(machine):
        film = Film(trace)
        for t, step, shortened in look(trace)["stops"]:
            assert film.step(trace.began + t) == step == shortened
