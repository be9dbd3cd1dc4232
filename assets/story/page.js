// The player as a page of the dashboard has it: one that a story can be told in, and that
// shows runs which come ahead of the page.

import { withAhead } from "../pane/ahead.js";
import mount from "../player/player.js";
import { withStory } from "./teller.js";

export default withStory(withAhead(mount));
