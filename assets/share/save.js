// Saves the file that the page sends, once however often the page is drawn again, and tells the page.

const STAYS = 60_000; // ms for which a browser may still read a file that it saves
const saved = new Set();

// The line of JSON about a file, and the file's bytes after it.
function unpacked(data) {
  const end = data.indexOf(10);
  return { about: JSON.parse(new TextDecoder().decode(data.subarray(0, end))), bytes: data.subarray(end + 1) };
}

function save({ name, media }, bytes) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: media }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), STAYS);
}

export default function mount({ data, setTriggerValue }) {
  if (!data?.length) return;
  const { about, bytes } = unpacked(data);
  if (!saved.has(about.number)) save(about, bytes);
  saved.add(about.number);
  setTriggerValue("saved", about.number);
}
