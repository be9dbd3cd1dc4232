// Runs that Python has packed, with what it says about them at some instants.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { decode } from "../../assets/trace/decode.js";

const FOLDER = process.env.RINGSIDE_RUNS;
export const NAMES = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ""));

export async function run(name) {
  const { payload, instants, story } = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
  return { timeline: await decode(payload.tl), instants, story };
}
