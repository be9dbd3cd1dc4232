// The report in a frame of its own, as high as it is, in the colours of the page; a button prints it.

function isDark(element) {
  const colour = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  const parts = colour
    .match(/^#(..)(..)(..)/)
    ?.slice(1)
    .map((part) => parseInt(part, 16));
  return parts ? parts.reduce((sum, part) => sum + part) < 384 : false;
}

// `data` has the `page` as HTML, its `title`, and what the button is called: `print`.
export default function mount({ data, parentElement }) {
  parentElement.querySelector(".report")?.remove();
  const place = document.createElement("div");
  place.className = "report";
  const button = document.createElement("button");
  const frame = document.createElement("iframe");
  button.textContent = data.print;
  button.addEventListener("click", () => frame.contentWindow.print());
  frame.title = data.title;
  frame.sandbox = "allow-same-origin allow-modals";
  const fit = () => {
    const inside = frame.contentDocument?.documentElement;
    if (inside) frame.style.height = `${inside.querySelector("main").getBoundingClientRect().height + 64}px`;
  };
  frame.addEventListener("load", fit);
  new ResizeObserver(fit).observe(place);
  frame.srcdoc = data.page;
  parentElement.append(place);
  frame.style.colorScheme = isDark(place) ? "dark" : "light";
  place.append(button, frame);
}
