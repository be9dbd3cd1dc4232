// The story as stretches one after the other, and a place in it: a stretch, and how much of it has passed.

const MOVING = 0.75; // of a stretch; the rest of it is for reading
const MOMENTS = 50; // of a stretch whose mean is told

// `chapters` have `stretches`, each `from` and `to` an instant of the chapter's run, that takes `seconds` on screen.
export class Reel {
  constructor(chapters) {
    this.stretches = chapters.flatMap((chapter, number) =>
      chapter.stretches.map((stretch, k) => ({ ...stretch, chapter, number, k })),
    );
    this.at = 0;
    this.share = 0;
  }

  get count() {
    return this.stretches.length;
  }

  get stretch() {
    return this.stretches[this.at];
  }

  // The instant of the run.
  get t() {
    const { from, to } = this.stretch;
    return from + (to - from) * Math.min(1, this.share / MOVING);
  }

  // The instants whose loads are shown: this one, and of a stretch that has come to rest all of it.
  get busy() {
    const { from, to } = this.stretch;
    if (this.share < MOVING) return [this.t];
    return Array.from({ length: MOMENTS }, (_, k) => from + ((k + 0.5) / MOMENTS) * (to - from));
  }

  get ends() {
    return this.share >= 1 && this.at === this.count - 1;
  }

  // To a stretch, from its beginning, or to what it comes to.
  go(at, share = 0) {
    this.at = Math.max(0, Math.min(this.count - 1, at));
    this.share = Math.max(0, Math.min(1, share));
  }

  // Let seconds pass, from one stretch to the next; true when that ends the story.
  pass(seconds) {
    this.share = Math.min(1, this.share + seconds / this.stretch.seconds);
    if (this.share >= 1 && !this.ends) this.go(this.at + 1);
    return this.ends;
  }

  // One thing on: the next of the `bounds` of the run's steps where one is left, else the next stretch.
  step(bounds) {
    const { from, to } = this.stretch;
    if (this.share >= MOVING || !(to > from)) {
      this.go(this.at + 1, this.at + 1 < this.count ? 0 : 1);
      return;
    }
    const slack = (to - from) * 1e-6;
    const next = bounds.find((t) => t > this.t + slack && t < to - slack) ?? to;
    this.share = next === to ? 1 : (MOVING * (next - from)) / (to - from);
  }

  // One thing back: to where the stretch began, or to what the one before came to.
  back() {
    const { from, to } = this.stretch;
    if (this.share > 0 && (to > from || this.at === 0)) this.go(this.at);
    else if (this.at > 0) this.go(this.at - 1, 1);
  }

  // A place between 0 and the number of stretches, as a slider or a wheel has it.
  get place() {
    return this.at + this.share;
  }

  seek(place) {
    const whole = Math.max(0, Math.min(this.count, place));
    const at = Math.min(this.count - 1, Math.max(0, Math.ceil(whole) - 1));
    this.go(at, whole - at);
  }
}
