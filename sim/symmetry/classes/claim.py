"""Is what one flow of each kind did what every pair of the kind does? Looked up for every variant of it.

The moments of a run follow from three rules: a message is ready when the last of what it waits for has ended; each
connection sends one at a time; and flows have max-min fair rates, which are the only ones under which no link carries
more than it can and every flow crosses a full link on which none is faster (Bertsekas and Gallager 1992, 6.5.2). A
quotient's flow obeys the rules of all variants at once. Where for each variant alone the last that it waits for, and a
full link, are among its own, moments and rates obey the rules of the whole run, and are its moments and rates.
"""

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats
from sim.base.ragged import offsets_of, ranges
from sim.fabric.max_min import SAME
from sim.symmetry.classes import kernels
from sim.symmetry.classes.colours import Round, Ways
from sim.symmetry.classes.listing import Listing
from sim.symmetry.classes.quotient import Quotient
from sim.trace import Trace

NEAR = 1e-12
"""Part of a link's bandwidth, or of a rate, by which sums may round."""
CELLS = 1 << 27
"""Rates at moments that are looked at; more are not worth it."""
AT_ONCE = 1 << 23

Truths = NDArray[np.bool_]


def holds(listing: Listing, ways: Ways, level: Round, model: Quotient, trace: Trace) -> bool:
    """Whether the moments of the quotient's messages are those of all messages of their kinds."""
    return _waits_hold(listing, level, model, trace) and _rates_hold(ways, level, model, trace)


def _waits_hold(listing: Listing, level: Round, model: Quotient, trace: Trace) -> bool:
    """Whether the last that each waits for is at one of its own two ranks."""
    views, messages = model.views, len(model.kind)
    rows = len(views.message)
    late = np.zeros(rows + views.marks)
    real = views.earlier < rows
    np.maximum.at(late, views.later[real], trace.end[views.message[views.earlier[real]]])
    np.maximum.at(late, views.later[~real], late[views.earlier[~real]])
    last = late[:rows] >= trace.ready[views.message]
    keys, place = np.unique((views.rank * 2 + views.receives) * messages + views.message, return_inverse=True)
    all_last = np.ones(len(keys), np.bool_)
    all_last[place[~last]] = False
    pair = listing.pair[level.variants.first]
    kind = level.pairs.of[level.variants.first]
    lengths = np.diff(model.first)[kind]
    message = model.order[ranges(model.first[kind], lengths)]
    bound = np.zeros(len(message), np.bool_)
    for receives, ranks in enumerate((pair[:, kernels.SRC], pair[:, kernels.DST])):
        key = np.repeat(level.ranks.of[ranks].astype(np.int64) * 2 + receives, lengths) * messages + message
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        bound |= (keys[at] == key) & all_last[at]
    return bool(bound.all())


def _rates_hold(ways: Ways, level: Round, model: Quotient, trace: Trace) -> bool:
    """Whether each flow always crosses a full link of its own on which none is faster."""
    kind = level.pairs.of[level.variants.first]
    several = np.bincount(kind)[kind] > 1
    variant = level.variants.first[several & (np.diff(ways.routes.offsets)[level.variants.first] > 0)]
    if not len(variant):
        return True
    rates = _rates(model, trace)
    if rates is None:
        return False
    starts, hops = ways.routes.offsets[variant], np.diff(ways.routes.offsets)[variant]
    link = level.links.of[ways.routes.links[ranges(starts, hops)]]
    flow = np.repeat(level.pairs.of[variant], hops)
    first = offsets_of(hops)[:-1]
    width = max(1, AT_ONCE // max(len(model.crossings.link), len(link)))
    for at in range(0, rates.shape[1], width):
        now = rates[:, at : at + width]
        full, fastest = _loads(level, model, now)
        held = full[link] & (now[flow] >= fastest[link] * (1 - NEAR))
        if (~np.logical_or.reduceat(held, first) & (now[flow[first]] > 0)).any():
            return False
    return True


def _rates(model: Quotient, trace: Trace) -> Floats | None:
    """What each kind of pairs sends, B/s, a column per moment; None where that is too much, or not known."""
    assert trace.history is not None
    flows = np.flatnonzero((model.schedule.src != model.schedule.dst) & (trace.bytes > 0))
    begun, through = trace.start[flows], trace.arrived[flows]
    change = np.concatenate([through, trace.history.time])
    moments = np.unique(change)
    column = np.concatenate([[0], np.cumsum(np.diff(moments) > SAME * moments[1:])])
    if len(kinds := np.diff(model.first)) * (column[-1] + 1) > CELLS:
        return None
    of_begin = column[np.minimum(np.searchsorted(moments, begun), len(moments) - 1)]
    when = column[np.searchsorted(moments, change)]
    if (when[: len(flows)] <= of_begin).any():
        return None
    rates = np.full((len(kinds), int(column[-1]) + 1), np.nan)
    rates[:, 0] = 0.0
    who = model.kind[np.concatenate([flows, trace.history.transfer])]
    rates[who, when] = np.concatenate([np.zeros(len(flows)), trace.history.rate])  # of several in one place the last
    newest = np.where(np.isnan(rates), 0, np.arange(rates.shape[1]))
    np.maximum.accumulate(newest, axis=1, out=newest)
    return np.take_along_axis(rates, newest, axis=1)


def _loads(level: Round, model: Quotient, rates: Floats) -> tuple[Truths, Floats]:
    """Whether links of each kind are full, and how fast the fastest on them is, a column per moment."""
    crossings, kinds = model.crossings, len(level.links.first)
    used, first = np.unique(crossings.link, return_index=True)
    each = rates[crossings.pair]
    full, fastest = np.zeros((kinds, rates.shape[1]), np.bool_), np.zeros((kinds, rates.shape[1]))
    room = model.capacity[used].reshape(-1, 1)
    full[used] = np.add.reduceat(each * crossings.count.reshape(-1, 1), first) >= room * (1 - NEAR)
    fastest[used] = np.maximum.reduceat(each, first)
    return full, fastest
