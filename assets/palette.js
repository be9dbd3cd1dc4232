// Every colour that means something, once: pages, pictures and files read it here. The object is JSON for Python's sake.
// Blocks are Okabe and Ito's; loads go over plum, which stays apart from all of them for every kind of eyes.
export const PALETTE = {
  "blocks": ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8A8A8A"],
  "load": ["#45465f", "#8d4d7e", "#bf3013"]
};
