"use strict";
// Filters the list of all rules. Everything on the pages can be read without this.
(() => {
  const form = document.querySelector("[data-filter]");
  if (!form) {
    return;
  }
  const rows = [...document.querySelectorAll("tbody tr")];
  const sections = [...document.querySelectorAll("main section")];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const output = form.querySelector("output");

  const apply = () => {
    const wanted = new FormData(form);
    const text = (wanted.get("text") || "").trim().toLowerCase().split(/\s+/);
    const fits = (row, key) => !wanted.get(key) || (row.dataset[key] || "").split(" ").includes(wanted.get(key));
    let shown = 0;
    for (const row of rows) {
      const content = words.get(row);
      row.hidden = !(fits(row, "role") && fits(row, "level") && fits(row, "outcome") && text.every((word) => content.includes(word)));
      shown += row.hidden ? 0 : 1;
    }
    for (const section of sections) {
      section.hidden = !section.querySelector("tbody tr:not([hidden])");
    }
    output.textContent = shown === rows.length ? `${rows.length} rules` : `${shown} of ${rows.length} rules`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));

  // A link from a role's page names the role.
  for (const [key, value] of new URLSearchParams(location.search)) {
    const field = form.elements.namedItem(key);
    if (field) {
      field.value = value;
    }
  }
  form.hidden = false;
  apply();

  // A link to a rule that the filter hides would lead nowhere.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.closest("[hidden]")) {
      form.reset();
      apply();
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
