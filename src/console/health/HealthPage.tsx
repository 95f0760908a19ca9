import type { Option } from "effect"
import {
  completenessLevels,
  type HealthDimension,
  type HealthResult,
  type HealthSection,
  type HealthSnapshot,
  isPerStore,
  type LastScan
} from "../../health/Health.ts"
import type { ScanProgress } from "../../health/HealthRepo.ts"
import { type DayScore, overallScore } from "../../health/HealthTrend.ts"
import type { ScanSchedule } from "../../health/ScanSchedule.ts"
import { EntityKind } from "../../model/Attribute.ts"
import type { StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Words } from "../languages/Words.tsx"
import { issuesPath, paths } from "../Paths.ts"
import { StoreChoice } from "../StoreChoice.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { FieldName, StoreName, spoken } from "../Wording.tsx"
import { Bar, Chart, type Line, type Tone, Trend } from "./Chart.tsx"
import { dimensionWords, nounOf, sectionWords } from "./HealthWords.ts"
import { ScansUnderWay, scansSentence } from "./ScansUnderWay.tsx"
import { ScanTimes } from "./ScanTimes.tsx"

/** The form value that selects all dimensions. */
export const everyDimension = "all"

export type Scanned = HealthDimension | typeof everyDimension

const toneOf = (score: number): Tone => (score >= 90 ? "good" : score >= 60 ? "wait" : "bad")

/** A chart of the entities with an issue, by store or by field. */
const Share = ({
  by,
  dimension,
  lines
}: {
  readonly by: "store" | "field"
  readonly dimension: string
  readonly lines: ReadonlyArray<Line>
}) => {
  const t = useWords()
  return (
    <details>
      <summary>
        {t.rich(by === "store" ? "By store<spoken>: {dimension}</spoken>" : "By field<spoken>: {dimension}</spoken>", {
          dimension,
          spoken
        })}
      </summary>
      <Chart
        name={t(
          by === "store" ? "{dimension}: items with an issue, by store" : "{dimension}: items with an issue, by field",
          { dimension }
        )}
        labelled={by === "store" ? t("Store") : t("Field")}
        valued={t("Items with an issue")}
        lines={lines}
      />
    </details>
  )
}

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
  const t = useWords()
  const { affected, by_field, by_section, by_store, checked, on_no_store, score } = result
  const name = t(dimensionWords[dimension].name)
  const recommended =
    "by_level" in result
      ? result.by_level?.find(({ checked, level }) => level === "recommended" && checked > 0)
      : undefined
  // A dimension that is not per store links to the list for all stores.
  const shownStore = isPerStore(dimension) ? storeId : undefined
  return (
    <>
      <p class="score">{t.rich("<strong>{score, number}</strong> of 100", { score })}</p>
      <Bar share={score / 100} tone={toneOf(score)} says={t("Score: {score, number} of 100", { score })} />
      <p>
        {affected === 0
          ? t("None of {count, plural, one {# item} other {# items}} has an issue.", { count: checked })
          : t(
              "{affected, number} of {count, plural, one {# item} other {# items}} {affected, plural, one {has} other {have}} an issue.",
              { affected, count: checked }
            )}
        {on_no_store > 0 &&
          ` ${t("{count, plural, one {# item is} other {# items are}} on no store and not checked.", { count: on_no_store })}`}
      </p>
      {recommended !== undefined && (
        <p>
          {t.rich("Recommended fields: <strong>{score, number}</strong> of 100.", { score: recommended.score })}{" "}
          {recommended.affected === 0
            ? t("None of {count, plural, one {# item} other {# items}} lacks a recommended field.", {
                count: recommended.checked
              })
            : t(
                "{affected, number} of {count, plural, one {# item} other {# items}} {affected, plural, one {lacks} other {lack}} a recommended field.",
                { affected: recommended.affected, count: recommended.checked }
              )}
        </p>
      )}
      <Chart
        name={t("{dimension}: issues", { dimension: name })}
        labelled={t("List of issues")}
        valued={t("Issues")}
        lines={by_section.map(({ rows, section }) => ({
          key: section,
          label: <a href={issuesPath(section, { storeId: shownStore })}>{t(sectionWords[section].name)}</a>,
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
            label: <FieldLink field={field} section={sectionOfField(dimension, result, field)} storeId={shownStore} />,
            value: affected
          }))}
        />
      )}
    </>
  )
}

/**
 * The section to which the bar of a field links: the one that has all its issues. Undefined: several sections can have them, such as
 * those of a field that is required of one kind and recommended of another.
 */
const sectionOfField = (dimension: HealthDimension, result: HealthResult, field: string): HealthSection | undefined => {
  if (dimension === "divergence") return "divergence"
  if (!("required" in result)) return undefined
  const levels = completenessLevels.filter((level) =>
    EntityKind.literals.some((kind) => result.rules[kind][level].includes(field))
  )
  return levels.length === 1 ? `completeness-${levels[0] ?? "required"}` : undefined
}

const FieldLink = ({
  field,
  section,
  storeId
}: {
  readonly field: string
  readonly section: HealthSection | undefined
  readonly storeId: StoreId | undefined
}) => {
  return section === undefined ? (
    <Field field={field} />
  ) : (
    <a href={issuesPath(section, { storeId, field })}>
      <Field field={field} />
    </a>
  )
}

export const Field = ({ field }: { readonly field: string }) => {
  const t = useWords()
  const noun = nounOf(field)
  return noun === undefined ? <FieldName>{field}</FieldName> : <span>{t(noun)}</span>
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
  const t = useWords()
  const { dimension } = snapshot
  const { meaning } = dimensionWords[dimension]
  const name = t(dimensionWords[dimension].name)
  return (
    <section class="sheet" id={dimension} aria-labelledby={`${dimension}-name`}>
      <h2 id={`${dimension}-name`}>{name}</h2>
      <p class="quiet">{t(meaning)}</p>
      {isNew && <Note>{t("Scanned just now.")}</Note>}
      {snapshot.scanned ? (
        <>
          <Numbers dimension={dimension} result={snapshot.result} stores={stores} storeId={storeId} />
          <p class="quiet">
            {t.rich(
              storeId !== undefined && !isPerStore(dimension)
                ? "Scanned {time}, of all stores together."
                : "Scanned {time}.",
              { time: <Time at={snapshot.scanned_at} /> }
            )}
          </p>
        </>
      ) : (
        <p>{t("Not scanned yet.")}</p>
      )}
      <Allowed to="edit">
        <form method="post" action={paths.scanHealth} class="line">
          <HiddenFields csrf={visitor.csrf} />
          <input type="hidden" name="dimension" value={dimension} />
          {isPerStore(dimension) ? (
            <StoreChoice stores={stores} chosen={storeId} label={t("Stores to scan")} />
          ) : (
            <span class="quiet">{t("All stores are scanned together.")}</span>
          )}
          <button type="submit" class="plain" aria-label={t("Scan {dimension}", { dimension: name })}>
            {t("Scan")}
          </button>
        </form>
      </Allowed>
    </section>
  )
}

const scoreOf = (snapshots: ReadonlyArray<HealthSnapshot>) =>
  overallScore(new Map(snapshots.flatMap((each) => (each.scanned ? [[each.dimension, each.result] as const] : []))))

/** The text that screen readers read out when a scan has changed the results. */
const scoresIn = (t: Words, snapshots: ReadonlyArray<HealthSnapshot>, storeId: StoreId | undefined): string => {
  // Only the page of all stores shows an overall score.
  const score = storeId === undefined ? scoreOf(snapshots) : undefined
  const found = snapshots.flatMap((each) =>
    each.scanned
      ? [
          t("{dimension}: {count, plural, =0 {no issue} one {# item with an issue} other {# items with an issue}}", {
            dimension: t(dimensionWords[each.dimension].name),
            count: each.result.affected
          })
        ]
      : []
  )
  return [...(score === undefined ? [] : [t("Overall score: {score, number} of 100", { score })]), ...found].join(". ")
}

/** The overall score, and how it developed. `trend`: oldest first. */
const Overall = ({
  snapshots,
  trend
}: {
  readonly snapshots: ReadonlyArray<HealthSnapshot>
  readonly trend: ReadonlyArray<DayScore>
}) => {
  const t = useWords()
  const score = scoreOf(snapshots)
  return score === undefined ? null : (
    <section class="sheet overall" aria-labelledby="overall">
      <div>
        <h2 id="overall">{t("Overall")}</h2>
        <p class="score">{t.rich("<strong>{score, number}</strong> of 100", { score })}</p>
        <Bar share={score / 100} tone={toneOf(score)} says={t("Overall score: {score, number} of 100", { score })} />
        <p class="quiet">
          {t(
            "The average of the scores below, without Sync: a repair is a draft, and would lower Sync until it is published."
          )}
        </p>
      </div>
      <Trend name={t("Overall score")} points={trend} />
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
  unfinished,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly storeId: StoreId | undefined
  readonly snapshots: ReadonlyArray<HealthSnapshot>
  readonly unfinished: ReadonlyArray<ScanProgress>
  readonly scanned: Scanned | undefined
  readonly trend: ReadonlyArray<DayScore>
  readonly lastScan: Option.Option<LastScan>
  readonly schedule: ScanSchedule
}) => {
  const t = useWords()
  return (
    <Frame title={t("Data health")} visitor={visitor} current={paths.health}>
      {scanned === everyDimension && <Note>{t("Everything was scanned just now.")}</Note>}
      <p>{t("Results of the last scan of each dimension.")}</p>
      <Live id="scans" on={["scan", "job"]} says={scansSentence(t, unfinished)}>
        <ScansUnderWay scans={unfinished} stores={stores} />
        <ScanTimes lastScan={lastScan} schedule={schedule} />
      </Live>
      <div class="above">
        <form method="get" action={paths.health} class="line">
          <StoreChoice stores={stores} chosen={storeId} label={t("Stores to show")} />
          <button type="submit" class="plain">
            {t("Show")}
          </button>
        </form>
        <Allowed to="edit">
          <form method="post" action={paths.scanHealth} class="line">
            <HiddenFields csrf={visitor.csrf} />
            <input type="hidden" name="dimension" value={everyDimension} />
            <button type="submit">{t("Scan everything")}</button>
          </form>
        </Allowed>
      </div>
      <Live id="scores" on={["scan"]} says={scoresIn(t, snapshots, storeId) || undefined}>
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
      </Live>
    </Frame>
  )
}
