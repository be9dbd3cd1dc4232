// What the browser keeps for a person between visits: a list of words under a name, to which the page adds its own.

function kept(name) {
  try {
    const words = JSON.parse(localStorage.getItem(name));
    return Array.isArray(words) ? words : [];
  } catch {
    return [];
  }
}

export default function mount({ data, setStateValue }) {
  const words = [...kept(data.name), ...data.words].filter((word) => typeof word === "string");
  const all = [...new Set(words)].toSorted();
  try {
    localStorage.setItem(data.name, JSON.stringify(all));
  } catch {
    // private windows keep nothing
  }
  if (all.join() !== data.words.toSorted().join()) setStateValue("words", all);
}
