// What was drawn before, and what was undone: lists of documents.

export const begun = (document) => ({ past: [], document, future: [] });

const MOST = 500;

export function done({ past, document }, next) {
  return { past: [...past, document].slice(-MOST), document: next, future: [] };
}

export function undone({ past, document, future }) {
  return { past: past.slice(0, -1), document: past.at(-1), future: [document, ...future] };
}

export function redone({ past, document, future }) {
  return { past: [...past, document], document: future[0], future: future.slice(1) };
}
