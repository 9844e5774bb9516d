// Comforts of the report.
(() => {
  filtered(document.querySelector("[data-filter]"));

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
