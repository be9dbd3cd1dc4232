"""Which algorithms menus offer on a machine."""

from ops import ALGORITHMS
from ops.plan import Plan
from ui.simulate.machines import able_on


def test_menus_offer_adding_switches_only_where_the_machine_has_some():
    names = [name for name in ALGORITHMS if name.startswith("allreduce.")]
    old, new, none = (Plan(algorithm="allreduce.ring", machine=name) for name in ("dgx_a100", "dgx_h100", "nothing"))
    assert "allreduce.nvls" not in able_on([old], names)
    assert "allreduce.ring" in able_on([old], names)
    assert "allreduce.nvls" in able_on([new], names)
    assert "allreduce.nvls" in able_on([old, new], names)
    assert able_on([none], names) == names


def test_a_menu_keeps_what_is_chosen_though_the_machine_cannot_run_it():
    chosen = Plan(algorithm="allreduce.nvls", machine="dgx_a100")
    assert able_on([chosen], ["allreduce.nvls", "allreduce.nvls_tree"]) == ["allreduce.nvls"]
