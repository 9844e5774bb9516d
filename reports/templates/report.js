"use strict";
// Comforts of the report: everything on the page can be read without this.
(() => {
  const form = document.querySelector("[data-filter]");
  const rows = [...form.parentElement.querySelectorAll("tbody tr")];
  const profiles = [...form.parentElement.querySelectorAll("section.profile")];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const output = form.querySelector("output");

  const apply = () => {
    const wanted = new FormData(form);
    const text = wanted.get("text").trim().toLowerCase().split(/\s+/);
    const fits = (row, key) => !wanted.get(key) || row.dataset[key] === wanted.get(key);
    let shown = 0;
    for (const row of rows) {
      const content = words.get(row);
      row.hidden = !(fits(row, "outcome") && fits(row, "profile") && fits(row, "level") && text.every((word) => content.includes(word)));
      shown += row.hidden ? 0 : 1;
    }
    for (const profile of profiles) {
      profile.hidden = !profile.querySelector("tbody tr:not([hidden])");
    }
    output.textContent = shown === rows.length ? `${rows.length} rules` : `${shown} of ${rows.length} rules`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
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
    for (let around = target; around; around = around.parentElement) {
      if (around.tagName === "DETAILS") {
        around.open = true;
      }
    }
  };
  addEventListener("hashchange", reveal);
  reveal();

  // What scrolls must be reachable without a mouse; what does not should cost no press of a key.
  const reachable = () => {
    for (const block of document.querySelectorAll("pre:not([tabindex])")) {
      if (block.scrollHeight > block.clientHeight || block.scrollWidth > block.clientWidth) {
        block.tabIndex = 0;
        block.setAttribute("role", "group");
        block.setAttribute("aria-label", "Text that scrolls");
      }
    }
  };
  document.addEventListener("toggle", reachable, true);
  reachable();

  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // A page from a disk or over plain HTTP may have no clipboard; the old way often works there.
    }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) {
      throw new Error("copying is not allowed here");
    }
  };
  for (const block of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy the command: ${block.dataset.copy}`);
    button.addEventListener("click", async () => {
      try {
        await copied(block.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.before(button);
  }
})();
