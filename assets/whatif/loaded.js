// The kernel that is part of the page, opened when somebody is about to ask what if.

import description from "../kernel/kernel.json" with { type: "json" };
import { Kernel } from "../kernel/kernel.js";
import packed from "../kernel/kernel.wasm";
import { inflated } from "../trace/decode.js";

const opened = {};

export function kernel() {
  opened.kernel ??= inflated(packed).then((bytes) => Kernel.open(bytes, description));
  return opened.kernel;
}
