// Files dropped and text pasted anywhere on the page go to the server; fields and places for files keep theirs.

import { lasting } from "../player/lasting.js";

const OWN = "input, textarea, [contenteditable=true], [data-testid=stFileUploaderDropzone]";
const LARGEST = 16 * 2 ** 20; // bytes, all files together
const MOST = 4; // files at once
const VEIL = [
  "position:fixed;inset:0;z-index:1000000;display:none;place-items:center;pointer-events:none",
  "background:light-dark(rgb(255 255 255/88%),rgb(23 22 20/88%));border:4px dashed #0072b2",
  "font:600 1.5rem/1.4 sans-serif;text-align:center;padding:2rem",
].join(";");

class Receiver {
  #isOurOwn = false; // a piece of the page is under way
  #send;
  #veil = document.createElement("div");
  #stop = new AbortController();

  constructor() {
    this.#veil.style.cssText = VEIL;
    this.#veil.dataset.ringside = "drop";
    document.body.append(this.#veil);
    const listen = (name, act) => document.addEventListener(name, act, { signal: this.#stop.signal });
    listen("dragstart", () => (this.#isOurOwn = true));
    for (const name of ["dragend", "pointermove"]) listen(name, () => (this.#isOurOwn = false));
    listen("dragover", (event) => this.#over(event));
    listen("dragleave", (event) => event.relatedTarget || this.#show(false));
    listen("drop", (event) => this.#drop(event));
    listen("paste", (event) => this.#paste(event));
  }

  // What is received from now on goes to `send`; the veil says `text`.
  update(text, send) {
    this.#veil.textContent = text;
    this.#send = send;
  }

  #show(is) {
    this.#veil.style.display = is ? "grid" : "none";
  }

  #over(event) {
    const isTaken = this.#takes(event);
    this.#show(isTaken);
    if (!isTaken) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  }

  #drop(event) {
    this.#show(false);
    if (!this.#takes(event)) return;
    event.preventDefault();
    this.#take(event.dataTransfer);
  }

  #takes(event) {
    return !this.#isOurOwn && !isOwn(event) && holdsSomething(event.dataTransfer);
  }

  #paste(event) {
    if (isOwn(event) || !holdsSomething(event.clipboardData)) return;
    event.preventDefault();
    this.#take(event.clipboardData);
  }

  // Files where there are some, else the text.
  async #take(transfer) {
    const files = [...transfer.files];
    const text = transfer.getData("text/plain");
    if (!files.length) {
      this.#tell([{ name: "", text }], text.length);
      return;
    }
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (files.length > MOST || size > LARGEST) this.#send({ count: files.length, size, files: [] });
    else this.#tell(await Promise.all(files.map(read)), size);
  }

  #tell(files, size) {
    if (size > LARGEST) this.#send({ count: files.length, size, files: [] });
    else this.#send({ count: files.length, size, files });
  }

  close() {
    this.#stop.abort();
    this.#veil.remove();
  }
}

function isOwn(event) {
  const place = event.composedPath()[0];
  return place instanceof Element && Boolean(place.closest(OWN));
}

function holdsSomething(transfer) {
  return Boolean(transfer) && (transfer.types.includes("Files") || transfer.types.includes("text/plain"));
}

// A file's bytes in base64, as it may be in any encoding; one that cannot be read has none.
function read(file) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("loadend", () => {
      resolve({ name: file.name, bytes: String(reader.result ?? "").split(",")[1] ?? "" });
    });
    reader.readAsDataURL(file);
  });
}

export default lasting(
  () => new Receiver(),
  (receiver, { data, setTriggerValue }) =>
    receiver.update(data.text, (received) => setTriggerValue("received", received)),
);
