import type { Option } from "effect"
import {
  type HealthDimension,
  type HealthResult,
  type HealthSection,
  type HealthSnapshot,
  isPerStore,
  type LastScan
} from "../../health/Health.ts"
import { type DayScore, overallScore } from "../../health/HealthTrend.ts"
import type { ScanSchedule } from "../../health/ScanSchedule.ts"
import type { StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { counted } from "../Naming.tsx"
import { issuesPath, paths } from "../Paths.ts"
import { StoreChoice } from "../StoreChoice.tsx"
import { Allowed } from "../Viewer.tsx"
import { Key, StoreName } from "../Wording.tsx"
import { Bar, Chart, grouped, type Line, type Tone, Trend } from "./Chart.tsx"
import { dimensionWords, fieldWords, sectionWords } from "./HealthWords.ts"
import { ScanTimes } from "./ScanTimes.tsx"

/** The form value that selects all dimensions. */
export const everyDimension = "all"

export type Scanned = HealthDimension | typeof everyDimension

const toneOf = (score: number): Tone => (score >= 90 ? "good" : score >= 60 ? "wait" : "bad")

const entities = (count: number) => counted(count, "entity", "entities")

/** A chart of the entities with an issue, by store or by field. */
const Share = ({
  by,
  dimension,
  lines
}: {
  readonly by: "store" | "field"
  readonly dimension: string
  readonly lines: ReadonlyArray<Line>
}) => (
  <details>
    <summary>
      By {by}
      <span class="spoken">: {dimension}</span>
    </summary>
    <Chart
      name={`${dimension}: entities with an issue, by ${by}`}
      labelled={by === "store" ? "Store" : "Field"}
      valued="Entities with an issue"
      lines={lines}
    />
  </details>
)

const Numbers = ({
  dimension,
  result,
  storeId,
  stores
}: {
  readonly dimension: HealthDimension
  readonly result: HealthResult
  readonly stores: ReadonlyArray<Store>
  readonly storeId: StoreId | undefined
}) => {
  const { affected, by_field, by_section, by_store, checked, on_no_store, score } = result
  const { name } = dimensionWords[dimension]
  const recommended =
    "by_level" in result
      ? result.by_level?.find(({ checked, level }) => level === "recommended" && checked > 0)
      : undefined
  // A dimension that is not per store links to the list for all stores.
  const shownStore = isPerStore(dimension) ? storeId : undefined
  return (
    <>
      <p class="score">
        <strong>{score}</strong> of 100
      </p>
      <Bar share={score / 100} tone={toneOf(score)} says={`Score: ${score} of 100`} />
      <p>
        {affected === 0
          ? `None of ${entities(checked)} has an issue.`
          : `${grouped(affected)} of ${entities(checked)} ${affected === 1 ? "has" : "have"} an issue.`}
        {on_no_store > 0 && ` ${counted(on_no_store, "entity is", "entities are")} on no store and not checked.`}
      </p>
      {recommended !== undefined && (
        <p>
          Recommended fields: <strong>{recommended.score}</strong> of 100.{" "}
          {recommended.affected === 0
            ? `None of ${entities(recommended.checked)} lacks one.`
            : `${grouped(recommended.affected)} of ${entities(recommended.checked)} ${recommended.affected === 1 ? "lacks" : "lack"} one.`}
        </p>
      )}
      <Chart
        name={`${name}: issues`}
        labelled="List of issues"
        valued="Issues"
        lines={by_section.map(({ rows, section }) => ({
          key: section,
          label: <a href={issuesPath(section, { storeId: shownStore })}>{sectionWords[section].name}</a>,
          value: rows
        }))}
      />
      {by_store.length > 1 && (
        <Share
          by="store"
          dimension={name}
          lines={by_store.map(({ affected, checked, store_id }) => ({
            key: store_id,
            label: <StoreName id={store_id} stores={stores} />,
            value: affected,
            of: checked
          }))}
        />
      )}
      {by_field.length > 0 && (
        <Share
          by="field"
          dimension={name}
          lines={by_field.map(({ affected, field }) => ({
            key: field,
            label: <FieldLink dimension={dimension} field={field} storeId={shownStore} />,
            value: affected
          }))}
        />
      )}
    </>
  )
}

/** The section whose rows a bar by field leads to. The other dimensions have several sections with fields. */
const sectionOfFields: Readonly<Partial<Record<HealthDimension, HealthSection>>> = {
  completeness: "completeness-required",
  divergence: "divergence"
}

const FieldLink = ({
  dimension,
  field,
  storeId
}: {
  readonly dimension: HealthDimension
  readonly field: string
  readonly storeId: StoreId | undefined
}) => {
  const section = sectionOfFields[dimension]
  return section === undefined ? (
    <Field field={field} />
  ) : (
    <a href={issuesPath(section, { storeId, field })}>
      <Field field={field} />
    </a>
  )
}

export const Field = ({ field }: { readonly field: string }) => {
  const { isKey, name } = fieldWords(field)
  return isKey ? <Key>{name}</Key> : <span>{name}</span>
}

const Card = ({
  isNew,
  snapshot,
  storeId,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly storeId: StoreId | undefined
  readonly snapshot: HealthSnapshot
  readonly isNew: boolean
}) => {
  const { dimension } = snapshot
  const { meaning, name } = dimensionWords[dimension]
  return (
    <section class="sheet" id={dimension} aria-labelledby={`${dimension}-name`}>
      <h2 id={`${dimension}-name`}>{name}</h2>
      <p class="quiet">{meaning}</p>
      {isNew && <Note>Scanned just now.</Note>}
      {snapshot.scanned ? (
        <>
          <Numbers dimension={dimension} result={snapshot.result} stores={stores} storeId={storeId} />
          <p class="quiet">
            Scanned <Time at={snapshot.scanned_at} />
            {storeId !== undefined && !isPerStore(dimension) && ", of all stores together"}.
          </p>
        </>
      ) : (
        <p>Not scanned yet.</p>
      )}
      <Allowed to="edit">
        <form method="post" action={paths.scanHealth} class="line">
          <HiddenFields csrf={visitor.csrf} />
          <input type="hidden" name="dimension" value={dimension} />
          {isPerStore(dimension) ? (
            <StoreChoice stores={stores} chosen={storeId} label="Stores to scan" />
          ) : (
            <span class="quiet">All stores are scanned together.</span>
          )}
          <button type="submit" class="plain" aria-label={`Scan ${name}`}>
            Scan
          </button>
        </form>
      </Allowed>
    </section>
  )
}

/** The overall score, and how it developed. `trend`: oldest first. */
const Overall = ({
  snapshots,
  trend
}: {
  readonly snapshots: ReadonlyArray<HealthSnapshot>
  readonly trend: ReadonlyArray<DayScore>
}) => {
  const score = overallScore(
    new Map(snapshots.flatMap((each) => (each.scanned ? [[each.dimension, each.result] as const] : [])))
  )
  return score === undefined ? null : (
    <section class="sheet overall" aria-labelledby="overall">
      <div>
        <h2 id="overall">Overall</h2>
        <p class="score">
          <strong>{score}</strong> of 100
        </p>
        <Bar share={score / 100} tone={toneOf(score)} says={`Overall score: ${score} of 100`} />
        <p class="quiet">
          The average of the scores below, without Sync: a repair is a draft, and would lower Sync until it is
          published.
        </p>
      </div>
      <Trend name="Overall score" points={trend} />
    </section>
  )
}

/** `storeId`: limit to this store (per-store dimensions only). */
export const HealthPage = ({
  lastScan,
  scanned,
  schedule,
  snapshots,
  storeId,
  stores,
  trend,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly storeId: StoreId | undefined
  readonly snapshots: ReadonlyArray<HealthSnapshot>
  readonly scanned: Scanned | undefined
  readonly trend: ReadonlyArray<DayScore>
  readonly lastScan: Option.Option<LastScan>
  readonly schedule: ScanSchedule
}) => (
  <Frame title="Data health" visitor={visitor} current={paths.health}>
    {scanned === everyDimension && <Note>Everything was scanned just now.</Note>}
    <p>Results of the last scan of each dimension.</p>
    <ScanTimes lastScan={lastScan} schedule={schedule} />
    <div class="above">
      <form method="get" action={paths.health} class="line">
        <StoreChoice stores={stores} chosen={storeId} label="Stores to show" />
        <button type="submit" class="plain">
          Show
        </button>
      </form>
      <Allowed to="edit">
        <form method="post" action={paths.scanHealth} class="line">
          <HiddenFields csrf={visitor.csrf} />
          <input type="hidden" name="dimension" value={everyDimension} />
          <button type="submit">Scan everything</button>
        </form>
      </Allowed>
    </div>
    {storeId === undefined && <Overall snapshots={snapshots} trend={trend} />}
    <div class="cards">
      {snapshots.map((snapshot) => (
        <Card
          key={snapshot.dimension}
          visitor={visitor}
          stores={stores}
          storeId={storeId}
          snapshot={snapshot}
          isNew={snapshot.dimension === scanned}
        />
      ))}
    </div>
  </Frame>
)
