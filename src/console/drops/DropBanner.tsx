import type { DropRow } from "../../drops/Drop.ts"
import { Icon } from "../Icon.tsx"
import { dropPath } from "../Paths.ts"
import { Text } from "../Wording.tsx"
import { changesIn, dayAndTime, statusOf } from "./DropWords.tsx"

/** Maximum number of drops in a banner. */
export const maxInBanner = 3

const zoneOf = (timezone: string) => <span class="zone-name">({timezone})</span>

/** When a drop begins, or how long it lasts. */
const Period = ({ drop: { ends_at, starts_at, status, timezone } }: { readonly drop: DropRow }) =>
  status === "scheduled" || ends_at === null ? (
    <>
      {" from "}
      <time dateTime={starts_at}>{dayAndTime(starts_at, timezone)}</time>
      {ends_at !== null && (
        <>
          {" to "}
          <time dateTime={ends_at}>{dayAndTime(ends_at, timezone)}</time>
        </>
      )}{" "}
      {zoneOf(timezone)}
    </>
  ) : (
    <>
      {" until "}
      <time dateTime={ends_at}>{dayAndTime(ends_at, timezone)}</time> {zoneOf(timezone)}
    </>
  )

/** The drops that are ahead of an entity or its variants, or live on them. `drops`: one more than are shown, if there are more. */
export const DropBanner = ({ drops }: { readonly drops: ReadonlyArray<DropRow> }) =>
  drops.length === 0 ? null : (
    <div class="drop-banner" role="note" aria-label="Drops">
      <Icon name="calendar-clock" />
      <ul>
        {drops.slice(0, maxInBanner).map((drop) => (
          <li key={drop.id}>
            <span class={`state ${statusOf(drop.status).tone}`}>{statusOf(drop.status).name}</span>{" "}
            <a href={dropPath(drop.id)}>
              <Text>{drop.name}</Text>
            </a>{" "}
            changes {changesIn(drop)}
            <Period drop={drop} />
          </li>
        ))}
        {drops.length > maxInBanner && <li>More drops follow.</li>}
      </ul>
    </div>
  )
