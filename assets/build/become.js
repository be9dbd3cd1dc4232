// Makes what is on the page like what is drawn anew, and keeps every element that stands for the same as before.
//
// A press that ends on another element than it began on is no click: what was replaced meanwhile would lose it.

const alike = (old, drawn) => old?.nodeName === drawn.nodeName && old.dataset?.key === drawn.dataset?.key;

export function become(element, drawn) {
  for (const name of element.getAttributeNames()) if (!drawn.hasAttribute(name)) element.removeAttribute(name);
  for (const { name, value } of drawn.attributes) element.setAttribute(name, value);
  const children = [...drawn.childNodes];
  for (const [k, child] of children.entries()) {
    const old = element.childNodes[k];
    if (!old) element.append(child);
    else if (!alike(old, child)) old.replaceWith(child);
    else if (child.nodeType === Node.TEXT_NODE) old.data = child.data;
    else become(old, child);
  }
  while (element.childNodes.length > children.length) element.lastChild.remove();
}
