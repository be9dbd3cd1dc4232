// What every rank sends, by when it leaves.

export function sendsOf({ c: { src }, count, left }) {
  const sends = new Map();
  for (let i = 0; i < count; i += 1) {
    if (!sends.has(src[i])) sends.set(src[i], []);
    sends.get(src[i]).push(i);
  }
  for (const list of sends.values()) list.sort((a, b) => left[a] - left[b] || a - b);
  return sends;
}
