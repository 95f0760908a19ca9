import type { ComponentChildren } from "preact"
import type { ConflictDecision, DecisionTally, ImportConflict, ImportRun } from "../../imports/Import.ts"
import { typeOf } from "../../model/Attribute.ts"
import { FieldMisfit, fieldState, type Misfit, misfitId } from "../Field.tsx"
import { Hidden, Time } from "../Frame.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"
import { actorName, EntityLink } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { type Row, Table } from "../Table.tsx"
import { ComparedValue, OrderOf, readablePair, Value } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"
import { FieldName } from "../Wording.tsx"
import { filterParameters, type ListFilter, listPath } from "./ImportLists.tsx"

/** The name of the form field with the decision on a conflict. */
export const conflictField = (conflict: number | ""): string => `conflict-${conflict}`

/** The form field with the decision that the page showed; empty: undecided. */
export const seenField = (conflict: number | ""): string => `seen-${conflict}`

export const decisionWords: Readonly<Record<ConflictDecision, Sentence>> = {
  keep_draft: "Keep our draft",
  take_store: "Take the store's value"
}

const orders: Readonly<Record<string, Sentence>> = {
  media_ids: "order of media",
  variant_ids: "order of variants",
  members: "members and their order"
}

/** The name of the field of a conflict. A store shows one picture of a variant. */
const nameOf = (t: Words, { entity_type, field }: Pick<ImportConflict, "entity_type" | "field">) => {
  if (entity_type === "variant" && field === "media_ids") return t("Picture")
  const order = orders[field]
  return order === undefined ? <FieldName>{field}</FieldName> : t(order)
}

/** A conflict in a form. `chosen`: the choice of a refused form; `misfit`: the problem of that choice. */
interface ConflictShown {
  readonly conflict: ImportConflict
  readonly chosen: ConflictDecision | undefined
  readonly misfit: Misfit | undefined
  readonly hasFocus: boolean
}

const Side = ({
  children,
  chosen,
  conflict: { conflict, decision },
  hasFocus,
  value
}: Omit<ConflictShown, "misfit"> & { readonly value: ConflictDecision; readonly children: ComponentChildren }) => {
  const t = useWords()

  const id = `${value}-${conflict}`
  return (
    <div>
      <label class="pick">
        <input
          type="radio"
          name={conflictField(conflict)}
          value={value}
          checked={(chosen ?? decision) === value}
          aria-describedby={id}
          autofocus={hasFocus}
        />
        {t(decisionWords[value])}
      </label>
      <div class="value" id={id}>
        {children}
      </div>
    </div>
  )
}

const Sides = ({ chosen, conflict, hasFocus }: ConflictShown) => {
  const type = typeOf(conflict.entity_type, conflict.field, [])
  const [draft, store] = readablePair(conflict.draft_value, conflict.store_value, type)
  const isOrder = Object.hasOwn(orders, conflict.field)
  return (
    <div class="versus">
      <Side conflict={conflict} chosen={chosen} value="keep_draft" hasFocus={hasFocus}>
        {isOrder ? (
          <OrderOf text={conflict.draft_value} pictures={conflict.pictures} />
        ) : (
          <ComparedValue text={draft} other={store} />
        )}
      </Side>
      <Side conflict={conflict} chosen={chosen} value="take_store" hasFocus={false}>
        {isOrder ? (
          <OrderOf text={conflict.store_value} pictures={conflict.pictures} />
        ) : (
          <ComparedValue text={store} other={draft} />
        )}
      </Side>
    </div>
  )
}

const Conflict = (shown: ConflictShown) => {
  const t = useWords()

  const { conflict, misfit } = shown
  const { accepted, decided_at, decided_by, entity_id, entity_type, field, title } = conflict
  const name = conflictField(conflict.conflict)
  return (
    <fieldset class="conflict" aria-describedby={misfit && misfitId(name)}>
      <legend>
        <EntityLink id={entity_id} kind={entity_type} title={title} />: {nameOf(t, conflict)}
      </legend>
      <input type="hidden" name={seenField(conflict.conflict)} value={conflict.decision ?? ""} />
      <Sides {...shown} />
      <FieldMisfit field={name} misfit={misfit} />
      <details>
        <summary>{t("Last accepted value of the store")}</summary>
        {accepted === null ? (
          <p class="quiet">{t("None: it was never published there.")}</p>
        ) : orders[field] === undefined ? (
          <p>
            <Value text={readablePair(accepted, conflict.draft_value, typeOf(entity_type, field, []))[0]} />
          </p>
        ) : (
          <OrderOf text={accepted} pictures={conflict.pictures} />
        )}
      </details>
      {decided_by !== null && decided_at !== null && (
        <p class="quiet">
          {t.rich("Decided by {author}, {time}", {
            author: actorName(t, decided_by),
            time: <Time at={decided_at} />
          })}
        </p>
      )}
    </fieldset>
  )
}

const decidedRow = (t: Words, conflict: ImportConflict): Row => {
  const { decided_by, decision, draft_value, entity_id, entity_type, field, store_value, title } = conflict
  const [draft, store] = readablePair(draft_value, store_value, typeOf(entity_type, field, []))
  const cell = (text: string) =>
    orders[field] === undefined ? <Value text={text} /> : <OrderOf text={text} pictures={conflict.pictures} />
  return {
    key: String(conflict.conflict),
    cells: [
      <>
        <EntityLink id={entity_id} kind={entity_type} title={title} />
        <div>{nameOf(t, conflict)}</div>
      </>,
      cell(draft),
      cell(store),
      <>
        {decision === null ? (
          <span class="quiet">{t("none")}</span>
        ) : decision === "keep_draft" ? (
          t("Our draft was kept")
        ) : (
          t("The store's value was taken")
        )}
        {decided_by !== null && <div class="quiet">{actorName(t, decided_by)}</div>}
      </>
    ]
  }
}

/** The form field that allows earlier decisions to be replaced. Its value is the digest of the decisions that the page showed. */
export const replaceField = "replace"

const everyConflict: ReadonlyArray<{
  readonly decision: ConflictDecision
  readonly replaced: ConflictDecision
  readonly name: Sentence
  readonly changes: Sentence
}> = [
  {
    decision: "keep_draft",
    replaced: "take_store",
    name: "Keep every draft",
    changes: "“Keep every draft” replaces {count, plural, one {# decision} other {# decisions}}"
  },
  {
    decision: "take_store",
    replaced: "keep_draft",
    name: "Take every value of the store",
    changes: "“Take every value of the store” replaces {count, plural, one {# decision} other {# decisions}}"
  }
]

/** Buttons that decide all conflicts. They change decisions that were made before only if the person confirms the number of them. */
const AllAtOnce = ({ misfit, tally }: { readonly tally: DecisionTally; readonly misfit: Misfit | undefined }) => {
  const t = useWords()
  return (
    <>
      <h3>{t("All at once")}</h3>
      <p>
        {tally.undecided === 0
          ? t("Every conflict is decided, so this changes only decisions that were made before.")
          : t(
              "This decides {count, plural, one {# undecided conflict} other {# undecided conflicts}}. Decisions that were made before stay.",
              { count: tally.undecided }
            )}
      </p>
      {tally.keep_draft + tally.take_store > 0 && (
        <>
          <label class="pick">
            <input type="checkbox" name={replaceField} value={tally.digest} {...fieldState(misfit, replaceField)} />
            {t("Replace earlier decisions too: {changes}", {
              changes: everyConflict
                .map(({ changes, replaced }) => t(changes, { count: tally[replaced] }))
                .join(t(", "))
            })}
          </label>
          <FieldMisfit field={replaceField} misfit={misfit} />
        </>
      )}
      <div class="buttons">
        {everyConflict.map(({ decision, name }) => (
          <button
            key={decision}
            type="submit"
            class="plain"
            name="decision"
            value={decision}
            formaction={paths.decideAllConflicts}
            formnovalidate
          >
            {t(name)}
          </button>
        ))}
      </div>
    </>
  )
}

interface ConflictsShown {
  readonly run: ImportRun
  /** Conflicts whose number is greater than `after`, at most `atOnce` of them. */
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly after: number
  readonly atOnce: number
  readonly filter: ListFilter
}

/** Pages of the conflicts that a filter finds. Their numbers have gaps. */
const FilteredPages = ({ after, atOnce, conflicts, filter, run: { id } }: ConflictsShown) => {
  const t = useWords()

  const next = conflicts.length === atOnce ? conflicts.at(-1) : undefined
  return after === 0 && next === undefined ? null : (
    <nav class="pages" aria-label={t("Pages of conflicts")}>
      {after > 0 && <a href={`${listPath(id, "conflicts", filter)}#lists`}>{t("To the first")}</a>}
      {next !== undefined && (
        <a href={`${listPath(id, "conflicts", filter, { after: String(next.conflict) })}#lists`}>
          {t("Next conflicts")}
        </a>
      )}
    </nav>
  )
}

const Pages = (shown: ConflictsShown) => {
  const t = useWords()

  const {
    after,
    atOnce,
    conflicts,
    filter,
    run: { id, summary }
  } = shown
  const last = conflicts.at(-1)?.conflict ?? after
  const at = (number: number) => listPath(id, "conflicts", filter, { after: String(number) })
  if (filterParameters(filter).length > 0) return <FilteredPages {...shown} />
  return after === 0 && last >= summary.conflicts ? null : (
    <nav class="pages" aria-label={t("Pages of conflicts")}>
      {after > 0 && <a href={at(Math.max(after - atOnce, 0))}>{t("Previous conflicts")}</a>}
      {conflicts.length > 0 && (
        <span class="quiet">
          {t("{first, number} to {last, number} of {all, number}", {
            first: conflicts[0]?.conflict ?? last,
            last,
            all: summary.conflicts
          })}
        </span>
      )}
      {last < summary.conflicts && conflicts.length > 0 && <a href={at(last)}>{t("Next conflicts")}</a>}
    </nav>
  )
}

/** Conflicts of an import under review. They are in the form that accepts the import, so every button sends the decisions. */
export const ConflictsToDecide = ({
  chosen,
  misfits,
  tally,
  ...shown
}: ConflictsShown & {
  readonly tally: DecisionTally
  /** Choices of a refused form by conflict, and their problem. The first misfit gets the focus. */
  readonly chosen: ReadonlyMap<number, ConflictDecision>
  readonly misfits: ReadonlyArray<Misfit>
}) => {
  const t = useWords()

  const { after, conflicts, filter, run } = shown
  const { undecided } = tally
  const misfitOf = ({ conflict }: ImportConflict) => misfits.find(({ field }) => field === conflictField(conflict))
  return (
    <section aria-labelledby="conflicts">
      <h2 id="conflicts">{t("Conflicts")}</h2>
      <p>
        {t(
          "{count, plural, one {One value was} other {# values were}} edited here and in the store since the last publish.",
          { count: run.summary.conflicts }
        )}{" "}
        {undecided === 0 ? t("All are decided.") : t("{count, number} undecided.", { count: undecided })}{" "}
        {t("Differences are marked.")}
      </p>
      {conflicts.length === 0 && filter.search !== "" && <p class="quiet">{t("Nothing was found.")}</p>}
      <Pages {...shown} />
      <Hidden of={filterParameters(filter)} />
      {conflicts.length > 0 && (
        <div class="fields">
          {after > 0 && <input type="hidden" name="after" value={after} />}
          {conflicts.map((conflict) => (
            <Conflict
              key={conflict.conflict}
              conflict={conflict}
              chosen={chosen.get(conflict.conflict)}
              misfit={misfitOf(conflict)}
              hasFocus={misfits[0] !== undefined && misfits[0] === misfitOf(conflict)}
            />
          ))}
          <div class="buttons">
            <button
              type="submit"
              class={undecided === 0 ? "plain" : undefined}
              formaction={paths.decideConflicts}
              formnovalidate
            >
              {t("Save decisions")}
            </button>
          </div>
        </div>
      )}
      <Pages {...shown} />
      <AllAtOnce tally={tally} misfit={misfits.find(({ field }) => field === replaceField)} />
    </section>
  )
}

/** Conflicts of an import that is not under review any more. */
export const ConflictsDecided = (shown: ConflictsShown) => {
  const t = useWords()
  return (
    <section aria-labelledby="conflicts">
      <h2 id="conflicts">{t("Conflicts")}</h2>
      {shown.conflicts.length === 0 ? (
        <p class="quiet">
          {shown.filter.search !== ""
            ? t("Nothing was found.")
            : t("They were deleted seven days after the end of the import.")}
        </p>
      ) : (
        <Table
          labelledBy="conflicts"
          columns={[t("Value"), t("Our draft"), t("The store's value"), t("Decision")]}
          rows={shown.conflicts.map((conflict) => decidedRow(t, conflict))}
        />
      )}
      <Pages {...shown} />
    </section>
  )
}
