"use strict";
// What the report and the site have in common: a list of rules with its filter, and links into it. It stands before
// the script of each. Everything on the pages can be read without any of it.

// Shows the filter and lets it work on the rows of the tables beside it: a field's name is that of a row's `data-`.
const filtered = (form) => {
  const rows = [...form.parentElement.querySelectorAll("tbody tr")];
  const sections = [...form.parentElement.querySelectorAll("section")];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const output = form.querySelector("output");

  const apply = () => {
    const { text = "", ...wanted } = Object.fromEntries(new FormData(form));
    const sought = text.trim().toLowerCase().split(/\s+/);
    const fits = (row) => Object.entries(wanted).every(([key, value]) => !value || (row.dataset[key] || "").split(" ").includes(value));
    let shown = 0;
    for (const row of rows) {
      const content = words.get(row);
      row.hidden = !(fits(row) && sought.every((word) => content.includes(word)));
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
  form.hidden = false;
  apply();

  // A link to a rule that the filter hides, or into something folded, would lead nowhere.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.closest("[hidden]")) {
      form.reset();
      apply();
      target.scrollIntoView();
    }
    for (let around = target; around; around = around.parentElement) {
      if (around.tagName === "DETAILS") {
        around.open = true;
      }
    }
  };
  addEventListener("hashchange", reveal);
  reveal();
};
