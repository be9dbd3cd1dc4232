// Scrolls to a new message; one that stands there already is left where it is.

export default function mount({ parentElement }) {
  (parentElement.host ?? parentElement).scrollIntoView({ block: "nearest" });
}
