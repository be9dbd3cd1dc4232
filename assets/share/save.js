// Saves the files that the page sends, each once however often the page is drawn again, and tells the page.

const STAYS = 60_000; // ms for which a browser may still read a file that it saves
const saved = new Set();

// The line of JSON about all files, each with its bytes after it.
function unpacked(data) {
  let from = data.indexOf(10) + 1;
  return JSON.parse(new TextDecoder().decode(data.subarray(0, from))).map((file) => {
    const bytes = data.subarray(from, from + file.size);
    from += file.size;
    return Object.assign(file, { bytes });
  });
}

function save({ number, name, media, bytes }) {
  if (saved.has(number)) return;
  saved.add(number);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: media }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), STAYS);
}

export default function mount({ data, setTriggerValue }) {
  if (!data?.length) return;
  const files = unpacked(data);
  for (const file of files) save(file);
  setTriggerValue(
    "saved",
    files.map(({ number }) => number),
  );
}
