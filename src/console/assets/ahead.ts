/** Keeps the keys that a person types before the next cell of a grid is open, and types them there. */
import { press, saveChanged } from "./grid.ts"
import { type Control, isChanged } from "./morph.ts"

export const keptKeys: Array<string> = []

/** `isOpening`: whether a cell was chosen and is not open yet. */
export const keepKeys = (isOpening: () => boolean): void =>
  document.addEventListener(
    "keydown",
    (event) => {
      const { altKey, ctrlKey, key, metaKey } = event
      // Keys that change others are not typed.
      if (!isOpening() || /^(?:Alt|Caps|Control|Meta|Shift)/.test(key)) return
      if (!document.activeElement?.matches("body, a.edit, [inert] *")) return
      // With Alt, Control is the key AltGr of Windows, which types characters.
      const isCommand = metaKey || (ctrlKey && !altKey)
      keptKeys.push(isCommand ? `Control ${key}` : key)
      if (isCommand && key !== "a") return
      event.preventDefault()
      event.stopImmediatePropagation()
    },
    true
  )

/** Does what a key does in an open control. Another key than these ends the typing. */
const type = (key: string, control: Control): unknown => {
  if (key.length === 1) return document.execCommand("insertText", false, key)
  if (key === "Backspace") return document.execCommand("delete")
  if (key === "Control a") return (control as HTMLInputElement).select()
  if (key === "Enter" && control.matches("input")) saveChanged()
  if (key === "Tab" && control.form && isChanged(control)) return press(control.form, "next") || saveChanged()
  return keptKeys.splice(0)
}

/** Types the kept keys into the open control, until one of them leaves it: the keys after a Tab are for the next cell. */
export const typeKeys = (control: Control | null, isOpening: () => boolean): void => {
  // A selection takes no text, and the editor of descriptions opens later.
  const takesText = control?.form?.matches(":not(:has(select, [data-rich]))") && control === document.activeElement
  if (!takesText && !isOpening()) keptKeys.splice(0)
  while (control && keptKeys.length > 0 && !isOpening()) type(keptKeys.shift() as string, control)
}
