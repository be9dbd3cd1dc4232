// A button that keeps the page as one file: what it needs is written into it, its scripts packed, as they are most of it.

const NEEDED = /<link rel="stylesheet" href="([^"]+)">|<script(?: src="([^"]+)")?>([^]*?)<\/script>/g;

const textOf = async (address) => await (await fetch(address)).text();

// A text as letters that `unpack` makes a text again.
async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate"));
  const blob = await new Response(stream).blob();
  const reader = new FileReader();
  await new Promise((done) => {
    reader.addEventListener("load", done);
    reader.readAsDataURL(blob);
  });
  return reader.result.split(",")[1];
}

// What a kept page does with its packed scripts; its own text is written into the file.
async function unpack(letters) {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.codePointAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.body.append(script);
}

async function whole() {
  const page = await textOf(location.href);
  const needed = [...page.matchAll(NEEDED)];
  const texts = await Promise.all(needed.map(([, style, script, own]) => own || textOf(style ?? script)));
  const scripts = texts.filter((_, k) => needed[k][1] === undefined).join("\n");
  const styled = needed.reduce(
    (so, [tag, style], k) => so.replace(tag, () => (style ? `<style>\n${texts[k]}</style>` : "")),
    page,
  );
  const start = `<script>\n(${unpack})("${await packed(scripts)}");\n</script>`;
  return styled.replace("</body>", () => `${start}\n</body>`);
}

const button = document.getElementById("keep");
button?.addEventListener("click", async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await whole()], { type: "text/html" }));
  link.download = button.dataset.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
if (location.protocol === "file:") button?.remove(); // there the page and what it needs lie beside each other
