// What a page of the dashboard mounts: a talk where there are scenes to lead through, a run's steps to hand out, else the
// player by itself, which may have drawn its first picture before the page was there.

import { withFirst } from "../page/first.js";
import mountPlayer from "../story/page.js";
import mountSteps from "../steps/steps.js";
import mountTalk from "./talk.js";

const mountStage = withFirst(mountPlayer);

export default function mount(options) {
  const { scenes, steps } = options.data;
  return (scenes ? mountTalk : steps ? mountSteps : mountStage)(options);
}
mount.first = mountStage.first;
