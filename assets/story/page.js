// The player as a page of the dashboard has it: one that a story can be told in, and that
// shows runs which come ahead of the page.

import mount from "../whatif/page.js";
import { withStory } from "./teller.js";

export default withStory(mount);
