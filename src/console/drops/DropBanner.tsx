import type { DropRow } from "../../drops/Drop.ts"
import { Icon } from "../Icon.tsx"
import { State } from "../Naming.tsx"
import { dropPath } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { Text } from "../Wording.tsx"
import { changesIn, dayAndTime, statusOf } from "./DropWords.tsx"

/** Maximum number of drops in a banner. */
export const maxInBanner = 3

const zoneOf = (timezone: string) => <bdi class="zone-name">({timezone})</bdi>

/** A notice that says what a drop changes, and when it begins or how long it lasts. */
const Change = ({ drop }: { readonly drop: DropRow }) => {
  const t = useWords()
  const { ends_at, id, name, starts_at, status, timezone } = drop
  const at = (time: string) => <time dateTime={time}>{dayAndTime(t, time, timezone)}</time>
  const parts = {
    drop: (
      <a href={dropPath(id)}>
        <Text>{name}</Text>
      </a>
    ),
    changes: changesIn(t, drop),
    start: at(starts_at),
    zone: zoneOf(timezone)
  }
  if (ends_at === null) return <>{t.rich("{drop} changes {changes} from {start} {zone}", parts)}</>
  return (
    <>
      {t.rich(
        status === "scheduled"
          ? "{drop} changes {changes} from {start} to {end} {zone}"
          : "{drop} changes {changes} until {end} {zone}",
        { ...parts, end: at(ends_at) }
      )}
    </>
  )
}

/** The upcoming and live drops of an entity and its variants. `drops`: one more than are shown, if there are more. */
export const DropBanner = ({ drops }: { readonly drops: ReadonlyArray<DropRow> }) => {
  const t = useWords()
  return drops.length === 0 ? null : (
    <div class="drop-banner" role="note" aria-label={t("Drops")}>
      <Icon name="calendar-clock" />
      <ul>
        {drops.slice(0, maxInBanner).map((drop) => (
          <li key={drop.id}>
            <State {...statusOf(drop.status)} /> <Change drop={drop} />
          </li>
        ))}
        {drops.length > maxInBanner && <li>{t("More drops follow.")}</li>}
      </ul>
    </div>
  )
}
