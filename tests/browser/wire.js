// Notes in a page whether it has asked to be drawn again, and is being drawn: a busy machine takes time over both.
{
  // Fields of a message of Protocol Buffers, by number: where each begins is all that is read.
  const fields = (data) => {
    const bytes = new Uint8Array(data),
      numbers = new Set();
    let at = 0;
    const whole = () => {
      let value = 0,
        weight = 1,
        byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * weight;
        weight *= 128;
      } while (byte > 127);
      return value;
    };
    while (at < bytes.length) {
      const tag = whole(),
        kind = tag & 7;
      numbers.add(tag >>> 3);
      const length = kind === 1 ? 8 : kind === 5 ? 4 : whole();
      if (kind !== 0) at += length;
    }
    return numbers;
  };
  const BEGUN = 4,
    FINISHED = 6,
    RERUN = 11;
  const wire = (window.wire = { asked: false, running: false, since: performance.now() });
  const note = (change) => Object.assign(wire, change, { since: performance.now() });
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(address, ...words) {
      super(address, ...words);
      if (!String(address).includes("_stcore/stream")) return;
      this.addEventListener("message", ({ data }) => {
        if (!(data instanceof ArrayBuffer)) return;
        const numbers = fields(data);
        if (numbers.has(BEGUN)) note({ asked: false, running: true });
        if (numbers.has(FINISHED)) note({ running: false });
      });
    }

    send(data) {
      if (data instanceof Uint8Array && fields(data.slice().buffer).has(RERUN)) note({ asked: true });
      super.send(data);
    }
  };
}
