// What greys and red of links mean, below a picture.

import { make } from "../player/elements.js";

// `say(name)` gives a text of the player's. Returns what paints its colours, which are the page's.
export function legendOf(parent, say) {
  parent.replaceChildren();
  parent.append(`${say("load")}: ${say("idle")} `);
  const scale = make("span", "rs-ramp", parent);
  parent.append(` ${say("full_load")} `);
  const red = make("span", "rs-red", parent);
  parent.append(` ${say("full_wait")} `);
  return ({ load, red: waited }) => {
    const steps = load.map((grey, k) => `${grey} ${(100 * k) / load.length}% ${(100 * (k + 1)) / load.length}%`);
    scale.style.background = `linear-gradient(90deg, ${steps.join(", ")})`;
    red.style.background = waited;
  };
}
