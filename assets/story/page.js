// The player as a page of the dashboard has it: one that a story can be told in.

import mount from "../player/player.js";
import { withStory } from "./teller.js";

export default withStory(mount);
