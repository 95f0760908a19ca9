import { Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type DropThing, valueNow } from "../../drops/Composition.ts"
import { type Drop, type DropChange, DropOutcome, type EarlierValue, isSameField } from "../../drops/Drop.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Facts } from "../Field.tsx"
import { Frame, HiddenFields, Note, Refusal } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Saying } from "../languages/Words.tsx"
import { numberOf } from "../PageHandlers.ts"
import { dropPath, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { EntityName, FieldName, ShortValue } from "../Wording.tsx"
import { Where } from "./DropsPage.tsx"
import { Differs, DropTime, NoEnd, Outcome, outcomeName, Status, statusSentence } from "./DropWords.tsx"

/** Maximum length of a value that is not folded, in characters. */
const maxShown = 160

const Whole = ({ value }: { readonly value: string }) => {
  const t = useWords()
  const { length } = [...value]
  return length <= maxShown ? (
    <span class="value">
      <ShortValue>{value}</ShortValue>
    </span>
  ) : (
    <>
      <ShortValue>{value}</ShortValue>
      <details>
        <summary>{t("All {count, number} characters", { count: length })}</summary>
        <div class="value" dir="auto">
          {value}
        </div>
      </details>
    </>
  )
}

/** The title of a thing. That of a variant starts with the product's, because many variants have the same title. */
const titleOf = ({ parentTitle, title }: DropThing) => (parentTitle === null ? title : `${parentTitle}: ${title}`)

/** The name of the entity of a change. A deleted one without a name is shown by its id. */
const nameOf = ({ deleted_name }: DropChange, thing: DropThing | undefined): string | undefined =>
  deleted_name === null ? thing && titleOf(thing) : deleted_name.trim() === "" ? undefined : deleted_name

/** Number of changes on a page. */
const pageSize = 100

const isOutcome = Schema.is(DropOutcome)

interface ShownChanges {
  /** null: changes with every outcome. */
  readonly only: DropOutcome | null
  /** The place of the first change among the `count`. */
  readonly from: number
  readonly count: number
  readonly changes: ReadonlyArray<DropChange>
}

/** The changes that an address names: those from a place on and, if it names an outcome, only those with the outcome. */
export const shownChanges = ({ changes }: Drop, query: Parameters): ShownChanges => {
  const outcome = query.get("outcome")
  const only = isOutcome(outcome) ? outcome : null
  const all = only === null ? changes : changes.filter((change) => change.outcome === only)
  const typed = numberOf(query.get("from"))
  const from = typed < all.length ? typed - (typed % pageSize) : 0
  return { only, from, count: all.length, changes: all.slice(from, from + pageSize) }
}

const changesPath = (drop: Drop, only: DropOutcome | null, from = 0) => {
  const query = new URLSearchParams([
    ...(only === null ? [] : [["outcome", only]]),
    ...(from === 0 ? [] : [["from", String(from)]])
  ])
  return query.size === 0 ? dropPath(drop.id) : `${dropPath(drop.id)}?${query}`
}

/** Links to the changes with each outcome, if there are more changes than one page shows. */
const OutcomeLinks = ({ drop, shown }: { readonly drop: Drop; readonly shown: ShownChanges }) => {
  const t = useWords()
  const counted = DropOutcome.literals
    .map((outcome) => ({ outcome, count: drop.changes.filter((change) => change.outcome === outcome).length }))
    .filter(({ count, outcome }) => count > 0 || outcome === shown.only)
  if (drop.changes.length <= pageSize || counted.length === 0) return null
  const choices = [{ outcome: null, count: drop.changes.length }, ...counted]
  return (
    <nav class="pages" aria-label={t("Outcomes")}>
      {choices.map(({ count, outcome }) => (
        <a key={outcome} href={changesPath(drop, outcome)} aria-current={outcome === shown.only ? "true" : undefined}>
          {t("{outcome}: {count, number}", { outcome: outcomeName(t, outcome), count })}
        </a>
      ))}
    </nav>
  )
}

const Pages = ({
  drop,
  shown: { changes, count, from, only }
}: {
  readonly drop: Drop
  readonly shown: ShownChanges
}) => {
  const t = useWords()
  const next = from + changes.length
  return count <= pageSize ? null : (
    <nav class="pages" aria-label={t("Pages of changes")}>
      {from > 0 && <a href={changesPath(drop, only, from - pageSize)}>{t("Previous changes")}</a>}
      <span class="quiet">
        {t("{first, number} to {last, number} of {all, number}", { first: from + 1, last: next, all: count })}
      </span>
      {next < count && <a href={changesPath(drop, only, next)}>{t("Next changes")}</a>}
    </nav>
  )
}

/**
 * `shown`: the changes on this page; `earlier`: the values that the drop has replaced; `things`: the entities of these changes that still exist;
 * `refusal`: why it could not be cancelled.
 */
export const DropPage = ({
  drop,
  earlier,
  note,
  refusal,
  shown,
  stores,
  things,
  visitor
}: {
  readonly visitor: Visitor
  readonly drop: Drop
  readonly shown: ShownChanges
  readonly earlier: ReadonlyArray<EarlierValue>
  readonly stores: ReadonlyArray<Store>
  readonly things: ReadonlyMap<EntityId, DropThing>
  readonly note?: string | undefined
  readonly refusal?: Saying
}) => {
  const t = useWords()
  // Once the drop has started, its own values are those of the stores.
  const isBefore = drop.status === "scheduled"
  const isCancelled = drop.status === "cancelled"
  return (
    <Frame title={drop.name} visitor={visitor} current={paths.drops}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.drops}>{t("All drops")}</a>
      </nav>
      <Refusal text={refusal} />
      {note !== undefined && <Note>{t.say(note)}</Note>}
      <Live id="drop" on={[`drop:${drop.id}`, "publish"]} says={statusSentence(t, drop)}>
        <div class="sheet">
          <Facts
            of={[
              [t("State"), <Status status={drop.status} />],
              [t("Starts"), <DropTime at={drop.starts_at} timezone={drop.timezone} />],
              [t("Ends"), drop.ends_at === null ? <NoEnd /> : <DropTime at={drop.ends_at} timezone={drop.timezone} />]
            ]}
          />
          {isBefore && (
            <Allowed to="publish">
              <form method="post" action={paths.cancelDrop}>
                <HiddenFields csrf={visitor.csrf} id={drop.id} />
                <p>
                  <button type="submit" class="danger">
                    {t("Cancel the drop")}
                  </button>
                </p>
              </form>
            </Allowed>
          )}
        </div>
        <section aria-labelledby="changes">
          <h2 id="changes">{t("Changes")}</h2>
          <OutcomeLinks drop={drop} shown={shown} />
          {drop.changes.length === 0 ? (
            <p class="quiet">{t("There are none: the store is no longer linked.")}</p>
          ) : (
            <Table
              name={t("Changes of the drop")}
              columns={[
                t("Item"),
                t("Store"),
                t("Field"),
                ...(isCancelled ? [] : [t(isBefore ? "Now" : "Earlier value")]),
                t("New value"),
                t("Outcome")
              ]}
              rows={shown.changes.map((change, index) => {
                const thing = things.get(change.entity_id)
                const replaced = isBefore
                  ? thing && valueNow(thing, change.store_id, change.field)
                  : earlier.find((each) => isSameField(each, change))?.value
                return {
                  key: String(shown.from + index),
                  cells: [
                    <EntityName
                      id={change.entity_id}
                      kind={change.entity_type}
                      title={nameOf(change, thing)}
                      isDeleted={change.deleted_name !== null}
                    />,
                    <Where change={change} stores={stores} />,
                    <FieldName>{change.field}</FieldName>,
                    ...(isCancelled
                      ? []
                      : [replaced === null ? <Differs /> : replaced !== undefined && <Whole value={replaced} />]),
                    <Whole value={change.value} />,
                    <div>
                      <Outcome outcome={change.outcome} />
                      {change.error !== null && (
                        <p class="wrong">
                          <bdi>{t.say(change.error.message)}</bdi>
                        </p>
                      )}
                    </div>
                  ]
                }
              })}
            />
          )}
          <Pages drop={drop} shown={shown} />
        </section>
      </Live>
    </Frame>
  )
}
