// What a page of the dashboard mounts: a talk where there are scenes to lead through, else the player by itself.

import mountPlayer from "../story/page.js";
import mountTalk from "./talk.js";

export default function mount(options) {
  return (options.data.scenes ? mountTalk : mountPlayer)(options);
}
