// What the second window looks like: it has nothing of the first one's styles.

export const STYLE = `
:root { color-scheme: light dark; font: 18px/1.5 system-ui, "Noto Sans CJK SC", sans-serif; }
* { box-sizing: border-box; }
body { margin: 0; background: light-dark(#fff, #171614); color: light-dark(#31333f, #f4f2ee); }
.speaker {
  display: grid; gap: 4px 28px; padding: 16px 24px; min-height: 100vh;
  grid: "top top" auto "title title" auto "where where" auto "notes next" 1fr "bar bar" auto / minmax(0, 1fr) 320px;
}
header { grid-area: top; display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px; }
.clocks { margin: 0; display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; }
.clocks strong { font-size: 34px; line-height: 1.2; font-variant-numeric: tabular-nums; margin-right: 20px; }
.name, .where, h2 { color: light-dark(#5c5b58, #b8b6b2); font-size: 15px; font-weight: 500; margin: 0; }
h1 { grid-area: title; font-size: 22px; margin: 6px 0 0; overflow-wrap: anywhere; }
.where { grid-area: where; font-variant-numeric: tabular-nums; }
.notes {
  grid-area: notes; margin: 8px 0; font-size: 22px; white-space: pre-wrap; overflow: auto; overflow-wrap: anywhere;
  max-height: 62vh; min-height: 30vh;
}
.none { color: light-dark(#5c5b58, #b8b6b2); }
.next { grid-area: next; margin: 8px 0; }
.next img { display: block; width: 100%; height: auto; margin: 6px 0; border-radius: 8px;
  background: light-dark(#f4f5f7, #262421); }
.next img[hidden] { display: none; }
.coming { margin: 0; font-size: 17px; overflow-wrap: anywhere; }
footer { grid-area: bar; display: flex; flex-wrap: wrap; gap: 10px; }
button, select {
  font: inherit; color: inherit; min-height: 48px; padding: 0 18px; cursor: pointer; border-radius: 10px;
  border: 1px solid color-mix(in srgb, currentColor 30%, transparent); background: light-dark(#fff, #262421);
}
header button { min-height: 36px; padding: 0 12px; font-size: 15px; }
select { flex: 1 1 160px; min-width: 0; }
.to-next { background: #0072b2; border-color: #0072b2; color: #fff; font-weight: 600; flex: 1 1 180px; }
:is(button, select, .notes):focus-visible { outline: 3px solid #0072b2; outline-offset: 2px; }
@media (max-width: 700px) {
  .speaker { grid: "top" auto "title" auto "where" auto "notes" 1fr "bar" auto "next" auto / minmax(0, 1fr); padding: 12px; }
  .notes { font-size: 19px; }
}
`;
