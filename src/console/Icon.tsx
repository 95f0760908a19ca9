/*! The icons are from Lucide (https://lucide.dev), ISC License, Copyright (c) Lucide Icons and Contributors; parts of them
 * are from Feather, MIT License, Copyright (c) Cole Bemis. */
import shapes from "./Icons.json" with { type: "json" }

export type IconName = keyof typeof shapes

/** Icons that point onward or back. They are mirrored in languages that are written from right to left. */
const directed: ReadonlyArray<IconName> = [
  "arrow-left",
  "arrow-right",
  "chevron-left",
  "chevron-right",
  "list",
  "list-ordered",
  "log-out",
  "redo-2",
  "send",
  "undo-2"
]

/** An icon beside words that say the same: screen readers skip it. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg
    class={directed.includes(name) ? "icon onward" : "icon"}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
    dangerouslySetInnerHTML={{ __html: shapes[name] }}
  />
)

/** The logo of the service: three square tiles. A circle is drawn as the fourth. */
export const markShape =
  "M4 3h4a1 1 0 0 1 1 1v5H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11 4a1 1 0 0 1 1-1h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-5zM3 12a1 1 0 0 1 1-1h5v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z"

export const Mark = () => (
  <svg viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">
    <path d={markShape} />
    <circle cx="14" cy="14" r="3" />
  </svg>
)
