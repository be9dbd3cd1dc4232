"""The kernel of the search: blocks are matched to links, the earliest arrival first.

Plain loops over arrays, compiled where `sim.base.compiled` says so. Seconds throughout; a place is
`rank * blocks + block`.
"""

from sim.base.compiled import helper, jit

NEVER = 1e300
NO_EDGE = -1


@jit
def match(
    src, dst, first, links, load, takes, blocks, free, have, holders, luck, start, pick, left, many, moves, times
):
    """Bring every block to every rank; returns how many transfers that took.

    Edge e goes from rank `src[e]` to `dst[e]` in `takes[e]` seconds over `links[first[e]:first[e + 1]]`, each of
    which is then busy for `load[link]` seconds, `free[link]` being when it is free again. `have[place]` is when a
    place holds its block, `holders[block]` how many ranks do; `luck[block]` breaks ties. Of all transfers that
    could be next, the one that arrives first is entered into `moves` (edge, block) and `times` (start, end); an edge
    brings the block that fewest have. `start` and `pick` are room for every edge's next transfer; `left[e, :many[e]]`
    is room for the blocks that e may bring, in any order: those that its first rank has and its last one lacks.
    """
    edges, made = len(src), 0
    for e in range(edges):
        many[e] = 0
        for b in range(blocks):
            if have[src[e] * blocks + b] < NEVER:
                left[e, many[e]] = b
                many[e] += 1
        renew(e, src, dst, first, links, blocks, free, have, holders, luck, start, pick, left, many)
    while True:
        best, soonest = NO_EDGE, NEVER
        for e in range(edges):
            if pick[e] >= 0 and start[e] + takes[e] < soonest:
                best, soonest = e, start[e] + takes[e]
        if best == NO_EDGE:
            return made
        block, begun = pick[best], start[best]
        moves[made, 0], moves[made, 1] = best, block
        times[made, 0], times[made, 1] = begun, soonest
        made += 1
        have[dst[best] * blocks + block] = soonest
        holders[block] += 1
        for k in range(first[best], first[best + 1]):
            free[links[k]] = max(free[links[k]], begun) + load[links[k]]
        for e in range(edges):
            if src[e] == dst[best]:
                left[e, many[e]] = block
                many[e] += 1
            touched = src[e] == dst[best] or dst[e] == dst[best]
            for k in range(first[e], first[e + 1]):
                for j in range(first[best], first[best + 1]):
                    touched = touched or links[k] == links[j]
            if touched:
                renew(e, src, dst, first, links, blocks, free, have, holders, luck, start, pick, left, many)


@helper
def renew(e, src, dst, first, links, blocks, free, have, holders, luck, start, pick, left, many):
    """What an edge would bring next, now that something about it has changed."""
    able, begin, chosen = 0.0, NEVER, -1
    for k in range(first[e], first[e + 1]):
        able = max(able, free[links[k]])
    i = 0
    while i < many[e]:
        b = left[e, i]
        if have[dst[e] * blocks + b] < NEVER:
            many[e] -= 1
            left[e, i] = left[e, many[e]]
            continue
        i += 1
        at = max(able, have[src[e] * blocks + b])
        if at < begin:
            better = True
        elif at > begin:
            better = False
        elif holders[b] != holders[chosen]:
            better = holders[b] < holders[chosen]
        else:
            better = luck[b] < luck[chosen]
        if better:
            begin, chosen = at, b
    start[e], pick[e] = begin, chosen


@jit
def levels(src, dst, block, blocks, sums, ahead_first, ahead, behind_first, behind, place, level):
    """Enter every transfer's step into `level`: after those that brought what it carries, and after those ahead of it.

    Transfer i takes `block[i]` from rank `src[i]` to `dst[i]`; the first `sums` are added where they arrive. Those
    that go before i are `ahead[ahead_first[i]:ahead_first[i + 1]]`, those after it stand in `behind` alike. Sums are
    as late as what waits for them allows: counted back from 0, then moved up. `place` is room for a number a place.
    """
    lowest = 0
    for i in range(sums - 1, -1, -1):
        source, target = src[i] * blocks + block[i], dst[i] * blocks + block[i]
        latest = place[target]
        for k in range(behind_first[i], behind_first[i + 1]):
            if behind[k] < sums:
                latest = min(latest, level[behind[k]])
        level[i] = latest - 1
        place[source] = min(place[source], level[i])
        lowest = min(lowest, level[i])
    for i in range(sums):
        level[i] -= lowest
    for p in range(len(place)):
        place[p] = -1 - lowest
    for i in range(sums, len(src)):
        earliest = place[src[i] * blocks + block[i]]
        for k in range(ahead_first[i], ahead_first[i + 1]):
            earliest = max(earliest, level[ahead[k]])
        level[i] = earliest + 1
        place[dst[i] * blocks + block[i]] = level[i]
