// A button that keeps the page as one file: what it needs is written into it.

const NEEDED = /<link rel="stylesheet" href="([^"]+)">|<script src="([^"]+)"><\/script>/g;

const textOf = async (address) => await (await fetch(address)).text();

async function whole() {
  const page = await textOf(location.href);
  const needed = [...page.matchAll(NEEDED)];
  const texts = await Promise.all(needed.map(([, style, script]) => textOf(style ?? script)));
  const put = (so, [tag, style], k) => {
    const name = style ? "style" : "script";
    return so.replace(tag, () => `<${name}>\n${texts[k]}</${name}>`);
  };
  let so = page;
  for (const [k, match] of needed.entries()) so = put(so, match, k);
  return so;
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
