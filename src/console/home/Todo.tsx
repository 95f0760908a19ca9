import type { ComponentChildren } from "preact"

/** A line of a list: a thing to do, or a drop. `tone`: the colour of its dot. */
export const Todo = ({
  action,
  children,
  tone
}: {
  readonly tone: "bad" | "wait" | "busy" | "good" | "idle"
  readonly action: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <li>
    <span class={`dot ${tone}`} />
    <div>{children}</div>
    <div>{action}</div>
  </li>
)
