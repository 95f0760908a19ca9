import type { ComponentChildren } from "preact"
import type { WorkKind } from "../events/WorkEvent.ts"

/**
 * A part of a page (of `asWatcher`) that updates itself: when work changes, the browser fetches the page again and
 * replaces this part. `id`: must stay the same. `on`: the kinds of work that the part shows, or `kind:id` for one
 * import, job, drop or published entity. `says`: one short sentence; when it changes, screen readers read it out.
 */
export const Live = ({
  children,
  id,
  on,
  says
}: {
  readonly id: string
  readonly on: ReadonlyArray<WorkKind | `${WorkKind}:${string}`>
  readonly says?: string | undefined
  readonly children: ComponentChildren
}) => (
  <div class="live" id={id} data-live={on.join(" ")} data-says={says}>
    {children}
  </div>
)
