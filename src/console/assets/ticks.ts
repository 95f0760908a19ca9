/**
 * Keeps the ticked checkboxes of a page when an item is moved, because each form alone sends only its own. They are those in `data-ticks`.
 * Without this script only the ticks of the form that moves the item are kept.
 */
document.addEventListener("formdata", ({ formData }) => {
  // Only the buttons that move an item have this name.
  if (!formData.has("move")) return
  for (const { checked, name } of document.querySelectorAll<HTMLInputElement>("[data-ticks] input[type=checkbox]")) {
    formData.delete(name)
    if (checked) formData.append(name, "yes")
  }
})

export {}
