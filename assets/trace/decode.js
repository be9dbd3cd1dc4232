// A payload unpacked: base64 of zlib of a header and typed columns.

import { Timeline } from "./timeline.js";

const ARRAYS = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

// The bytes that base64 of zlib stands for.
export async function inflated(base64) {
  const letters = atob(base64);
  const packed = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) packed[k] = letters.codePointAt(k);
  const { readable, writable } = new DecompressionStream("deflate");
  const writer = writable.getWriter(); // a Blob would be brought here from another process
  const [bytes] = await Promise.all([new Response(readable).arrayBuffer(), writer.write(packed), writer.close()]);
  return bytes;
}

export async function decode(base64) {
  const bytes = await inflated(base64);
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const columns = {};
  for (const [name, type, offset, count] of header.columns) {
    columns[name] = new ARRAYS[type](bytes, 4 + length + offset, count);
  }
  return new Timeline(header, columns);
}
