// The first lines of a card: name, kind and state of a link or device.

import { explain, linkName } from "../pane/explain.js";
import { fill, rateText } from "../trace/words.js";

const FULL = 0.995;

const rankOf = ({ devices }, { kind, index }) => (kind === "device" ? devices.rank[index] : -1);

// Whether a card says it in few words, so that the rest may be folded.
export const isBrief = (timeline, focus) => focus.kind === "link" || rankOf(timeline, focus) >= 0;

// `alarm` is what of it is urgent.
export function headOf(timeline, text, t, focus) {
  const rank = rankOf(timeline, focus);
  if (focus.kind === "link") return ofLink(timeline, text, t, focus.index);
  if (rank >= 0) return ofRank(timeline, text, t, rank);
  const kind = focus.kind === "device" ? timeline.devices.kind[focus.index] : "";
  return { name: explain(timeline, text, t, focus)[0], kind, words: "", alarm: "" };
}

function ofLink(timeline, text, t, link) {
  const { links } = timeline;
  const values = { rate: rateText(timeline.loads(t)[link]), capacity: rateText(timeline.capacities(t)[link]) };
  const isFull = timeline.shares(t)[link] >= FULL;
  const isSlowest = isFull && timeline.sharers(link, t).some((i) => timeline.critical().has(i));
  const alarm = isSlowest ? "player.card.bottleneck" : isFull ? "player.card.full" : "";
  const name = linkName(timeline, link);
  return { name, kind: links.kind[link], words: fill(text["player.rate"], values), alarm: alarm && text[alarm] };
}

// How many of its blocks are complete.
function ofRank(timeline, text, t, rank) {
  const held = timeline.slots(rank, t).filter(({ block }) => block !== null);
  const done = held.filter(({ count: by }) => by === timeline.meta.whole).length;
  const isOwn = held.every(({ count: by }) => by === 1) && timeline.meta.whole > 1;
  const words = fill(text[isOwn ? "player.card.own" : "player.card.done"], { count: held.length, done });
  const device = timeline.devices.name[timeline.devices.rank.indexOf(rank)];
  return { name: device, kind: timeline.rankName(rank), words: held.length ? words : "", alarm: "" };
}
