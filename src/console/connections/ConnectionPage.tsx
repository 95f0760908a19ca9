import { shownDays } from "../../connections/Activity.ts"
import type { ActivityDay, ConnectionChange } from "../../connections/ActivityRecord.ts"
import type { Connection } from "../../connections/Connection.ts"
import { fromMillis, type Timestamp, toMillis } from "../../model/Timestamp.ts"
import type { Visitor } from "../Browser.ts"
import { actionWords } from "../entities/EntityHistory.tsx"
import { Frame, Time } from "../Frame.tsx"
import { Domain, State } from "../Naming.tsx"
import { connectionPath, olderChangesPath, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { EntityName, FieldName } from "../Wording.tsx"
import { Details } from "./ConnectionsPage.tsx"
import { UndoForm } from "./UndoPages.tsx"

const dayMillis = 86_400_000
const barWidth = 10
const barsHeight = 50

/** A bar chart of the calls per day, oldest day first. */
const DayBars = ({ days, now }: { readonly days: ReadonlyArray<ActivityDay>; readonly now: Timestamp }) => {
  const t = useWords()
  const calls = new Map(days.map(({ calls, day }) => [day, calls]))
  const bars = Array.from({ length: shownDays }, (_, index) => {
    const day = fromMillis(toMillis(now) - (shownDays - 1 - index) * dayMillis).slice(0, 10)
    return { day, count: calls.get(day) ?? 0 }
  })
  const max = Math.max(1, ...bars.map(({ count }) => count))
  return (
    <svg
      class="days"
      viewBox={`0 0 ${shownDays * barWidth} ${barsHeight}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t("Calls on each of the last {count, number} days", { count: shownDays })}
    >
      {bars.map(({ count, day }, index) => {
        const height = Math.round((barsHeight * count * 10) / max) / 10
        return (
          <rect
            key={day}
            class="part"
            x={index * barWidth + 1}
            y={barsHeight - height}
            width={barWidth - 2}
            height={height}
          >
            <title>{t("{day}: {count, plural, one {# call} other {# calls}}", { day, count })}</title>
          </rect>
        )
      })}
    </svg>
  )
}

const Days = ({ days, now }: { readonly days: ReadonlyArray<ActivityDay>; readonly now: Timestamp }) => {
  const t = useWords()
  return (
    <section aria-labelledby="days">
      <h2 id="days">{t("Last {count, number} days", { count: shownDays })}</h2>
      {days.length === 0 ? (
        <p class="quiet">{t("It did nothing in the last {count, number} days.", { count: shownDays })}</p>
      ) : (
        <>
          <DayBars days={days} now={now} />
          <Table
            labelledBy="days"
            columns={[t("Day (UTC)"), t("Calls"), t("Writes"), t("Publishes")]}
            isNumeric
            rows={days.map(({ calls, day, publishes, writes }) => ({
              key: day,
              cells: [day, ...[calls, writes, publishes].map((count) => t.number(count))]
            }))}
          />
          <p class="quiet">
            {t(
              "A write is a new revision of a draft. Publishes count each item on each store. Calls of the last seconds may be missing."
            )}
          </p>
        </>
      )}
    </section>
  )
}

const What = ({ change: { action, keys } }: { readonly change: ConnectionChange }) => {
  const t = useWords()
  return action === "attributes" || action === "publish_failed" ? (
    <ul>
      {keys.map((key) => (
        <li key={key}>
          <FieldName>{key}</FieldName>
        </li>
      ))}
    </ul>
  ) : (
    t(actionWords[action])
  )
}

const Changes = ({
  changes,
  connection,
  hasOlder,
  isFirst
}: {
  readonly connection: Connection
  readonly changes: ReadonlyArray<ConnectionChange>
  readonly hasOlder: boolean
  readonly isFirst: boolean
}) => {
  const t = useWords()

  const last = changes.at(-1)
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">{t("What it changed")}</h2>
      {changes.length === 0 ? (
        <p class="quiet">
          {isFirst ? t("This connection has not changed any draft.") : t("There are no older changes.")}
        </p>
      ) : (
        <Table
          labelledBy="changes"
          columns={[t("Item"), t("When"), t("Where"), t("Fields"), t("State")]}
          rows={changes.map((change) => ({
            key: `${change.entityId} ${change.sequence}`,
            cells: [
              <EntityName id={change.entityId} kind={change.kind} title={change.title} />,
              <Time at={change.at} />,
              <Domain name={change.storeDomain ?? t("Catalog")} />,
              <What change={change} />,
              change.publishedOn.length === 0 ? (
                <State name="Draft" tone="idle" />
              ) : (
                <>
                  <State name="Published since" tone="good" />
                  {change.publishedOn.map((domain) => (
                    <div key={domain} class="quiet">
                      <Domain name={domain} />
                    </div>
                  ))}
                </>
              )
            ]
          }))}
        />
      )}
      <nav class="pages" aria-label={t("Pages")}>
        {!isFirst && <a href={connectionPath(connection.id)}>{t("Newest")}</a>}
        {hasOlder && last !== undefined && <a href={olderChangesPath(connection.id, last)}>{t("Older")}</a>}
      </nav>
    </section>
  )
}

/** `days` and `changes` are newest first. `isFirst`: there are no newer changes. */
export const ConnectionPage = ({
  connection,
  days,
  now,
  visitor,
  ...changes
}: {
  readonly visitor: Visitor
  readonly connection: Connection
  readonly now: Timestamp
  readonly days: ReadonlyArray<ActivityDay>
  readonly changes: ReadonlyArray<ConnectionChange>
  readonly hasOlder: boolean
  readonly isFirst: boolean
}) => {
  const t = useWords()
  return (
    <Frame title={connection.clientName} visitor={visitor} current={paths.connections}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.connections}>{t("All connections")}</a>
      </nav>
      <div class="sheet">
        <Details connection={connection} />
      </div>
      <Days days={days} now={now} />
      <Changes connection={connection} {...changes} />
      <Allowed to="edit">
        <UndoForm connection={connection} />
      </Allowed>
    </Frame>
  )
}
