// Filters the list of all rules.
(() => {
  const form = document.querySelector("[data-filter]");
  if (!form) {
    return;
  }
  // A link from a role's page names the role.
  for (const [key, value] of new URLSearchParams(location.search)) {
    const field = form.elements.namedItem(key);
    if (field) {
      field.value = value;
    }
  }
  filtered(form);
})();
